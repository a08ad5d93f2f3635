"""A graph that interrupts itself for a person: the run is not over, and waits as long as it takes."""

import asyncio
from pathlib import Path

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import interrupt

from headrace.checkpoints.events import Event, RunEmitter
from headrace.context import Context
from headrace.errors import Conflict, DependencyFailed
from headrace.state import Ask, RagState, Update

from .toys import PIECES, Gate, Stack, a_stack, as_toy, look, sign, types, write

pytestmark = pytest.mark.anyio

ANSWER = "".join(PIECES)
SO_FAR = ["agent_query", "tool_call", "tool_result", *["answer"] * 6]


async def ask_a_person(state: RagState, runtime: Runtime[Context]) -> Update:
    as_toy(runtime).ran.append("ask_a_person")
    interrupt("可以吗？ May I?")
    return {}


def graph() -> StateGraph[RagState, Context, Ask, RagState]:
    """look → write → ask_a_person → sign"""
    graph = StateGraph(RagState, context_schema=Context, input_schema=Ask)
    for name, node in {"look": look, "write": write, "ask_a_person": ask_a_person, "sign": sign}.items():
        graph.add_node(name, node)
    graph.add_edge(START, "look")
    graph.add_edge("look", "write")
    graph.add_edge("write", "ask_a_person")
    graph.add_edge("ask_a_person", "sign")
    graph.add_edge("sign", END)
    return graph


def two_at_once() -> StateGraph[RagState, Context, Ask, RagState]:
    """look and ask_a_person side by side."""
    graph = StateGraph(RagState, context_schema=Context, input_schema=Ask)
    for name, node in {"look": look, "ask_a_person": ask_a_person}.items():
        graph.add_node(name, node)
        graph.add_edge(START, name)
        graph.add_edge(name, END)
    return graph


async def until_waiting(stack: Stack, run_id: str) -> None:
    while (await stack.runs.get(run_id))["status"] != "waiting":
        pass


async def test_an_interrupted_run_waits_and_its_stream_stays_open(tmp_path: Path) -> None:
    async with a_stack(tmp_path, graph=graph) as stack:
        asked = await stack.ask()
        seen: list[Event] = []

        async def follow() -> None:
            async for event in stack.events.follow(asked["run_id"]):
                seen.append(event)

        following = asyncio.create_task(follow())
        finished = asyncio.create_task(stack.runs.finished(asked["run_id"]))
        await until_waiting(stack, asked["run_id"])
        await stack.journal.write(lambda _: None)

        assert await stack.status(asked) == ("waiting", "waiting")
        assert not following.done()
        assert not finished.done()
        with pytest.raises(Conflict) as error:
            await stack.ask("And now?", session_id=asked["session_id"])
        assert error.value.details == {"message_id": asked["message_id"]}
        events = await stack.events.read(asked["run_id"])
        await stack.runs.drain()  # lets go of both
        await following
        with pytest.raises(DependencyFailed):
            await finished

    assert types(events) == types(seen) == SO_FAR
    assert stack.ran == ["look", "write", "ask_a_person"]


async def test_a_waiting_run_goes_on_waiting_in_the_next_process(tmp_path: Path) -> None:
    async with a_stack(tmp_path, graph=graph) as first:
        asked = await first.ask()
        await until_waiting(first, asked["run_id"])
    for _ in range(5):  # often enough to be given up, were it tried
        async with a_stack(tmp_path, graph=graph) as next:
            assert await next.runs.resume_unfinished() == 1
            assert await next.status(asked) == ("waiting", "waiting")
            assert types(await next.events.read(asked["run_id"])) == SO_FAR
        assert next.ran == []


async def test_a_run_that_was_killed_right_after_its_interrupt_waits_too(tmp_path: Path) -> None:
    async with a_stack(tmp_path, graph=graph) as first:
        asked = await first.ask()
        await until_waiting(first, asked["run_id"])
    async with a_stack(tmp_path, graph=graph) as second:
        # As the kill would have left it: the interrupt is stored, the status is not.
        await second.journal.write(lambda c: c.execute("update runs set status = 'running'"))
        await second.runs.resume_unfinished()
        await until_waiting(second, asked["run_id"])

    assert second.ran == []


async def test_what_stood_beside_the_interrupt_and_was_not_finished_is_done(tmp_path: Path) -> None:
    gate = Gate()
    async with a_stack(tmp_path, graph=two_at_once, looking=gate) as first:
        asked = await first.ask()
        await gate.reached.wait()
        await first.runs.drain(grace_s=0.0)
    async with a_stack(tmp_path, graph=two_at_once) as second:
        await second.runs.resume_unfinished()
        await until_waiting(second, asked["run_id"])

    assert "look" in second.ran


@pytest.mark.parametrize("restarted", [False, True])
async def test_stop_ends_a_waiting_run(tmp_path: Path, restarted: bool) -> None:
    async with a_stack(tmp_path, graph=graph) as stack:
        asked = await stack.ask()
        await until_waiting(stack, asked["run_id"])
        if not restarted:
            assert await stack.stop(asked) == "stopped"
    async with a_stack(tmp_path, graph=graph) as stack:
        await stack.runs.resume_unfinished()
        assert await stack.stop(asked) == "stopped"
        message = await stack.runs.finished(asked["run_id"])
        events = await stack.all_of(asked)
        again = await stack.ask("And now?", session_id=asked["session_id"])
        await until_waiting(stack, again["run_id"])

    assert (message.status, message.content) == ("stopped", ANSWER)
    assert types(events) == [*SO_FAR, "stop"]


async def test_a_question_may_wait_for_or_replace_a_waiting_run(tmp_path: Path) -> None:
    async with a_stack(tmp_path, graph=graph) as stack:
        asked = await stack.ask()
        await until_waiting(stack, asked["run_id"])
        second = await stack.ask("等一等", session_id=asked["session_id"], on_busy="queue")
        assert await stack.status(second) == ("queued", "waiting")
        third = await stack.ask("instead", session_id=asked["session_id"], on_busy="stop")
        await until_waiting(stack, third["run_id"])
        assert await stack.status(asked) == await stack.status(second) == ("stopped", "stopped")


async def test_waiting_runs_take_no_place_from_those_that_are_resumed(tmp_path: Path) -> None:
    async with a_stack(tmp_path, graph=graph) as first:
        waiting = [await first.ask(f"问题 {n}") for n in range(12)]
        for asked in waiting:
            await until_waiting(first, asked["run_id"])
        first.hooks["looking"] = Gate()
        last = await first.ask("Last")

    async def looking(_: RunEmitter) -> None:
        return None

    async with a_stack(tmp_path, graph=graph, looking=looking) as second:
        # As killed right after the interrupt: each has to be looked at in one of the places.
        await second.journal.write(lambda c: c.execute("update runs set status = 'running'"))
        assert await second.runs.resume_unfinished() == 13
        await until_waiting(second, last["run_id"])

    assert second.ran == ["look", "write", "ask_a_person"]
