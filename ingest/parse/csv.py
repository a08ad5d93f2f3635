"""CSV and TSV: one table, whatever separates its cells."""

import csv
import io
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..decode import decode
from ..parsed import Block, Parsed, row_line

SEPARATORS = ",\t;|"
SAMPLE_ROWS = 20


def parse(path: Path) -> Parsed:
    text, _ = decode(path.read_bytes())
    # A quote that is never closed makes one cell of all that follows it.
    with cells_up_to(len(text) + 1):
        rows = [row for row in _rows(text, _separator(text)) if any(cell.strip() for cell in row)]
    return Parsed(blocks=[Block(kind="table", text="\n".join(map(row_line, rows)))])


@contextmanager
def cells_up_to(characters: int) -> Generator[None]:
    # The limit belongs to the whole process: whoever else reads CSV there must find it as it was.
    before = csv.field_size_limit(characters)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _rows(text: str, separator: str) -> list[list[str]]:
    return [*csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=False)]


def _separator(text: str) -> str:
    """The one that cuts the first rows into the same number of cells, the more the better."""
    sample = "\n".join(text.split("\n", SAMPLE_ROWS)[:SAMPLE_ROWS])
    return max(SEPARATORS, key=lambda separator: _regularity(_rows(sample, separator)))


def _regularity(rows: Sequence[Sequence[str]]) -> tuple[float, int]:
    widths = [len(row) for row in rows if row]
    if not widths or max(widths) == 1:
        return 0.0, 0
    usual = max(set(widths), key=widths.count)
    return (widths.count(usual) / len(widths) if usual > 1 else 0.0), usual
