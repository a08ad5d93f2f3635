"""Hits that say something new."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from ...state import Asked, Departure, Hit, RerankVerdict
from ...text.similarity import jaccard
from ..reporting.departures import departed, with_scores

NEAR_DUPLICATE = 0.85  # Jaccard of token sets
# On the scores of the search alone variety costs .04 to .14 nDCG@10.
WITH_RERANKER, WITHOUT = 0.7, 1.0

TokenSets = Mapping[str, AbstractSet[str]]  # by chunk id


def diverse(
    hits: Sequence[Hit], tokens: TokenSets, asked: Asked, verdict: RerankVerdict
) -> tuple[list[Hit], list[Departure]]:
    """Hits, given best first, without repetitions; where a model has judged them, varied as well."""
    weight = asked["mmr_lambda"]
    if weight is None:
        weight = WITH_RERANKER if verdict == "ok" else WITHOUT
    distinct, repeated = without_near_duplicates(hits, tokens)
    if weight >= WITHOUT:
        return distinct, repeated
    chosen, alike = maximal_marginal_relevance(distinct, tokens, weight=weight, count=asked["rerank_top_k"])
    return chosen, [*repeated, *alike]


def without_near_duplicates(hits: Sequence[Hit], tokens: TokenSets) -> tuple[list[Hit], list[Departure]]:
    """Hits in order, without those that repeat a better one almost word for word."""
    kept: list[Hit] = []
    departures: list[Departure] = []
    for hit in hits:
        own = tokens[hit["chunk_id"]]
        others = (other["chunk_id"] for other in kept)
        same = next((other for other in others if jaccard(own, tokens[other]) >= NEAR_DUPLICATE), None)
        if same:
            left = departed(hit, "rerank", "near_duplicate", limit=NEAR_DUPLICATE, other=same)
            departures.append(with_scores(left, hit["scores"]))
        else:
            kept.append(hit)
    return kept, departures


def maximal_marginal_relevance(
    hits: Sequence[Hit], tokens: TokenSets, *, weight: float, count: int
) -> tuple[list[Hit], list[Departure]]:
    """The `count` hits chosen greedily by `weight * relevance - (1 - weight) * likeness to the chosen`.

    Relevance is the score stretched over its range; likeness the highest Jaccard with a chosen hit. A
    chosen hit has the value it was chosen by among its scores, as `mmr`; one that was not, its last.
    """
    relevance = stretched([hit["score"] for hit in hits])
    likeness: list[tuple[float, str | None]] = [(0.0, None)] * len(hits)  # and with which of them
    remaining = list(range(len(hits)))
    chosen: list[Hit] = []

    def value(place: int) -> float:
        return weight * relevance[place] - (1 - weight) * likeness[place][0]

    def valued(place: int) -> Hit:
        return {**hits[place], "scores": {**hits[place]["scores"], "mmr": round(value(place), 6)}}

    while remaining and len(chosen) < count:
        best = max(remaining, key=lambda place: (value(place), -place))
        remaining.remove(best)
        chosen.append(valued(best))
        newest = hits[best]["chunk_id"]
        for place in remaining:
            alike = jaccard(tokens[hits[place]["chunk_id"]], tokens[newest])
            if alike > likeness[place][0]:
                likeness[place] = (alike, newest)
    return chosen, [_not_diverse(valued(place), likeness[place][1], count) for place in remaining]


def _not_diverse(hit: Hit, nearest: str | None, count: int) -> Departure:
    left = departed(hit, "rerank", "not_diverse", limit=float(count), other=nearest)
    return with_scores(left, hit["scores"])


def stretched(scores: Sequence[float]) -> list[float]:
    """Scores moved onto [0,1]; all 1 where they are equal."""
    if not scores:
        return []
    low, high = min(scores), max(scores)
    return [(score - low) / (high - low) if high > low else 1.0 for score in scores]
