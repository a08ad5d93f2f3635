"""Every passage a run considered: its places and scores, and where and why it left."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..graph.tracing.shapes import Candidate
from .screen import line, one_line, passage, score

NEAREST = 10  # that left, and are shown without being asked for


class Column(NamedTuple):
    """A heading, and what stands below it: a place (upper line) and a score (lower line)."""

    heading: str
    rank: str | None
    score: str | None
    always: bool = True  # False: only when everything is asked for


COLUMNS = (
    Column("vector", "vector", "vector"),
    Column("keyw.", "keyword", "keyword"),
    Column("cover", None, "coverage", always=False),
    Column("fused", "fused", "fused"),
    Column("coll.", "collected", None, always=False),
    Column("rerank", "reranked", "rerank"),
    Column("comp.", None, "composite"),
    Column("mmr", None, "mmr"),
    Column("merge", "merged", None, always=False),
    Column("final", "selected", "final"),
)


def shown(candidates: Sequence[Candidate], *, everything: bool) -> list[Candidate]:
    """The selected ones and the nearest that left, in the order of the trace: by how far they came."""
    selected = [one for one in candidates if "selected" in one["ranks"]]
    left = [one for one in candidates if "selected" not in one["ranks"]]
    return [*selected, *(left if everything else left[:NEAREST])]


def candidate_table(candidates: Sequence[Candidate], *, everything: bool) -> RenderableType:
    """Two lines for each: the upper one with places, the lower one with scores."""
    rows = shown(candidates, everything=everything)
    columns = [one for one in COLUMNS if (one.always or everything) and _used(one, rows)]
    names = {one["chunk_id"]: one["alias"] or passage(one) for one in candidates}
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold", expand=True)
    table.add_column("as", no_wrap=True, min_width=5)
    table.add_column("passage", ratio=1)
    for column in columns:
        table.add_column(column.heading, justify="right", no_wrap=True, min_width=len(column.heading))
    for number, candidate in enumerate(rows):
        if number and "selected" in rows[number - 1]["ranks"] and "selected" not in candidate["ranks"]:
            table.add_row()
        table.add_row(
            _alias(candidate), _passage(candidate, names), *(_cell(candidate, one) for one in columns)
        )
    return table


def departure(candidate: Candidate, names: Mapping[str, str]) -> str:
    """Where it left and why; "" for one that has not."""
    if merged := candidate["merged_into"]:
        why = f" ({candidate['merged_by']})" if candidate["merged_by"] else ""
        return f"merged into {names.get(merged, merged)}{why}"
    left = candidate["left"]
    if left is None:
        return ""
    measured = f" {score(left['score'])}" if left["score"] is not None else ""
    limit = f", limit {left['limit']:g}" if left["limit"] is not None else ""
    other = f", like {names.get(left['other'], left['other'])}" if left["other"] else ""
    shown_in = candidate["shown_in"]
    still = f"; read with {names.get(shown_in, shown_in)}" if shown_in else ""
    return f"✗ {left['stage']}: {left['reason']}{measured}{limit}{other}{still}"


def _used(column: Column, rows: Sequence[Candidate]) -> bool:
    return any(
        column.rank in row["ranks"] or (column.score and row["scores"].get(column.score) is not None)
        for row in rows
    )


def _alias(candidate: Candidate) -> Text:
    cited = " ✓" if candidate["cited"] else ""
    return Text(line(candidate["alias"] or "") + cited, "bold green" if cited else "")


def _passage(candidate: Candidate, names: Mapping[str, str]) -> Group:
    marks = f" · {', '.join(candidate['marks'])}" if candidate["marks"] else ""
    upper = one_line(passage(candidate) + marks + _known_as(candidate))
    gone = departure(candidate, names)
    return Group(upper, Text(line(gone), "yellow") if gone else one_line(candidate["snippet"], "dim"))


def _known_as(candidate: Candidate) -> str:
    """The known question that was found in its place, where the title is another one."""
    question = candidate.get("question")  # a server of before has none
    return f" · “{question}”" if question and question != candidate["document_title"] else ""


def _cell(candidate: Candidate, column: Column) -> str:
    place = str(candidate["ranks"].get(column.rank, "")) if column.rank else ""
    value = score(candidate["scores"].get(column.score)) if column.score else ""
    return f"{place}\n{value}"
