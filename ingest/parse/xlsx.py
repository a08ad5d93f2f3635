"""Excel: every sheet, cut into tables at its empty rows, values as a person sees them."""

import datetime
import re
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import openpyxl
from openpyxl.utils import range_boundaries
from openpyxl.utils.exceptions import InvalidFileException

from ...errors import Unreadable
from ..parsed import Block, Parsed, row_line
from .archives import opened_archive

# A workbook is loaded a second time to show formulas that nobody ever calculated; not worth it when large.
FORMULAS_UP_TO = 2 * 1024 * 1024

TALLEST_MERGE = 1_000
MOST_MERGED = 200_000  # cells of a workbook: two seconds and more than 100 MB are gone for so many
WHOLE_SHEET = (1, 1, 16_384, 1_048_576)
MERGED = re.compile(rb'<(?:\w+:)?mergeCell\b[^>]*?\bref\s*=\s*["\']([^"\']*)')

Row = list[str]


def parse(path: Path) -> Parsed:
    values = workbook(path, values=True)
    formulas = workbook(path, values=False) if path.stat().st_size <= FORMULAS_UP_TO else None
    blocks: list[Block] = []
    for page, sheet in enumerate(values.worksheets, start=1):
        rows = _rows(sheet, formulas[sheet.title] if formulas is not None else None)
        blocks.extend(_sheet(sheet.title, rows, page))
    return Parsed(title=values.properties.title, blocks=blocks)


def workbook(path: Path, *, values: bool) -> Any:
    """Raises Unreadable: no workbook, what `opened_archive` refuses, and areas that are merged too far."""
    with opened_archive(path) as archive:
        _refuse_vast_merges(archive)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns of drawings and extensions that it leaves out
            with path.open("rb") as content:  # an original is kept without a suffix, which openpyxl wants
                return openpyxl.load_workbook(content, data_only=values)
    except (
        KeyError,
        ValueError,
        TypeError,
        InvalidFileException,
        SyntaxError,
    ) as error:
        raise Unreadable("the file is damaged: it is no workbook", code="damaged_document") from error


def _refuse_vast_merges(archive: ZipFile) -> None:
    """The library makes a cell for every place of a merged area before anybody can look at it."""
    sheets = [name for name in archive.namelist() if name.lower().startswith("xl/worksheets/")]
    areas = [area for name in sheets for area in MERGED.findall(archive.read(name))]
    if sum(map(_places, areas)) > MOST_MERGED:
        raise Unreadable(
            f"more than {MOST_MERGED:,} cells are merged: undo that where whole columns or sheets are",
            code="merged_too_far",
        )


def _places(area: bytes) -> int:
    try:
        bounds = range_boundaries(area.decode("ascii"))
    except ValueError:
        return 0  # damage, which is told when the workbook is loaded
    left, top, right, bottom = (bound or end for bound, end in zip(bounds, WHOLE_SHEET, strict=True))
    return (right - left + 1) * (bottom - top + 1)


def _rows(sheet: Any, formulas: Any) -> Iterator[Row]:
    """Rows that hold something, and one empty row for any number of empty ones between them.

    Taken from the cells there are: asked for rows, the library makes a cell for every place up to the
    last one, a million rows down in sheets that were formatted to the end.
    """
    filled: dict[int, dict[int, str]] = {}
    for (row, column), text in _texts(sheet, formulas):
        filled.setdefault(row, {})[column] = text
    width = max((max(cells) for cells in filled.values()), default=0)
    before = 0
    for row in sorted(filled):
        if row > before + 1:
            yield []
        yield [filled[row].get(column, "") for column in range(1, width + 1)]
        before = row


def _texts(sheet: Any, formulas: Any) -> Iterator[tuple[tuple[int, int], str]]:
    spread = merged(sheet)
    unseen: dict[Any, Any] = formulas._cells if formulas is not None else {}
    for place, cell in sheet._cells.items():
        value = spread.get(place, cell.value)
        if value is None and place in unseen:
            value = unseen[place].value
        if value is None and cell.comment is None:
            continue  # formatted to the end, a sheet has a million of these
        text = shown(value, cell.number_format)
        if cell.comment is not None:
            text = f"{text} ({' '.join(cell.comment.text.split())})"
        if text:
            yield place, text


def merged(sheet: Any) -> Mapping[tuple[int, int], Any]:
    """A value merged over several rows, for each of them: a row must be understood alone.

    Over several columns it stands once.
    """
    return {
        (row, area.min_col): sheet.cell(area.min_row, area.min_col).value
        for area in sheet.merged_cells.ranges
        for row in range(area.min_row, min(area.max_row, area.min_row + TALLEST_MERGE) + 1)
    }


def _sheet(name: str, rows: Iterator[Row], page: int) -> Iterator[Block]:
    yield Block(kind="heading", text=name, level=1, page=page)
    table: list[Row] = []
    for row in rows:
        if any(row):
            table.append(row)
        elif table:
            yield from _table(table, page)
            table = []
    yield from _table(table, page)


def _table(rows: list[Row], page: int) -> Iterator[Block]:
    """Leading rows with one filled cell are titles, what follows is a table without its empty columns."""
    while rows and sum(map(bool, rows[0])) == 1 and (len(rows) == 1 or len(rows[0]) > 1):
        yield Block(kind="text", text=next(filter(None, rows[0])), page=page)
        rows = rows[1:]
    if rows:
        used = [
            place
            for place in range(max(map(len, rows)))
            if any(row[place : place + 1] != [""] for row in rows)
        ]
        lines = [row_line([row[place] if place < len(row) else "" for place in used]) for row in rows]
        yield Block(kind="table", text="\n".join(lines), page=page)


def shown(value: Any, number_format: str) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "TRUE" if value else "FALSE"
        case datetime.datetime() if value.time() == datetime.time():
            return value.date().isoformat()
        case datetime.datetime():
            return value.isoformat(sep=" ", timespec="seconds")
        case int() | float() if "%" in number_format:
            return f"{round(value * 100, 4):g}%"
        case float():
            return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.12g}"
        case _:
            return " ".join(str(value).split())
