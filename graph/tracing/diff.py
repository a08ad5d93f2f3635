"""What differs between two runs, stage by stage: of a run and its fork, or of any two."""

from collections.abc import Mapping
from typing import Any

from .follow import GIVEN
from .shapes import Candidate, Diff, Move, Place, Stage, StageDiff, Trace
from .stages import PARTS

# What the place of a candidate after each stage is called.
PLACES = {stage: place for stage, (place, _) in GIVEN.items()}


def diff(first: Trace, second: Trace) -> Diff:
    """Lists of two are [first, second]; an unchanged setting, prompt or channel is left out."""
    return Diff(
        runs=[first["run"], second["run"]],
        query=[first["query"], second["query"]],
        settings=_changed(first["settings"], second["settings"]),
        prompts=_changed(first["prompts"], second["prompts"]),
        stages=_stages(first, second),
        answer=[first["answer"], second["answer"]],
        same_answer=first["answer"] == second["answer"],
        outcome=[first["outcome"], second["outcome"]],
        missing=[first["missing"], second["missing"]],
    )


def candidates_after(trace: Trace, stage: str) -> dict[str, int]:
    """The candidates that a stage handed on, by chunk, with their places from 1; empty for other stages."""
    name = PLACES.get(stage)
    return {
        one["chunk_id"]: one["ranks"][name]
        for one in trace["candidates"]
        if name is not None and name in one["ranks"] and not _went_at(one, stage)
    }


def _went_at(candidate: Candidate, stage: str) -> bool:
    left = candidate["left"]
    return left is not None and left["stage"] == stage


def _stages(first: Trace, second: Trace) -> list[StageDiff]:
    ones, others = ({stage["stage"]: stage for stage in trace["stages"]} for trace in (first, second))
    return [
        _stage(name, ones.get(name), others.get(name), first, second)
        for name in PARTS
        if name in ones or name in others
    ]


def _stage(name: str, one: Stage | None, other: Stage | None, first: Trace, second: Trace) -> StageDiff:
    before, after = candidates_after(first, name), candidates_after(second, name)
    both = one is not None and other is not None
    return {
        "stage": name,
        "in": "both" if both else "first" if one else "second",
        "duration_ms": [one["duration_ms"] if one else None, other["duration_ms"] if other else None],
        "hits_out": [one["hits_out"] if one else None, other["hits_out"] if other else None],
        "changed": _changed(_output(one), _output(other)),
        "entered": _only(second, after, before, missing_in=first) if both else [],
        "left": _only(first, before, after, missing_in=second) if both else [],
        "moved": _moved(second, before, after),
    }


def _output(stage: Stage | None) -> dict[str, Any]:
    """Without what differs between any two runs and decides nothing: the time of day, what was kept."""
    output = {name: value for name, value in (stage["output"] if stage else {}).items() if name != "cached"}
    if "budget" in output:
        output["budget"] = {name: value for name, value in output["budget"].items() if name != "current_time"}
    return output


def _changed(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, list[Any]]:
    names = dict.fromkeys([*one, *other])
    return {name: [one.get(name), other.get(name)] for name in names if one.get(name) != other.get(name)}


def _only(
    trace: Trace, here: Mapping[str, int], there: Mapping[str, int], *, missing_in: Trace
) -> list[Place]:
    found = sorted((place, chunk_id) for chunk_id, place in here.items() if chunk_id not in there)
    ones, others = _by_chunk(trace), _by_chunk(missing_in)
    return [_place(ones[id], place, _reason(others.get(id))) for place, id in found]


def _place(one: Candidate, place: int, reason: str | None) -> Place:
    return {
        "chunk_id": one["chunk_id"],
        "document_title": one["document_title"],
        "section": one["section"],
        "page": one["page"],
        "chunk_index": one["chunk_index"],
        "place": place,
        "reason": reason,
    }


def _reason(candidate: Candidate | None) -> str | None:
    """Why a run has not what the other has: by when it went, or that it was never found."""
    if candidate is None:
        return "not_found"
    left = candidate["left"]
    return left["reason"] if left else candidate["merged_by"]


def _moved(trace: Trace, before: Mapping[str, int], after: Mapping[str, int]) -> list[Move]:
    ones = _by_chunk(trace)
    moved = sorted((place, id) for id, place in after.items() if before.get(id, place) != place)
    return [_move(ones[id], before[id], place) for place, id in moved]


def _move(one: Candidate, before: int, after: int) -> Move:
    return {
        "chunk_id": one["chunk_id"],
        "document_title": one["document_title"],
        "section": one["section"],
        "page": one["page"],
        "chunk_index": one["chunk_index"],
        "from": before,
        "to": after,
    }


def _by_chunk(trace: Trace) -> dict[str, Candidate]:
    return {one["chunk_id"]: one for one in trace["candidates"]}
