"""The stages of a run as bars on one scale of time."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from rich.table import Table
from rich.text import Text

from ..graph.tracing.shapes import Stage
from .screen import duration, line, one_line, plain_table

BAR = 24  # columns


def timeline(stages: Sequence[Stage]) -> Table:
    """A row for each stage: when, how long, hits in and out, and why hits left it."""
    table = plain_table()
    table.add_column("stage", no_wrap=True)
    table.add_column("time", justify="right", no_wrap=True)
    table.add_column("", width=BAR, no_wrap=True)
    table.add_column("hits", justify="right", no_wrap=True)
    table.add_column("left, and why")
    scale = _scale(stages)
    for stage in stages:
        style = "dim" if stage["inherited"] else ""
        tries = f" ×{stage['attempts']}" if (stage["attempts"] or 1) > 1 else ""
        bar = Text("before the fork") if stage["inherited"] else Text(_bar(stage, scale), "cyan")
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


def _scale(stages: Sequence[Stage]) -> tuple[float, float]:
    """The first start and the last end of what this run did itself, in milliseconds."""
    spans = [
        (_start(stage), _start(stage) + (stage["duration_ms"] or 0)) for stage in stages if _placed(stage)
    ]
    if not spans:
        return 0.0, 0.0
    return min(start for start, _ in spans), max(end for _, end in spans)


def _bar(stage: Stage, scale: tuple[float, float]) -> str:
    first, last = scale
    if not _placed(stage) or last <= first:
        return ""
    column = BAR / (last - first)
    offset = min(int((_start(stage) - first) * column), BAR - 1)
    # A stage too short to see is one column wide: it did run.
    length = max(round((stage["duration_ms"] or 0) * column), 1)
    return " " * offset + "━" * min(length, BAR - offset)


def _placed(stage: Stage) -> bool:
    return bool(stage["started_at"]) and not stage["inherited"]


def _start(stage: Stage) -> float:
    return datetime.fromisoformat(stage["started_at"] or "").timestamp() * 1000
