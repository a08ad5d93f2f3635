"""Stopping: partial text is kept, nothing goes on, nothing follows."""

import asyncio
import contextlib
import gc
from pathlib import Path

import pytest

from headrace.checkpoints.events import EmitterClosed, RunEmitter
from headrace.errors import NotFound
from headrace.state import Asked

from .toys import PIECES, Gate, Stack, a_stack, live_answer, types

pytestmark = pytest.mark.anyio


async def stop(stack: Stack, asked: Asked) -> str:
    return await stack.runs.stop(asked["session_id"], asked["message_id"])


async def test_stops_a_node_that_waits_and_runs_no_later_one(tmp_path: Path) -> None:
    gate = Gate()
    async with a_stack(tmp_path, looking=gate) as stack:
        asked = await stack.ask()
        await gate.reached.wait()
        assert await stop(stack, asked) == "stopped"
        events = await stack.all_of(asked)
        message = await stack.runs.finished(asked["run_id"])

    assert stack.ran == ["look"]
    assert types(events) == ["agent_query", "tool_call", "tool_result", "stop"]
    assert events[2]["data"]["interrupted"] is True
    assert events[3]["done"] is True
    assert (message.status, message.content) == ("stopped", "")


@pytest.mark.parametrize("number", [0, 1, 5])
async def test_keeps_the_text_so_far(tmp_path: Path, number: int) -> None:
    gate = Gate()

    async def between(_: RunEmitter, at: int) -> None:
        if at == number:
            await gate.wait()

    async with a_stack(tmp_path, between=between) as stack:
        asked = await stack.ask()
        await gate.reached.wait()
        assert await stop(stack, asked) == "stopped"
        gate.opened.set()
        events = await stack.all_of(asked)
        message = await stack.sessions.message(asked["message_id"])

    assert stack.told == list(PIECES[:number])
    assert message.content == live_answer(events) == "".join(PIECES[:number])
    assert message.status == "stopped"
    assert types(events)[-1] == "stop"
    assert "complete" not in types(events)
    assert message.timing is not None
    assert message.timing["stages_ms"] == {"look": 1.0}


async def test_a_node_that_has_swallowed_its_cancellation_fails_at_its_next_word(tmp_path: Path) -> None:
    gate = Gate()

    async def between(emit: RunEmitter, number: int) -> None:
        if number == 2:
            with contextlib.suppress(asyncio.CancelledError):
                await gate.wait()
            while True:
                emit("answer", "…", data={"segment": 1})
                await asyncio.sleep(0)

    # Whoever waited for this node's patience would wait here for ever.
    async with asyncio.timeout(20), a_stack(tmp_path, between=between, patience_s=1e6) as stack:
        asked = await stack.ask()
        await gate.reached.wait()
        assert await stop(stack, asked) == "stopped"
        events = await stack.all_of(asked)
        message = await stack.sessions.message(asked["message_id"])

    assert stack.ran == ["look", "write"]
    assert types(events)[-1] == "stop"
    assert message.content == live_answer(events)


