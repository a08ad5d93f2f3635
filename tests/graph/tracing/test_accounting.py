"""Every candidate is accounted for exactly once, whatever the run."""

import asyncio
import dataclasses
import json
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.context import Chunk, Context
from headrace.graph.tracing.follow import follow
from headrace.graph.tracing.recorded import Recorded
from headrace.graph.tracing.shapes import Trace
from headrace.graph.tracing.trace import build_trace

from ...fakes import FakeReranker, ScriptedChat, World, a_chunk, a_hit, a_turn
from ...nodes.searching.worlds import add_entry
from .recording import Forgetful, recorded

pytestmark = pytest.mark.anyio

# Where a hit may leave, and every word that a stage has for it.
REASONS = {
    ("search_chunks", "below_vector_threshold"),
    ("search_chunks", "below_keyword_threshold"),
    ("search_chunks", "gone"),
    ("search_chunks", "negative_question"),
    ("collect_results", "gone"),
    ("collect_results", "same_text"),
    ("rerank", "below_threshold"),
    ("rerank", "over_quota"),
    ("rerank", "near_duplicate"),
    ("rerank", "not_diverse"),
    ("merge_chunks", "gone"),
    ("merge_chunks", "same_text"),
    ("merge_chunks", "same_parent"),
    ("merge_chunks", "joined"),
    ("merge_chunks", "overlap"),
    ("filter_top_k", "over_limit"),
    ("assemble_context", "over_budget"),
    ("assemble_context", "gone"),
}
WORDS = [f"word{n}" for n in range(20)]


def in_documents(*texts: str) -> list[Chunk]:
    return [a_chunk(f"c{n}", text, document_id=f"d{n}") for n, text in enumerate(texts)]


async def a_world(*chunks: Chunk) -> World:
    world = World()
    await world.add(*chunks)
    return world


def forgetting(world: World, **lost: int) -> Context:
    return dataclasses.replace(world.context(), passages=Forgetful(world, **lost))


async def below_the_recall_thresholds() -> Recorded:
    world = await a_world(*in_documents("travel expenses are refunded", "a b c d e f travel"))
    return await recorded(world.context(), "travel expenses", vector_threshold=0.6, keyword_threshold=1.5)


async def below_the_threshold_of_the_one_index_that_has_it() -> Recorded:
    world = await a_world(*in_documents("差旅报销标准", "差旅一二三四五六七八九十"))
    await world.keywords.delete("kb1", ["c1"])
    return await recorded(world.context(), "差旅报销标准", vector_threshold=0.5)


async def gone_from_the_catalogue() -> Recorded:
    world = await a_world(*in_documents("travel expenses", "travel leave"))
    del world.catalogue.all_chunks["c1"]
    return await recorded(world.context(), "travel")


async def known_questions_beside_documents() -> Recorded:
    world = await a_world(*in_documents("差旅报销 the lost card", "lost card abroad"))
    await add_entry(world, "e1", "lost card", "card is lost", "卡丢了")
    await add_entry(world, "e2", "lost card of a friend", negative=["LOST card!"])
    return await recorded(world.context(), "lost card", kb_ids=["kb1", "faq"])


async def asked_again_in_other_words() -> Recorded:
    world = await a_world(*in_documents("the travel refund", "travel refund", "差旅 travel", "refund 年假"))
    given: dict[str, Any] = {"vector_threshold": 0.99, "keyword_threshold": 2.5}
    return await recorded(world.context(), "the travel refund", enable_query_expansion=True, **given)


async def asked_in_both_languages() -> Recorded:
    world = await a_world(*in_documents("差旅报销", "差旅 年假", "travel refund", "travel leave"))
    said = {"rewrite_query": "差旅报销", "intent": "kb_search", "translations": {"en": "travel refund"}}
    model = ScriptedChat([json.dumps(said)], name="small")
    return await recorded(world.context(understand=model), "差旅报销", keyword_threshold=2.0)


async def without_text_and_with_the_same() -> Recorded:
    world = await a_world(*in_documents("差旅 报销。", "差旅报销", "年假十五天"))
    return await recorded(forgetting(world, c2=1), "差旅报销年假")


