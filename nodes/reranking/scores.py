"""What a reranker returned, made usable: one number on [0,1] per passage, or a failure with a name."""

import math
from collections.abc import Sequence

from ...errors import DependencyRefused
from ...text.logistic import logistic

UNUSABLE = "rerank_unusable"
SAYS_NOTHING = "rerank_says_nothing"


def usable(scores: Sequence[float], passages: Sequence[str], name: str) -> list[float]:
    """Probabilities as they are, logits through the logistic function; the order stays.

    One value outside [0,1] shows that all of them are logits. NaN and infinite ones are no judgement: the
    reranker left that passage out, and it scores 0.

    Raises DependencyRefused `rerank_unusable` where there is not one score per passage or none that is a
    number, and `rerank_says_nothing` where several different texts all have the same one: no model does
    that, but servers do whose model was not loaded. A reranker that answers like this has failed; it has
    not rejected anything.
    """
    if len(scores) != len(passages):
        said = f"gave {len(scores)} scores for {len(passages)} passages"
        raise DependencyRefused("rerank", f"The reranker {name} {said}.", code=UNUSABLE)
    numbers = [float(score) for score in scores if math.isfinite(score)]
    if not numbers:
        raise DependencyRefused("rerank", f"The reranker {name} gave no scores.", code=UNUSABLE)
    if len(numbers) == len(scores) and len({*numbers}) == 1 and len({*passages}) > 1:
        message = f"The reranker {name} gave all passages the same score."
        raise DependencyRefused("rerank", message, code=SAYS_NOTHING)
    logits = any(not 0.0 <= number <= 1.0 for number in numbers)
    return [_on_unit(score, logit=logits) if math.isfinite(score) else 0.0 for score in scores]


def _on_unit(score: float, *, logit: bool) -> float:
    return logistic(score) if logit else float(score)
