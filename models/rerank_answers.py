"""What rerank servers answer, as one number per passage; whatever else they send is passed over."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

LEFT_OUT = math.nan


def scores_in(answer: Any, count: int) -> list[float]:
    """A score per passage as the server gave it; NaN for those it left out or gave no number.

    Read are `results`, `data` or `output.results`, or a bare list, of items with `index` and
    `relevance_score` or `score`, in any order; of an index given twice the better score. Or `scores`, or a
    list of numbers, one per passage in their order.
    """
    items = _items(answer)
    plain = [_number(item) for item in items]
    if len(plain) == count and not any(isinstance(item, Mapping) for item in items):
        return plain
    found: dict[int, float] = {}
    for item in items:
        place, score = _indexed(item)
        if 0 <= place < count and not math.isnan(score):
            found[place] = max(score, found.get(place, -math.inf))
    return [found.get(place, LEFT_OUT) for place in range(count)]


def _items(answer: Any) -> list[Any]:
    match answer:
        case {"output": {"results": [*items]}} | {"results": [*items]} | {"data": [*items]}:
            return items
        case {"scores": [*items]} | [*items]:
            return items
        case _:
            return []


def _indexed(item: Any) -> tuple[int, float]:
    match item:
        case {"index": place, "relevance_score": score} | {"index": place, "score": score}:
            return _place(place), _number(score)
        case _:
            return -1, LEFT_OUT


def _place(value: Any) -> int:
    """-1 for what is no index."""
    match value:
        case bool():
            return -1
        case int():
            return value
        case float() if value.is_integer():
            return int(value)
        case str() if value.isascii() and value.isdecimal() and len(value) < 10:
            return int(value)
        case _:
            return -1


def _number(value: Any) -> float:
    """NaN for what is no finite number; numbers in quotes count."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return LEFT_OUT
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return LEFT_OUT
    return number if math.isfinite(number) else LEFT_OUT


def nothing_scored(scores: Sequence[float]) -> bool:
    return all(map(math.isnan, scores))