async def judged_by_a_model() -> Recorded:
    words = " ".join(WORDS)
    world = await a_world(
        *in_documents(
            f"travel {words}", f"travel {words} more", "travel cost", "hopeless travel", "旅行 travel"
        )
    )
    judge = FakeReranker({"hopeless": 0.1}, rest=0.8)
    return await recorded(world.context(reranker=judge), "travel", rerank_top_k=2)


async def with_more_tables_than_are_kept() -> Recorded:
    tables = [
        a_chunk(f"t{n}", f"差旅 | 城市{n} | {n}00 元", kind="table", document_id=f"t{n}") for n in range(7)
    ]
    world = await a_world(*in_documents("差旅报销标准"), *tables)
    return await recorded(world.context(reranker=FakeReranker({"报销": 0.9}, rest=0.02)), "差旅")


async def rejected_by_a_model() -> Recorded:
    world = await a_world(*in_documents("差旅报销", "年假十五天"))
    return await recorded(world.context(reranker=FakeReranker(rest=0.01)), "差旅年假")


async def merged_in_every_way() -> Recorded:
    twins = "The same long text of two parents about travel"
    world = await a_world(
        a_chunk("p1", "差旅一二三 travel 四五六七八九十", kind="parent", document_id="zh"),
        a_chunk("a", "差旅 travel 一二三", parent_chunk_id="p1", document_id="zh"),
        a_chunk("b", "travel 四五六", parent_chunk_id="p1", chunk_index=1, document_id="zh"),
        a_chunk("c", "travel first of two neighbours", document_id="en"),
        a_chunk("d", "travel second of the two", chunk_index=1, document_id="en"),
        a_chunk("whole", f"travel permits are given. {' '.join(WORDS)}", document_id="long"),
        a_chunk("part", "travel permits are given.", document_id="short"),
        a_chunk("t1", twins, kind="parent", document_id="twin1"),
        a_chunk("t2", twins, kind="parent", document_id="twin2"),
        a_chunk("e", "of two parents about travel", parent_chunk_id="t1", document_id="twin1"),
        a_chunk("f", "two parents about travel", parent_chunk_id="t2", document_id="twin2"),
        a_chunk("lost", "travel that is lost", document_id="lost"),
    )
    return await recorded(forgetting(world, lost=3), "travel")


async def more_than_is_kept() -> Recorded:
    world = await a_world(*in_documents("差旅一", "差旅二", "差旅三", "差旅四"))
    return await recorded(world.context(), "差旅", rerank_top_k=2)


async def more_than_fits() -> Recorded:
    world = await a_world(*in_documents(*(f"报销{n}。" + f"流程{n}说明{n}。" * 170 for n in range(4))))
    small = ScriptedChat(["x"], context_tokens=2200)
    return await recorded(world.context(chat=small), "报销流程")


async def erased_on_the_way() -> Recorded:
    world = await a_world(*in_documents("travel cost", "travel permits"))
    return await recorded(forgetting(world, c1=4), "travel")


async def back_from_the_last_answer() -> Recorded:
    world = await a_world(*in_documents("travel expenses", "travel leave days"))
    judge = FakeReranker({"leave": 0.1}, rest=0.9)
    context = world.context(reranker=judge, history=[a_turn("leave?", references=[a_hit("c1")])])
    return await recorded(context, "travel leave days")


async def small_talk() -> Recorded:
    return await recorded((await a_world()).context(), "你好")


async def stopped_half_way() -> Recorded:
    world = await a_world(*in_documents("差旅一", "差旅二", "travel"))
    return await recorded(world.context(), "差旅", steps=4)


RUNS: list[Callable[[], Awaitable[Recorded]]] = [
    below_the_recall_thresholds,
    below_the_threshold_of_the_one_index_that_has_it,
    gone_from_the_catalogue,
    known_questions_beside_documents,
    asked_again_in_other_words,
    asked_in_both_languages,
    without_text_and_with_the_same,
    judged_by_a_model,
    with_more_tables_than_are_kept,
    rejected_by_a_model,
    merged_in_every_way,
    more_than_is_kept,
    more_than_fits,
    erased_on_the_way,
    back_from_the_last_answer,
    small_talk,
    stopped_half_way,
]


