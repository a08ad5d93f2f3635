"""What differs between two runs, and the way of one passage."""

import pytest

from headrace.graph.tracing.diff import candidates_after, diff
from headrace.graph.tracing.follow import follow
from headrace.graph.tracing.shapes import Diff, StageDiff, Trace

from ...fakes import FakeReranker, ScriptedChat, World, a_chunk
from .recording import traced

pytestmark = pytest.mark.anyio


async def a_world() -> World:
    world = World()
    await world.add(
        a_chunk("a", "差旅报销标准为每晚 450 元", document_id="zh"),
        a_chunk("b", "travel expenses 差旅 报销", document_id="en"),
        a_chunk("c", "年假 差旅", document_id="leave"),
    )
    return world


async def a_trace(judge: FakeReranker | None = None, answer: str = "450 元。", **request: object) -> Trace:
    context = (await a_world()).context(chat=ScriptedChat([answer]), reranker=judge)
    return await traced(context, "差旅报销标准", **request)


def at(found: Diff, name: str) -> StageDiff:
    [one] = [one for one in found["stages"] if one["stage"] == name]
    return one


async def test_two_runs_of_the_same_question_do_not_differ() -> None:
    found = diff(await a_trace(), await a_trace())
    assert (found["settings"], found["prompts"], found["same_answer"]) == ({}, {}, True)
    for one in found["stages"]:
        assert one["in"] == "both"
        assert (one["changed"], one["entered"], one["left"], one["moved"]) == ({}, [], [], []), one["stage"]


async def test_another_threshold_shows_what_came_in_and_what_left_it_out_before() -> None:
    judge = FakeReranker({"年假": 0.2, "450": 0.9}, rest=0.5)
    found = diff(await a_trace(judge), await a_trace(judge, "别的。", rerank_threshold=0.1))
    assert found["settings"] == {"rerank_threshold": [0.3, 0.1]}
    assert at(found, "search_chunks")["entered"] == []
    [entered] = at(found, "rerank")["entered"]
    assert (entered["chunk_id"], entered["document_title"], entered["place"]) == ("c", "leave", 3)
    assert entered["reason"] == "below_threshold"
    assert at(found, "rerank")["hits_out"] == [2, 3]
    assert (found["answer"], found["same_answer"]) == (["450 元。", "别的。"], False)


async def test_another_judge_moves_passages() -> None:
    first = await a_trace(FakeReranker({"450": 0.9, "travel": 0.6}, rest=0.5))
    second = await a_trace(FakeReranker({"450": 0.5, "travel": 0.9}, rest=0.4))
    moved = at(diff(first, second), "rerank")["moved"]
    told = {(one["chunk_id"], one["document_title"], one["from"], one["to"]) for one in moved}
    assert {("b", "en", 2, 1), ("a", "zh", 1, 2)} <= told


async def test_of_two_passages_of_one_document_it_is_told_which_one_is_meant() -> None:
    first = await a_trace(FakeReranker({"450": 0.9, "travel": 0.6}, rest=0.5))
    second = await a_trace(FakeReranker({"450": 0.5, "travel": 0.9}, rest=0.4))
    where = {one["chunk_id"]: one for one in second["candidates"]}
    for one in at(diff(first, second), "rerank")["moved"]:
        candidate = where[one["chunk_id"]]
        assert one["chunk_index"] == candidate["chunk_index"] is not None
        assert (one["section"], one["page"]) == (candidate["section"], candidate["page"])


async def test_fewer_passages_leave_at_the_stage_that_counts_them() -> None:
    found = diff(await a_trace(), await a_trace(rerank_top_k=1))
    left = at(found, "filter_top_k")["left"]
    assert [(one["chunk_id"], one["reason"]) for one in left] == [("b", "over_limit"), ("c", "over_limit")]
    assert at(found, "merge_chunks")["left"] == []


