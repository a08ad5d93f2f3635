"""Hits that say something new."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from ...state import Departure, Hit
from ...text.similarity import jaccard
from ..reporting.departures import departed

NEAR_DUPLICATE = 0.85  # Jaccard of token sets

TokenSets = Mapping[str, AbstractSet[str]]  # by chunk id


def without_near_duplicates(hits: Sequence[Hit], tokens: TokenSets) -> tuple[list[Hit], list[Departure]]:
    """Hits in order, without those that repeat a better one almost word for word."""
    kept: list[Hit] = []
    departures: list[Departure] = []
    for hit in hits:
        own = tokens[hit["chunk_id"]]
        if any(jaccard(own, tokens[other["chunk_id"]]) >= NEAR_DUPLICATE for other in kept):
            departures.append(departed(hit, "rerank", "near_duplicate", limit=NEAR_DUPLICATE))
        else:
            kept.append(hit)
    return kept, departures


def maximal_marginal_relevance(
    hits: Sequence[Hit], tokens: TokenSets, *, weight: float, count: int
) -> tuple[list[Hit], list[Departure]]:
    """The `count` hits chosen greedily by `weight * relevance - (1 - weight) * likeness to the chosen`.

    Relevance is the score stretched over its range; likeness the highest Jaccard with a chosen hit.
    """
    relevance = stretched([hit["score"] for hit in hits])
    likeness = [0.0] * len(hits)
    remaining = list(range(len(hits)))
    chosen: list[int] = []
    while remaining and len(chosen) < count:
        best = max(
            remaining, key=lambda place: (weight * relevance[place] - (1 - weight) * likeness[place], -place)
        )
        remaining.remove(best)
        chosen.append(best)
        newest = tokens[hits[best]["chunk_id"]]
        for place in remaining:
            likeness[place] = max(likeness[place], jaccard(tokens[hits[place]["chunk_id"]], newest))
    departures = [departed(hits[place], "rerank", "not_diverse", limit=float(count)) for place in remaining]
    return [hits[place] for place in chosen], departures


def stretched(scores: Sequence[float]) -> list[float]:
    """Scores moved onto [0,1]; all 1 where they are equal."""
    if not scores:
        return []
    low, high = min(scores), max(scores)
    return [(score - low) / (high - low) if high > low else 1.0 for score in scores]
