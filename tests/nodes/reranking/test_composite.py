import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.nodes.reranking.composite import by_score, with_composite, with_faq_first

from ...fakes import a_hit, asked


def test_the_composite_is_made_of_model_search_and_source() -> None:
    assert with_composite(a_hit(score=0.5), 0.8)["score"] == pytest.approx(0.6 * 0.8 + 0.3 * 0.5 + 0.1)
    web = with_composite(a_hit(score=0.5, kind="web", match_type="web"), 0.8)
    assert web["score"] == pytest.approx(0.6 * 0.8 + 0.3 * 0.5 + 0.095)


def test_without_a_model_it_is_what_the_search_gave() -> None:
    hit = with_composite(a_hit(score=0.5), None)
    assert (hit["score"], hit["scores"]["composite"]) == (0.5, 0.5)


@pytest.mark.parametrize(("base", "model"), [(3.0, 1.0), (-3.0, 0.0)])
def test_it_stays_within_its_bounds(base: float, model: float) -> None:
    assert 0 <= with_composite(a_hit(score=base), model)["score"] <= 1


def faq(id: str, score: float) -> object:
    return a_hit(id, score=score, kind="faq", match_type="faq")


def order(*hits: object, **knobs: object) -> list[tuple[str, float]]:
    raised = with_faq_first([*hits], asked(**knobs))  # pyright: ignore[reportArgumentType]
    return [(hit["chunk_id"], hit["score"]) for hit in raised]


def test_known_answers_are_raised_and_marked() -> None:
    hits = [a_hit("c", score=0.7), a_hit("f", score=0.6, kind="faq", match_type="faq")]
    raised = with_faq_first(hits, asked(faq_score_boost=1.5))
    assert [(hit["chunk_id"], hit["score"], hit["marks"]) for hit in raised] == [
        ("f", 0.9, ["faq_boosted"]),
        ("c", 0.7, []),
    ]
    assert raised[0]["scores"]["composite"] == 0.9


@pytest.mark.parametrize("knobs", [{"faq_priority_enabled": False}, {"faq_score_boost": 1.0}])
def test_without_priority_they_are_not(knobs: dict[str, object]) -> None:
    assert order(faq("f", 0.6), a_hit("c", score=0.7), **knobs) == [("c", 0.7), ("f", 0.6)]


def test_those_that_would_all_be_worth_everything_keep_their_order() -> None:
    assert order(faq("a", 0.9), faq("b", 0.95), faq("c", 0.5)) == [("b", 1.0), ("a", 0.999999), ("c", 0.6)]


@given(st.lists(st.floats(0, 1), max_size=12), st.floats(1, 10))
def test_the_boost_never_changes_the_order_of_known_answers(scores: list[float], factor: float) -> None:
    hits = [with_composite(a_hit(f"f{n}", score=s, kind="faq"), None) for n, s in enumerate(scores)]
    before = [hit["chunk_id"] for hit in by_score(hits)]
    raised = with_faq_first(hits, asked(faq_score_boost=factor))
    assert [hit["chunk_id"] for hit in raised] == before
    assert all(0 <= hit["score"] <= 1 for hit in raised)
