"""The stages of a trace: what ran, what it read and wrote, and how far a run came."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.runtime import Runtime

from headrace.errors import DependencyFailed
from headrace.graph.build import build
from headrace.graph.tracing.recorded import Origin, state_of
from headrace.graph.tracing.stages import PARTS
from headrace.graph.tracing.trace import build_trace
from headrace.nodes.answer_from_cache import answer_from_cache
from headrace.nodes.answer_from_faq import answer_from_faq
from headrace.nodes.assemble_context import assemble_context
from headrace.nodes.boost_wiki import boost_wiki
from headrace.nodes.collect_results import collect_results
from headrace.nodes.emit_references import emit_references
from headrace.nodes.fallback import fallback
from headrace.nodes.filter_top_k import filter_top_k
from headrace.nodes.finalize import finalize
from headrace.nodes.generate_answer import generate_answer
from headrace.nodes.load_history import load_history
from headrace.nodes.match_ready_answer import match_ready_answer
from headrace.nodes.merge_chunks import merge_chunks
from headrace.nodes.rerank import rerank
from headrace.nodes.search_chunks import search_chunks
from headrace.nodes.stage import Node
from headrace.nodes.understand_query import understand_query

from ...fakes import FakeReranker, ScriptedChat, World, a_chunk, a_turn, asked
from .recording import a_run, an_event, names, read, recorded, stage, traced

pytestmark = pytest.mark.anyio

NODES: dict[str, Node] = {
    "load_history": load_history,
    "match_ready_answer": match_ready_answer,
    "answer_from_faq": answer_from_faq,
    "answer_from_cache": answer_from_cache,
    "understand_query": understand_query,
    "search_chunks": search_chunks,
    "collect_results": collect_results,
    "rerank": rerank,
    "boost_wiki": boost_wiki,
    "merge_chunks": merge_chunks,
    "filter_top_k": filter_top_k,
    "assemble_context": assemble_context,
    "emit_references": emit_references,
    "generate_answer": generate_answer,
    "fallback": fallback,
    "finalize": finalize,
}


async def a_world() -> World:
    world = World()
    await world.add(
        a_chunk("a", "差旅报销标准为每晚 450 元", document_id="zh"),
        a_chunk("b", "travel expenses 差旅", document_id="en"),
        a_chunk("c", "差旅报销标准为每晚450元。", document_id="copy"),
    )
    return world


class Watched(dict[str, Any]):
    """A state that remembers which channels were looked at."""

    def __init__(self, values: Any) -> None:
        super().__init__(values)
        self.looked_at: set[str] = set()

    def __getitem__(self, channel: str) -> Any:
        self.looked_at.add(channel)
        return super().__getitem__(channel)

    def get(self, channel: str, default: Any = None) -> Any:
        self.looked_at.add(channel)
        return super().get(channel, default)

    def __contains__(self, channel: object) -> bool:
        self.looked_at.add(str(channel))
        return super().__contains__(channel)

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("a node that reads everything cannot be told from one that reads nothing")


# Stages aside of the way that most questions go.
ASIDE = {"fallback", "answer_from_faq", "answer_from_cache", "choose_kbs"}


async def test_the_table_of_stages_is_in_the_order_of_the_graph() -> None:
    assert [*PARTS] == [*build().nodes]


@pytest.mark.parametrize(
    "request_parts",
    [{}, {"fallback_strategy": "model"}, {"kb_ids": [], "quoted_context": "一段文字"}],
    ids=["found", "rejected", "chat"],
)
async def test_the_table_of_stages_is_what_the_nodes_read_and_write(request_parts: dict[str, Any]) -> None:
    world = await a_world()
    judge = FakeReranker(rest=0.01 if "fallback_strategy" in request_parts else 0.9)
    context = world.context(reranker=judge, history=[a_turn("差旅？")])
    run = await recorded(context, "差旅报销？", **request_parts)
    seen: set[str] = set()
    for snapshot in run.snapshots:
        for name in snapshot.next:
            if name not in PARTS:
                continue
            seen.add(name)
            state: Any = Watched(state_of(snapshot, run.asked))
            update = await NODES[name](state, Runtime(context=world.context(reranker=judge)))
            assert state.looked_at <= {*PARTS[name].reads}, name
            gathered = {"warnings", "departures", "calls", "timings"}
            assert {*update} - gathered <= {*PARTS[name].writes}, name
            if PARTS[name].writes:
                assert PARTS[name].writes[0] in update, name
    assert {"finalize", "load_history"} <= seen


async def test_stages_stand_in_the_order_they_ran_with_times_and_hits() -> None:
    trace = await traced((await a_world()).context(), "差旅报销标准")
    assert names(trace) == [name for name in PARTS if name not in ASIDE]
    collected = stage(trace, "collect_results")
    assert (collected["hits_in"], collected["hits_out"]) == (3, 2)
    assert collected["departures"] == {"same_text": 1}
    assert (collected["reads"], collected["writes"]) == (["chunk_hits"], ["hits"])
    started = [one["started_at"] or "" for one in trace["stages"]]
    assert started == sorted(started)
    assert all(one.endswith("Z") for one in started)
    assert all((one["duration_ms"] or 0) > 0 for one in trace["stages"] if one["stage"] == "search_chunks")
    assert len({one["checkpoint_id"] for one in trace["stages"]}) == len(trace["stages"])
    assert {(one["progress"], one["can_fork"], one["attempts"]) for one in trace["stages"]} == {
        ("done", True, 1)
    }


async def test_small_results_are_shown_whole_and_lists_of_hits_are_not() -> None:
    trace = await traced((await a_world()).context(), "差旅报销标准", language="zh")
    assert stage(trace, "understand_query")["output"] == {
        "intent": "kb_search",
        "rewritten_query": "差旅报销标准",
        "uses_history": False,
    }
    assert stage(trace, "rerank")["output"] == {"rerank_verdict": "skipped"}
    assert stage(trace, "finalize")["output"] == {"outcome": "answered"}
    assert stage(trace, "merge_chunks")["output"] == {}


async def test_a_question_without_evidence_goes_by_the_fallback() -> None:
    trace = await traced((await a_world()).context(reranker=FakeReranker(rest=0.01)), "差旅")
    assert names(trace)[-2:] == ["fallback", "finalize"]
    assert "generate_answer" not in names(trace)
    assert stage(trace, "rerank")["departures"] == {"below_threshold": 2}


async def test_a_run_on_its_way_shows_what_it_did_so_far() -> None:
    run = await recorded((await a_world()).context(), "差旅报销", steps=5)
    trace = build_trace(run)
    assert names(trace) == [name for name in PARTS if name not in ASIDE][:6]
    last = trace["stages"][-1]
    assert (last["stage"], last["progress"], last["duration_ms"]) == ("rerank", "running", None)
    assert (last["hits_in"], last["hits_out"], last["writes"]) == (2, None, [])
    assert {one["fate"] for one in trace["candidates"]} == {"pending", "merged"}


async def test_the_stage_that_failed_is_the_last_one_and_can_be_forked() -> None:
    broken = ScriptedChat([DependencyFailed("chat", "The model is gone.")])
    trace = await traced((await a_world()).context(chat=broken), "差旅报销")
    last = trace["stages"][-1]
    assert (last["stage"], last["progress"], last["can_fork"]) == ("generate_answer", "failed", True)
    assert trace["error"] == {"code": "dependency_failed", "message": "The model is gone."}


async def test_a_run_that_waits_has_no_stages_yet() -> None:
    run = replace(await recorded((await a_world()).context(), "差旅"), snapshots=[])
    waiting = replace(run, run=a_run(status="queued", ended_at=None), answer="")
    trace = build_trace(waiting)
    assert (trace["stages"], trace["candidates"], trace["query"]) == ([], [], "差旅")


async def test_where_only_the_last_checkpoint_is_left_the_stages_are_known_by_their_times() -> None:
    whole = await recorded((await a_world()).context(), "差旅报销")
    last = replace(whole, snapshots=whole.snapshots[-1:], run=a_run(kept="last"))
    trace, before = build_trace(last), build_trace(whole)
    assert names(trace) == names(before)
    assert [one["duration_ms"] for one in trace["stages"]] == [one["duration_ms"] for one in before["stages"]]
    assert [one["hits_out"] for one in trace["stages"]] == [one["hits_out"] for one in before["stages"]]
    assert {one["started_at"] for one in trace["stages"]} == {None}
    assert [one["stage"] for one in trace["stages"] if one["can_fork"]] == ["load_history"]
    assert trace["candidates"] == before["candidates"]
    assert not any(one["inherited"] for one in trace["stages"])


# --- forks ---


async def a_fork(fork_stage: str, led_by: str, **request: Any) -> Any:
    """A run in a thread of its own that begins with what another one had before `fork_stage`."""
    world = await a_world()
    context, graph = world.context(), build().compile(checkpointer=InMemorySaver())
    origin = await recorded(context, "差旅报销")
    [before] = [snapshot for snapshot in origin.snapshots if fork_stage in snapshot.next]
    given = asked("差旅报销", **request)
    config: RunnableConfig = {"configurable": {"thread_id": "fork"}, "recursion_limit": 50}
    values: dict[str, Any] = {**before.values, "timings": {}, "request": given}
    await graph.aupdate_state(config, values, as_node=led_by)
    await graph.ainvoke(None, config, context=context, durability="sync")
    snapshots = [snapshot async for snapshot in graph.aget_state_history(config)][::-1]
    left = await read(context, given, snapshots)
    return replace(left, run=a_run(forked_from="run1", fork_stage=fork_stage))


@pytest.mark.parametrize(
    ("fork_stage", "led_by"),
    [("rerank", "collect_results"), ("generate_answer", "emit_references"), ("finalize", "generate_answer")],
)
async def test_what_a_fork_did_not_run_itself_is_inherited(fork_stage: str, led_by: str) -> None:
    fork = await a_fork(fork_stage, led_by)
    trace = build_trace(replace(fork, origins=[Origin(kept="all", fork_stage=None)]))
    path = [name for name in PARTS if name not in ASIDE]
    assert names(trace) == path
    inherited = [one["stage"] for one in trace["stages"] if one["inherited"]]
    assert inherited == path[: path.index(fork_stage)]
    assert {one["duration_ms"] for one in trace["stages"] if one["inherited"]} == {None}
    assert stage(trace, "collect_results")["hits_out"] == 2
    assert all(one["can_fork"] for one in trace["stages"])
    assert stage(trace, "search_chunks")["checkpoint_id"] is None
    assert trace["calls"][0]["inherited"] is True


@pytest.mark.parametrize(
    ("origins", "possible"),
    [
        ([], False),
        ([Origin(kept="all", fork_stage=None)], True),
        ([Origin(kept="last", fork_stage=None)], False),
        ([Origin(kept="all", fork_stage="rerank"), Origin(kept="all", fork_stage=None)], True),
        ([Origin(kept="all", fork_stage="rerank"), Origin(kept="nothing", fork_stage=None)], False),
    ],
)
async def test_an_inherited_stage_can_be_forked_where_its_checkpoint_is_left(
    origins: list[Origin], possible: bool
) -> None:
    fork = await a_fork("generate_answer", "emit_references")
    trace = build_trace(replace(fork, origins=origins))
    assert stage(trace, "search_chunks")["can_fork"] is possible
    assert stage(trace, "load_history")["can_fork"] is True


async def test_taking_a_fork_over_where_it_begins_is_no_second_attempt() -> None:
    fork = await a_fork("rerank", "collect_results")
    first = fork.snapshots[0].config["configurable"]["checkpoint_id"]
    trace = build_trace(replace(fork, resumes=1, resumed_from=first))
    assert stage(trace, "rerank")["attempts"] == 1


async def test_starts_after_a_crash_are_attempts_of_the_stage_they_began_with() -> None:
    run = await recorded((await a_world()).context(), "差旅报销")
    checkpoint = stage(build_trace(run), "merge_chunks")["checkpoint_id"]
    trace = build_trace(replace(run, resumes=2, resumed_from=checkpoint))
    assert stage(trace, "merge_chunks")["attempts"] == 3


async def test_a_stage_whose_words_were_reset_was_begun_again() -> None:
    run = await recorded((await a_world()).context(), "差旅报销")
    checkpoint = stage(build_trace(run), "generate_answer")["checkpoint_id"]
    told = [
        an_event(1, task=1, segment=1),
        an_event(2, "reset", segments=[1]),
        an_event(3, task=1, segment=2),
    ]
    for event in told:
        event["checkpoint_id"] = checkpoint if event["task"] else None
    trace = build_trace(replace(run, events=told))
    assert stage(trace, "generate_answer")["attempts"] == 2
    assert trace["events"] == {
        "count": 3,
        "first_at": "2026-01-01T00:00:01.000Z",
        "last_at": "2026-01-01T00:00:03.000Z",
        "resets": 1,
    }
