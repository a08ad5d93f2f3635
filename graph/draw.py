"""Pictures of the graph, offline: mermaid text and an SVG, with the path and the times of one run."""

from collections.abc import Mapping, Sequence
from html import escape

from .build import build

START, END = "start", "finish"

# Pixels. Edges that skip stages run beside the column, further out the more they skip.
WIDTH, HEIGHT, GAP, MARGIN = 190, 34, 26, 24
LANE = 22
BRANCH = 250

# Every rule begins with the class of the drawing: a notebook takes the rules of all its drawings together.
STYLE = """
.hr-graph .stage { fill: #fff; stroke: #b8c0c8; }
.hr-graph .stage.ran { fill: #e3f1ec; stroke: #1f7a5c; stroke-width: 1.6; }
.hr-graph .edge { fill: none; stroke: #b8c0c8; }
.hr-graph .edge.ran { stroke: #1f7a5c; stroke-width: 1.8; }
.hr-graph text { font: 13px system-ui, sans-serif; fill: #20262c; }
.hr-graph .ms { fill: #1f7a5c; font-size: 11px; }
""".strip()

Edge = tuple[str, str]


def edges() -> list[Edge]:
    """Who may follow whom, from `start` to `finish`, in the order of the stages."""
    names = {"__start__": START, "__end__": END}
    drawn = build().compile().get_graph().edges
    pairs = {(names.get(e.source, e.source), names.get(e.target, e.target)) for e in drawn}
    place = {name: number for number, name in enumerate([START, *build().nodes, END])}
    return sorted(pairs, key=lambda edge: (place[edge[0]], place[edge[1]]))


def mermaid(timings: Mapping[str, float] | None = None) -> str:
    """Mermaid text; with the `timings` of a run (milliseconds by stage) its stages stand out."""
    lines = ["flowchart TD", *(f"  {source} --> {target}" for source, target in edges())]
    if timings:
        lines += [f'  {name}["{name}<br/>{shown_ms(time)}"]' for name, time in timings.items()]
        lines += ["  classDef ran stroke:#1f7a5c,fill:#e3f1ec", f"  class {','.join(timings)} ran"]
    return "\n".join(lines)


def picture(timings: Mapping[str, float] | None = None) -> str:
    """An SVG document; with the `timings` of a run its path stands out and each stage has its time."""
    times = dict(timings or {})
    links = edges()
    layers = _layers(links)
    ran = set(_path(links, times)) if times else set[Edge]()
    depth = max(layers.values())
    spots = {name: (_column(name) * BRANCH, layer * (HEIGHT + GAP)) for name, layer in layers.items()}
    left = LANE * (depth + 1) // 2
    width, height = left + WIDTH + BRANCH + 2 * MARGIN, (depth + 1) * (HEIGHT + GAP) + 2 * MARGIN
    drawn = [
        *(_edge(edge, spots, layers, ran=edge in ran) for edge in links),
        *(_stage(name, spot, times.get(name), ends=bool(times)) for name, spot in spots.items()),
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="hr-graph" width="{width}" height="{height}">',
            f"<style>{STYLE}</style>",
            f'<g transform="translate({left + MARGIN} {MARGIN})">',
            *drawn,
            "</g>",
            "</svg>",
        ]
    )


def _layers(links: Sequence[Edge]) -> dict[str, int]:
    """The longest way from `start` to each stage: no edge points upwards."""
    layers = {name: 0 for edge in links for name in edge}
    for _ in layers:
        for source, target in links:
            layers[target] = max(layers[target], layers[source] + 1)
    return layers


def _path(links: Sequence[Edge], times: Mapping[str, float]) -> list[Edge]:
    """Edges of a run: from each stage that ran to the next one that did."""
    ran = {START, END, *times}
    order = _layers(links)
    taken: list[Edge] = []
    for name in ran - {END}:
        following = [target for source, target in links if source == name and target in ran]
        taken += [(name, min(following, key=lambda target: order[target]))] if following else []
    return taken


def _column(name: str) -> int:
    return 1 if name == "fallback" else 0


def _edge(edge: Edge, spots: Mapping[str, tuple[int, int]], layers: Mapping[str, int], *, ran: bool) -> str:
    (x1, y1), (x2, y2) = spots[edge[0]], spots[edge[1]]
    skipped = layers[edge[1]] - layers[edge[0]] - 1
    top, bottom, middle = y1 + HEIGHT // 2, y2 + HEIGHT // 2, WIDTH // 2
    if x1 < x2:
        bend = f"{x2 + middle} {top}"
        line = f"M {x1 + WIDTH} {top} C {bend}, {bend}, {x2 + middle} {y2}"
    elif x1 > x2:
        bend = f"{x1 + middle} {bottom}"
        line = f"M {x1 + middle} {y1 + HEIGHT} C {bend}, {bend}, {x2 + WIDTH} {bottom}"
    elif skipped:
        out = -LANE * (skipped + 1) // 2
        line = f"M {x1} {top} C {x1 + out} {top}, {x2 + out} {bottom}, {x2} {bottom}"
    else:
        line = f"M {x1 + middle} {y1 + HEIGHT} L {x2 + middle} {y2}"
    return f'<path class="edge{" ran" if ran else ""}" d="{line}"/>'


def _stage(name: str, spot: tuple[int, int], time: float | None, *, ends: bool) -> str:
    x, y = spot
    ran = time is not None or (ends and name in (START, END))
    right = f'x="{x + WIDTH - 8}" y="{y + 22}" text-anchor="end"'
    shown = "" if time is None else f'<text class="ms" {right}>{shown_ms(time)}</text>'
    return (
        f'<rect class="stage{" ran" if ran else ""}" x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}"/>'
        f'<text x="{x + 10}" y="{y + 22}">{escape(name)}</text>{shown}'
    )


def shown_ms(time: float) -> str:
    """A time in milliseconds, as pictures show it."""
    if time >= 9_995:  # more digits would not fit beside the name of a stage
        return f"{time / 1000:,.1f} s"
    return f"{time:,.0f} ms" if time >= 10 else f"{time:.1f} ms"
