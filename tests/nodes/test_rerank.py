"""The second opinion, its thresholds, and what happens without it."""

import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.runtime import Runtime

from headrace.context import Reranker
from headrace.errors import DependencyFailed
from headrace.nodes.rerank import rerank
from headrace.state import Update

from ..fakes import FakeReranker, World, a_chunk, a_hit, asked

pytestmark = pytest.mark.anyio

TEXTS = {"c1": "travel expenses", "c2": "annual leave", "c3": "差旅报销"}


async def reranked(reranker: Reranker | None, texts: dict[str, str] | None = None, **request: Any) -> Update:
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


async def test_texts_that_all_have_the_same_score_stay_in_the_order_of_the_search() -> None:
    update = await reranked(FakeReranker(rest=0.0))
    assert (ids(update), update.get("rerank_verdict")) == (["c1", "c2", "c3"], "failed")
    [warning] = update.get("warnings", [])
    assert warning["code"] == "rerank_says_nothing"


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


class Saying:
    """A reranker that returns what it was given, whatever was asked."""

    name = "saying"

    def __init__(self, scores: Sequence[float]) -> None:
        self.said = scores

    async def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        return [*self.said]


@settings(max_examples=60)
@given(st.lists(st.floats(), max_size=5), st.floats(0, 1), st.booleans())
async def test_whatever_a_reranker_says_the_run_goes_on(
    said: list[float], threshold: float, faq: bool
) -> None:
    update = await reranked(Saying(said), rerank_threshold=threshold, document_ids=["doc1"] if faq else [])
    verdict = update.get("rerank_verdict")
    assert verdict in ("ok", "failed", "rejected")
    left = [one["chunk_id"] for one in update.get("departures", [])]
    assert sorted([*ids(update), *left]) == ["c1", "c2", "c3"]
    if len(said) != 3 or not any(map(math.isfinite, said)):
        assert (verdict, ids(update)) == ("failed", ["c1", "c2", "c3"])
    assert len(update.get("warnings", [])) == (verdict == "failed")
    assert all(0 <= hit["score"] <= 1 for hit in update.get("ranked", []))


async def test_a_catalogue_that_is_down_costs_only_images_and_questions() -> None:
    world = World()
    await world.add(a_chunk("c1", "差旅报销"), a_chunk("c2", "annual leave"))
    world.catalogue.failing = True
    reranker = FakeReranker({"差旅": 0.9}, rest=0.4)
    state = {"request": asked(), "hits": [a_hit("c1"), a_hit("c2", score=0.8)]}
    update = await rerank(state, Runtime(context=world.context(reranker=reranker)))  # pyright: ignore[reportArgumentType]
    assert (ids(update), update.get("rerank_verdict")) == (["c1", "c2"], "ok")
    assert [warning["stage"] for warning in update.get("warnings", [])] == ["rerank"]


async def test_images_and_questions_of_a_passage_are_scored_with_it() -> None:
    world = World()
    await world.add(
        a_chunk("c1", "审批", images=({"url": "a.png", "caption": "报销流程"},)),
        a_chunk("q1", "How do I get refunded?", kind="question", parent_chunk_id="c1"),
        a_chunk("c2", "annual leave"),
    )
    reranker = FakeReranker({"报销": 0.9}, rest=0.4)
    state = {"request": asked(), "hits": [a_hit("c1"), a_hit("c2", score=0.8)]}
    await rerank(state, Runtime(context=world.context(reranker=reranker)))  # pyright: ignore[reportArgumentType]
    assert reranker.passages == ["审批\n报销流程\nHow do I get refunded?", "annual leave"]


async def test_known_answers_come_first_also_without_a_reranker() -> None:
    world = World()
    await world.add(a_chunk("c1", "差旅报销"), a_chunk("f1", "怎么报销？", kind="faq"))
    hits = [a_hit("c1", score=0.8), a_hit("f1", score=0.7, kind="faq", match_type="faq")]
    state = {"request": asked(), "hits": hits}
    update = await rerank(state, Runtime(context=world.context()))  # pyright: ignore[reportArgumentType]
    assert ids(update) == ["f1", "c1"]
    assert update.get("ranked", [])[0]["marks"] == ["faq_boosted"]


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
