"""What the Office formats share: the text of charts and diagrams."""

from collections.abc import Iterator

from ..parsed import row_line
from .markup import Element

CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"


def chart_text(chart: Element) -> tuple[str, str]:
    """The title of a chart with its axes, and its numbers as a table: a row per category."""
    headings = [_paragraphs(title) for title in chart.iter(f"{CHART}title")]
    columns = [_series(series) for series in chart.iter(f"{CHART}ser")]
    categories = max((categories for _, categories, _ in columns), key=len, default=list[str]())
    names = [name or f"{place}" for place, (name, _, _) in enumerate(columns, start=1)]
    rows = [["", *names]] if columns else []
    for place in range(max([len(categories), *(len(values) for _, _, values in columns)])):
        rows.append([_at(categories, place), *(_at(values, place) for _, _, values in columns)])
    return " ".join(filter(None, headings)), "\n".join(map(row_line, rows))


def diagram_text(diagram: Element) -> str:
    """The texts of a SmartArt diagram, one line each."""
    lines = [_paragraphs(body) for body in diagram.iter("{*}t") if body.tag != f"{DRAWING}t"]
    return "\n".join(line for line in lines if line)


def _paragraphs(element: Element) -> str:
    return " ".join("".join(text.text or "" for text in element.iter(f"{DRAWING}t")).split())


def _series(series: Element) -> tuple[str, list[str], list[str]]:
    name = " ".join(_points(series.find(f"{CHART}tx")))
    categories = _points(_first(series, "cat", "xVal"))
    return name, categories, _points(_first(series, "val", "yVal"))


def _first(element: Element, *names: str) -> Element | None:
    return next((found for name in names if (found := element.find(f"{CHART}{name}")) is not None), None)


def _points(element: Element | None) -> list[str]:
    if element is None:
        return []
    # Categories on several levels come level by level, the innermost first; it names the points.
    level = next(element.iter(f"{CHART}lvl"), element)
    return [*_values(level)]


def _values(element: Element) -> Iterator[str]:
    for value in element.iter(f"{CHART}v"):
        yield " ".join((value.text or "").split())


def _at(values: list[str], place: int) -> str:
    return values[place] if place < len(values) else ""
