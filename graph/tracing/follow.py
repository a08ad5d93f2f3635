"""One passage through the stages of a run."""

from collections.abc import Iterator, Mapping

from ...nodes.boost_wiki import MARK as WIKI_BOOST
from .candidates import CHANNELS
from .shapes import Candidate, Step, Trace

# What a candidate's place and score after each stage are called. Filtering keeps the order of merging.
GIVEN: Mapping[str, tuple[str, str]] = {
    "search_chunks": ("fused", "fused"),
    "collect_results": ("collected", "fused"),
    "rerank": ("reranked", "composite"),
    "boost_wiki": ("reranked", "composite"),
    "merge_chunks": ("merged", "composite"),
    "filter_top_k": ("merged", "final"),
    "assemble_context": ("selected", "final"),
}


def follow(trace: Trace, chunk_id: str) -> list[Step]:
    """What each stage did with a chunk, up to where it left; after it was merged, with the hit it is part of.

    Empty for a chunk that was never found.
    """
    candidates = {one["chunk_id"]: one for one in trace["candidates"]}
    return [*_steps(trace, candidates, chunk_id)] if chunk_id in candidates else []


def _steps(trace: Trace, candidates: Mapping[str, Candidate], chunk_id: str) -> Iterator[Step]:
    one = candidates[chunk_id]
    for stage in trace["stages"]:
        name = stage["stage"]
        if one["left"] and one["left"]["stage"] == name:
            yield _step(name, one, one["left"]["score"], _went(one))
            return
        if one["merged_into"] and merged_at(one) == name:
            holder = one["merged_into"]
            yield _step(name, one, None, f"merged into {holder}: {one['merged_by']}")
            if holder not in candidates:
                return
            one = candidates[holder]
        elif name == "boost_wiki" and WIKI_BOOST not in one["marks"]:
            continue  # what it leaves as it is needs no line
        elif name in GIVEN and GIVEN[name][0] in one["ranks"]:
            place, score = GIVEN[name]
            yield _step(name, one, one["scores"][score], _kept(name, one), place=one["ranks"][place])
        elif name == "generate_answer" and one["alias"]:
            yield _step(name, one, None, "cited" if one["cited"] else "read, not cited")


def merged_at(candidate: Candidate) -> str:
    """The stage at which a merged candidate became part of another: the first that gave it no place."""
    return "merge_chunks" if CHANNELS["hits"] in candidate["ranks"] else "collect_results"


def _step(name: str, one: Candidate, score: float | None, happened: str, *, place: int | None = None) -> Step:
    return Step(stage=name, chunk_id=one["chunk_id"], place=place, score=score, happened=happened)


def _went(one: Candidate) -> str:
    left = one["left"]
    assert left is not None
    score = "" if left["score"] is None else f", {left['score']:.4g}"
    limit = "" if left["limit"] is None else f" (limit {left['limit']:g})"
    other = f", like {left['other']}" if left["other"] else ""
    shown = f"; still read as part of {one['shown_in']}" if one["shown_in"] else ""
    return f"left: {left['reason']}{score}{limit}{other}{shown}"


def _kept(name: str, one: Candidate) -> str:
    ranks, scores = one["ranks"], one["scores"]
    match name:
        case "search_chunks":
            found = [f"{channel} #{ranks[channel]}" for channel in ("vector", "keyword") if channel in ranks]
            return f"found: {', '.join(found)}"
        case "rerank" if scores["rerank"] is not None:
            return f"kept: the model gave it {scores['rerank']:.4g}"
        case "rerank":
            return "kept, no model judged it"
        case "boost_wiki":
            return "raised: it is of a wiki"
        case "merge_chunks" if one["match_type"] == "history":
            return "taken from the last answer"
        case "merge_chunks":
            return "kept"
        case "assemble_context":
            return f"shown as {one['alias']}" if one["alias"] else "kept"
        case _:
            return "kept"
