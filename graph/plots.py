"""Drawings of what runs did, as SVG: the time of each stage, and the way of one passage through them."""

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import NamedTuple

from .draw import shown_ms

# Pixels.
LABELS, CHART, MARGIN = 170, 560, 16
BAR, BETWEEN, ROW_GAP, AXIS, LEGEND = 13, 2, 8, 26, 20
COLUMN, PLACE_HEIGHT, HEAD = 118, 150, 64
# Room for the time that is written behind the longest bar, as a part of the axis.
BEHIND = 0.14
LEAST_BAR = 1.5
MOST_TICKS = 6

COLOURS = ("#1f7a5c", "#b3571e", "#3567b0", "#8b3f8f", "#7a6a1f", "#4a5560")
# On paper of their own: a notebook may be light or dark, and an SVG in it cannot tell which. Every rule
# begins with the class of the drawing, since a notebook takes the rules of all its drawings together.
STYLE = """
.hr-plot .paper { fill: #fff; stroke: #d5dbe0; }
.hr-plot text { font: 12px system-ui, sans-serif; fill: #20262c; }
.hr-plot .small { font-size: 11px; fill: #55606a; }
.hr-plot .line { stroke: #e4e8eb; }
.hr-plot .there { fill: #eef2f4; }
.hr-plot .way { fill: none; stroke: #1f7a5c; stroke-width: 2; }
.hr-plot .lost { stroke: #b3571e; stroke-dasharray: 3 4; }
.hr-plot .at { fill: #1f7a5c; }
.hr-plot .gone { stroke: #b3571e; stroke-width: 2.5; }
.hr-plot .why { fill: #b3571e; font-size: 11px; }
""".strip()


class Span(NamedTuple):
    """One stage on the time axis of its run, in milliseconds from the run's beginning."""

    stage: str
    start_ms: float
    duration_ms: float


class Stop(NamedTuple):
    """Where a passage stood after a stage: its place, from 1, among so many; None for what is not known."""

    stage: str
    place: int | None
    of: int | None


def timing_plot(runs: Mapping[str, Sequence[Span]]) -> str:
    """Bars on a time axis: a row for each stage, in it a bar for each run, named in the legend."""
    stages = list(dict.fromkeys(span.stage for spans in runs.values() for span in spans))
    end = max((span.start_ms + span.duration_ms for spans in runs.values() for span in spans), default=0)
    scale = CHART / ((1 + BEHIND) * end or 1)
    row = len(runs) * (BAR + BETWEEN) + ROW_GAP
    bottom = MARGIN + AXIS + len(stages) * row
    height = bottom + MARGIN + LEGEND * len(runs)
    drawn = [*_axis(end, scale, bottom)]
    for number, stage in enumerate(stages):
        top = MARGIN + AXIS + number * row
        drawn.append(_text(LABELS - 10, top + (row - ROW_GAP) / 2 + 4, stage, anchor="end"))
        for place, spans in enumerate(runs.values()):
            y = top + place * (BAR + BETWEEN)
            drawn += [_bar(span, y, scale, _colour(place)) for span in spans if span.stage == stage]
    for place, name in enumerate(runs):
        y = bottom + LEGEND * place + 16
        drawn.append(f'<rect x="{LABELS}" y="{y - 9}" width="10" height="10" fill="{_colour(place)}"/>')
        drawn.append(_text(LABELS + 16, y, name))
    return _document(LABELS + CHART + MARGIN, height, "stage timings", drawn)


