"""Runs outlive their process: drained, killed, or brought down by themselves."""

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.checkpoints.events import Event, RunEmitter, without_voided
from headrace.checkpoints.journal import Journal
from headrace.checkpoints.runs import MOST_RESUMES, RESUMED_AT_ONCE
from headrace.checkpoints.sessions import read_message
from headrace.errors import DependencyFailed

from .toys import PIECES, Gate, a_stack, an_asked, live_answer, types

pytestmark = pytest.mark.anyio

ANSWER = "".join(PIECES)
ROOT = Path(__file__).resolve().parents[2]


async def test_a_drained_run_goes_on_in_the_next_process(tmp_path: Path) -> None:
    gate = Gate()

    async def between(_: RunEmitter, number: int) -> None:
        if number == 3:
            await gate.wait()

    async with a_stack(tmp_path, between=between) as first:
        asked = await first.ask()
        following = asyncio.create_task(first.all_of(asked))
        waiting = asyncio.create_task(first.runs.finished(asked["run_id"]))
        await gate.reached.wait()
        await first.runs.drain(grace_s=0.05)
        seen = await following
        with pytest.raises(DependencyFailed, match="shutting down"):
            await waiting
        with pytest.raises(DependencyFailed, match="shutting down"):
            await first.runs.start(an_asked(asked["session_id"]))

    assert types(seen) == ["agent_query", "tool_call", "tool_result", *["answer"] * 3]
    async with a_stack(tmp_path) as second:
        assert await second.runs.resume_unfinished() == 1
        message = await second.runs.finished(asked["run_id"])
        rest = await second.all_of(asked, after=seen[-1]["seq"])
        assert await second.runs.resume_unfinished() == 0

    events = [*seen, *rest]
    assert second.ran == ["write", "sign"]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert types(rest) == ["reset", *["answer"] * 6, "complete"]
    assert rest[0]["data"] == {"segments": [1]}
    assert rest[1]["data"] == {"segment": 2}
    assert live_answer(events) == message.content == ANSWER
    assert live_answer(without_voided(events)) == ANSWER
    assert types(without_voided(events)).count("answer") == 6


async def test_a_run_drained_between_two_steps_has_nothing_to_reset(tmp_path: Path) -> None:
    gate = Gate()
    async with a_stack(tmp_path, looking=gate) as first:
        asked = await first.ask()
        await gate.reached.wait()
        draining = asyncio.create_task(first.runs.drain())
        await asyncio.sleep(0)
        gate.opened.set()
        await draining
    async with a_stack(tmp_path) as second:
        await second.runs.resume_unfinished()
        await second.runs.finished(asked["run_id"])
        events = await second.events.read(asked["run_id"])

    assert first.ran == ["look"]
    assert second.ran == ["write", "sign"]
    assert types(events) == ["agent_query", "tool_call", "tool_result", *["answer"] * 6, "complete"]
    # The window that a finished stage has opened is closed by the stage that always closes it.
    assert events[2]["data"]["result"] == {"hits": 3}


async def test_the_window_of_an_interrupted_stage_is_closed_before_it_opens_again(tmp_path: Path) -> None:
    async with a_stack(tmp_path, looking=Gate()) as first:
        asked = await first.ask()
        async for event in first.events.follow(asked["run_id"]):
            if event["response_type"] == "tool_call":
                break
    async with a_stack(tmp_path) as second:
        await second.runs.resume_unfinished()
        await second.runs.finished(asked["run_id"])
        events = await second.events.read(asked["run_id"])

    assert types(events)[:5] == ["agent_query", "tool_call", "tool_result", "tool_call", "tool_result"]
    calls = [event["data"].get("tool_call_id") for event in events[1:5]]
    assert calls[0] == calls[1] != calls[2] == calls[3]
    assert events[2]["data"]["interrupted"] is True
    assert "interrupted" not in events[4]["data"]


async def test_many_runs_are_resumed_a_few_at_a_time(tmp_path: Path) -> None:
    async with a_stack(tmp_path, looking=Gate()) as first:
        asked = await asyncio.gather(*(first.ask(f"问题 {n}") for n in range(20)))

    at_once: list[int] = []

    async def looking(_: RunEmitter) -> None:
        at_once.append(1)
        await asyncio.sleep(0)
        at_once.append(-1)

    async with a_stack(tmp_path, looking=looking) as second:
        assert await second.runs.resume_unfinished() == 20
        messages = await asyncio.gather(*(second.runs.finished(one["run_id"]) for one in asked))

    assert {message.content for message in messages} == {ANSWER}
    assert max(sum(at_once[:n]) for n in range(len(at_once))) <= RESUMED_AT_ONCE


