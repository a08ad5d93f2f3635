"""What a hit is worth in all: to the model, to the search, by where it comes from."""

from collections.abc import Sequence

from ...state import Asked, Hit

MODEL_WEIGHT, BASE_WEIGHT, SOURCE_WEIGHT = 0.6, 0.3, 0.1
WEB = 0.95  # anybody may have written it
# What keeps hits in order that a factor would all take beyond 1.
STEP = 1e-6


def with_composite(hit: Hit, model: float | None) -> Hit:
    """The hit scored as a whole: `.6 model + .3 search + .1 source`; without a model the search's score.

    `model` is what counts of the model's score; the score itself stays in `scores` as it was given.
    """
    score = hit["score"]
    if model is not None:
        score = MODEL_WEIGHT * model + BASE_WEIGHT * score + SOURCE_WEIGHT * _source(hit)
    return _scored(hit, score)


def _source(hit: Hit) -> float:
    return WEB if hit["match_type"] == "web" or hit["kind"] == "web" else 1.0


def with_faq_first(hits: Sequence[Hit], asked: Asked) -> list[Hit]:
    """Hits best first; where FAQ entries have priority, these are raised by the factor and marked.

    No score is over 1. Those that the factor would take there stay apart by a millionth, in their order.
    """
    factor = asked.get("faq_score_boost", 1.0)
    ordered = by_score(hits)
    if not asked.get("faq_priority_enabled") or factor <= 1:
        return ordered
    raised: list[Hit] = []
    ceiling = 1.0
    for hit in ordered:
        if _is_faq(hit):
            score = min(ceiling, hit["score"] * factor)
            ceiling = score - STEP
            hit = _scored({**hit, "marks": [*hit["marks"], "faq_boosted"]}, score)
        raised.append(hit)
    return by_score(raised)


def _is_faq(hit: Hit) -> bool:
    return hit["match_type"] == "faq" or hit["kind"] == "faq"


def _scored(hit: Hit, score: float) -> Hit:
    score = round(min(1.0, max(0.0, score)), 6)
    return {**hit, "score": score, "scores": {**hit["scores"], "composite": score}}


def by_score(hits: Sequence[Hit]) -> list[Hit]:
    """Best first; equal ones in the order they came in, which is that of the search."""
    return sorted(hits, key=lambda hit: -hit["score"])
