"""FAQ files read: CSV, XLSX and JSON to rows and rejected rows. Runs in the worker process."""

import codecs
import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, cast

from pydantic_core import from_json

from ..errors import BadRequest, Unreadable
from ..text.labels import is_visible
from ..text.similarity import signature
from .decode import decode
from .faq_columns import Column, column_of, given_by, given_in, unguarded
from .faq_files import MOST_ROWS, FaqFile, FaqFormat, FaqRow, RejectedRow, rejected_row, xml_unescaped
from .parse.csv import SEPARATORS, cells_up_to

HEADER_WITHIN = 20  # rows; above it people write titles and explanations
NAMED = 12  # columns, where it is told which were not understood
NAME_LENGTH = 40  # characters
LIST_KEY = "entries"

# The number of a row, and its texts by column.
Cells = tuple[int, Mapping[int, str]]
Given = tuple[int, dict[str, Any] | BadRequest, str]


def read(path: Path, format: FaqFormat) -> FaqFile:
    """The entries of a file, at most one row more than `MOST_ROWS` of them.

    Raises Unreadable: damaged, an archive bomb, no text, not JSON, and `faq_no_question_column`.
    """
    match format:
        case "csv":
            return _of_tables([_csv(path)])
        case "xlsx":
            return _of_tables(_sheets(path))
        case "json":
            return _collected((number, *_given_by(entry)) for number, entry in _objects(path))


def _csv(path: Path) -> Iterator[Cells]:
    text, _ = decode(path.read_bytes())
    # A quote that is never closed makes one cell of all that follows it.
    with cells_up_to(len(text) + 1):
        yield from _records(text, _separator(text))


def _records(text: str, separator: str) -> Iterator[Cells]:
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    return ((number, dict(enumerate(row))) for number, row in enumerate(rows, start=1))


def _separator(text: str) -> str:
    """The one that parts the header into the most columns that are known."""

    def known(separator: str) -> int:
        rows = islice(_records(text, separator), HEADER_WITHIN)
        return max((len(_columns(cells)) for _, cells in rows), default=0)

    return max(SEPARATORS, key=known)


def _sheets(path: Path) -> Iterator[Iterator[Cells]]:
    from .parse.xlsx import FORMULAS_UP_TO, workbook  # half a second, which text files need not wait for

    values = workbook(path, values=True)
    formulas = workbook(path, values=False) if path.stat().st_size <= FORMULAS_UP_TO else None
    for sheet in values.worksheets:
        yield _rows(sheet, formulas[sheet.title] if formulas is not None else None)


def _rows(sheet: Any, formulas: Any) -> Iterator[Cells]:
    """Rows with the cells that hold something. A formula is what it came to, or itself where nobody knows."""
    from .parse.xlsx import merged, shown

    rows: dict[int, dict[int, str]] = {}
    spread, unseen = merged(sheet), cast("dict[Any, Any]", formulas._cells if formulas is not None else {})
    for place, cell in sheet._cells.items():
        value = spread.get(place, cell.value)
        if value is None and place in unseen:
            value = unseen[place].value
            value = getattr(value, "text", value)  # of a formula over several cells
        if value is not None:
            text = xml_unescaped(value) if isinstance(value, str) else shown(value, cell.number_format)
            rows.setdefault(place[0], {})[place[1]] = text.replace("\r\n", "\n").replace("\r", "\n")
    for row in sorted(rows):
        yield row, dict(sorted(rows[row].items()))


def _of_tables(tables: Iterable[Iterator[Cells]]) -> FaqFile:
    """The first table that has a column of questions; the rest of a workbook is of no interest."""
    first: Mapping[int, str] = {}
    for table in tables:
        for _, header in islice(table, HEADER_WITHIN):
            columns = _columns(header)
            if "question" in columns.values():
                file = _collected((row, *_given_in(cells, columns)) for row, cells in table if _filled(cells))
                ignored = [name for place, name in _filled(header).items() if place not in columns]
                return replace(file, ignored_columns=_told(ignored))
            first = first or _filled(header)
    raise _no_questions([*first.values()])


