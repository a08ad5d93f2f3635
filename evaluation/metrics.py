"""How good a ranking is, in the terms of information retrieval. Pure arithmetic."""

import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TypedDict

Grades = Mapping[str, int]  # relevance by document id; what is not in it is 0

Metrics = TypedDict(
    "Metrics", {"ndcg@10": float, "recall@10": float, "recall@100": float, "mrr@10": float, "hit@1": float}
)
NAMES = ("ndcg@10", "recall@10", "recall@100", "mrr@10", "hit@1")


def measures(ranking: Sequence[str], grades: Grades, *, least: int) -> Metrics:
    """All of them, each on [0,1].

    nDCG counts every grade, the others only documents of at least the grade `least`, of which there must
    be one.
    """
    relevant = {id for id, grade in grades.items() if grade >= least}
    return {
        "ndcg@10": ndcg(ranking, grades, depth=10),
        "recall@10": recall(ranking, relevant, depth=10),
        "recall@100": recall(ranking, relevant, depth=100),
        "mrr@10": reciprocal_rank(ranking, relevant, depth=10),
        "hit@1": float(bool(ranking) and ranking[0] in relevant),
    }


def ndcg(ranking: Sequence[str], grades: Grades, *, depth: int) -> float:
    """Discounted cumulative gain over that of the best possible ranking.

    Linear gains: a document of grade 2 at place p gives 2 / log2(p + 1) (Järvelin and Kekäläinen, 2002).
    """
    ideal = sorted(grades.values(), reverse=True)
    best = _gain(ideal[:depth])
    return _gain([grades.get(id, 0) for id in ranking[:depth]]) / best if best else 0.0


def recall(ranking: Sequence[str], relevant: set[str], *, depth: int) -> float:
    """Share of all relevant documents among the first `depth`."""
    return len(relevant.intersection(ranking[:depth])) / len(relevant)


def reciprocal_rank(ranking: Sequence[str], relevant: set[str], *, depth: int) -> float:
    """1 / place of the first relevant document; 0 if there is none among the first `depth`."""
    places = (place for place, id in enumerate(ranking[:depth], start=1) if id in relevant)
    return 1 / next(places, math.inf)


def auc(positive: Sequence[float], negative: Sequence[float]) -> float | None:
    """How probably a positive score is above a negative one; equal ones count half. None without both.

    The Mann-Whitney U statistic over the number of pairs.
    """
    if not positive or not negative:
        return None
    labelled = sorted([(score, 1) for score in positive] + [(score, 0) for score in negative])
    pairs, below = 0.0, 0  # negatives under the score looked at
    for _, group in groupby(labelled, key=itemgetter(0)):
        labels = [label for _, label in group]
        equal = labels.count(0)
        pairs += labels.count(1) * (below + equal / 2)
        below += equal
    return pairs / (len(positive) * len(negative))


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` of the values do not exceed (nearest rank). Raises ValueError for none."""
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def _gain(grades: Sequence[int]) -> float:
    return sum(grade / math.log2(place + 1) for place, grade in enumerate(grades, start=1))
