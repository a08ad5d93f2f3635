"""A start that finds a thousand unfinished runs: a few at once, in turn, and everybody else is served."""

import asyncio
import sqlite3
import time
from pathlib import Path

import pytest

from headrace.checkpoints.events import RunEmitter
from headrace.checkpoints.journal import Journal
from headrace.checkpoints.run_rows import insert_run
from headrace.checkpoints.runs import RESUMED_AT_ONCE
from headrace.checkpoints.sessions import Sessions
from headrace.state import Asked

from .toys import PIECES, Stack, a_stack, an_asked

pytestmark = pytest.mark.anyio

ANSWER = "".join(PIECES)
MANY = 1000
# Measured: 0.01. Much more than this comes with work for every run at once.
MOST_HELD_UP_S = 1.0


class AtWork:
    """How many runs are in their first node at once, until `opened`."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()
        self.full = asyncio.Event()
        self.now = 0
        self.most = 0

    async def __call__(self, emit: RunEmitter) -> None:
        self.now += 1
        self.most = max(self.most, self.now)
        if self.now == RESUMED_AT_ONCE:
            self.full.set()
        await self.opened.wait()
        await asyncio.sleep(0)
        self.now -= 1


async def many_unfinished(journal: Journal) -> list[Asked]:
    """Each in a session of its own, none begun."""
    session = (await Sessions(journal).create()).id
    asked = [an_asked(f"{session}{n}", f"问题 {n}") for n in range(MANY)]

    def insert(connection: sqlite3.Connection) -> None:
        for one in asked:
            connection.execute(
                "insert into sessions select ?, tenant_id, title, kb_ids, created_at, updated_at, pinned_at "
                "from sessions where id = ?",
                (one["session_id"], session),
            )
            insert_run(connection, asked=one)

    await journal.write(insert)
    return asked


async def longest_hold_up() -> float:
    """Until it is cancelled: the longest time in which the loop came to nothing else."""
    longest, before = 0.0, time.monotonic()
    try:
        while True:
            await asyncio.sleep(0)
            longest, before = max(longest, time.monotonic() - before), time.monotonic()
    except asyncio.CancelledError:
        return longest


async def test_a_thousand_runs_are_resumed_a_few_at_a_time(tmp_path: Path) -> None:
    at_work = AtWork()
    async with a_stack(tmp_path, looking=at_work) as stack:
        asked = await many_unfinished(stack.journal)
        watching = asyncio.create_task(longest_hold_up())
        assert await stack.runs.resume_unfinished() == MANY
        await at_work.full.wait()
        tasks = len(asyncio.all_tasks())

        await a_question_is_answered(stack, at_work)
        await those_that_wait_can_be_stopped(stack, asked)
        watching.cancel()
        held_up = await watching
        at_work.opened.set()
        messages = [await stack.runs.finished(one["run_id"]) for one in asked]

    statuses = [message.status for message in messages]
    assert (statuses.count("complete"), statuses.count("stopped")) == (MANY - 2, 2)
    assert at_work.most == RESUMED_AT_ONCE
    assert stack.ran.count("look") == MANY - 2 + 1
    assert tasks < 100
    assert held_up < MOST_HELD_UP_S


async def a_question_is_answered(stack: Stack, at_work: AtWork) -> None:
    """While all places are taken: new questions need none."""

    async def at_once(emit: RunEmitter) -> None:
        return None

    stack.hooks["looking"] = at_once
    asked = await stack.ask("有人吗？ Anybody?")
    assert (await stack.runs.finished(asked["run_id"])).content == ANSWER
    assert at_work.now == RESUMED_AT_ONCE
    stack.hooks["looking"] = at_work


async def those_that_wait_can_be_stopped(stack: Stack, asked: list[Asked]) -> None:
    for one in (asked[-1], asked[MANY // 2]):
        assert stack.runs.waits_for(one["run_id"]) == "place"
        assert await stack.stop(one) == "stopped"


async def test_a_drain_in_the_middle_of_it_leaves_the_others_for_the_next_start(tmp_path: Path) -> None:
    at_work = AtWork()
    async with a_stack(tmp_path, looking=at_work) as first:
        asked = await many_unfinished(first.journal)
        await first.runs.resume_unfinished()
        await at_work.full.wait()
        await first.runs.drain(grace_s=0.0)
        assert first.ran == ["look"] * RESUMED_AT_ONCE
    async with a_stack(tmp_path) as second:
        assert await second.runs.resume_unfinished() == MANY
        message = await second.runs.finished(asked[-1]["run_id"])
    assert message.content == ANSWER
