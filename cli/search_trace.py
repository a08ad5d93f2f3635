"""Why a search found what it found: stages, candidates by channel, and what was asked of models."""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..graph.tracing.search import SearchCall, SearchStage, SearchTrace
from ..graph.tracing.shapes import Candidate
from .candidates import candidate_table, shown
from .screen import duration, line, one_line, plain_table, titled, value_of


def search_report(trace: SearchTrace, *, everything: bool = False) -> Group:
    """The whole report, for any width of 80 columns or more."""
    return Group(*_parts(trace, everything=everything))


def _parts(trace: SearchTrace, *, everything: bool) -> Iterator[RenderableType]:
    yield from titled("Search", _facts(trace, everything=everything))
    yield from titled("Stages", _stages(trace["stages"]))
    yield from _candidates(trace["candidates"], everything=everything)
    if trace["calls"]:
        yield from titled("Model calls", _calls(trace["calls"]))
    if trace["warnings"]:
        told = [Text(f"{line(one['stage'])}: {line(one['message'])}", "yellow") for one in trace["warnings"]]
        yield from titled("Warnings", *told)


def _facts(trace: SearchTrace, *, everything: bool) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for language, text in trace["queries"].items():
        table.add_row(f"Query ({line(language)})", Text(line(text)))
    for variant in trace["variants"]:
        table.add_row("Also", Text(line(variant)))
    channels = ", ".join(f"{line(name)} {count}" for name, count in trace["channels"].items())
    table.add_row("Channels", Text(channels or "none found anything"))
    if trace["rerank_verdict"]:
        table.add_row("Reranking", Text(line(trace["rerank_verdict"])))
    if trace["cache"]:
        table.add_row(
            "Kept", Text(", ".join(f"{line(name)}: {line(how)}" for name, how in trace["cache"].items()))
        )
    if everything:
        settings = (f"{line(name)} {value_of(value)}" for name, value in trace["settings"].items())
        table.add_row("Settings", Text(", ".join(settings)))
    return table


def _stages(stages: Sequence[SearchStage]) -> Table:
    table = plain_table()
    table.add_column("stage", no_wrap=True)
    for heading in ("time", "in", "out"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("left, and why")
    for stage in stages:
        left = ", ".join(f"{count} {line(reason)}" for reason, count in stage["departures"].items())
        table.add_row(
            one_line(stage["stage"]),
            duration(stage["duration_ms"]),
            _count(stage["hits_in"]),
            _count(stage["hits_out"]),
            Text(left),
        )
    return table


def _count(hits: int | None) -> str:
    return "" if hits is None else str(hits)


def _candidates(candidates: Sequence[Candidate], *, everything: bool) -> Iterator[RenderableType]:
    if not candidates:
        yield from titled("Candidates", Text("None was found.", "dim"))
        return
    numbered = [_numbered(candidate) for candidate in candidates]
    selected = sum("selected" in one["ranks"] for one in candidates)
    title = f"Candidates: {selected} of {len(candidates)} returned"
    yield from titled(title, candidate_table(numbered, everything=everything))
    yield Text("Upper line: place, lower line: score.", "dim")
    if hidden := len(candidates) - len(shown(numbered, everything=everything)):
        yield Text(f"{hidden} more that left: --all shows them.", "dim")


def _numbered(candidate: Candidate) -> Candidate:
    """Named as in the list of passages above it."""
    place = candidate["ranks"].get("selected")
    return {**candidate, "alias": f"[{place}]" if place else None}


def _calls(calls: Sequence[SearchCall]) -> Table:
    table = plain_table()
    for heading in ("stage", "role", "model"):
        table.add_column(heading)
    table.add_column("time", justify="right", no_wrap=True)
    table.add_column("remark")
    for call in calls:
        table.add_row(
            one_line(call["stage"]),
            one_line(call["role"]),
            Text(line(call["model"])),
            duration(call["duration_ms"]),
            Text(line(call["error"] or ""), "red"),
        )
    return table
