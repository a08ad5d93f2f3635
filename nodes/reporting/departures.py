"""Why hits left, in the words of one stage."""

from ...state import Departure, Hit


def departed(hit: Hit, stage: str, reason: str, *, limit: float | None = None) -> Departure:
    """`limit` is the threshold or count that the hit did not reach."""
    return Departure(chunk_id=hit["chunk_id"], stage=stage, reason=reason, score=hit["score"], limit=limit)
