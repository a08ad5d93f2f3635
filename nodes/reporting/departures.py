"""Why hits left, in the words of one stage."""

from collections.abc import Mapping

from ...state import Departure, Hit

JUDGED = ("rerank", "composite", "mmr")


def departed(
    hit: Hit, stage: str, reason: str, *, limit: float | None = None, other: str | None = None
) -> Departure:
    """`limit` is the threshold or count that the hit did not reach, `other` the chunk it gave way to."""
    departure = Departure(
        chunk_id=hit["chunk_id"], stage=stage, reason=reason, score=hit["score"], limit=limit
    )
    if other is not None:
        departure["other"] = other
    return departure


def with_scores(departure: Departure, scores: Mapping[str, float | None]) -> Departure:
    """The departure with what a stage had made of the hit before it let it go: no later hit says so."""
    known = {name: score for name in JUDGED if (score := scores.get(name)) is not None}
    return {**departure, "scores": known}
