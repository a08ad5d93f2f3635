"""A busy session: a question is refused, waits in line, or replaces those before it."""

import asyncio
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from headrace.checkpoints.events import RunEmitter
from headrace.checkpoints.forks import Fork
from headrace.checkpoints.line import LONGEST_LINE, OnBusy
from headrace.errors import Conflict, DependencyFailed
from headrace.state import Asked

from .toys import PIECES, Gate, Stack, a_stack, an_asked, nothing, types

pytestmark = pytest.mark.anyio

ANSWER = "".join(PIECES)
ROOT = Path(__file__).resolve().parents[2]


async def a_busy_session(stack: Stack, gate: Gate, *, behind: int = 0) -> list[Asked]:
    """A question that is being answered, and those in line behind it."""
    first = await stack.ask("水从哪里来？")
    await gate.reached.wait()
    rest = [
        await stack.ask(f"And then {n}?", session_id=first["session_id"], on_busy="queue", language="en")
        for n in range(behind)
    ]
    return [first, *rest]


async def test_a_question_in_line_is_stored_at_once_and_its_stream_opens(tmp_path: Path) -> None:
    gate = Gate()
    async with a_stack(tmp_path, looking=gate) as stack:
        _, second = await a_busy_session(stack, gate, behind=1)
        following = stack.events.follow(second["run_id"])
        first_event = await anext(following)
        coming = asyncio.ensure_future(anext(following))
        messages, _ = await stack.sessions.messages(second["session_id"])
        assert await stack.status(second) == ("queued", "waiting")
        assert not coming.done()
        gate.opened.set()
        next_event = await coming
        await stack.runs.finished(second["run_id"])
        status = await stack.status(second)

    assert (first_event["response_type"], first_event["content"]) == ("agent_query", "And then 0?")
    assert [(one.role, one.content) for one in messages[2:]] == [("user", "And then 0?"), ("assistant", "")]
    assert next_event["response_type"] == "tool_call"
    assert status == ("complete", "complete")


async def test_questions_in_line_are_answered_in_their_order_each_knowing_those_before(
    tmp_path: Path,
) -> None:
    gate = Gate()
    known: list[list[str]] = []
    async with a_stack(tmp_path, looking=gate) as stack:

        async def signing(emit: RunEmitter) -> None:
            turn = asked[len(known)]
            turns = await stack.sessions.turns(turn["session_id"], before=turn["message_id"], limit=100)
            known.append([one["user"] for one in turns])

        stack.hooks["signing"] = signing
        asked = await a_busy_session(stack, gate, behind=3)
        gate.opened.set()
        messages = [await stack.runs.finished(one["run_id"]) for one in asked]

    queries = [one["query"] for one in asked]
    assert [message.content for message in messages] == [ANSWER] * 4
    assert stack.ran == ["look", "write", "sign"] * 4
    assert known[0] == []
    assert known[1:] == [queries[:n] for n in (1, 2, 3)]


async def test_the_time_in_line_is_not_the_answers(tmp_path: Path) -> None:
    gate = Gate()
    async with a_stack(tmp_path, looking=gate) as stack:
        _, second = await a_busy_session(stack, gate, behind=1)
        await stack.journal.write(
            lambda c: c.execute(
                "update runs set created_at = '2000-01-01T00:00:00.000Z' where status = 'queued'"
            )
        )
        gate.opened.set()
        message = await stack.runs.finished(second["run_id"])

    assert message.timing is not None
    assert message.timing["total_ms"] < 60_000


@pytest.mark.parametrize("end", ["failed", "stopped"])
async def test_the_line_goes_on_whatever_the_end_before(tmp_path: Path, end: str) -> None:
    gate = Gate()

    async def looking(emit: RunEmitter) -> None:
        if not gate.opened.is_set():
            await gate.wait()
            raise DependencyFailed("chat", "the model is gone")

    async with a_stack(tmp_path, looking=looking) as stack:
        first, second = await a_busy_session(stack, gate, behind=1)
        if end == "stopped":
            await stack.stop(first)
        gate.opened.set()
        message = await stack.runs.finished(second["run_id"])
        before = await stack.status(first)

    assert before == (end, end)
    assert message.content == ANSWER


async def test_stopping_a_question_in_line_ends_it_at_once_and_no_other(tmp_path: Path) -> None:
    gate = Gate()
    async with a_stack(tmp_path, looking=gate) as stack:
        first, second, third = await a_busy_session(stack, gate, behind=2)
        following = asyncio.create_task(stack.all_of(second))
        waiting = asyncio.create_task(stack.runs.finished(second["run_id"]))
        assert await stack.stop(second) == "stopped"
        assert types(await following) == ["agent_query", "stop"]
        assert (await waiting).status == "stopped"
        assert await stack.status(first) == ("running", "running")
        assert await stack.status(third) == ("queued", "waiting")
        assert await stack.stop(second) == "stopped"
        gate.opened.set()
        assert (await stack.runs.finished(third["run_id"])).content == ANSWER

    assert stack.ran.count("look") == 2


