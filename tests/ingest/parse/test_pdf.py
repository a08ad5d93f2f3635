from pathlib import Path

import pytest

from headrace.errors import Unreadable
from headrace.ingest.parse import parse
from headrace.ingest.parsed import Block

from ..pdfs import Page, a_pdf

LEFT = [
    "The headrace brings the water from",
    "the weir to the turbine, and it is",
    "cleaned of leaves every week by the",
    "crew on duty before the gates open.",
    "Sand that has settled is flushed out",
    "into the river below the power house.",
]
RIGHT = [
    "The tailrace takes the water back to",
    "the river once it has done its work,",
    "at a level that depends on the flow",
    "and on how far the gates were opened.",
    "Fish pass beside it through a ladder",
    "of basins that was built much later.",
]


def blocks_of(folder: Path, *pages: Page) -> list[Block]:
    path = folder / "a.pdf"
    path.write_bytes(a_pdf(pages))
    return [*parse(path, "a.pdf").blocks]


def test_headings_by_size_paragraphs_pages_and_boxes(tmp_path: Path) -> None:
    first, second = Page(), Page()
    first.write("Headrace manual", y=80, size=20)
    first.write("1 Water", y=120, size=14)
    first.write("The gate is opened slowly so that the water that comes down does no dam-", y=150)
    first.write("age to the turbine.", y=162)
    second.write("引水渠把水送到水轮机，每周检查一次，发现漏水要立即报告，并且停止运行等", y=80)
    second.write("待检修。", y=92)
    blocks = blocks_of(tmp_path, first, second)
    assert [(block.kind, block.level, block.text, block.page) for block in blocks] == [
        ("heading", 1, "Headrace manual", 1),
        ("heading", 2, "1 Water", 1),
        (
            "text",
            0,
            "The gate is opened slowly so that the water that comes down does no damage to the turbine.",
            1,
        ),
        ("text", 0, "引水渠把水送到水轮机，每周检查一次，发现漏水要立即报告，并且停止运行等待检修。", 2),
    ]
    (box,) = blocks[2].boxes
    assert box[0] == 1
    assert 70 <= box[1] <= 74
    assert 138 <= box[2] < box[4] <= 166


def test_columns_are_read_one_after_the_other(tmp_path: Path) -> None:
    page = Page()
    page.write("A title over both of the columns", x=150, y=60, size=18)
    for place, (left, right) in enumerate(zip(LEFT, RIGHT, strict=True)):
        page.write(left, x=60, y=100 + 12 * place)
        page.write(right, x=320, y=100 + 12 * place)
    title, left, right = blocks_of(tmp_path, page)
    assert title.kind == "heading"
    assert left.text == " ".join(LEFT)
    assert right.text == " ".join(RIGHT)


def test_ruled_tables_stand_where_they_are(tmp_path: Path) -> None:
    page = Page()
    page.write("Prices of parts as of this year:", y=80)
    for y in (100, 120, 140):
        page.line(72, y, 272, y)
    for x in (72, 172, 272):
        page.line(x, 100, x, 140)
    for x, y, text in ((76, 114, "Part"), (176, 114, "Price"), (76, 134, "闸门"), (176, 134, "12.50")):
        page.write(text, x=x, y=y)
    page.write("All prices are without tax.", y=170)
    blocks = blocks_of(tmp_path, page)
    assert [(block.kind, block.text) for block in blocks] == [
        ("text", "Prices of parts as of this year:"),
        ("table", "| Part | Price |\n| 闸门 | 12.50 |"),
        ("text", "All prices are without tax."),
    ]


def test_running_heads_and_page_numbers_are_dropped(tmp_path: Path) -> None:
    pages = [Page() for _ in range(4)]
    for number, page in enumerate(pages, start=1):
        page.write("Company secret", y=30)
        page.write(f"What page {number} says about the water.", y=200)
        page.write(f"Page {number} of 4", y=820)
    assert [block.text for block in blocks_of(tmp_path, *pages)] == [
        f"What page {number} says about the water." for number in range(1, 5)
    ]


def test_short_lines_stay_lines(tmp_path: Path) -> None:
    page = Page()
    for place, text in enumerate(["TOTAL 821.14", "Ref 20241123", "VISA card ending in 4782 was charged"]):
        page.write(text, y=80 + 12 * place)
    (block,) = blocks_of(tmp_path, page)
    assert block.text == "TOTAL 821.14\nRef 20241123\nVISA card ending in 4782 was charged"


def test_a_scan_says_that_it_needs_ocr(tmp_path: Path) -> None:
    page = Page()
    page.picture()
    with pytest.raises(
        Unreadable, match="no text found, only pictures: it needs OCR, which is not available"
    ):
        blocks_of(tmp_path, page)


def test_an_encrypted_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(a_pdf([Page()], encrypted=True))
    with pytest.raises(Unreadable, match="encrypted") as caught:
        parse(path, "a.pdf")
    assert caught.value.code == "encrypted"


@pytest.mark.parametrize("content", [b"%PDF-1.7\ngarbage", b"%PDF-1.4\n" + bytes(range(256)) * 20])
def test_a_damaged_file_says_so(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(content)
    with pytest.raises(Unreadable, match=r"damaged: open it in a viewer|no text found"):
        parse(path, "a.pdf")
