"""`headrace trace`: how a run came to its answer."""

import argparse
from collections.abc import Iterator, Sequence
from urllib.parse import quote

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..client import reach
from ..graph.tracing.shapes import Call, Trace
from ..settings import Settings
from ..terminal import with_names
from .arguments import Commands, filled
from .candidates import candidate_table, shown
from .output import OK, again, print_json, tell
from .screen import (
    duration,
    lasted,
    line,
    lines,
    moment,
    one_line,
    plain_table,
    show,
    titled,
    value_of,
)
from .timeline import timeline


def add_to(commands: Commands) -> None:
    trace = commands.add(
        "trace",
        trace_command,
        "show how a run came to its answer: stages, passages, model calls",
        json="print one JSON document with everything",
    )
    trace.add_argument("run", type=filled, metavar="RUN", help="id of the run, from `headrace runs`")
    trace.add_argument("--all", action="store_true", help="every passage considered, and every setting")
    trace.add_argument("--prompts", action="store_true", help="what the models were sent, in full")


def trace_command(settings: Settings, arguments: argparse.Namespace) -> int:
    with reach(settings) as client:
        trace = client.call("GET", f"/runs/{quote(arguments.run, safe='')}/trace")
    if arguments.json:
        print_json(trace)
        return OK
    show(trace_report(trace, everything=arguments.all, prompts=arguments.prompts))
    run, origin = trace["run"]["id"], trace["run"]["forked_from"]
    if origin:
        tell(f"What the fork changed: {again(arguments, f'diff {origin} {run}')}")
    if any(stage["can_fork"] for stage in trace["stages"]):
        tell(f"To try another way: {again(arguments, f'fork {run} --from STAGE --set NAME=VALUE')}")
    return OK


def trace_report(trace: Trace, *, everything: bool = False, prompts: bool = False) -> Group:
    """The whole report, for any width of 80 columns or more."""
    return Group(*_parts(trace, everything=everything, prompts=prompts))


def _parts(trace: Trace, *, everything: bool, prompts: bool) -> Iterator[RenderableType]:
    yield _facts(trace, everything=everything)
    yield from titled("Stages", timeline(trace["stages"], ended_at=trace["run"]["ended_at"]))
    yield from _candidates(trace, everything=everything)
    if trace["calls"]:
        yield from titled("Model calls", _calls(trace["calls"]))
    if prompts:
        yield from _prompts(trace["calls"])
    if trace["warnings"]:
        told = [Text(f"{line(one['stage'])}: {line(one['message'])}", "yellow") for one in trace["warnings"]]
        yield from titled("Warnings", *told)
    yield from titled("Answer", _answer(trace))
    if trace["missing"]:
        yield from titled("No longer kept", *(Text(line(one)) for one in trace["missing"]))


def _facts(trace: Trace, *, everything: bool) -> Table:
    run, query = trace["run"], trace["query"]
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")

    def fact(name: str, value: str) -> None:
        table.add_row(name, Text(value))

    fact("Run", line(run["id"]))
    fact("", f"{lasted(run)}, {moment(run['created_at'])}")
    if run["forked_from"]:
        fact("Fork of", f"{line(run['forked_from'])} from {line(run['fork_stage'])}")
    if run["forks"]:
        fact("Forks", ", ".join(line(one) for one in run["forks"]))
    fact("Question", line(query))
    if trace["intent"]:  # the question has been understood
        rewritten = trace["rewritten_query"]
        fact("Rewritten", line(rewritten) if rewritten and rewritten != query else "as it was asked")
        fact("Intent", line(trace["intent"]))
    if trace["prompts"]:
        fact("Prompts", "of its own: " + ", ".join(line(name) for name in trace["prompts"]))
    if everything:
        settings = (f"{line(name)} {value_of(value)}" for name, value in trace["settings"].items())
        fact("Settings", ", ".join(settings))
    return table


def _candidates(trace: Trace, *, everything: bool) -> Iterator[RenderableType]:
    candidates = trace["candidates"]
    if not candidates:
        yield from titled("Passages", Text(_why_none(trace), "dim"))
        return
    rows = shown(candidates, everything=everything)
    selected = sum("selected" in one["ranks"] for one in candidates)
    title = f"Passages: {selected} of {len(candidates)} reached the model"
    yield from titled(title, candidate_table(candidates, everything=everything))
    yield Text("Upper line: place, lower line: score. ✓ cited in the answer.", "dim")
    if hidden := len(candidates) - len(rows):
        yield Text(f"{hidden} more that left: --all shows them.", "dim")


def _why_none(trace: Trace) -> str:
    searched = any(
        stage["stage"] == "search_chunks" and stage["progress"] == "done" for stage in trace["stages"]
    )
    if searched:
        return "None was found."
    if trace["missing"]:
        return "None is kept."
    return "Nothing was searched." if trace["run"]["ended_at"] else "(none yet)"


def _calls(calls: Sequence[Call]) -> Table:
    table = plain_table()
    table.add_column("stage", no_wrap=True)
    table.add_column("role", no_wrap=True)
    table.add_column("model")
    for heading in ("time", "tokens in", "out"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("remark")
    for call in calls:
        usage = call["usage"]
        table.add_row(
            one_line(call["stage"]),
            one_line(call["role"]),
            Text(line(call["model"])),
            duration(call["duration_ms"]),
            str(usage.get("prompt_tokens", "–")),
            str(usage.get("completion_tokens", "–")),
            _remark(call),
            style="dim" if call["inherited"] else "",
        )
    return table


def _remark(call: Call) -> Text:
    error = line(call["error"] or "")
    if not call["inherited"]:
        return Text(error, "red")
    return Text(f"before the fork: {error}" if error else "before the fork")


def _prompts(calls: Sequence[Call]) -> Iterator[RenderableType]:
    for call in calls:
        title = f"Sent by {line(call['stage'])} to {line(call['model'])}"
        if call["messages"] is None:
            yield from titled(title, Text("It is not kept, and cannot be put together again.", "dim"))
            continue
        yield from titled(title)
        if call["exact"] is False:
            yield Text("Put together again from the state; what was sent differed from it.", "yellow")
        for message in call["messages"]:
            yield Text(f"{line(message['role'])}:", "bold")
            yield Padding(Text(lines(message["content"])), (0, 0, 0, 2))


def _answer(trace: Trace) -> RenderableType:
    if trace["error"]:
        return Text(value_of(trace["error"].get("message", trace["error"])), "red")
    names = {one["chunk_id"]: one["alias"] for one in trace["candidates"] if one["alias"]}
    none = "(none)" if trace["run"]["ended_at"] else "(none yet)"
    return Text(lines(with_names(trace["answer"], names)) or none)
