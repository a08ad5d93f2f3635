"""Whether two measurements of the same questions differ by more than chance."""

from collections.abc import Mapping, Sequence
from random import Random
from statistics import fmean
from typing import Any, TypedDict

from ..errors import BadRequest
from .metrics import NAMES, percentile

RESAMPLES = 10_000
SEED = 20261130


class Difference(TypedDict):
    """Second minus first of one metric. `low` and `high` bound 95 % of the resampled means; `p` is the
    two-sided share of them on the other side of zero."""

    n: int
    first: float
    second: float
    difference: float
    low: float
    high: float
    p: float


def compare(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, dict[str, Difference]]:
    """Differences by stage and metric, over the questions that both reports have.

    Paired bootstrap over questions (Efron and Tibshirani, 1993). Raises BadRequest (nothing_to_compare).
    """
    ours, theirs = _by_question(first), _by_question(second)
    shared = [qid for qid in ours if qid in theirs]
    if not shared:
        raise BadRequest("The two reports have no question in common.", code="nothing_to_compare")
    stages = [stage for stage in first["stages"] if stage in second["stages"]]
    return {
        stage: {
            name: difference(
                [ours[qid][stage][name] for qid in shared], [theirs[qid][stage][name] for qid in shared]
            )
            for name in NAMES
        }
        for stage in stages
    }


def difference(first: Sequence[float], second: Sequence[float], *, resamples: int = RESAMPLES) -> Difference:
    """Of pairs, in order. The same numbers always give the same result."""
    changes = [b - a for a, b in zip(first, second, strict=True)]
    random = Random(SEED)
    means = sorted(fmean(random.choices(changes, k=len(changes))) for _ in range(resamples))
    below = sum(mean <= 0 for mean in means) / resamples
    above = sum(mean >= 0 for mean in means) / resamples
    return Difference(
        n=len(changes),
        first=fmean(first),
        second=fmean(second),
        difference=fmean(changes),
        low=percentile(means, 0.025),
        high=percentile(means, 0.975),
        p=min(1.0, 2 * min(below, above)),
    )


def _by_question(report: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {row["qid"]: row for row in report["per_query"] if not row["negative"]}
