import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.evaluation.metrics import auc, measures, ndcg, percentile, recall, reciprocal_rank

GRADES = {"甲": 2, "乙": 1}


def test_the_best_possible_ranking_has_an_ndcg_of_one() -> None:
    assert ndcg(["甲", "乙", "丙"], GRADES, depth=10) == 1.0


def test_gains_are_linear_and_discounted_by_the_logarithm_of_the_place() -> None:
    found = ndcg(["丙", "乙", "甲"], GRADES, depth=10)
    assert found == pytest.approx((1 / math.log2(3) + 2 / math.log2(4)) / (2 + 1 / math.log2(3)))


def test_what_comes_after_the_depth_counts_for_nothing() -> None:
    assert ndcg(["x"] * 10 + ["甲"], GRADES, depth=10) == 0.0
    assert recall(["x"] * 10 + ["甲"], {"甲"}, depth=10) == 0.0
    assert reciprocal_rank(["x"] * 10 + ["甲"], {"甲"}, depth=10) == 0.0


def test_recall_is_the_share_of_all_that_is_relevant() -> None:
    assert recall(["甲"], {"甲", "乙"}, depth=10) == 0.5


def test_grades_below_the_least_count_for_ndcg_alone() -> None:
    found = measures(["乙", "甲"], GRADES, least=2)
    assert (found["hit@1"], found["mrr@10"], found["recall@10"]) == (0.0, 0.5, 1.0)
    assert 0 < found["ndcg@10"] < 1


def test_an_empty_ranking_is_worth_nothing() -> None:
    assert set(measures([], GRADES, least=1).values()) == {0.0}


@given(st.lists(st.floats(0, 1), min_size=1), st.lists(st.floats(0, 1), min_size=1))
def test_auc_is_the_share_of_pairs_in_the_right_order(positive: list[float], negative: list[float]) -> None:
    pairs = [(p > n) + (p == n) / 2 for p in positive for n in negative]
    assert auc(positive, negative) == pytest.approx(sum(pairs) / len(pairs))


def test_auc_needs_both_kinds() -> None:
    assert auc([], [0.1]) is None
    assert auc([0.1], []) is None


def test_a_percentile_is_one_of_the_values() -> None:
    assert percentile([3, 1, 2], 0.95) == 3
    assert percentile([3, 1, 2], 0.5) == 2
    assert percentile([7], 0.0) == 7
