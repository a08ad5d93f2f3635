import pytest

from headrace.nodes.reranking.diversity import (
    diverse,
    maximal_marginal_relevance,
    stretched,
    without_near_duplicates,
)

from ...fakes import a_hit, asked


def test_diversity_prefers_a_new_text_to_a_better_repetition() -> None:
    hits = [a_hit("a", score=1.0), a_hit("b", score=0.9), a_hit("c", score=0.8)]
    tokens = {"a": {"x", "y"}, "b": {"x", "y", "z"}, "c": {"p", "q"}}
    chosen, departures = maximal_marginal_relevance(hits, tokens, weight=0.5, count=2)
    assert [hit["chunk_id"] for hit in chosen] == ["a", "c"]
    assert [hit["scores"]["mmr"] for hit in chosen] == [0.5, 0.0]
    [left] = departures
    assert (left["reason"], left.get("other")) == ("not_diverse", "a")
    assert left.get("scores") == {"mmr": pytest.approx(-0.083333)}


def test_with_full_weight_diversity_is_the_order_of_scores() -> None:
    hits = [a_hit("a", score=1.0), a_hit("b", score=0.9)]
    chosen, _ = maximal_marginal_relevance(hits, {"a": {"x"}, "b": {"x"}}, weight=1.0, count=5)
    assert [hit["chunk_id"] for hit in chosen] == ["a", "b"]


def test_near_duplicates_are_measured_by_shared_words() -> None:
    hits = [a_hit("a"), a_hit("b"), a_hit("c")]
    tokens = {"a": set("abcdefg"), "b": set("abcdefg"), "c": set("abcxyz")}
    assert [hit["chunk_id"] for hit in without_near_duplicates(hits, tokens)[0]] == ["a", "c"]


def test_scores_are_stretched_over_their_range() -> None:
    assert stretched([0.2, 0.4, 0.3]) == pytest.approx([0.0, 1.0, 0.5])
    assert stretched([0.4, 0.4]) == [1.0, 1.0]
    assert stretched([]) == []


@pytest.mark.parametrize(
    ("verdict", "weight", "kept"),
    [("ok", None, 2), ("skipped", None, 3), ("failed", None, 3), ("ok", 1.0, 3), ("skipped", 0.7, 2)],
)
def test_variety_is_weighed_only_where_a_model_judged_or_a_knob_asks(
    verdict: str, weight: float | None, kept: int
) -> None:
    hits = [a_hit("a", score=1.0), a_hit("b", score=0.9), a_hit("c", score=0.8)]
    tokens = {"a": {"年假"}, "b": {"leave"}, "c": {"报销"}}
    request = asked(mmr_lambda=weight, rerank_top_k=2)
    chosen, departures = diverse(hits, tokens, request, verdict)  # pyright: ignore[reportArgumentType]
    assert (len(chosen), len(departures)) == (kept, 3 - kept)