def check_accounts(left: Recorded) -> Trace:
    """Each candidate once, with exactly one end; and what each stage handed on adds up."""
    trace, state = build_trace(left), left.state
    candidates = {one["chunk_id"]: one for one in trace["candidates"]}
    assert len(candidates) == len(trace["candidates"])
    assert {hit["chunk_id"] for hit in state.get("chunk_hits", [])} <= {*candidates}
    selected = [hit["chunk_id"] for hit in state.get("selected", [])]
    assert [one["chunk_id"] for one in trace["candidates"] if one["fate"] == "selected"] == selected
    for one in trace["candidates"]:
        ends = {
            "selected": "selected" in one["ranks"],
            "merged": one["merged_into"] is not None,
            "left": one["left"] is not None,
        }
        assert [name for name, so in ends.items() if so] == (
            [] if one["fate"] == "pending" else [one["fate"]]
        )
        assert (one["fate"] != "pending") or trace["run"]["status"] == "running"
        if one["merged_into"]:
            assert candidates[one["merged_into"]]["fate"] in ("selected", "left", "pending")
        assert follow(trace, one["chunk_id"])
    for stage in trace["stages"]:
        if (
            stage["hits_in"] is not None
            and stage["hits_out"] is not None
            and stage["stage"] != "merge_chunks"
        ):
            assert stage["hits_in"] - sum(stage["departures"].values()) == stage["hits_out"]
    return trace


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.__name__)
async def test_every_candidate_is_accounted_for_once(run: Callable[[], Awaitable[Recorded]]) -> None:
    check_accounts(await run())


async def test_what_other_words_found_and_what_a_translation_found_is_told() -> None:
    again = check_accounts(await asked_again_in_other_words())
    assert [one["marks"] for one in again["candidates"] if one["marks"]] == [["expanded"]]
    both = check_accounts(await asked_in_both_languages())
    (best,) = (one for one in both["candidates"] if one["ranks"].get("vector_en") == 1)
    assert best["scores"]["vector_en"] == 1.0
    assert {stage["stage"]: stage["output"] for stage in both["stages"]}["understand_query"][
        "translations"
    ] == {"en": "travel refund"}


async def test_every_reason_for_leaving_is_seen_in_some_run() -> None:
    seen = {
        (left["stage"], left["reason"]) for run in RUNS for left in (await run()).state.get("departures", [])
    }
    assert seen == REASONS


@settings(max_examples=25)
@given(st.randoms(use_true_random=False))
def test_it_holds_for_knowledge_bases_thrown_together_at_random(chance: random.Random) -> None:
    asyncio.run(thrown_together(chance))


async def thrown_together(chance: random.Random) -> None:
    vocabulary = ["travel", "leave", "差旅", "报销", "年假", "十五天", *WORDS[:6]]
    chunks: list[Chunk] = []
    for number in range(chance.randrange(1, 25)):
        text = " ".join(chance.choices(vocabulary, k=chance.randrange(1, 12)))
        parts: dict[str, Any] = {"document_id": f"d{chance.randrange(4)}", "chunk_index": chance.randrange(6)}
        if chance.random() < 0.4:
            parts["parent_chunk_id"] = f"p{chance.randrange(4)}"
        chunks.append(a_chunk(f"c{number:02}", text, **parts))
    parents = [a_chunk(f"p{n}", " ".join(chance.choices(vocabulary, k=30)), kind="parent") for n in range(3)]
    world = await a_world(*chunks, *parents)
    judge = FakeReranker({"travel": 0.9, "年假": 0.25}, rest=0.4) if chance.random() < 0.6 else None
    request: dict[str, Any] = {
        "rerank_top_k": chance.randrange(1, 8),
        "embedding_top_k": chance.randrange(1, 30),
        "keyword_threshold": chance.choice([0.0, 1.5]),
        "vector_threshold": chance.choice([0.0, 0.3]),
    }
    lost = {f"c{chance.randrange(25):02}": chance.randrange(1, 5)}
    context = dataclasses.replace(world.context(reranker=judge), passages=Forgetful(world, **lost))
    check_accounts(await recorded(context, "travel 差旅 年假", **request))