async def test_a_line_has_an_end(tmp_path: Path) -> None:
    gate = Gate()
    async with a_stack(tmp_path, looking=gate) as stack:
        asked = await a_busy_session(stack, gate, behind=LONGEST_LINE)
        before = await stack.sessions.messages(asked[0]["session_id"], page_size=100)
        with pytest.raises(Conflict) as error:
            await stack.ask("还有一个", session_id=asked[0]["session_id"], on_busy="queue")
        assert await stack.sessions.messages(asked[0]["session_id"], page_size=100) == before
        assert await stack.stop(asked[5]) == "stopped"
        await stack.ask("现在可以了", session_id=asked[0]["session_id"], on_busy="queue")

    assert (error.value.status, error.value.code) == (409, "queue_full")
    assert error.value.details["limit"] == LONGEST_LINE


@pytest.mark.parametrize("on_busy", ["queue", "stop"])
async def test_a_session_that_is_free_answers_at_once(tmp_path: Path, on_busy: OnBusy) -> None:
    async with a_stack(tmp_path) as stack:
        asked = await stack.ask(on_busy=on_busy)
        assert (await stack.runs.finished(asked["run_id"])).content == ANSWER


async def test_a_session_with_a_line_is_busy_with_the_answer_in_the_making(tmp_path: Path) -> None:
    gate = Gate()
    async with a_stack(tmp_path, looking=gate) as stack:
        first, _ = await a_busy_session(stack, gate, behind=1)
        with pytest.raises(Conflict) as error:
            await stack.ask("And I?", session_id=first["session_id"])
    assert error.value.details == {"message_id": first["message_id"]}


async def test_the_same_request_again_leads_to_the_run_in_line(tmp_path: Path) -> None:
    gate = Gate()
    async with a_stack(tmp_path, looking=gate) as stack:
        first, second = await a_busy_session(stack, gate, behind=1)
        for asked in (first, second):
            for on_busy in ("reject", "queue", "stop"):
                ids = {"request_id": asked["request_id"]}
                again = an_asked(asked["session_id"], asked["query"], **ids)
                assert await stack.runs.start(again, on_busy=on_busy) == asked["run_id"]
        assert await stack.status(first) == ("running", "running")
        gate.opened.set()
        await stack.runs.finished(second["run_id"])
        _, total = await stack.sessions.messages(first["session_id"])

    assert total == 4
    assert stack.ran.count("look") == 2


async def test_a_question_that_stops_the_others_is_answered_after_their_end(tmp_path: Path) -> None:
    gate = Gate()

    async def looking(emit: RunEmitter) -> None:
        if not gate.reached.is_set():
            await gate.wait()

    async with a_stack(tmp_path, looking=looking) as stack:
        asked = await a_busy_session(stack, gate, behind=2)
        last = await stack.ask("算了，换一个问题。", session_id=asked[0]["session_id"], on_busy="stop")
        message = await stack.runs.finished(last["run_id"])
        events = [await stack.all_of(one) for one in asked]
        statuses = [await stack.status(one) for one in asked]

    assert message.content == ANSWER
    assert statuses == [("stopped", "stopped")] * 3
    assert [types(one)[-1] for one in events] == ["stop"] * 3
    assert stack.ran == ["look", "look", "write", "sign"]


async def test_several_that_stop_each_other_leave_one_answer(tmp_path: Path) -> None:
    gate = Gate()
    async with a_stack(tmp_path, looking=gate) as stack:
        session = (await stack.sessions.create()).id
        asked = await asyncio.gather(
            *(stack.ask(f"问题 {n}", session_id=session, on_busy="stop") for n in range(6))
        )
        gate.opened.set()
        messages = [await stack.runs.finished(one["run_id"]) for one in asked]

    assert [message.status for message in messages].count("complete") == 1
    assert {message.status for message in messages} == {"stopped", "complete"}


async def test_the_line_is_still_there_in_the_next_process(tmp_path: Path) -> None:
    gate = Gate()
    async with a_stack(tmp_path, looking=gate) as first:
        asked = await a_busy_session(first, gate, behind=3)
        waiting = asyncio.create_task(first.runs.finished(asked[1]["run_id"]))
        assert await first.stop(asked[2]) == "stopped"
        await first.runs.drain(grace_s=0.0)
        with pytest.raises(DependencyFailed, match="shutting down"):
            await waiting
    gate = Gate()
    async with a_stack(tmp_path, looking=gate) as second:
        assert await second.runs.resume_unfinished() == 3
        await gate.reached.wait()
        assert await second.status(asked[1]) == ("queued", "waiting")
        last = await second.ask("最后一个", session_id=asked[0]["session_id"], on_busy="queue")
        gate.opened.set()
        messages = [await second.runs.finished(one["run_id"]) for one in (*asked, last)]
        ended = [
            (await second.runs.get(one["run_id"]))["ended_at"] for one in (asked[0], asked[1], asked[3], last)
        ]

    assert [message.status for message in messages] == [
        "complete",
        "complete",
        "stopped",
        "complete",
        "complete",
    ]
    assert ended == sorted(ended)


