"""The stages of a run as bars on one scale of time."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from rich.table import Table
from rich.text import Text

from ..graph.tracing.shapes import Stage
from .screen import duration, line, one_line, plain_table

BAR = 24  # columns


def timeline(stages: Sequence[Stage], *, ended_at: str | None = None) -> Table:
    """A row for each stage: when, how long, hits in and out, and why hits left it.

    A stage that did not finish lasted until its run ended, which may be long: `ended_at`.
    """
    table = plain_table()
    table.add_column("stage", no_wrap=True)
    table.add_column("time", justify="right", no_wrap=True)
    table.add_column("", width=BAR, no_wrap=True)
    table.add_column("hits", justify="right", no_wrap=True)
    table.add_column("left, and why")
    spans = {stage["stage"]: _span(stage, ended_at) for stage in stages if _placed(stage)}
    first = min((start for start, _ in spans.values()), default=0.0)
    last = max((end for _, end in spans.values()), default=0.0)
    for stage in stages:
        style = "dim" if stage["inherited"] else ""
        tries = f" ×{stage['attempts']}" if (stage["attempts"] or 1) > 1 else ""
        bar = (
            Text("before the fork")
            if stage["inherited"]
            else Text(_bar(spans.get(stage["stage"]), first, last), "cyan")
        )
        table.add_row(
            one_line(stage["stage"] + tries),
            duration(stage["duration_ms"]),
            bar,
            hits(stage),
            Text(line(_remark(stage))),
            style=style,
        )
    return table


def hits(stage: Stage) -> str:
    """How many went in → how many came out; nothing for a stage that handles none."""
    came, went = ("" if count is None else str(count) for count in (stage["hits_in"], stage["hits_out"]))
    return f"{came} → {went}" if came or went else ""


def _remark(stage: Stage) -> str:
    progress = "" if stage["progress"] == "done" else stage["progress"]
    return ", ".join(part for part in (progress, reasons(stage["departures"])) if part)


def reasons(departures: Mapping[str, int]) -> str:
    most_first = sorted(departures.items(), key=lambda one: (-one[1], one[0]))
    return ", ".join(f"{number} {reason}" for reason, number in most_first)


def _bar(span: tuple[float, float] | None, first: float, last: float) -> str:
    if span is None or last <= first:
        return ""
    start, end = span
    column = BAR / (last - first)
    offset = min(int((start - first) * column), BAR - 1)
    # A stage too short to see is one column wide: it did run.
    length = max(round((end - start) * column), 1)
    return " " * offset + "━" * min(length, BAR - offset)


def _placed(stage: Stage) -> bool:
    return bool(stage["started_at"]) and not stage["inherited"]


def _span(stage: Stage, ended_at: str | None) -> tuple[float, float]:
    """Start and end, in milliseconds."""
    start = _time(stage["started_at"])
    if stage["duration_ms"] is None and ended_at:
        return start, max(start, _time(ended_at))
    return start, start + (stage["duration_ms"] or 0)


def _time(text: str | None) -> float:
    return datetime.fromisoformat(text or "").timestamp() * 1000
