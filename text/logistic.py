"""From odds to a probability."""

import math


def logistic(odds: float) -> float:
    """`1 / (1 + exp(-odds))`, on [0,1]. In two forms, so that neither exponent overflows."""
    return 1 / (1 + math.exp(-odds)) if odds >= 0 else math.exp(odds) / (1 + math.exp(odds))