async def test_a_question_that_stops_another_is_kept_when_the_process_ends_in_between(tmp_path: Path) -> None:
    gate = Gate()
    async with a_stack(tmp_path, looking=gate) as first:
        (old,) = await a_busy_session(first, gate)
        new = an_asked(old["session_id"], "And now?")
        starting = asyncio.create_task(first.runs.start(new, on_busy="stop"))
        await asyncio.sleep(0)
        await first.runs.drain(grace_s=0.0)
        await starting
    async with a_stack(tmp_path) as second:
        await second.runs.resume_unfinished()
        assert (await second.runs.finished(old["run_id"])).status == "stopped"
        assert (await second.runs.finished(new["run_id"])).status == "complete"


async def test_a_line_that_stands_still_goes_on_at_the_next_start(tmp_path: Path) -> None:
    gate = Gate()
    async with a_stack(tmp_path, looking=gate) as first:
        asked = await a_busy_session(first, gate, behind=2)
    with closing(sqlite3.connect(tmp_path / "journal.sqlite")) as journal, journal:
        journal.execute("delete from runs where id = ?", (asked[0]["run_id"],))
    async with a_stack(tmp_path) as second:
        await second.runs.resume_unfinished()
        messages = [await second.runs.finished(one["run_id"]) for one in asked[1:]]

    assert [message.content for message in messages] == [ANSWER] * 2


async def test_a_session_is_stopped_with_all_that_waits_in_it(tmp_path: Path) -> None:
    gate = Gate()
    async with a_stack(tmp_path, looking=gate) as stack:
        asked = await a_busy_session(stack, gate, behind=2)
        other = await stack.ask("另一个会话")
        with pytest.raises(Conflict):
            await stack.sessions.delete(asked[0]["session_id"])
        await stack.runs.stop_session(asked[0]["session_id"])
        statuses = [await stack.status(one) for one in asked]
        await stack.sessions.delete(asked[0]["session_id"])
        assert await stack.status(other) == ("running", "running")

    assert statuses == [("stopped", "stopped")] * 3
    assert stack.ran == ["look", "look"]


async def test_a_fork_keeps_no_session_busy(tmp_path: Path) -> None:
    gate = Gate()
    async with a_stack(tmp_path) as stack:
        asked = await stack.ask()
        await stack.runs.finished(asked["run_id"])
        stack.hooks["looking"] = gate
        fork = await a_fork(stack, asked)
        await gate.reached.wait()
        stack.hooks["looking"] = nothing
        again = await stack.ask("And then?", session_id=asked["session_id"])
        assert (await stack.runs.finished(again["run_id"])).status == "complete"
        with pytest.raises(Conflict):
            await stack.sessions.delete(asked["session_id"])
        assert await stack.status(fork) == ("running", "running")
        await stack.runs.stop_session(asked["session_id"])
        assert await stack.status(fork) == ("stopped", "stopped")
        await stack.sessions.delete(asked["session_id"])


async def test_a_fork_is_resumed_and_stopped_like_any_run(tmp_path: Path) -> None:
    gate = Gate()
    async with a_stack(tmp_path) as first:
        asked = await first.ask()
        await first.runs.finished(asked["run_id"])
        first.hooks["looking"] = gate
        forks = [await a_fork(first, asked) for _ in range(2)]
        await gate.reached.wait()
    async with a_stack(tmp_path) as second:
        assert await second.stop(forks[1]) == "stopped"
        assert await second.runs.resume_unfinished() == 1
        assert (await second.runs.finished(forks[0]["run_id"])).content == ANSWER
        messages, total = await second.sessions.messages(asked["session_id"])

    assert total == len(messages) == 2


async def a_fork(stack: Stack, origin: Asked) -> Asked:
    """From the very beginning."""
    forked = await stack.forks.fork(origin["run_id"], Fork(stage="look"))
    return an_asked(forked.session_id, run_id=forked.run_id, message_id=forked.message_id)


def test_after_kill_9_the_line_is_answered_in_order(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.checkpoints.line_process", str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        queries = process.stdout.readline().split()
        process.send_signal(signal.SIGKILL)
    ended = subprocess.run(
        [*command, "again"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )

    assert ended.stdout.split() == queries