def passage_plot(stops: Sequence[Stop], *, left: str | None = None) -> str:
    """The places of one passage, the first at the top; `left` is why it did not leave the last stop."""
    deepest = max((stop.of or stop.place or 1 for stop in stops), default=1)
    drawn: list[str] = []
    way: list[tuple[float, float]] = []
    for number, stop in enumerate(stops):
        x = MARGIN + COLUMN * number + COLUMN / 2
        drawn.append(_text(x, MARGIN + 12, stop.stage, anchor="middle"))
        if stop.of:
            tall = _depth(stop.of, deepest) - HEAD + 10
            drawn.append(
                f'<rect class="there" x="{x - 16:.1f}" y="{HEAD - 10}" width="32" height="{tall + 10:.1f}" '
                f'rx="6"/>'
            )
        if stop.place is not None:
            way.append((x, _depth(stop.place, deepest)))
        drawn.append(_text(x, MARGIN + 28, _place(stop), anchor="middle", kind="small"))
    if len(way) > 1:
        drawn.append(f'<polyline class="way" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in way)}"/>')
    drawn += [f'<circle class="at" cx="{x:.1f}" cy="{y:.1f}" r="5"/>' for x, y in way]
    width = max(COLUMN * len(stops), COLUMN) + 2 * MARGIN
    if left is not None:
        x = MARGIN + COLUMN * (len(stops) - 1) + COLUMN / 2
        before = way[-1] if way else (x, HEAD + PLACE_HEIGHT / 2)
        drawn.append(f'<path class="way lost" d="M {before[0]:.1f} {before[1]:.1f} H {x:.1f}"/>')
        drawn += [
            _cross(x, before[1]),
            _text(width - MARGIN, HEAD + PLACE_HEIGHT + 32, left, anchor="end", kind="why"),
        ]
    return _document(width, HEAD + PLACE_HEIGHT + 48, "the way of a passage", drawn)


def _axis(end: float, scale: float, bottom: float) -> Iterable[str]:
    for tick in _ticks(end):
        x = LABELS + tick * scale
        yield f'<line class="line" x1="{x:.1f}" x2="{x:.1f}" y1="{MARGIN + 18}" y2="{bottom}"/>'
        yield _text(x, MARGIN + 10, _time(tick), anchor="middle", kind="small")


def _ticks(end: float) -> list[float]:
    """Round times from 0 to the end, at most MOST_TICKS and one."""
    if end <= 0:
        return [0]
    rough = end / MOST_TICKS
    unit = 10 ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough)
    return [step * number for number in range(int(end / step) + 1)]


def _time(tick: float) -> str:
    if tick >= 1000:
        return f"{tick / 1000:g} s"
    return f"{tick:g} ms" if tick else "0"


def _bar(span: Span, y: float, scale: float, colour: str) -> str:
    x, width = LABELS + span.start_ms * scale, max(LEAST_BAR, span.duration_ms * scale)
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{BAR}" fill="{colour}"/>'
        f"{_text(x + width + 5, y + BAR - 3, shown_ms(span.duration_ms), kind='small')}"
    )


def _place(stop: Stop) -> str:
    if stop.place is None:
        return "–"
    return f"{stop.place} of {stop.of}" if stop.of else f"{stop.place}"


def _depth(place: int, deepest: int) -> float:
    # The first places matter most: from 1 to 2 it is as far as from 10 to 20.
    return HEAD + 10 + math.log(place) / (math.log(deepest) or 1) * PLACE_HEIGHT


def _cross(x: float, y: float) -> str:
    near, far = (x - 9, y - 9, x + 9, y + 9), (x - 9, y + 9, x + 9, y - 9)
    return "".join(
        f'<line class="gone" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'
        for x1, y1, x2, y2 in (near, far)
    )


def _colour(place: int) -> str:
    return COLOURS[place % len(COLOURS)]


def _text(x: float, y: float, text: str, *, anchor: str = "start", kind: str = "") -> str:
    styled = f' class="{kind}"' if kind else ""
    return f'<text{styled} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _document(width: float, height: float, title: str, drawn: Iterable[str]) -> str:
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="hr-plot" role="img" width="{width:.0f}" '
            f'height="{height:.0f}">',
            f"<title>{escape(title)}</title><style>{STYLE}</style>",
            f'<rect class="paper" x=".5" y=".5" width="{width - 1:.0f}" height="{height - 1:.0f}" rx="8"/>',
            *drawn,
            "</svg>",
        ]
    )
