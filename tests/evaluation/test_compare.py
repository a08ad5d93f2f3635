from typing import Any

import pytest

from headrace.errors import BadRequest
from headrace.evaluation.compare import compare, difference
from headrace.evaluation.metrics import NAMES


def a_report(**values: float) -> dict[str, Any]:
    rows = [{"qid": qid, "negative": False, "fused": dict.fromkeys(NAMES, v)} for qid, v in values.items()]
    return {"stages": {"fused": {}}, "per_query": rows}


def test_the_same_report_twice_does_not_differ() -> None:
    report = a_report(问一=0.5, 问二=1.0)
    found = compare(report, report)["fused"]["ndcg@10"]
    assert (found["difference"], found["p"], found["n"]) == (0.0, 1.0, 2)


def test_a_gain_on_every_question_is_no_chance() -> None:
    found = difference([0.1] * 20, [0.3] * 20, resamples=500)
    assert found["difference"] == pytest.approx(0.2)
    assert found["low"] > 0
    assert found["p"] == 0.0


def test_one_changed_question_of_many_proves_nothing() -> None:
    found = difference([0.5] * 30, [0.5] * 29 + [0.6], resamples=500)
    assert found["low"] == 0.0
    assert found["p"] > 0.05


def test_the_same_numbers_give_the_same_result() -> None:
    assert difference([0.1, 0.9, 0.4], [0.2, 0.8, 0.6]) == difference([0.1, 0.9, 0.4], [0.2, 0.8, 0.6])


def test_only_questions_of_both_reports_are_compared() -> None:
    found = compare(a_report(a=0.0, b=1.0), a_report(b=1.0, c=0.0))
    assert found["fused"]["hit@1"]["n"] == 1


def test_reports_without_a_common_question_are_refused() -> None:
    with pytest.raises(BadRequest, match="no question in common"):
        compare(a_report(a=1.0), a_report(b=1.0))
