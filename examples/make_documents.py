"""Write the sample documents that are not plain UTF-8 text, from their readable sources.

Run after a change in `sources/`: `pip install reportlab`, then `python examples/make_documents.py`.
The same sources give the same bytes with the same versions of the libraries.
"""

import io
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from xml.sax.saxutils import escape

import docx
import openpyxl
import pptx
from pptx.shapes.placeholder import SlidePlaceholder
from pptx.util import Inches, Pt
from reportlab import rl_config  # pyright: ignore[reportMissingModuleSource]  # not needed by the product
from reportlab.lib import colors  # pyright: ignore[reportMissingModuleSource]
from reportlab.lib.pagesizes import A4  # pyright: ignore[reportMissingModuleSource]
from reportlab.lib.styles import ParagraphStyle  # pyright: ignore[reportMissingModuleSource]
from reportlab.pdfbase import pdfmetrics  # pyright: ignore[reportMissingModuleSource]
from reportlab.pdfbase.cidfonts import UnicodeCIDFont  # pyright: ignore[reportMissingModuleSource]
from reportlab.pdfgen.canvas import Canvas  # pyright: ignore[reportMissingModuleSource]
from reportlab.platypus import (  # pyright: ignore[reportMissingModuleSource]
    Flowable,
    PageBreak,
    Paragraph,
    SimpleDocTemplate,
    Spacer,
    Table,
)

HERE = Path(__file__).resolve().parent
CJK_FONT = "STSong-Light"  # not embedded: PDF readers put a Chinese font of theirs in its place
ZIP_DATE = (2025, 1, 6, 9, 0, 0)


@dataclass(slots=True)
class Page:
    """What stands between two `---` lines: blocks in order, and the speaker's notes."""

    blocks: list[str | list[list[str]]] = field(default_factory=list[str | list[list[str]]])
    notes: list[str] = field(default_factory=list[str])


def read_pages(source: str) -> list[Page]:
    """The few marks the sources use: `#` headings, `- ` items, `|` tables, `> ` notes, `---` page breaks."""
    pages = [Page()]
    for line in source.splitlines():
        blocks = pages[-1].blocks
        if line == "---":
            pages.append(Page())
        elif line.startswith("> "):
            pages[-1].notes.append(line[2:])
        elif line.startswith("| ---"):
            continue
        elif line.startswith("| "):
            row = [cell.strip() for cell in line.strip("|").split("|")]
            if blocks and isinstance(blocks[-1], list):
                blocks[-1].append(row)
            else:
                blocks.append([row])
        elif line:
            blocks.append(line)
    return pages


def marked(line: str) -> tuple[str, str]:
    """Split a line into its mark (`#`, `##`, `###`, `-` or nothing) and its text."""
    found = re.fullmatch(r"(#{1,3}|-) (.+)", line)
    return (found[1], found[2]) if found else ("", line)


def word(source: str) -> bytes:
    document = docx.Document()
    for block in (block for page in read_pages(source) for block in page.blocks):
        if isinstance(block, list):
            table = document.add_table(len(block), len(block[0]), style="Table Grid")
            for cells, row in zip(table.rows, block, strict=True):
                for cell, text in zip(cells.cells, row, strict=True):
                    cell.text = text
            continue
        mark, text = marked(block)
        if mark.startswith("#"):
            document.add_heading(text, level=len(mark))
        else:
            document.add_paragraph(text, style="List Bullet" if mark else None)
    return _saved(document.save)


def excel(source: str) -> bytes:
    """One sheet for each page; the heading names it."""
    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for page in read_pages(source):
        title, table = page.blocks
        assert isinstance(title, str)
        assert isinstance(table, list)
        sheet = book.create_sheet(marked(title)[1])
        for row in table:
            sheet.append([int(cell) if cell.isdecimal() else cell for cell in row])
        sheet.freeze_panes = "A2"
    return _saved(book.save)