async def test_a_run_that_waits_for_its_turn_is_stopped_at_once(tmp_path: Path) -> None:
    async with a_stack(tmp_path, looking=Gate()) as first:
        asked = [await first.ask(f"问题 {n}") for n in range(RESUMED_AT_ONCE + 1)]

    gate = Gate()
    async with a_stack(tmp_path, looking=gate) as second:
        await second.runs.resume_unfinished()
        await gate.reached.wait()
        waiting = asked[-1]
        assert await second.runs.stop(waiting["session_id"], waiting["message_id"]) == "stopped"
        assert types(await second.all_of(waiting))[-1] == "stop"
        gate.opened.set()
        others = [await second.runs.finished(one["run_id"]) for one in asked[:-1]]

    assert {message.content for message in others} == {ANSWER}
    assert second.ran.count("look") == RESUMED_AT_ONCE


async def test_a_stop_asked_of_the_last_process_is_carried_out(tmp_path: Path) -> None:
    async with a_stack(tmp_path, looking=Gate()) as first:
        asked = await first.ask()
        await first.runs.drain(grace_s=0.0)
        assert await first.runs.stop(asked["session_id"], asked["message_id"]) == "stopping"
    async with a_stack(tmp_path) as second:
        await second.runs.resume_unfinished()
        message = await second.runs.finished(asked["run_id"])
        events = await second.events.read(asked["run_id"])

    assert second.ran == []
    assert message.status == "stopped"
    assert types(events)[-1] == "stop"


@pytest.mark.parametrize(("earlier", "status"), [(MOST_RESUMES, "failed"), (MOST_RESUMES - 1, "complete")])
async def test_a_run_that_brings_the_process_down_is_given_up(
    tmp_path: Path, earlier: int, status: str
) -> None:
    async with a_stack(tmp_path, looking=Gate()) as first:
        asked = await first.ask()
    async with a_stack(tmp_path) as second:
        await second.journal.write(
            lambda c: c.execute(
                "update runs set resumes = ?, resumed_from = (select max(checkpoint_id) from checkpoints)",
                (earlier,),
            )
        )
        await second.runs.resume_unfinished()
        message = await second.runs.finished(asked["run_id"])

    assert message.status == status
    if status == "failed":
        assert second.ran == []
        assert message.error is not None
        assert message.error["code"] == "run_given_up"
        assert "4" in message.error["message"]


async def test_progress_between_two_crashes_is_not_held_against_a_run(tmp_path: Path) -> None:
    async with a_stack(tmp_path, looking=Gate()) as first:
        asked = await first.ask()
    async with a_stack(tmp_path) as second:
        await second.journal.write(
            lambda c: c.execute("update runs set resumes = ?, resumed_from = 'earlier'", (MOST_RESUMES,))
        )
        await second.runs.resume_unfinished()
        assert (await second.runs.finished(asked["run_id"])).status == "complete"


def test_a_killed_server_goes_on_where_it_was(tmp_path: Path) -> None:
    seen: list[Event] = []
    for hold in ("look", "write:2", "write:5", "sign", "end", "nowhere"):
        seen += live_until(tmp_path, hold, after=len(seen))

    ran = (tmp_path / "ran").read_text(encoding="utf-8").split()
    assert [event["seq"] for event in seen] == list(range(1, len(seen) + 1))
    assert [event["done"] for event in seen] == [False] * (len(seen) - 1) + [True]
    assert ran == ["look", "look", "write", "write", "write", "sign", "sign"]
    assert live_answer(seen) == ANSWER == stored_answer(tmp_path)
    opened = [event["data"]["tool_call_id"] for event in seen if event["response_type"] == "tool_call"]
    closed = [event["data"]["tool_call_id"] for event in seen if event["response_type"] == "tool_result"]
    assert opened == closed


def live_until(folder: Path, hold: str, *, after: int) -> list[Event]:
    """What a client sees of one process, which is killed where it holds."""
    command = [sys.executable, "-m", "tests.checkpoints.process", str(folder), str(after), hold]
    seen: list[Event] = []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line == "held\n":
                process.send_signal(signal.SIGKILL)
            else:
                seen.append(json.loads(line))
        ended = process.wait(timeout=20)
    assert ended == (0 if hold == "nowhere" else -signal.SIGKILL)
    return seen


def stored_answer(folder: Path) -> str:
    journal = Journal(folder / "journal.sqlite")
    (message_id,) = journal.read_now(
        lambda c: c.execute("select id from messages where role = 'assistant'").fetchone()
    )
    message = journal.read_now(lambda c: read_message(c, message_id=message_id))
    journal.close()
    return message.content
