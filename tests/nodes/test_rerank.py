"""The second opinion, its thresholds, and what happens without it."""

from typing import Any

import pytest
from langgraph.runtime import Runtime

from headrace.errors import DependencyFailed
from headrace.nodes.rerank import above_threshold, rerank, with_composite
from headrace.nodes.reranking.diversity import maximal_marginal_relevance, stretched, without_near_duplicates
from headrace.state import Update

from ..fakes import FakeReranker, World, a_chunk, a_hit, asked

pytestmark = pytest.mark.anyio

TEXTS = {"c1": "travel expenses", "c2": "annual leave", "c3": "差旅报销"}


async def reranked(
    reranker: FakeReranker | None, texts: dict[str, str] | None = None, **request: Any
) -> Update:
    world = World()
    given = texts or TEXTS
    await world.add(*(a_chunk(id, text) for id, text in given.items()))
    hits = [a_hit(id, score=round(0.9 - place / 10, 1)) for place, id in enumerate(given)]
    state = {"request": asked(**request), "hits": hits}
    return await rerank(state, Runtime(context=world.context(reranker=reranker)))  # pyright: ignore[reportArgumentType]


def ids(update: Update) -> list[str]:
    return [hit["chunk_id"] for hit in update.get("ranked", [])]


async def test_hits_come_in_the_order_of_the_composite_score() -> None:
    update = await reranked(FakeReranker({"leave": 0.9, "travel": 0.4, "差旅": 0.6}))
    assert (ids(update), update.get("rerank_verdict")) == (["c2", "c3", "c1"], "ok")
    assert update.get("ranked", [])[0]["scores"] == {
        "vector": 0.8,
        "keyword": None,
        "fused": 0.8,
        "rerank": 0.9,
        "composite": 0.88,
        "mmr": 0.7,
    }


async def test_without_a_reranker_the_retrieval_score_is_the_composite() -> None:
    update = await reranked(None)
    assert (ids(update), update.get("rerank_verdict")) == (["c1", "c2", "c3"], "skipped")
    assert update.get("ranked", [])[0]["scores"]["composite"] == 0.9
    assert update.get("warnings") == []


async def test_hits_below_the_threshold_leave_and_say_why() -> None:
    update = await reranked(FakeReranker({"leave": 0.9}, rest=0.1))
    assert ids(update) == ["c2"]
    assert [(left["chunk_id"], left["reason"], left["limit"]) for left in update.get("departures", [])] == [
        ("c1", "below_threshold", 0.3),
        ("c3", "below_threshold", 0.3),
    ]
    assert update.get("departures", [])[0].get("scores") == {"rerank": 0.1, "composite": 0.43}


@pytest.mark.parametrize("error", [None, DependencyFailed("rerank", "down", code="rerank_down")])
async def test_the_call_of_the_model_is_recorded_also_when_it_fails(error: DependencyFailed | None) -> None:
    [call] = (await reranked(FakeReranker(rest=0.5, error=error))).get("calls", [])
    assert (call["stage"], call["role"], call["model"]) == ("rerank", "rerank", "fake-reranker")
    assert call["error"] == (error.code if error else None)
    assert call["duration_ms"] >= 0


@pytest.mark.parametrize("error", [DependencyFailed("rerank", "down")])
async def test_a_failed_reranker_leaves_the_retrieval_order(error: Exception) -> None:
    update = await reranked(FakeReranker(error=error))
    assert (ids(update), update.get("rerank_verdict")) == (["c1", "c2", "c3"], "failed")
    assert [warning["stage"] for warning in update.get("warnings", [])] == ["rerank"]


async def test_scores_that_are_no_numbers_are_a_failure_not_a_rejection() -> None:
    update = await reranked(FakeReranker(rest=float("nan")))
    assert update.get("rerank_verdict") == "failed"


async def test_everything_hopeless_is_rejected() -> None:
    update = await reranked(FakeReranker(rest=0.1))
    assert (ids(update), update.get("rerank_verdict")) == ([], "rejected")


async def test_in_documents_the_user_named_the_best_one_always_stays() -> None:
    update = await reranked(FakeReranker({"leave": 0.05}), document_ids=["doc1"])
    assert ids(update) == ["c2"]


async def test_passages_are_cleaned_for_scoring() -> None:
    reranker = FakeReranker(rest=0.5)
    await reranked(reranker, {"c1": "## **Travel** [rules](http://x.example/y)"})
    assert reranker.passages == ["Travel rules"]


async def test_near_duplicates_of_a_better_hit_leave() -> None:
    words = " ".join(f"word{n}" for n in range(20))
    update = await reranked(None, {"c1": words, "c2": f"{words} more", "c3": "something else"})
    assert ids(update) == ["c1", "c3"]
    [left] = update.get("departures", [])
    assert (left["reason"], left.get("other")) == ("near_duplicate", "c1")


def scored(*scores: float) -> list[Any]:
    return [with_composite(a_hit(f"c{n}"), score) for n, score in enumerate(scores)]


def test_the_threshold_is_lowered_once_when_nothing_passes() -> None:
    kept, limit = above_threshold(scored(0.4, 0.1), 0.5, narrowed=False)
    assert (len(kept), limit) == (1, 0.35)


def test_it_is_never_lowered_under_the_default() -> None:
    kept, limit = above_threshold(scored(0.29, 0.1), 0.35, narrowed=False)
    assert (len(kept), limit) == (1, 0.3)
    assert kept[0]["marks"] == ["best_of_weak"]


@pytest.mark.parametrize(("score", "narrowed", "kept"), [(0.15, False, 1), (0.14, False, 0), (0.0, True, 1)])
def test_the_best_of_weak_ones_stays_unless_it_is_hopeless(score: float, narrowed: bool, kept: int) -> None:
    assert len(above_threshold(scored(score), 0.3, narrowed=narrowed)[0]) == kept


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