def test_a_stop_leaves_no_error_that_nobody_looked_at(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def stop_between_two_steps() -> None:
        gate = Gate()
        async with a_stack(tmp_path, looking=gate) as stack:
            asked = await stack.ask()
            await gate.reached.wait()
            stopping = await begin_to_stop(stack, asked)
            gate.opened.set()
            await stopping

    asyncio.run(stop_between_two_steps())
    gc.collect()
    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []


async def test_a_node_that_ends_within_the_grace_is_not_cancelled(tmp_path: Path) -> None:
    gate = Gate()
    async with a_stack(tmp_path, looking=gate) as stack:
        asked = await stack.ask()
        await gate.reached.wait()
        stopping = await begin_to_stop(stack, asked)
        gate.opened.set()
        assert await stopping == "stopped"
        timings = (await stack.sessions.message(asked["message_id"])).timing

    assert stack.ran == ["look"]
    assert timings is not None
    assert timings["stages_ms"] == {"look": 1.0}


async def test_a_stop_in_the_last_node_is_still_a_stop(tmp_path: Path) -> None:
    gate = Gate()
    async with a_stack(tmp_path, signing=gate) as stack:
        asked = await stack.ask()
        await gate.reached.wait()
        stopping = await begin_to_stop(stack, asked)
        gate.opened.set()
        assert await stopping == "stopped"
        events = await stack.all_of(asked)

    assert types(events)[-1] == "stop"
    assert live_answer(events) == "".join(PIECES)


async def begin_to_stop(stack: Stack, asked: Asked) -> asyncio.Task[str]:
    """The run has been asked to stop, and its grace begins."""
    stopping = asyncio.create_task(stop(stack, asked))
    await asyncio.sleep(0)
    # First in, first out: this write is stored after the stop's, and woken after it.
    await stack.journal.write(lambda c: None)
    return stopping


async def test_a_stop_right_after_the_start_is_obeyed(tmp_path: Path) -> None:
    async with a_stack(tmp_path) as stack:
        asked = await stack.ask()
        status = await stop(stack, asked)
        events = await stack.all_of(asked)

    assert types(events)[-1] == {"stopped": "stop", "complete": "complete"}[status]
    assert [event["done"] for event in events].count(True) == 1


async def test_stopping_a_finished_run_is_harmless(tmp_path: Path) -> None:
    async with a_stack(tmp_path) as stack:
        asked = await stack.ask()
        events = await stack.all_of(asked)
        assert await stop(stack, asked) == "complete"
        assert await stop(stack, asked) == "complete"
        assert await stack.events.read(asked["run_id"]) == events
        assert (await stack.sessions.message(asked["message_id"])).status == "complete"


async def test_stopping_twice_is_stopping_once(tmp_path: Path) -> None:
    gate = Gate()
    async with a_stack(tmp_path, looking=gate) as stack:
        asked = await stack.ask()
        await gate.reached.wait()
        assert await asyncio.gather(*(stop(stack, asked) for _ in range(3))) == ["stopped"] * 3
        events = await stack.all_of(asked)
    assert types(events).count("stop") == 1


async def test_only_answers_of_the_session_can_be_stopped(tmp_path: Path) -> None:
    async with a_stack(tmp_path) as stack:
        asked = await stack.ask()
        for session_id, message_id in [
            ("no", asked["message_id"]),
            (asked["session_id"], asked["user_message_id"]),
        ]:
            with pytest.raises(NotFound) as error:
                await stack.runs.stop(session_id, message_id)
            assert error.value.code == "message_not_found"


async def test_a_node_that_swallows_its_cancellation_cannot_speak_after_the_end(tmp_path: Path) -> None:
    reached, free, refused = Gate(), asyncio.Event(), asyncio.Event()

    async def looking(emit: RunEmitter) -> None:
        try:
            await reached.wait()
        except asyncio.CancelledError:
            await free.wait()
        try:
            emit("answer", "late", data={"segment": emit.new_segment()})
        except EmitterClosed:
            refused.set()
            raise

    async with a_stack(tmp_path, looking=looking) as stack:
        asked = await stack.ask()
        await reached.reached.wait()
        assert await stop(stack, asked) == "stopped"
        free.set()
        await refused.wait()
        events = await stack.all_of(asked)

    assert types(events) == ["agent_query", "tool_call", "tool_result", "stop"]


async def test_the_session_is_free_after_the_stop(tmp_path: Path) -> None:
    gate = Gate()
    async with a_stack(tmp_path, looking=gate) as stack:
        asked = await stack.ask()
        await gate.reached.wait()
        await stop(stack, asked)
        gate.opened.set()
        again = await stack.ask("And now?", session_id=asked["session_id"])
        assert (await stack.runs.finished(again["run_id"])).status == "complete"
