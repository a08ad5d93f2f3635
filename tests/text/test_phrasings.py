import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.text.phrasings import of_phrasings

scores = st.lists(st.floats(0, 1), min_size=1, max_size=9)


def test_one_phrasing_is_scored_as_it_is() -> None:
    assert of_phrasings([0.8]) == pytest.approx(0.8)


def test_three_near_phrasings_are_worth_more_than_one() -> None:
    assert of_phrasings([0.80, 0.79, 0.78]) > of_phrasings([0.81, 0.6, 0.6])


def test_phrasings_beyond_the_best_three_change_nothing() -> None:
    assert of_phrasings([0.8, 0.1, 0.7, 0.6, 0.2]) == of_phrasings([0.8, 0.7, 0.6])


def test_an_entry_without_a_phrasing_has_no_score() -> None:
    with pytest.raises(ValueError, match="phrasing"):
        of_phrasings([])


@given(scores)
def test_the_score_lies_between_its_phrasings(values: list[float]) -> None:
    assert min(values) - 1e-9 <= of_phrasings(values) <= max(values) + 1e-9


@given(scores)
def test_the_order_of_phrasings_does_not_matter(values: list[float]) -> None:
    assert of_phrasings(values) == of_phrasings(sorted(values))
