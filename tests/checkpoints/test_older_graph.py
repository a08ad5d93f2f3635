"""Runs of a program whose graph had no boost_wiki: they go on, fork and are shown as before."""

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import StateGraph

from headrace.checkpoints.forks import Fork
from headrace.context import Context
from headrace.errors import Conflict
from headrace.graph.build import build
from headrace.graph.tracing.trace import build_trace
from headrace.state import Ask, RagState

from ..fakes import FakeReranker, World, asked
from ..graph.tracing.recording import a_run, names, read, stage
from .library import CHUNKS, ZH, a_library

pytestmark = pytest.mark.anyio

NEW = "boost_wiki"
ASIDE = ("fallback", "answer_from_faq", "answer_from_cache", "choose_kbs")
ANSWERED = [name for name in build().nodes if name not in ASIDE]
THEN = [name for name in ANSWERED if name != NEW]


def route_evidence(state: RagState) -> Literal["merge_chunks", "fallback"]:
    return "merge_chunks" if state.get("ranked") else "fallback"


def older() -> StateGraph[RagState, Context, Ask, RagState]:
    """The graph of today without the new stage."""
    graph = build()
    del graph.nodes[NEW]
    graph.edges -= {edge for edge in graph.edges if NEW in edge}
    del graph.branches["rerank"]
    return graph.add_conditional_edges("rerank", route_evidence)


async def a_context() -> Context:
    world = World()
    await world.add(*CHUNKS)
    return world.context(reranker=FakeReranker({"expenses": 0.9, "报销": 0.8}, rest=0.4))


@pytest.mark.parametrize("last", THEN[:-1])
async def test_a_run_that_stood_after_any_stage_goes_on_to_the_same_answer(last: str) -> None:
    saver, context = InMemorySaver(), await a_context()
    config: RunnableConfig = {"configurable": {"thread_id": "run1"}, "recursion_limit": 50}
    ask = Ask(request=asked(ZH, language="zh"))
    await (
        older()
        .compile(checkpointer=saver)
        .ainvoke(ask, config, context=context, durability="sync", interrupt_after=[last])
    )
    state = (
        await build().compile(checkpointer=saver).ainvoke(None, config, context=context, durability="sync")
    )
    whole = await build().compile().ainvoke(ask, context=await a_context())
    # The way from rerank was chosen by the older graph.
    skipped = {NEW} if THEN.index(last) >= THEN.index("rerank") else set[str]()
    assert set(state["timings"]) == {*ANSWERED} - skipped
    for channel in ("ranked", "selected", "answer", "outcome", "departures"):
        assert state[channel] == whole[channel], channel


@pytest.mark.parametrize("fork_stage", THEN)
async def test_a_finished_run_can_be_forked_from_each_of_its_stages(tmp_path: Path, fork_stage: str) -> None:
    async with a_library(tmp_path, graph=older()) as then:
        origin = await then.ask()
        expected = await then.answer(origin["run_id"])
    async with a_library(tmp_path) as library:
        forked = await library.forks.fork(origin["run_id"], Fork(stage=fork_stage))
        message = await library.answer(forked.run_id)
        state = await library.state(forked.run_id)
        assert (message.status, message.content) == ("complete", expected.content)
        # What comes after rerank is chosen anew, so a fork from merge_chunks meets the new stage first.
        begins = NEW if fork_stage == "merge_chunks" else fork_stage
        assert [*state["timings"]] == ANSWERED[ANSWERED.index(begins) :]


async def test_the_stage_it_never_came_to_cannot_be_forked(tmp_path: Path) -> None:
    async with a_library(tmp_path, graph=older()) as then:
        origin = await then.ask()
    async with a_library(tmp_path) as library:
        with pytest.raises(Conflict) as refused:
            await library.forks.fork(origin["run_id"], Fork(stage=NEW))
        assert refused.value.code == "stage_not_reached"


@pytest.mark.parametrize("kept", ["all", "last"])
async def test_a_trace_shows_the_stages_that_there_were(kept: Any) -> None:
    context, graph = await a_context(), older().compile(checkpointer=InMemorySaver())
    config: RunnableConfig = {"configurable": {"thread_id": "run1"}, "recursion_limit": 50}
    request = asked(ZH)
    await graph.ainvoke(Ask(request=request), config, context=context, durability="sync")
    snapshots = [snapshot async for snapshot in graph.aget_state_history(config)][::-1]
    left = await read(context, request, snapshots if kept == "all" else snapshots[-1:])
    trace = build_trace(replace(left, run=a_run(kept=kept)))
    assert names(trace) == THEN
    assert stage(trace, "rerank")["hits_out"] == stage(trace, "merge_chunks")["hits_in"]
