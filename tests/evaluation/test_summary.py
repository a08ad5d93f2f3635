from typing import Any

import pytest

from headrace.evaluation.suite import ListedTask
from headrace.evaluation.summary import RANKED, Bar, bars, by_group, plain, pooled_auc, rows


def a_task(name: str, **more: Any) -> ListedTask:
    return ListedTask.model_validate({"name": name, "corpus": "c", "queries": "q", "qrels": "r"} | more)


def a_report(same: dict[str, tuple[bool, float]] | None = None, **ndcg: float) -> dict[str, Any]:
    values = dict.fromkeys(RANKED, 0.5) | ndcg
    stages = {name: {"ndcg@10": value, "recall@10": 0.7, "hit@1": 0.6} for name, value in values.items()}
    asked = [
        {"qid": qid, "negative": is_not, "near_miss": False, "same_question": score}
        for qid, (is_not, score) in (same or {}).items()
    ]
    return {"n": 3, "stages": stages, "search_ms": {"p50": 1.0, "p95": 2.0}, "per_query": asked}


def bar_of(what: str, found: list[Bar]) -> Bar:
    (bar,) = (bar for bar in found if bar.what == what)
    return bar


def test_regret_is_what_is_missing_to_the_better_channel() -> None:
    reports = {"a": a_report(vector=0.8, keyword=0.6, fused=0.7, final=0.65)}
    (row,) = rows([a_task("a"), a_task("unmeasured")], reports)
    assert row.regret == pytest.approx(0.1)
    assert row.change == pytest.approx(-0.05)


def test_what_the_other_language_costs_is_the_difference_to_the_same_ranking_without() -> None:
    (row,) = rows([a_task("a")], {"a": a_report(fused=0.70, unplaced=0.71)})
    assert row.places == pytest.approx(0.01)


def test_sets_count_once_however_many_tasks_they_have() -> None:
    tasks = [a_task("a", group="x"), a_task("b", group="x"), a_task("c")]
    reports = {"a": a_report(fused=0.0), "b": a_report(fused=1.0), "c": a_report(fused=1.0)}
    assert by_group(rows(tasks, reports), lambda row: row.ndcg["fused"]) == 0.75


def test_mixed_tasks_are_not_among_the_plain_ones() -> None:
    tasks = [a_task("a"), a_task("b", mixed=True)]
    found = plain(rows(tasks, {"a": a_report(), "b": a_report()}))
    assert [row.task.name for row in found] == ["a"]


def test_the_score_is_pooled_over_banks() -> None:
    reports = {
        "zh": a_report({"问一": (False, 0.9), "问二": (True, 0.2)}),
        "en": a_report({"one": (False, 0.1), "two": (True, 0.0)}),
    }
    assert pooled_auc(reports, ["zh"]) == 1.0
    assert pooled_auc(reports, ["zh", "en"]) == 0.75


def test_a_bar_on_what_was_not_measured_is_neither_met_nor_missed() -> None:
    found = bars(rows([a_task("stard")], {"stard": a_report(fused=0.6)}), {"stard": a_report()})
    assert bar_of("nDCG@10 fused, stard", found).is_met is True
    assert bar_of("mean nDCG@10, fused", found).is_met is None
    assert bar_of("hit@1 final, faq-covid", found).is_met is None


def test_the_worst_task_decides_about_regret() -> None:
    reports = {"a": a_report(vector=0.5, keyword=0.1, fused=0.6), "b": a_report(vector=0.52, fused=0.5)}
    bar = bar_of("worst regret of fused", bars(rows([a_task("a"), a_task("b")], reports), reports))
    assert bar.value == pytest.approx(0.02)
    assert bar.is_met is False


@pytest.mark.parametrize(("value", "met"), [(0.01, True), (0.0100000000001, True), (0.0101, False)])
def test_a_bound_itself_is_met(value: float, met: bool) -> None:
    assert Bar(what="", value=value, sense="<=", bound=0.01).is_met is met
