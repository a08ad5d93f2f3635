"""All results of the searches, each text once."""

from collections.abc import Sequence

from langgraph.runtime import Runtime

from ..context import Context
from ..state import Departure, Hit, RagState, Update
from ..text.similarity import signature
from .reporting.departures import departed
from .searching.expanding import EXPANDED
from .stage import stage

OF_CHANNELS = {"vector", "keyword", "both"}


@stage
async def collect_results(state: RagState, runtime: Runtime[Context]) -> Update:
    found = by_chunk(state.get("chunk_hits", []))
    texts = await runtime.context.passages.read(found)
    hits, departures = by_content(found, texts)
    return {"hits": hits, "departures": departures}


def by_chunk(hits: Sequence[Hit]) -> list[Hit]:
    """One hit per chunk, best first: the better score, and the scores and ranks of every channel."""
    merged: dict[str, Hit] = {}
    for hit in sorted(hits, key=_order):
        better = merged.get(hit["chunk_id"])
        merged[hit["chunk_id"]] = with_provenance(better, hit) if better else hit
    return [*merged.values()]


def _order(hit: Hit) -> tuple[float, bool, str]:
    # What other words found stays below, also where nothing is left to score less by.
    return (-hit["score"], EXPANDED in hit["marks"], hit["chunk_id"])


def by_content(hits: Sequence[Hit], texts: Sequence[str | None]) -> tuple[list[Hit], list[Departure]]:
    """One hit per text, best first; a hit whose text is gone leaves."""
    kept: dict[str, Hit] = {}
    departures: list[Departure] = []
    for hit, text in zip(hits, texts, strict=True):
        if not text:
            departures.append(departed(hit, "collect_results", "gone"))
        elif (same := signature(text)) in kept:
            other = kept[same]["chunk_id"]
            departures.append(departed(hit, "collect_results", "same_text", other=other))
        else:
            kept[same] = hit
    return [*kept.values()], departures


def with_provenance(better: Hit, other: Hit) -> Hit:
    """`better` with what only `other` knows about how it was found."""
    own = {channel: score for channel, score in better["scores"].items() if score is not None}
    found_by = {better["match_type"], other["match_type"]}
    match = "both" if found_by <= OF_CHANNELS and len(found_by) > 1 else better["match_type"]
    marks = [mark for mark in other["marks"] if mark in better["marks"] or mark != EXPANDED]
    return {
        **better,
        "match_type": match,
        "marks": list(dict.fromkeys([*better["marks"], *marks])),
        "scores": {**other["scores"], **own},
        "ranks": {**other["ranks"], **better["ranks"]},
    }
