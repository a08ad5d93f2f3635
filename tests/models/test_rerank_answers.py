import json
import math
from typing import Any

import pytest

from headrace.models.rerank_answers import nothing_scored, scores_in


def result(index: Any, score: Any) -> dict[str, Any]:
    return {"index": index, "relevance_score": score}


@pytest.mark.parametrize(
    "answer",
    [
        {"results": [result(0, 0.5), result(1, -0.1)]},
        {"results": [result(1, -0.1), result(0, 0.5)], "usage": {}},
        {"data": [result(1, -0.1), result(0, 0.5)]},
        {"output": {"results": [result(0, 0.5), result(1, -0.1)]}},
        [{"index": 0, "score": 0.5}, {"index": 1, "score": -0.1}],
        {"results": [result(0, 0.5), result(0, 0.2), result(1, -0.1)]},
        {"results": [result(0, 0.5), result(1, -0.1), result(7, 0.9), result(-1, 0.9), result(None, 0.9)]},
        {"results": [result("0", "0.5"), result(1.0, -0.1), result("第二", 0.9), result(True, 0.9)]},
        {"results": [result(0, 0.5), result(1, -0.1), result(2, math.nan), result(2, None), "x", {}, None]},
        {"results": [result(0, 0.5), result(1, -0.1), result(2, True), result(2, "高"), result(2, 10**400)]},
        {"results": [result(0, 0.5), result(1, -0.1), result(2, math.inf), result(10**400, 0.9)]},
        {"scores": [0.5, -0.1, None]},
        [0.5, "-0.1", math.inf],
    ],
)
def test_forms_gaps_and_nonsense_are_borne(answer: Any) -> None:
    scores = scores_in(json.loads(json.dumps(answer)), 3)
    assert scores[:2] == [0.5, -0.1]
    assert math.isnan(scores[2])


@pytest.mark.parametrize("answer", [None, "x", 3, {}, [], {"results": {}}, {"scores": [1.0]}, {"output": []}])
def test_an_answer_without_any_score_has_none(answer: Any) -> None:
    assert nothing_scored(scores_in(answer, 3))
