"""What a trace and a difference look like in a notebook."""

import re

import pytest

from headrace.graph.tables import call_view, candidate_table, diff_table, run_table, stage_table, step_table
from headrace.graph.tracing.diff import diff
from headrace.graph.tracing.follow import follow
from headrace.graph.tracing.shapes import Trace

from ..fakes import FakeReranker, ScriptedChat, World, a_chunk
from .tracing.recording import a_run, traced

pytestmark = pytest.mark.anyio


async def a_trace(query: str = "差旅报销标准", **request: object) -> Trace:
    world = World()
    await world.add(
        a_chunk("a", "差旅报销标准为每晚 450 元", document_id="zh"),
        a_chunk("b", "年假 差旅", document_id="leave"),
    )
    judge = FakeReranker({"450": 0.9}, rest=0.1)
    return await traced(world.context(chat=ScriptedChat(["450 元。"]), reranker=judge), query, **request)


def rows(table: str) -> list[list[str]]:
    found = re.findall("<tr>(.*?)</tr>", table)
    return [re.findall("<t[hd]>(.*?)</t[hd]>", row) for row in found]


async def test_a_fork_names_the_run_it_branches_off() -> None:
    shown = rows(run_table([a_run(id="r2", forked_from="r1", fork_stage="rerank", timing={"total_ms": 40})]))
    assert shown[1][0] == "r2"
    assert {"40 ms", "rerank of r1"} <= set(shown[1])


async def test_each_stage_has_its_hits_and_the_small_values_it_wrote() -> None:
    trace = await a_trace()
    shown = {row[0]: row for row in rows(stage_table(trace["stages"]))}
    assert shown["rerank"][2:4] == ["2", "1"]
    assert "rerank_verdict: ok" in shown["rerank"][5]
    assert shown["rerank"][6] == "below_threshold: 1"


async def test_each_candidate_says_what_became_of_it() -> None:
    trace = await a_trace()
    fates = [row[-2] for row in rows(candidate_table(trace["candidates"]))[1:]]
    assert fates == ["selected", "left at rerank: below_threshold (0.100, limit 0.3)"]


async def test_a_followed_passage_has_a_row_for_each_stage() -> None:
    shown = rows(step_table(follow(await a_trace(), "b")))
    assert [row[0] for row in shown[1:]] == ["search_chunks", "collect_results", "rerank"]
    assert shown[-1][-1].startswith("left: below_threshold")


async def test_a_call_shows_all_that_was_sent_as_text() -> None:
    trace = await a_trace("差旅报销标准 <script>")
    shown = call_view(trace["calls"][-1])
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    assert "差旅报销标准为每晚 450 元" in shown


async def test_a_difference_names_what_changed_what_came_and_what_went() -> None:
    first, second = await a_trace(), await a_trace(rerank_threshold=0.05)
    shown = {row[0]: row for row in rows(diff_table(diff(first, second)))}
    assert shown["rerank_threshold"] == ["rerank_threshold", "0.3", "0.05"]
    assert shown["rerank"][2] == "1 → 2"
    assert "2. leave #0" in shown["rerank"]


async def test_a_stage_of_one_run_alone_says_which() -> None:
    first, second = await a_trace(), await a_trace("今天天气怎么样", kb_ids=[])
    assert "rerank (only in the first)" in diff_table(diff(first, second))
