"""PDF: lines put together from characters, in columns, with tables, headings by size, pages and boxes."""

import re
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pdfplumber
from pdfminer.pdfdocument import PDFPasswordIncorrect
from pdfminer.pdfexceptions import PDFException
from pdfminer.psexceptions import PSException
from pdfplumber.utils.exceptions import PdfminerException
from pdfplumber.utils.text import extract_words

from ...errors import Unreadable
from ..parsed import Block, Parsed, row_line
from .layout import Line, lines_of, regions_of

HEADING_SIZE = 1.12  # times the size of most of the text
HEADING_LENGTH = 120
MARGIN = 0.09  # of the page's height: where running heads and page numbers stand
REPEATED = 3
RAGGED = 0.75
CJK_END = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]$")
CJK_START = re.compile(r"^[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]")
UNMAPPED = re.compile(r"\(cid:\d+\)")

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    text: str
    box: Box


@dataclass(frozen=True, slots=True, kw_only=True)
class _Page:
    number: int
    height: float
    items: Sequence[Line | _Table]  # in reading order
    has_images: bool


def parse(path: Path) -> Parsed:
    try:
        # Opened here: where the library fails it does not close.
        with path.open("rb") as content, pdfplumber.open(content) as pdf:
            title = _title(pdf.metadata)
            pages = [_page(page, number) for number, page in enumerate(pdf.pages, start=1)]
    except PdfminerException as error:
        raise _unreadable(error.args[0] if error.args else error) from error
    except (PDFException, PSException, ValueError, KeyError, TypeError, IndexError) as error:
        raise _unreadable(error) from error
    if not any(page.items for page in pages):
        raise Unreadable(
            "no text found, only pictures: it needs OCR, which is not available here"
            if any(page.has_images for page in pages)
            else "no text found in this PDF",
            code="no_text",
        )
    return Parsed(title=title, blocks=[*_blocks(pages)])


def _unreadable(error: object) -> Unreadable:
    if isinstance(error, PDFPasswordIncorrect):
        return Unreadable("the PDF is encrypted; save it without a password", code="encrypted")
    return Unreadable(
        "the PDF is damaged: open it in a viewer and print it to a new PDF", code="damaged_document"
    )


def _title(metadata: Any) -> str | None:
    title = metadata.get("Title")
    # Writers that have no title often store the name of a temporary file.
    return (
        title
        if isinstance(title, str) and not re.search(r"\.\w{2,4}$|^\W*(untitled|anonymous)\W*$", title, re.I)
        else None
    )


def _page(page: Any, number: int) -> _Page:
    tables = [*_tables(page)]
    words: list[dict[str, Any]] = extract_words(
        [*_unique(page.chars)],
        x_tolerance_ratio=0.12,
        y_tolerance=2,
        keep_blank_chars=False,
        extra_attrs=["size", "fontname"],
    )
    free = [_cleaned(word) for word in words if not any(_inside(word, table.box) for table in tables)]
    lines = [line for region in regions_of([w for w in free if w["text"]]) for line in lines_of(region)]
    read = _Page(
        number=number,
        height=float(page.height),
        items=_placed(lines, tables),
        has_images=bool(page.images) or not words,
    )
    page.close()  # drops the page's cached objects: memory stays that of one page
    return read


