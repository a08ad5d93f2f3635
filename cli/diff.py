"""`headrace diff`: what differs between two runs, stage by stage."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast
from urllib.parse import quote

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..client import reach
from ..graph.tracing.shapes import Diff, Move, Place, Run, StageDiff
from ..settings import Settings
from ..terminal import CitedText, source_line, sources
from .arguments import Commands, filled
from .output import OK, print_json
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
from .words import Kind, word_diff

# Reasons that are no departures of a stage, in words.
REASONS = {"not_found": "not found by the other run"}
MOST = 5  # passages of one kind at one stage, unless all are asked for
# The signs of `git diff --word-diff`: they also tell without colours.
SIGNS: Mapping[Kind, tuple[str, str, str]] = {
    "same": ("", "", ""),
    "out": ("[-", "-]", "red strike"),
    "in": ("{+", "+}", "green"),
}


def add_to(commands: Commands) -> None:
    diff = commands.add(
        "diff", diff_command, "show what differs between two runs", json="print one JSON document"
    )
    diff.add_argument("first", type=filled, metavar="RUN1", help="id of a run, from `headrace runs`")
    diff.add_argument("second", type=filled, metavar="RUN2", help="id of another, such as a fork of it")
    diff.add_argument("--all", action="store_true", help="every passage that came, went or moved")


def diff_command(settings: Settings, arguments: argparse.Namespace) -> int:
    """Exit code 0 also for runs that differ: that is no failure."""
    with reach(settings) as client:
        path = f"/runs/{quote(arguments.first, safe='')}/diff"
        diff = client.call("GET", path, params={"with": arguments.second})
    if arguments.json:
        print_json(diff)
    else:
        show(diff_report(diff, everything=arguments.all))
    return OK


def diff_report(diff: Diff, *, everything: bool = False) -> Group:
    """The whole report, for any width of 80 columns or more."""
    return Group(*_parts(diff, everything=everything))


def _parts(diff: Diff, *, everything: bool) -> Iterator[RenderableType]:
    yield _runs(diff["runs"])
    yield from titled("Settings")
    if diff["settings"] or diff["prompts"]:
        yield _settings(diff)
    else:
        yield Text("the same", "dim")
    yield from titled("Stages", _stages(diff["stages"]))
    if changes := list(_changes(diff["stages"], everything=everything)):
        yield from titled("Passages and values", *changes)
    yield from titled("Answers", *_answers(diff))
    for number, missing in enumerate(diff["missing"], 1):
        if missing:
            yield from titled(f"No longer kept of run {number}", *(Text(line(one)) for one in missing))


def _runs(runs: Sequence[Run]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    questions = [line(run["question"]) for run in runs]
    for number, run in enumerate(runs, 1):
        fork = f", a fork from {line(run['fork_stage'])}" if run["forked_from"] else ""
        table.add_row(f"Run {number}", Text(line(run["id"])))
        when = moment(run["created_at"])
        table.add_row("", Text(f"{lasted(run)}, {when}{fork}"))
        if questions[0] != questions[1]:
            table.add_row("", Text(questions[number - 1]))
    if questions[0] == questions[1]:
        table.add_row("Question", Text(questions[0]))
    return table


def _settings(diff: Diff) -> Table:
    table = _pairs("setting")
    for name, (first, second) in diff["settings"].items():
        table.add_row(one_line(name), Text(value_of(first)), Text(value_of(second)))
    for name, (first, second) in diff["prompts"].items():
        table.add_row(one_line(f"prompt {name}"), Text(_prompt(first)), Text(_prompt(second)))
    return table


def _pairs(heading: str) -> Table:
    table = plain_table()
    table.add_column(heading, no_wrap=True)
    table.add_column("run 1", overflow="fold")
    table.add_column("run 2", overflow="fold")
    return table


def _prompt(text: str | None) -> str:
    return "as installed" if text is None else line(text)


def _stages(stages: Sequence[StageDiff]) -> Table:
    table = plain_table()
    table.add_column("stage", no_wrap=True)
    for heading in ("time 1", "time 2", "hits out"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("what differs")
    for stage in stages:
        differs = _summary(stage)
        times = [duration(ms) for ms in stage["duration_ms"]]
        style = "" if differs else "dim"
        table.add_row(one_line(stage["stage"]), *times, _hits(stage), Text(line(differs)), style=style)
    return table


def _hits(stage: StageDiff) -> str:
    if stage["hits_out"] == [None, None]:
        return ""
    first, second = ("–" if count is None else str(count) for count in stage["hits_out"])
    return first if first == second else f"{first} → {second}"


def _summary(stage: StageDiff) -> str:
    if stage["in"] != "both":
        return f"only in run {1 if stage['in'] == 'first' else 2}"
    counts = ((len(stage[name]), name) for name in ("entered", "left", "moved"))
    parts = [f"{number} {name}" for number, name in counts if number]
    return ", ".join([*parts, *stage["changed"]])


def _changes(stages: Sequence[StageDiff], *, everything: bool) -> Iterator[Text]:
    """What came, went and moved at each stage; what a stage only passes on was told at an earlier one."""
    told: set[tuple[str, str]] = set()  # chunk and sign, or chunk and move
    for stage in stages:
        changes = [
            *_values(stage),
            *_some("+", "green", _untold(stage["entered"], "+", told), everything=everything),
            *_some("-", "red", _untold(stage["left"], "-", told), everything=everything),
            *_some("~", "yellow", _untold_moves(stage["moved"], told), everything=everything),
        ]
        if changes:
            yield Text(f"  {line(stage['stage'])}", "bold")
            yield from changes


def _values(stage: StageDiff) -> Iterator[Text]:
    for channel, (first, second) in stage["changed"].items():
        for name, a, b in _differing(channel, first, second):
            yield Text(f"    {line(name)}: {value_of(a)} → {value_of(b)}")


def _differing(name: str, first: Any, second: Any) -> Iterator[tuple[str, Any, Any]]:
    """Of two objects only the fields that differ."""
    if not (isinstance(first, dict) and isinstance(second, dict)):
        yield name, first, second
        return
    a, b = cast("dict[str, Any]", first), cast("dict[str, Any]", second)
    for field in {**a, **b}:
        if a.get(field) != b.get(field):
            yield f"{name}.{field}", a.get(field), b.get(field)


def _untold(places: Sequence[Place], sign: str, told: set[tuple[str, str]]) -> list[str]:
    fresh = [one for one in places if (one["chunk_id"], sign) not in told]
    told.update((one["chunk_id"], sign) for one in fresh)
    return [_there(one) for one in fresh]


def _untold_moves(moves: Sequence[Move], told: set[tuple[str, str]]) -> list[str]:
    fresh = [(one["chunk_id"], _moved(one)) for one in moves if (one["chunk_id"], _moved(one)) not in told]
    told.update(fresh)
    return [text for _, text in fresh]


def _there(one: Place) -> str:
    why = f" ({REASONS.get(one['reason'], one['reason'])})" if one["reason"] else ""
    return f"{one['place']}. {_passage(one)}{why}"


def _moved(one: Move) -> str:
    return f"{_passage(one)}: {one['from']} → {one['to']}"


def _passage(one: Place | Move) -> str:
    """Which one of its document, short: the section stands in the trace."""
    number = "" if one["chunk_index"] is None else f" #{one['chunk_index']}"
    page = "" if one["page"] is None else f" p. {one['page']}"
    return f"{one['document_title'] or '(no title)'}{number}{page}"


def _some(sign: str, style: str, texts: Sequence[str], *, everything: bool) -> Iterator[Text]:
    most = len(texts) if everything else MOST
    for text in texts[:most]:
        yield one_line(text, style, before=f"    {sign} ")
    if len(texts) > most:
        yield Text(f"    {sign} {len(texts) - most} more: --all shows them", "dim")


def _answers(diff: Diff) -> Iterator[RenderableType]:
    first, second = diff["outcome"]
    if first != second:
        yield Text(f"outcome: {value_of(first)} → {value_of(second)}", "yellow")
    # One numbering for both: the same passage has the same number.
    cited = CitedText()
    texts = [lines(cited.feed(answer) + cited.close()) for answer in diff["answer"]]
    if diff["same_answer"]:
        yield Text("same answer", "green")
        yield Text(texts[0])
    else:
        told = Text()
        for kind, piece in word_diff(*texts):
            opening, closing, style = SIGNS[kind]
            told.append(f"{opening}{piece}{closing}", style)
        yield told
    for source in sources(cited.cited, []):
        yield Text(line(source_line(source)), "dim")