def _filled(cells: Mapping[int, str]) -> dict[int, str]:
    return {place: text.strip() for place, text in cells.items() if text.strip()}


def _columns(cells: Mapping[int, str]) -> dict[int, Column]:
    return {place: column for place, text in cells.items() if (column := column_of(text))}


def _told(names: Sequence[str]) -> list[str]:
    """The first of them, each on one line and no longer than a name is; then how many more there are."""
    shown = [" ".join(name.split())[:NAME_LENGTH] for name in names[:NAMED]]
    return [*shown, f"… {len(names) - NAMED} more"] if len(names) > NAMED else shown


def _no_questions(names: Sequence[str]) -> Unreadable:
    there = f"the columns are {', '.join(map(repr, _told(names)))}" if names else "it is empty"
    return Unreadable(f"no column is called question or 问题: {there}", code="faq_no_question_column")


def _given_in(
    texts: Mapping[int, str], columns: Mapping[int, Column]
) -> tuple[dict[str, Any] | BadRequest, str]:
    cells: list[tuple[Column, str]] = [
        (column, unguarded(texts.get(place, ""))) for place, column in columns.items()
    ]
    question = next((text for column, text in cells if column == "question" and text.strip()), "")
    try:
        return given_in(cells), question
    except BadRequest as refused:
        return refused, question


def _given_by(entry: Any) -> tuple[dict[str, Any] | BadRequest, str]:
    if not isinstance(entry, dict):
        return BadRequest("It is no JSON object.", code="faq_bad_value"), ""
    fields = cast("dict[str, Any]", entry)
    question = next((text for name, text in fields.items() if column_of(name) == "question"), "")
    question = question if isinstance(question, str) else ""
    try:
        return given_by(fields), question
    except BadRequest as refused:
        return refused, question


def _collected(rows: Iterable[Given]) -> FaqFile:
    """Each question once: what repeats one is rejected, as what cannot be understood is."""
    good: list[FaqRow] = []
    rejected: list[RejectedRow] = []
    questions: list[str] = []
    seen: dict[str, int] = {}
    for number, given, question in islice(rows, MOST_ROWS + 1):
        fault = given if isinstance(given, BadRequest) else _fault(question, seen)
        if isinstance(given, BadRequest) or fault:
            assert fault is not None
            rejected.append(rejected_row(number, question, fault))
            questions += [question] if question else []
        else:
            seen[signature(question)] = number
            good.append(FaqRow(row=number, given=given))
    return FaqFile(rows=good, rejected=rejected, rejected_questions=questions)


def _fault(question: str, seen: Mapping[str, int]) -> BadRequest | None:
    if not is_visible(question):
        return BadRequest("There is no question in this row.", code="faq_question_empty")
    if before := seen.get(signature(question)):
        return BadRequest(f"Row {before} asks the same question.", code="faq_duplicate_row")
    return None


def _objects(path: Path) -> Iterator[tuple[int, Any]]:
    """The entries of a list, of `{"entries": […]}`, or one on each line."""
    text = _text(path)
    try:
        whole: Any = _parsed(text)
    except ValueError as error:
        lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
        try:
            yield from [(number, _parsed(line)) for number, line in lines[: MOST_ROWS + 1]]
            return
        except ValueError:
            raise Unreadable(f"it is not JSON: {error}", code="faq_not_json") from error
    if isinstance(whole, dict):
        fields = cast("dict[str, Any]", whole)
        is_entry = any(column_of(name) == "question" for name in fields)
        whole = [whole] if is_entry else fields.get(LIST_KEY)
    if not isinstance(whole, list):
        raise Unreadable(
            f'it holds no list of entries: send [{{"question": …}}, …] or {{"{LIST_KEY}": […]}}',
            code="faq_not_json",
        )
    yield from enumerate(cast("list[Any]", whole), start=1)


def _text(path: Path) -> str:
    data = path.read_bytes().removeprefix(codecs.BOM_UTF8)
    try:
        return data.decode("utf-8")  # as JSON should be; guessing is for what is not
    except UnicodeDecodeError:
        return decode(data)[0]


def _parsed(text: str) -> Any:
    return from_json(text, allow_inf_nan=False)