def _unique(chars: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Without characters printed twice in one place, which some writers do to make them bold.

    The library's own way of doing this takes longer than all the rest of a page.
    """
    seen: set[tuple[str, int, int]] = set()
    for char in chars:
        x, y = round(char["x0"]), round(char["top"])
        if not any((char["text"], x + dx, y + dy) in seen for dx in (-1, 0, 1) for dy in (-1, 0, 1)):
            yield char
        seen.add((char["text"], x, y))


def _cleaned(word: dict[str, Any]) -> dict[str, Any]:
    return {**word, "text": UNMAPPED.sub("", word["text"])}


def _tables(page: Any) -> Iterator[_Table]:
    """Ruled tables of at least two rows and columns that are mostly filled."""
    if len(page.rects) + len(page.lines) + len(page.curves) > 3000:
        return  # a drawing: looking for cells between its strokes takes minutes and finds none
    for table in page.find_tables():
        rows = [[cell or "" for cell in row] for row in table.extract()]
        rows = [row for row in rows if any(cell.strip() for cell in row)]
        cells = [cell for row in rows for cell in row]
        if len(rows) >= 2 and len(rows[0]) >= 2 and sum(bool(c.strip()) for c in cells) >= 0.5 * len(cells):
            yield _Table(
                text="\n".join(row_line([_unwrapped(c) for c in row]) for row in rows), box=table.bbox
            )


def _unwrapped(cell: str) -> str:
    lines = [line.strip() for line in UNMAPPED.sub("", cell).split("\n")]
    text = ""
    for line in lines:
        text = _joined(text, line)
    return text


def _inside(word: dict[str, Any], box: Box) -> bool:
    x, y = (word["x0"] + word["x1"]) / 2, (word["top"] + word["bottom"]) / 2
    return box[0] <= x <= box[2] and box[1] <= y <= box[3]


def _placed(lines: Sequence[Line], tables: Iterable[_Table]) -> list[Line | _Table]:
    """Tables put before the first line that stands below them in their own column."""
    items: list[Line | _Table] = [*lines]
    for table in sorted(tables, key=lambda table: table.box[1]):
        below = (
            place
            for place, item in enumerate(items)
            if item.box[1] >= table.box[1] and item.box[0] < table.box[2] and item.box[2] > table.box[0]
        )
        items.insert(next(below, len(items)), table)
    return items


# --- lines of all pages to blocks -----------------------------------------------------------------


def _blocks(pages: Sequence[_Page]) -> Iterator[Block]:
    running = _running_lines(pages)
    lines = [item for page in pages for item in page.items if isinstance(item, Line)]
    body = _body_size(lines)
    levels = _levels(lines, body)
    for page in pages:
        paragraph: list[Line] = []
        for item in page.items:
            if isinstance(item, _Table):
                yield from _paragraph(paragraph, page, levels, body)
                box = [float(page.number), *map(_rounded, item.box)]
                yield Block(kind="table", text=item.text, page=page.number, boxes=[box])
            elif _running_key(item, page) not in running:
                if paragraph and not _goes_on(paragraph, item, body):
                    yield from _paragraph(paragraph, page, levels, body)
                paragraph.append(item)
        yield from _paragraph(paragraph, page, levels, body)


def _running_lines(pages: Sequence[_Page]) -> set[tuple[str, int] | None]:
    """Heads and feet that come back page after page at one height; numbers in them do not count."""
    found = Counter(
        key
        for page in pages
        for key in {_running_key(item, page) for item in page.items if isinstance(item, Line)}
        if key is not None
    )
    return {key for key, count in found.items() if count >= REPEATED and count >= 0.4 * len(pages)}


def _running_key(line: Line, page: _Page) -> tuple[str, int] | None:
    """Text and height of a line in the margins; None for all others."""
    if MARGIN * page.height < line.box[1] < (1 - MARGIN) * page.height:
        return None
    return re.sub(r"\d+", "#", line.text), round(line.box[1] / 4)


def _body_size(lines: Sequence[Line]) -> float:
    sizes = Counter[float]()
    for line in lines:
        sizes[round(line.size * 2) / 2] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 10.0


def _levels(lines: Sequence[Line], body: float) -> dict[float, int]:
    """Sizes of headings, the largest first, as levels from 1; a bold line of body size comes after them."""
    sizes = {round(line.size * 2) / 2 for line in lines if _is_large(line, body)}
    return {size: min(level, 6) for level, size in enumerate(sorted(sizes, reverse=True), start=1)}


def _is_large(line: Line, body: float) -> bool:
    return line.size >= HEADING_SIZE * body and len(line.text) <= HEADING_LENGTH


def _is_bold_heading(line: Line, body: float) -> bool:
    return line.bold and 0.95 * body <= line.size and len(line.text) <= 60


def _goes_on(paragraph: Sequence[Line], line: Line, body: float) -> bool:
    """The next line belongs to the paragraph: same look, close below, not indented or after a short line."""
    last = paragraph[-1]
    if abs(last.size - line.size) > 0.6 or last.bold != line.bold:
        return False
    height = max(last.box[3] - last.box[1], 1.0)
    gap = line.box[1] - last.box[3]
    if gap > 0.9 * height or gap < -2 * height or line.box[0] > last.box[2] or line.box[2] < last.box[0]:
        return False
    if _is_large(line, body) or _is_bold_heading(line, body):
        return gap <= 0.6 * height
    steps = [after.box[1] - before.box[1] for before, after in pairwise(paragraph)]
    if steps and line.box[1] - last.box[1] > 1.35 * statistics.median(steps):
        return False
    if re.match(r"(?:[•·▪●◦‣-]|\d{1,2}[.)、])\s*\S", line.text):
        return False
    width = max(other.box[2] for other in (*paragraph, line)) - min(
        other.box[0] for other in (*paragraph, line)
    )
    ended = (
        last.text.endswith((".", "。", "！", "？", "!", "?", ":", "："))
        and last.box[2] < line.box[2] - 0.1 * width
    )
    indented = line.box[0] - min(other.box[0] for other in paragraph) > 0.8 * line.size and len(paragraph) > 1
    return not ended and not indented


def _paragraph(lines: list[Line], page: _Page, levels: dict[float, int], body: float) -> Iterator[Block]:
    if not lines:
        return
    text = _flowing(lines)
    edges = [*zip(*(line.box for line in lines), strict=True)]
    box = [
        float(page.number),
        _rounded(min(edges[0])),
        _rounded(min(edges[1])),
        _rounded(max(edges[2])),
        _rounded(max(edges[3])),
    ]
    first = lines[0]
    if _is_large(first, body) and re.search(r"\w", text):
        text = " ".join(text.split("\n"))
        kind, level = "heading", levels.get(round(first.size * 2) / 2, 6)
    elif (
        _is_bold_heading(first, body)
        and len(lines) <= 2
        and re.search(r"\w{2}", text)
        and not text.endswith(":")
    ):
        kind, level = "heading", min(len(levels) + 1, 6)
    else:
        kind, level = "text", 0
    yield Block(kind=kind, text=text, level=level, page=page.number, boxes=[box])
    lines.clear()


def _flowing(lines: Sequence[Line]) -> str:
    """Lines as one text; one that stops far before the right edge, or has gaps like a row, ends there."""
    left, right = min(line.box[0] for line in lines), max(line.box[2] for line in lines)
    text = ""
    for before, line in zip([None, *lines], lines, strict=False):
        ends = before is not None and (before.box[2] < left + RAGGED * (right - left) or "  " in before.text)
        text = f"{text}\n{line.text}" if ends else _joined(text, line.text)
    return text


def _joined(text: str, line: str) -> str:
    """Two lines of a paragraph as one: no space between Chinese characters, no hyphen of a divided word."""
    if not text or not line or (CJK_END.search(text) and CJK_START.match(line)):
        return text + line
    if re.search(r"[A-Za-z]{2}[-\u00ad\u2010]$", text) and re.match(r"[a-z]{2}", line):
        return text[:-1] + line
    return f"{text} {line}"


def _rounded(value: float) -> float:
    return round(float(value), 1)
