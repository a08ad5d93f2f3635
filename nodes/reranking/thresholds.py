"""Which score is good enough, and what to do when none is."""

from collections.abc import Iterable, Sequence

from ...state import Hit

# The threshold is lowered once when nothing passes; the best one is kept if it is not hopeless.
LEAST_THRESHOLD = 0.3
LOWERED = 0.7
HOPELESS = 0.15

NOT_OURS = frozenset({"web", "graph"})  # found elsewhere than by the search that the model judges


def limits(threshold: float) -> list[float]:
    """The thresholds to try, one after the other."""
    lowered = max(LEAST_THRESHOLD, threshold * LOWERED)
    return [threshold, lowered] if threshold > LEAST_THRESHOLD else [threshold]


def holding_limit(scores: Iterable[float], threshold: float) -> float | None:
    """The first threshold that something reaches; None where nothing does."""
    best = max(scores, default=-1.0)
    return next((limit for limit in limits(threshold) if best >= limit), None)


def worth_reading(score: float, *, narrowed: bool) -> bool:
    """Whether the best of what has not passed is kept all the same.

    `narrowed`: the user pointed at documents, so the best passage of them always is.
    """
    return narrowed or score >= HOPELESS


def found_elsewhere(hits: Sequence[Hit]) -> list[Hit]:
    """What a run goes on with when the model has rejected everything: web pages and related entities."""
    return [hit for hit in hits if hit["match_type"] in NOT_OURS or hit["kind"] == "web"]
