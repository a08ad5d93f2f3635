"""What a run found, as HTML tables for a notebook."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from ..context import Document
from ..state import Departure, Hit, RagState
from .draw import shown_ms
from .tracing.shapes import Call, Candidate, Diff, Move, Place, Run, Stage, StageDiff, Step

# The channels that hold hits, in the order in which stages write them.
STAGES = {
    "search_chunks": "chunk_hits",
    "collect_results": "hits",
    "rerank": "ranked",
    "merge_chunks": "merged",
    "filter_top_k": "selected",
}
SHOWN_CHARACTERS = 60
SHOWN_NAMES = 3
PLACES = ("vector", "keyword", "fused", "collected", "reranked", "merged", "selected")


def stage_hits(state: RagState) -> dict[str, Sequence[Hit]]:
    """The hits that each stage handed on; a stage that did not run is left out."""
    return {stage: state[channel] for stage, channel in STAGES.items() if channel in state}


def hit_table(
    hits: Sequence[Hit], documents: Mapping[str, Document], texts: Sequence[str | None] = ()
) -> str:
    """One row per hit: document, place, scores by stage, ranks by channel and, where given, its text."""
    scored = ("vector", "keyword", "coverage", "fused", "rerank", "composite", "final")
    head = ["", "document", "section", "chunks", *scored, "vector #", "keyword #", "match", "text"]
    rows = [
        [
            str(place),
            documents[hit["document_id"]].title if hit["document_id"] in documents else hit["document_id"],
            hit["source"]["section"] or "",
            str(max(1, len(hit["sub_chunk_ids"]))),
            *(_score(hit["scores"].get(name)) for name in scored),
            *(str(hit["ranks"].get(channel, "")) for channel in ("vector", "keyword")),
            hit["match_type"],
            _start(text),
        ]
        for place, (hit, text) in enumerate(zip(hits, _padded(texts, len(hits)), strict=True), start=1)
    ]
    return _table(head, rows)


def departure_table(departures: Sequence[Departure]) -> str:
    """Which hits left, where and why."""
    rows = [
        [left["stage"], left["reason"], left["chunk_id"], _score(left["score"]), _score(left["limit"])]
        for left in departures
    ]
    return _table(["stage", "reason", "chunk", "score", "limit"], rows)


def run_table(runs: Iterable[Run]) -> str:
    """One row per run, forks with where they branch off."""
    rows = [
        [
            run["id"],
            run["created_at"],
            run["status"],
            run["outcome"] or "",
            _time((run["timing"] or {}).get("total_ms")),
            run["question"],
            f"{run['fork_stage']} of {run['forked_from']}" if run["forked_from"] else "",
        ]
        for run in runs
    ]
    return _table(["run", "asked", "status", "outcome", "time", "question", "forked from"], rows)


def stage_table(stages: Iterable[Stage]) -> str:
    """One row per stage of a trace: time, hits in and out, the channels it wrote and their small values."""
    rows = [
        [
            stage["stage"] + (" (inherited)" if stage["inherited"] else ""),
            _time(stage["duration_ms"]),
            _count(stage["hits_in"]),
            _count(stage["hits_out"]),
            ", ".join(stage["writes"]),
            _pairs(stage["output"]),
            _pairs(stage["departures"]),
        ]
        for stage in stages
    ]
    return _table(["stage", "time", "hits in", "hits out", "wrote", "values", "left"], rows)


def candidate_table(candidates: Iterable[Candidate]) -> str:
    """One row per passage that was found: its place by stage, and what became of it."""
    head = ["alias", "document", "section", *(f"{name} #" for name in PLACES), "what became of it", "text"]
    rows = [
        [
            (one["alias"] or "") + (" ✓" if one["cited"] else ""),
            one["document_title"],
            one["section"] or "",
            *(_count(one["ranks"].get(name)) for name in PLACES),
            _fate(one),
            _start(one["snippet"]),
        ]
        for one in candidates
    ]
    return _table(head, rows)


def step_table(steps: Iterable[Step]) -> str:
    """One passage, stage by stage."""
    rows = [[step["stage"], _count(step["place"]), _score(step["score"]), step["happened"]] for step in steps]
    return _table(["stage", "place", "score", "what happened"], rows)


def call_view(call: Call) -> str:
    """One call of a model: who was asked, how long it took, and what it was sent, in full."""
    head = ["stage", "role", "model", "time", "tokens", "error"]
    facts = [call["stage"], call["role"], call["model"], _time(call["duration_ms"]), _pairs(call["usage"])]
    sent = "".join(_message(message["role"], message["content"]) for message in call["messages"] or [])
    return _table(head, [[*facts, call["error"] or ""]]) + sent


def _message(role: str, content: str) -> str:
    return f'<p><b>{escape(role)}</b></p><pre style="white-space: pre-wrap">{escape(content)}</pre>'


def diff_table(diff: Diff) -> str:
    """What differs between two runs: settings, stages and passages. The answers are shown apart."""
    changed = {**diff["settings"], **{f"prompt {name}": both for name, both in diff["prompts"].items()}}
    settings = _table(
        ["setting", "first", "second"], [[name, *_both(both)] for name, both in changed.items()]
    )
    head = ["stage", "time", "hits out", "values", "entered", "left", "moved"]
    return settings + _table(head, [_stage_diff(stage) for stage in diff["stages"]])


def _stage_diff(stage: StageDiff) -> list[str]:
    only = {"both": "", "first": " (only in the first)", "second": " (only in the second)"}
    return [
        stage["stage"] + only[stage["in"]],
        " → ".join(_time(time) or "–" for time in stage["duration_ms"]),
        " → ".join(_count(count) for count in stage["hits_out"] if count is not None),
        "; ".join(f"{name}: {' → '.join(_both(both))}" for name, both in stage["changed"].items()),
        _listed(f"{one['place']}. {_passage(one)}" for one in stage["entered"]),
        _listed(f"{one['place']}. {_passage(one)}" for one in stage["left"]),
        _listed(f"{_passage(one)} {one['from']} → {one['to']}" for one in stage["moved"]),
    ]


def _passage(one: Place | Move) -> str:
    number = "" if one["chunk_index"] is None else f" #{one['chunk_index']}"
    return one["document_title"] + number


def _fate(one: Candidate) -> str:
    if one["left"]:
        limit = one["left"]["limit"]
        return f"left at {one['left']['stage']}: {one['left']['reason']}" + (
            f" ({_score(one['left']['score'])}, limit {limit:g})" if limit is not None else ""
        )
    return f"merged: {one['merged_by']}" if one["merged_by"] else one["fate"]


def _both(both: Sequence[Any]) -> list[str]:
    return ["–" if value is None else _start(str(value)) for value in both]


def _listed(names: Iterable[str]) -> str:
    shown = list(names)
    return "; ".join(shown[:SHOWN_NAMES]) + (
        f"; {len(shown) - SHOWN_NAMES} more" if shown[SHOWN_NAMES:] else ""
    )


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}: {_start(str(value))}" for name, value in values.items())


def _time(time: float | None) -> str:
    return "" if time is None else shown_ms(time)


def _count(count: int | None) -> str:
    return "" if count is None else str(count)


def _padded(texts: Sequence[str | None], length: int) -> Iterable[str | None]:
    return [*texts, *[None] * (length - len(texts))]


def _score(score: float | None) -> str:
    return "" if score is None else f"{score:.3f}"


def _start(text: str | None) -> str:
    line = " ".join((text or "").split())
    return line if len(line) <= SHOWN_CHARACTERS else f"{line[:SHOWN_CHARACTERS]}…"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><tr>{''.join(f'<th>{escape(name)}</th>' for name in head)}</tr>{body}</table>"