def slides(source: str) -> bytes:
    deck = pptx.Presentation()
    for number, page in enumerate(read_pages(source)):
        lines = [block for block in page.blocks if isinstance(block, str)]
        tables = [block for block in page.blocks if isinstance(block, list)]
        layout = 0 if number == 0 else 5 if tables else 1  # title slide; title only; title and content
        slide = deck.slides.add_slide(deck.slide_layouts[layout])
        boxes = [box for box in slide.placeholders if isinstance(box, SlidePlaceholder)]
        boxes[0].text_frame.text = marked(lines[0])[1]
        if len(lines) > 1:
            boxes[1].text_frame.text = "\n".join(marked(line)[1] for line in lines[1:])
        for table in tables:
            frame = slide.shapes.add_table(
                len(table), len(table[0]), Inches(0.5), Inches(1.8), Inches(9), Inches(3)
            )
            for y, row in enumerate(table):
                for x, text in enumerate(row):
                    frame.table.cell(y, x).text_frame.text = text
                    frame.table.cell(y, x).text_frame.paragraphs[0].font.size = Pt(16)
        notes = slide.notes_slide.notes_text_frame
        if page.notes and notes is not None:
            notes.text = "\n".join(page.notes)
    return _saved(deck.save)


def pdf(source: str) -> bytes:
    rl_config.invariant = 1  # no dates and no random id in the file
    pdfmetrics.registerFont(UnicodeCIDFont(CJK_FONT))
    pages = read_pages(source)
    title = marked(str(pages[0].blocks[0]))[1]
    story: list[Flowable] = []
    for page in pages:
        story += [_flowable(block) for block in page.blocks]
        story.append(PageBreak())

    def running_lines(canvas: Canvas, _: SimpleDocTemplate) -> None:
        canvas.setFont("Helvetica", 8)
        canvas.drawString(60, A4[1] - 36, title)
        canvas.drawCentredString(A4[0] / 2, 30, f"{canvas.getPageNumber()} / {len(pages)}")

    out = io.BytesIO()
    SimpleDocTemplate(out, pagesize=A4, title=title, author="Lanshi Hydro Machinery Co., Ltd.").build(
        story, onFirstPage=running_lines, onLaterPages=running_lines
    )
    return out.getvalue()


def _flowable(block: str | list[list[str]]) -> Flowable:
    if isinstance(block, list):
        cells = [[_paragraph(cell, size=9.5) for cell in row] for row in block]
        grid = [("GRID", (0, 0), (-1, -1), 0.5, colors.grey), ("VALIGN", (0, 0), (-1, -1), "TOP")]
        return Table(cells, style=grid, spaceBefore=4, spaceAfter=10)
    mark, text = marked(block)
    if not text:
        return Spacer(1, 6)
    return _paragraph(text, size={"#": 17, "##": 13}.get(mark, 10.5))


def _paragraph(text: str, *, size: float) -> Paragraph:
    chinese = re.search(r"[\u4e00-\u9fff]", text) is not None
    style = ParagraphStyle(
        "block",
        fontName=CJK_FONT if chinese else "Helvetica" if size < 12 else "Helvetica-Bold",
        fontSize=size,
        leading=size * 1.5,
        spaceAfter=0 if size < 10 else 6,
        wordWrap="CJK" if chinese else None,
    )
    return Paragraph(escape(text), style)


def _saved(save: Callable[[io.BytesIO], object]) -> bytes:
    """The Office file that `save` writes, without the time of day in it."""
    written, out = io.BytesIO(), io.BytesIO()
    save(written)
    with zipfile.ZipFile(written) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "docProps/core.xml":
                stamp = datetime(*ZIP_DATE).isoformat() + "Z"
                content = re.sub(rb"\d{4}-\d\d-\d\dT[\d:.]+Z", stamp.encode(), content)
            info = zipfile.ZipInfo(name, ZIP_DATE)
            info.compress_type = zipfile.ZIP_DEFLATED
            new.writestr(info, content)
    return out.getvalue()


def windows_text(encoding: str) -> Callable[[str], bytes]:
    """Text as older Windows programs save it: a national encoding and CR LF."""
    return lambda source: source.replace("\n", "\r\n").encode(encoding)


DOCUMENTS: dict[str, tuple[str, Callable[[str], bytes]]] = {
    "LS-200-manual.pdf": ("LS-200-manual.md", pdf),
    "product-roadmap-2025.pptx": ("product-roadmap-2025.md", slides),
    "warranty-terms.docx": ("warranty-terms.md", word),
    "采购管理办法.docx": ("采购管理办法.md", word),
    "年度经营数据.xlsx": ("年度经营数据.md", excel),
    "安全操作规程.txt": ("安全操作规程.txt", windows_text("gbk")),
    "維修服務據點.txt": ("維修服務據點.txt", windows_text("big5")),
}


def main() -> None:
    for name, (source, write) in DOCUMENTS.items():
        text = (HERE / "sources" / source).read_text(encoding="utf-8")
        (HERE / "documents" / name).write_bytes(write(text))


if __name__ == "__main__":
    main()
