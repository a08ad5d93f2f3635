"""What another version has left in the file: checkpoints of a newer format, events of unknown types."""

import asyncio
import sqlite3
import zlib
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from headrace.checkpoints.replay import Pace, replay
from headrace.checkpoints.saver import COMPRESSED, CheckpointTooNew, JournalSaver
from headrace.errors import Conflict, DependencyFailed
from headrace.state import Asked

from .toys import PIECES, Gate, Stack, a_stack, live_answer, types

pytestmark = pytest.mark.anyio

ANSWER = "".join(PIECES)
UNKNOWN = '{"content":"渠 canal","data":{"of":["tomorrow"],"segment":7},"new_field":{"a":1}}'


async def a_killed_run(folder: Path) -> Asked:
    """It was killed in its second node."""
    gate = Gate()

    async def between(_: Any, number: int) -> None:
        if number == 2:
            await gate.wait()

    async with a_stack(folder, between=between) as stack:
        asked = await stack.ask()
        await gate.reached.wait()
        await stack.runs.drain(grace_s=0.0)
    return asked


def make_newer(connection: sqlite3.Connection) -> None:
    """The newest checkpoint is as a later LangGraph will write it."""
    serde = JsonPlusSerializer()
    id, type, packed = connection.execute(
        "select checkpoint_id, type, body from checkpoints order by checkpoint_id desc"
    ).fetchone()
    body: dict[str, Any] = serde.loads_typed((type.removeprefix(COMPRESSED), zlib.decompress(packed)))
    body["checkpoint"]["v"] = 1000
    connection.execute(
        "update checkpoints set type = ?, body = ? where checkpoint_id = ?", (*serde.dumps_typed(body), id)
    )


async def a_newer_run(stack: Stack) -> None:
    await stack.journal.write(make_newer)
    await stack.runs.resume_unfinished()


async def test_a_newer_checkpoint_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    asked = await a_killed_run(tmp_path)
    async with a_stack(tmp_path) as stack:
        await stack.journal.write(make_newer)
        saver = JournalSaver(stack.journal)
        config: Any = {"configurable": {"thread_id": asked["run_id"], "checkpoint_ns": ""}}
        with pytest.raises(CheckpointTooNew, match="format 1000") as error:
            await saver.aget_tuple(config)
        with pytest.raises(CheckpointTooNew):
            _ = [one async for one in saver.alist(config)]
    assert (error.value.status, error.value.code) == (409, "checkpoint_too_new")


async def test_a_run_that_stands_on_a_newer_checkpoint_is_left_for_the_newer_program(tmp_path: Path) -> None:
    asked = await a_killed_run(tmp_path)
    async with a_stack(tmp_path) as stack:
        before = await stack.events.read(asked["run_id"])
        following = asyncio.create_task(stack.all_of(asked))
        await a_newer_run(stack)
        # Those who followed are let go, those who come are told why.
        assert await following == before
        with pytest.raises(CheckpointTooNew):
            await stack.runs.finished(asked["run_id"])
        with pytest.raises(CheckpointTooNew):
            stack.runs.require_ours(asked["run_id"])
        assert await stack.status(asked) == ("running", "running")
        with pytest.raises(Conflict, match="still answering"):
            await stack.ask("And now?", session_id=asked["session_id"])
        other = await stack.ask("另一个会话")
        assert (await stack.runs.finished(other["run_id"])).content == ANSWER
        stored = await stack.journal.read(
            lambda c: c.execute("select resumes from runs order by id").fetchone()
        )

    assert stack.ran == ["look", "write", "sign"]
    assert stored == (0,)


async def test_stop_ends_a_run_that_only_a_newer_program_can_go_on_with(tmp_path: Path) -> None:
    asked = await a_killed_run(tmp_path)
    async with a_stack(tmp_path) as stack:
        await a_newer_run(stack)
        with pytest.raises(CheckpointTooNew):
            await stack.runs.finished(asked["run_id"])
        in_line = await stack.ask("And now?", session_id=asked["session_id"], on_busy="queue")
        assert await stack.stop(asked) == "stopped"
        message = await stack.runs.finished(asked["run_id"])
        stack.runs.require_ours(asked["run_id"])
        events = await stack.all_of(asked)
        assert (await stack.runs.finished(in_line["run_id"])).content == ANSWER

    assert types(events)[-1] == "stop"
    assert (message.status, message.content) == ("stopped", "水从渠")


async def test_a_session_with_such_a_run_can_be_deleted(tmp_path: Path) -> None:
    asked = await a_killed_run(tmp_path)
    async with a_stack(tmp_path) as stack:
        await a_newer_run(stack)
        await stack.runs.stop_session(asked["session_id"])
        await stack.sessions.delete(asked["session_id"])
        assert await stack.journal.read(lambda c: c.execute("select count(*) from runs").fetchone()) == (0,)


async def test_a_drain_leaves_such_a_run_alone(tmp_path: Path) -> None:
    asked = await a_killed_run(tmp_path)
    async with a_stack(tmp_path) as stack:
        await a_newer_run(stack)
    async with a_stack(tmp_path) as stack:
        assert await stack.runs.resume_unfinished() == 1
        with pytest.raises((CheckpointTooNew, DependencyFailed)):
            await stack.runs.finished(asked["run_id"])
        assert await stack.status(asked) == ("running", "running")


async def test_an_event_of_an_unknown_type_is_passed_on_as_it_is(tmp_path: Path) -> None:
    asked = await a_killed_run(tmp_path)
    async with a_stack(tmp_path) as stack:
        before = await stack.events.read(asked["run_id"])
        await stack.journal.write(
            lambda c: c.execute(
                "insert into events select id, ?, 'tomorrow', 1, ?, 1 from runs", (len(before) + 1, UNKNOWN)
            )
        )
        await stack.runs.resume_unfinished()
        message = await stack.runs.finished(asked["run_id"])
        events = await stack.all_of(asked)
        compact = [event async for event in stack.events.follow(asked["run_id"], compact=True)]
        replayed = [event async for event in await replay(stack.journal, asked["run_id"], Pace())]

    unknown = events[len(before)]
    assert unknown == {
        "id": asked["request_id"],
        "seq": len(before) + 1,
        "run_id": asked["run_id"],
        "response_type": "tomorrow",
        "content": "渠 canal",
        "done": False,
        "data": {"of": ["tomorrow"], "segment": 7},
        "new_field": {"a": 1},
    }
    assert unknown in compact
    assert events == replayed
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert live_answer(events) == message.content == ANSWER
    assert types(events)[-1] == "complete"


async def test_a_run_with_an_unknown_event_can_be_stopped(tmp_path: Path) -> None:
    asked = await a_killed_run(tmp_path)
    async with a_stack(tmp_path) as stack:
        last = await stack.events.last(asked["run_id"])
        await stack.journal.write(
            lambda c: c.execute(
                "insert into events select id, ?, 'tomorrow', null, ?, 1 from runs", (last + 1, UNKNOWN)
            )
        )
        assert await stack.stop(asked) == "stopped"
        assert types(await stack.all_of(asked))[-2:] == ["tomorrow", "stop"]
