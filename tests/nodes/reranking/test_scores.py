import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headrace.errors import DependencyRefused
from headrace.nodes.reranking.scores import usable

TEXTS = ["年假十天", "Sick leave", "发票"]
ANY = st.one_of(st.floats(), st.floats(-15, 15), st.floats(0, 1), st.sampled_from([0.0, 0.5, 1.0]))


def test_probabilities_stay_as_they_are() -> None:
    assert usable([0.9, 0.0, 1.0], TEXTS, "x") == [0.9, 0.0, 1.0]


def test_one_value_outside_shows_that_all_are_logits() -> None:
    assert usable([4.2, -900.0, 0.0], TEXTS, "x") == pytest.approx([0.985, 0.0, 0.5], abs=1e-3)


@pytest.mark.parametrize("nothing", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_was_left_out(nothing: float) -> None:
    assert usable([0.9, nothing, 0.2], TEXTS, "x") == [0.9, 0.0, 0.2]


@pytest.mark.parametrize("scores", [[], [0.1, 0.2], [0.1, 0.2, 0.3, 0.4], [math.nan] * 3, [math.inf] * 3])
def test_anything_but_a_score_per_passage_is_a_failure_with_a_name(scores: list[float]) -> None:
    with pytest.raises(DependencyRefused, match="The reranker x gave") as refused:
        usable(scores, TEXTS, "x")
    assert refused.value.code == "rerank_unusable"


@pytest.mark.parametrize("score", [0.0, 0.5, 1.0, -3.0])
def test_the_same_score_for_different_texts_says_nothing(score: float) -> None:
    with pytest.raises(DependencyRefused, match="the same score") as refused:
        usable([score] * 3, TEXTS, "x")
    assert refused.value.code == "rerank_says_nothing"


def test_the_same_score_for_the_same_text_or_a_single_one_is_a_judgement() -> None:
    assert usable([0.1, 0.1], ["年假", "年假"], "x") == [0.1, 0.1]
    assert usable([0.1], ["leave"], "x") == [0.1]


@given(st.lists(ANY, max_size=8))
def test_scores_are_usable_or_refused_by_name(scores: list[float]) -> None:
    texts = [f"text {n} 文" for n in range(len(scores))]
    numbers = [score for score in scores if math.isfinite(score)]
    if not numbers or (len(scores) == len(numbers) > 1 and len({*numbers}) == 1):
        with pytest.raises(DependencyRefused):
            usable(scores, texts, "x")
    else:
        found = usable(scores, texts, "x")
        assert len(found) == len(scores)
        assert all(0.0 <= score <= 1.0 for score in found)


@given(st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=8, unique=True))
def test_the_order_of_the_scores_stays(scores: list[float]) -> None:
    found = usable(scores, [f"text {n}" for n in range(len(scores))], "x")
    for first, second in zip(range(len(scores)), range(1, len(scores)), strict=False):
        assume(scores[first] < scores[second])
        assert found[first] <= found[second]
