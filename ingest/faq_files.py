"""FAQ entries as files: what reading one gives, and how entries are written."""

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from ..context import FaqEntry
from ..errors import BadRequest
from .faq_columns import LISTS, WRITTEN, Column, guarded, joined
from .faq_drafts import FaqDraft

FaqFormat = Literal["csv", "xlsx", "json"]
FORMATS: tuple[FaqFormat, ...] = get_args(FaqFormat)
MEDIA_TYPES: Mapping[FaqFormat, str] = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "json": "application/json",
}

MOST_ROWS = 10_000
QUESTION_SHOWN = 200  # characters, of a rejected row
CELL_LENGTH = 32_767  # UTF-16 units that Excel keeps of a cell
# Wide enough to read, narrow enough for a screen: characters of Excel's standard font.
WIDTHS: Mapping[str, int] = {"question": 40, "answers": 60, "similar_questions": 40}

# What XML cannot hold, and what the format writes in its place: an escape, and the escape of an escape.
_NOT_XML = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")
_XML_ESCAPE = re.compile("_x([0-9A-Fa-f]{4})_")


@dataclass(frozen=True, slots=True, kw_only=True)
class FaqRow:
    """One row that can be understood. `given` are fields of `FaqDraft`; `question` is always among them."""

    row: int
    given: Mapping[str, Any]

    @property
    def question(self) -> str:
        return self.given["question"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedRow:
    """One that cannot, or that the knowledge base refused; `question` is cut to what a list shows."""

    row: int
    question: str
    reason: str
    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FaqFile:
    """What a file says. Rows are counted as a spreadsheet does, from 1, in JSON by entry or by line.

    `rejected_questions` are the questions of rejected rows in full: the file has them, right or wrong.
    """

    rows: Sequence[FaqRow]
    rejected: Sequence[RejectedRow] = ()
    rejected_questions: Sequence[str] = ()
    ignored_columns: Sequence[str] = field(default_factory=tuple[str, ...])


def rejected_row(row: int, question: str, fault: BadRequest) -> RejectedRow:
    line = " ".join(question.split())
    return RejectedRow(
        row=row,
        question=line if len(line) <= QUESTION_SHOWN else f"{line[: QUESTION_SHOWN - 1]}…",
        reason=fault.message,
        code=fault.code,
    )


def to_json(file: FaqFile) -> dict[str, Any]:
    return asdict(file)


def from_json(value: Mapping[str, Any]) -> FaqFile:
    return FaqFile(
        rows=[FaqRow(**row) for row in value["rows"]],
        rejected=[RejectedRow(**row) for row in value["rejected"]],
        rejected_questions=value["rejected_questions"],
        ignored_columns=value["ignored_columns"],
    )


def written(entries: Iterable[FaqEntry | FaqDraft], format: FaqFormat) -> bytes:
    """The whole file; reading it gives the same entries."""
    match format:
        case "csv":
            return _csv(entries)
        case "xlsx":
            return _xlsx([*entries])
        case "json":
            return _json(entries)


def xml_unescaped(text: str) -> str:
    """The text of a cell of a workbook. Half of a character is none: what has no UTF-8 could not be told."""
    text = _XML_ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _csv(entries: Iterable[FaqEntry | FaqDraft]) -> bytes:
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(WRITTEN)
    writer.writerows([guarded(_cell(entry, column)) for column in WRITTEN] for entry in entries)
    # The mark is what tells Excel that this is UTF-8.
    return file.getvalue().encode("utf-8-sig")


def _json(entries: Iterable[FaqEntry | FaqDraft]) -> bytes:
    told = [{column: getattr(entry, column) for column in WRITTEN} for entry in entries]
    return json.dumps(told, ensure_ascii=False, indent=2, default=list).encode()


def _xlsx(entries: Sequence[FaqEntry | FaqDraft]) -> bytes:
    from openpyxl import Workbook  # takes a third of a second, which no other export needs
    from openpyxl.styles import Alignment, Font

    book = Workbook(write_only=True)
    sheet: Any = book.create_sheet("FAQ")
    sheet.freeze_panes = "A2"
    # A cell that would be too long for Excel goes on in another column of the same name.
    table = [[_fitting(entry, column) for column in WRITTEN] for entry in entries]
    widths = [max((len(row[place]) for row in table), default=1) for place in range(len(WRITTEN))]
    columns = [column for place, column in enumerate(WRITTEN) for _ in range(widths[place])]
    for place, column in enumerate(columns, start=1):
        sheet.column_dimensions[_letters(place)].width = WIDTHS.get(column, 20)
    sheet.append([_text_cell(sheet, column, font=Font(bold=True)) for column in columns])
    wrapped = Alignment(wrap_text=True, vertical="top")
    for row in table:
        cells = [cell for found, width in zip(row, widths, strict=True) for cell in _padded(found, width)]
        sheet.append([_text_cell(sheet, cell, alignment=wrapped) if cell else None for cell in cells])
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def _cell(entry: FaqEntry | FaqDraft, column: Column) -> str:
    value = getattr(entry, column)
    if column in LISTS:
        return joined(value, column)
    return str(value).lower() if isinstance(value, bool) else value


def _fitting(entry: FaqEntry | FaqDraft, column: Column) -> list[str]:
    """The cell of a column, or the cells where one would be too long."""
    if column not in LISTS:
        return [_xml_escaped(_cell(entry, column))]
    cells = [""]
    for value in getattr(entry, column):
        cell = _xml_escaped(joined([value], column))
        longer = f"{cells[-1]}{joined(['', ''], column)}{cell}"
        if not cells[-1]:
            cells[-1] = cell
        elif len(longer.encode("utf-16-le")) <= 2 * CELL_LENGTH:
            cells[-1] = longer
        else:
            cells.append(cell)
    return cells


def _padded(cells: Sequence[str], width: int) -> list[str]:
    return [*cells, *[""] * (width - len(cells))]


def _text_cell(sheet: Any, text: str, **style: Any) -> Any:
    """A cell that is text whatever it begins with, also after somebody has edited it in a spreadsheet."""
    from openpyxl.cell import WriteOnlyCell

    cell: Any = WriteOnlyCell(sheet)
    for name, value in style.items():
        setattr(cell, name, value)
    # Not through `value`, which makes a formula of "=…" and cuts long texts. Text of a cell needs no ' before
    # "=…"; where one stands there, it must be two, since reading takes one off, as of what was once CSV.
    cell._value = guarded(text) if text.startswith("'") else text
    cell.data_type = "s"
    cell.quotePrefix = True
    return cell


def _letters(place: int) -> str:
    from openpyxl.utils import get_column_letter

    return get_column_letter(place)


def _xml_escaped(text: str) -> str:
    return _NOT_XML.sub(lambda found: f"_x{ord(found[0]):04X}_", text)
