"""The samples are what examples/README.md says, and their questions can be answered from them."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NotRequired, TypedDict, cast

import docx
import lxml.html
import openpyxl
import pdfplumber
import pptx
import pytest
from docx.table import Table
from pptx.shapes.autoshape import Shape
from pptx.shapes.graphfrm import GraphicFrame

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
DOCUMENTS = sorted(path for path in (EXAMPLES / "documents").iterdir() if not path.name.startswith("."))
ENCODINGS = {"安全操作规程.txt": "gbk", "維修服務據點.txt": "big5"}


class Turn(TypedDict):
    role: Literal["user", "assistant"]
    text: str


class Question(TypedDict):
    id: str
    lang: Literal["zh", "en"]
    question: str
    answers: list[str]
    document: str | None
    type: Literal["fact", "table", "follow_up", "cross_lingual", "unanswerable"]
    page: NotRequired[int]
    history: NotRequired[list[Turn]]


QUESTIONS = [
    cast(Question, json.loads(line))
    for line in (EXAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()
]
ANSWERABLE = [question for question in QUESTIONS if question["type"] != "unanswerable"]


def plain_text(path: Path) -> list[str]:
    return [path.read_bytes().decode(ENCODINGS.get(path.name, "utf-8"))]


def html_text(path: Path) -> list[str]:
    return [cast(str, lxml.html.fromstring(path.read_bytes()).text_content())]


def csv_text(path: Path) -> list[str]:
    rows = csv.reader(io.StringIO(path.read_text(encoding="utf-8")))
    return ["\n".join(" ".join(row) for row in rows)]


def word_text(path: Path) -> list[str]:
    blocks = docx.Document(str(path)).iter_inner_content()
    return ["\n".join(table_text(b) if isinstance(b, Table) else b.text for b in blocks)]


def table_text(table: Table) -> str:
    return "\n".join(" ".join(cell.text for cell in row.cells) for row in table.rows)


def excel_text(path: Path) -> list[str]:
    sheets = openpyxl.load_workbook(path).worksheets
    return [
        "\n".join([sheet.title, *(" ".join(map(str, row)) for row in sheet.iter_rows(values_only=True))])
        for sheet in sheets
    ]


def slide_text(path: Path) -> list[str]:
    slides: list[str] = []
    for slide in pptx.Presentation(str(path)).slides:
        texts = [shape.text_frame.text for shape in slide.shapes if isinstance(shape, Shape)]
        for shape in slide.shapes:
            if isinstance(shape, GraphicFrame):
                texts += [cell.text_frame.text for row in shape.table.rows for cell in row.cells]
        slides.append("\n".join(texts))
    return slides


def pdf_text(path: Path) -> list[str]:
    with pdfplumber.open(path) as document:
        return [page.extract_text() for page in document.pages]


READERS: dict[str, Callable[[Path], list[str]]] = {
    ".md": plain_text,
    ".txt": plain_text,
    ".html": html_text,
    ".csv": csv_text,
    ".docx": word_text,
    ".xlsx": excel_text,
    ".pptx": slide_text,
    ".pdf": pdf_text,
}


def pages_of(path: Path) -> list[str]:
    """Text by page, slide or sheet; other formats are one page."""
    return READERS[path.suffix](path)


def squeezed(text: str) -> str:
    return "".join(text.split())


def words(text: str) -> int:
    """Han characters count as words."""
    spaced = "".join(f" {letter} " if "\u4e00" <= letter <= "\u9fff" else letter for letter in text)
    return len(spaced.split())


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_a_document_reads_and_is_neither_a_stub_nor_a_book(path: Path) -> None:
    assert 290 <= words("\n".join(pages_of(path))) <= 2500


def test_every_promised_format_is_there() -> None:
    assert {path.suffix for path in DOCUMENTS} == set(READERS)


def test_the_documents_stay_small() -> None:
    assert sum(path.stat().st_size for path in DOCUMENTS) < 400_000


@pytest.mark.parametrize("name", ENCODINGS)
def test_old_windows_text_is_not_utf_8(name: str) -> None:
    content = (EXAMPLES / "documents" / name).read_bytes()
    with pytest.raises(UnicodeDecodeError):
        content.decode("utf-8")
    assert b"\r\n" in content


def test_the_manual_changes_language_from_page_to_page() -> None:
    pages = pages_of(EXAMPLES / "documents" / "LS-200-manual.pdf")
    chinese = [any("\u4e00" <= letter <= "\u9fff" for letter in page) for page in pages]
    assert chinese == [False, True, False, True, False, True]


def test_the_readme_lists_every_document() -> None:
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in DOCUMENTS if f"`{path.name}`" not in readme] == []


def test_regions_and_models_add_up_to_the_annual_figures() -> None:
    book = openpyxl.load_workbook(EXAMPLES / "documents" / "年度经营数据.xlsx")
    annual = {row[0]: row for row in book["年度指标"].iter_rows(min_row=2, values_only=True)}
    for year, *regions, total in book["分地区收入"].iter_rows(min_row=2, values_only=True):
        assert sum(cast(list[int], regions)) == total == annual[year][1]
    shipments = csv.DictReader(
        io.StringIO((EXAMPLES / "documents" / "pump-shipments-2019-2024.csv").read_text(encoding="utf-8"))
    )
    shipped: dict[int, int] = {}
    for row in shipments:
        shipped[int(row["year"])] = shipped.get(int(row["year"]), 0) + int(row["units_shipped"])
    assert shipped == {year: row[6] for year, row in annual.items()}


def test_quarters_add_up_to_the_year() -> None:
    book = openpyxl.load_workbook(EXAMPLES / "documents" / "年度经营数据.xlsx")
    years: dict[int, int] = {}
    for quarter, revenue, _ in book["季度数据"].iter_rows(min_row=2, values_only=True):
        year = int(str(quarter)[:4])
        years[year] = years.get(year, 0) + cast(int, revenue)
    assert years == {row[0]: row[1] for row in book["年度指标"].iter_rows(min_row=2, values_only=True)}


@pytest.mark.parametrize("question", ANSWERABLE, ids=lambda question: question["id"])
def test_the_document_holds_the_answer(question: Question) -> None:
    pages = [squeezed(page) for page in pages_of(EXAMPLES / "documents" / str(question["document"]))]
    holding = [
        number
        for number, page in enumerate(pages, start=1)
        if any(squeezed(answer) in page for answer in question["answers"])
    ]
    assert holding if "page" not in question else question["page"] in holding


def test_ids_are_unique_and_name_the_language() -> None:
    ids = [question["id"] for question in QUESTIONS]
    assert len(set(ids)) == len(ids)
    assert [question["lang"] for question in QUESTIONS] == [name[:2] for name in ids]


def test_both_languages_ask_equally_often() -> None:
    languages = [question["lang"] for question in QUESTIONS]
    assert languages.count("zh") == languages.count("en") >= 8


@pytest.mark.parametrize("kind", ["fact", "table", "follow_up", "cross_lingual", "unanswerable"])
def test_every_kind_is_asked_in_both_languages(kind: str) -> None:
    assert {question["lang"] for question in QUESTIONS if question["type"] == kind} == {"zh", "en"}


def test_only_follow_ups_have_a_history() -> None:
    assert [q["id"] for q in QUESTIONS if ("history" in q) != (q["type"] == "follow_up")] == []


def test_what_nobody_can_answer_names_no_document() -> None:
    unanswerable = [question for question in QUESTIONS if question["type"] == "unanswerable"]
    assert all(question["answers"] == [] and question["document"] is None for question in unanswerable)


def test_every_document_is_asked_about() -> None:
    assert {question["document"] for question in ANSWERABLE} == {path.name for path in DOCUMENTS}