async def test_a_stage_that_only_one_of_them_came_to_is_said_to_be_there_alone() -> None:
    found = diff(await a_trace(), await a_trace(FakeReranker(rest=0.01)))
    assert [one["stage"] for one in found["stages"] if one["in"] == "second"] == ["fallback"]
    assert at(found, "generate_answer")["in"] == "first"
    assert at(found, "rerank")["changed"] == {"rerank_verdict": ["skipped", "rejected"]}
    assert found["outcome"] == ["answered", "fallback"]


async def test_unrelated_runs_are_compared_all_the_same() -> None:
    other = World()
    await other.add(a_chunk("z", "Annual leave is fifteen days", document_id="leave"))
    second = await traced(other.context(), "How long is annual leave?")
    found = diff(await a_trace(), second)
    assert found["query"] == ["差旅报销标准", "How long is annual leave?"]
    entered = at(found, "search_chunks")["entered"]
    assert [(one["chunk_id"], one["reason"]) for one in entered] == [("z", "not_found")]
    assert len(at(found, "search_chunks")["left"]) == 3


async def test_what_a_stage_handed_on_is_what_the_next_one_got() -> None:
    trace = await a_trace(FakeReranker({"年假": 0.2}, rest=0.9), rerank_top_k=1)
    counts = {one["stage"]: one["hits_out"] for one in trace["stages"] if one["hits_out"] is not None}
    del counts["emit_references"]
    assert {name: len(candidates_after(trace, name)) for name in counts} == counts


# --- following one passage ---


def happened(trace: Trace, chunk_id: str) -> list[tuple[str, str, int | None, str]]:
    return [
        (step["stage"], step["chunk_id"], step["place"], step["happened"]) for step in follow(trace, chunk_id)
    ]


async def test_a_selected_passage_is_followed_to_the_answer() -> None:
    judge = FakeReranker({"450": 0.9}, rest=0.5)
    assert happened(await a_trace(judge, '450 元<ref id="c1"/>。'), "a") == [
        ("search_chunks", "a", 1, "found: vector #1, keyword #1"),
        ("collect_results", "a", 1, "kept"),
        ("rerank", "a", 1, "kept: the model gave it 0.9"),
        ("merge_chunks", "a", 1, "kept"),
        ("filter_top_k", "a", 1, "kept"),
        ("assemble_context", "a", 1, "shown as c1"),
        ("generate_answer", "a", None, "cited"),
    ]


async def test_one_that_left_is_followed_to_where_it_left() -> None:
    trace = await a_trace(FakeReranker({"年假": 0.2}, rest=0.9))
    assert happened(trace, "c")[-1] == ("rerank", "c", None, "left: below_threshold, 0.2 (limit 0.3)")


async def test_one_that_was_merged_goes_on_as_the_hit_it_is_part_of() -> None:
    world = World()
    await world.add(
        a_chunk("p", "差旅报销标准。出差须经批准。", kind="parent"),
        a_chunk("a", "差旅报销标准", parent_chunk_id="p"),
        a_chunk("b", "出差 差旅", parent_chunk_id="p", chunk_index=1),
    )
    steps = happened(await traced(world.context(), "差旅报销标准"), "b")
    assert ("merge_chunks", "b", None, "merged into a: same_parent") in steps
    assert steps[-1] == ("generate_answer", "a", None, "read, not cited")


async def test_a_chunk_that_was_never_found_has_no_way() -> None:
    assert follow(await a_trace(), "nowhere") == []


async def test_what_the_wiki_boost_raised_says_so_on_its_way() -> None:
    world = World()
    await world.add(
        a_chunk("w", "年假 condenser", kind="wiki", document_id="wiki"), a_chunk("t", "condenser")
    )
    trace = await traced(world.context(), "condenser", wiki_enabled=True)
    told = {id: [step["happened"] for step in follow(trace, id)] for id in ("w", "t")}
    assert "raised: it is of a wiki" in told["w"]
    assert "raised: it is of a wiki" not in told["t"]
    [boost] = [one for one in trace["stages"] if one["stage"] == "boost_wiki"]
    assert (boost["output"], boost["hits_in"], boost["hits_out"]) == ({"wiki_boosted": 1}, 2, 2)
