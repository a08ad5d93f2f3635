"""Words on a page to regions and lines in reading order. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

Word = Mapping[str, Any]  # as pdfplumber gives it: text, x0, x1, top, bottom, size, fontname
Box = tuple[float, float, float, float]

GUTTER = 9.0  # points: the least space between two columns
COLUMN_LINES = 4  # fewer lines side by side are a table or an address, read line by line
COLUMN_FILL = 0.65  # of a column's width, by the middle line: cells of a table leave more empty
LEAST_LETTERS = 12  # per line
LEAST_BAND_GAP = 0.35  # of the median height of a word
DEEPEST = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    text: str
    box: Box
    size: float
    bold: bool


def regions_of(words: Sequence[Word], depth: int = 0) -> Iterator[Sequence[Word]]:
    """Cut by white space into parts that are read one after the other: columns, and bands of the page."""
    if len(words) < 2 * COLUMN_LINES or depth > DEEPEST:
        if words:
            yield words
        return
    if (x := _gutter(words)) is not None:
        for side in ([w for w in words if w["x0"] < x], [w for w in words if w["x0"] >= x]):
            yield from regions_of(side, depth + 1)
        return
    bands = _bands(words)
    if len(bands) == 1:
        yield words
        return
    for band in _merged(bands):
        if len(band) == len(words):
            yield band
        else:
            yield from regions_of(band, depth + 1)


def lines_of(words: Sequence[Word]) -> Iterator[Line]:
    """Words of a region that stand at one height, from left to right."""
    row: list[Word] = []
    for word in sorted(words, key=lambda w: (w["top"] + w["bottom"]) / 2):
        if row and not _same_height(row, word):
            yield _line(row)
            row = []
        row.append(word)
    if row:
        yield _line(row)


def _same_height(row: Sequence[Word], word: Word) -> bool:
    middle = (word["top"] + word["bottom"]) / 2
    first = max(row, key=lambda w: w["bottom"] - w["top"])
    return first["top"] + 0.1 < middle < first["bottom"] - 0.1


def _line(row: Sequence[Word]) -> Line:
    row = sorted(row, key=lambda w: w["x0"])
    pieces = [row[0]["text"]]
    for before, word in pairwise(row):
        pieces.append(_space(before, word) + word["text"])
    longest = max(row, key=lambda w: len(w["text"]))
    return Line(
        text="".join(pieces),
        box=(
            min(w["x0"] for w in row),
            min(w["top"] for w in row),
            max(w["x1"] for w in row),
            max(w["bottom"] for w in row),
        ),
        size=float(longest["size"]),
        bold=sum(_is_bold(w) for w in row) * 2 > len(row),
    )


def _space(before: Word, word: Word) -> str:
    """Wide gaps stay visible, as columns of a list; Chinese characters set apart need no space."""
    gap = word["x0"] - before["x1"]
    if gap > 2.5 * float(word["size"]):
        return "  "
    wide = before["text"][-1] >= "\u2e80" and word["text"][0] >= "\u2e80"
    return "" if wide and gap < 0.6 * float(word["size"]) else " "


def _is_bold(word: Word) -> bool:
    name = str(word["fontname"]).lower()
    return any(mark in name for mark in ("bold", "black", "heavy", "-bd", "medi", "semibold"))


def _gutter(words: Sequence[Word]) -> float | None:
    """Where white space runs from top to bottom between two columns of running text."""
    left, right = min(w["x0"] for w in words), max(w["x1"] for w in words)
    edge = left
    for word in sorted(words, key=lambda w: w["x0"]):
        if word["x0"] - edge >= GUTTER and _are_columns(words, word["x0"], right - left):
            return float(word["x0"])
        edge = max(edge, word["x1"])
    return None


def _are_columns(words: Sequence[Word], x: float, width: float) -> bool:
    sides = [[w for w in words if w["x0"] < x], [w for w in words if w["x0"] >= x]]
    return all(_is_column(side, width) for side in sides)


def _is_column(words: Sequence[Word], width: float) -> bool:
    lines = [*lines_of(words)]
    own = max(line.box[2] for line in lines) - min(line.box[0] for line in lines)
    if len(lines) < COLUMN_LINES or own < 0.15 * width:
        return False
    fills = sorted((line.box[2] - line.box[0]) / own for line in lines)
    return fills[len(fills) // 2] >= COLUMN_FILL and _letters(lines) >= LEAST_LETTERS * len(lines)


def _letters(lines: Iterable[Line]) -> int:
    """Letters, a Chinese character counting for three: columns of numbers are tables."""
    return sum(3 if char >= "\u2e80" else 1 for line in lines for char in line.text if char.isalpha())


def _bands(words: Sequence[Word]) -> list[list[Word]]:
    """Cut across the page wherever no word stands."""
    ordered = sorted(words, key=lambda w: w["top"])
    heights = sorted(w["bottom"] - w["top"] for w in words)
    least = LEAST_BAND_GAP * heights[len(heights) // 2]
    bands = [[ordered[0]]]
    bottom = ordered[0]["bottom"]
    for word in ordered[1:]:
        if word["top"] - bottom > least:
            bands.append([])
        bands[-1].append(word)
        bottom = max(bottom, word["bottom"])
    return bands


def _merged(bands: Iterable[list[Word]]) -> Iterator[list[Word]]:
    """Bands put together again as far as one set of columns runs through them.

    Paragraph gaps cut across columns that happen to pause at the same height; without this,
    the left and the right column would take turns.
    """
    current: list[list[Word]] = []
    for band in bands:
        x = _gutter(band)
        # A band of two headings side by side is too short to show columns: it goes with what follows.
        kept = len(current)
        while kept and x is not None and not _runs_across(current[kept - 1], x):
            kept -= 1
        if current and x is not None and kept:
            yield _all_of(current[:kept])
            current = current[kept:]
        above = _gutter(_all_of(current)) if current else None
        if above is not None and _runs_across(band, above):
            yield _all_of(current)
            current = []
        current.append(band)
    if current:
        yield _all_of(current)


def _all_of(bands: Iterable[Sequence[Word]]) -> list[Word]:
    return [word for band in bands for word in band]


def _runs_across(band: Iterable[Word], x: float) -> bool:
    """A word, or the space within a line of running text, stands over the gutter that ends at x."""
    return any(w["x0"] < x - 1 < w["x1"] or w["x0"] < x - GUTTER / 2 < w["x1"] for w in band)
