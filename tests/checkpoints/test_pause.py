"""Runs while the disk is full: they pause, and go on as after a restart once there is room."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from headrace.checkpoints.events import RunEmitter, without_voided
from headrace.checkpoints.runs import MOST_RESUMES, Runs
from headrace.errors import StorageFull

from .full import LONG, fill, log_cannot_grow, make_room
from .toys import PIECES, Gate, Stack, a_stack, live_answer, types

pytestmark = pytest.mark.anyio

ANSWER = "".join(PIECES)


class Filling:
    """A hook that fills the disk at one moment, the first `times` it is reached, and says something long."""

    def __init__(self, at: int, *, times: int = 1) -> None:
        self.at = at
        self.times = times
        self.reached = 0
        self.stack: Stack

    async def __call__(self, emit: RunEmitter, number: int) -> None:
        if number == self.at and self.reached < self.times:
            self.reached += 1
            await fill(self.stack.journal)
            emit("thinking", LONG, data={"segment": emit.new_segment()})


async def until_paused(stack: Stack, *run_ids: str) -> None:
    """Nothing of them is at work any more, but they are still owned."""
    while any(stack.runs.waits_for(run_id) != "room" for run_id in run_ids):
        await stack.journal.read(lambda _: None)


async def test_a_run_whose_words_cannot_be_stored_pauses_and_goes_on_when_there_is_room(
    tmp_path: Path,
) -> None:
    filling = Filling(at=3)
    async with a_stack(tmp_path, between=filling) as stack:
        filling.stack = stack
        asked = await stack.ask()
        following = asyncio.create_task(stack.all_of(asked))
        finished = asyncio.create_task(stack.runs.finished(asked["run_id"]))
        await until_paused(stack, asked["run_id"])

        # What is stored can be read; who follows is neither told an end nor sent away.
        seen = await stack.events.read(asked["run_id"])
        assert await stack.status(asked) == ("running", "running")
        assert (await stack.sessions.messages(asked["session_id"]))[1] == 2
        assert not following.done()
        await make_room(stack.journal)
        message = await finished
        events = await following
        resumes = await stack.journal.read(lambda c: c.execute("select resumes from runs").fetchone())

    assert types(seen) == ["agent_query", "tool_call", "tool_result", *["answer"] * 3]
    assert events[: len(seen)] == seen
    assert types(events[len(seen) :]) == ["reset", *["answer"] * 6, "complete"]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert live_answer(events) == live_answer(without_voided(events)) == message.content == ANSWER
    assert stack.ran == ["look", "write", "write", "sign"]
    assert resumes == (0,)


async def test_a_full_disk_is_not_held_against_a_run_however_often(tmp_path: Path) -> None:
    filling = Filling(at=1, times=MOST_RESUMES + 2)
    async with a_stack(tmp_path, between=filling) as stack:
        filling.stack = stack
        asked = await stack.ask()
        for reached in range(1, filling.times + 1):
            while filling.reached < reached:
                await stack.journal.read(lambda _: None)
            await until_paused(stack, asked["run_id"])
            await make_room(stack.journal)
        message = await stack.runs.finished(asked["run_id"])
        events = await stack.events.read(asked["run_id"])

    assert message.content == live_answer(events) == ANSWER


async def test_a_checkpoint_that_cannot_be_stored_pauses_its_run(tmp_path: Path) -> None:
    async def signing(emit: RunEmitter) -> None:
        if stack.ran.count("sign") == 1:
            limits.append(log_cannot_grow(stack.journal))
            limits[0].__enter__()

    limits: list[Any] = []
    async with a_stack(tmp_path, signing=signing) as stack:
        asked = await stack.ask()
        await until_paused(stack, asked["run_id"])
        limits[0].__exit__(None, None, None)
        message = await stack.runs.finished(asked["run_id"])
        events = await stack.events.read(asked["run_id"])

    assert stack.ran == ["look", "write", "sign", "sign"]
    assert types(events) == ["agent_query", "tool_call", "tool_result", *["answer"] * 6, "complete"]
    assert message.status == "complete"


class FullAtTheEnd(Runs):
    """The disk is full when the end of a run is first to be stored."""

    ends = 0

    async def _end(self, run: Any, end: Any) -> None:
        self.ends += 1
        if self.ends > 1:
            return await super()._end(run, end)
        with log_cannot_grow(self._journal):
            await super()._end(run, end)


async def test_an_end_that_cannot_be_stored_comes_later_and_no_node_runs_again(tmp_path: Path) -> None:
    async with a_stack(tmp_path, kind=FullAtTheEnd) as stack:
        asked = await stack.ask()
        message = await stack.runs.finished(asked["run_id"])
        events = await stack.all_of(asked)

    assert stack.ran == ["look", "write", "sign"]
    assert types(events) == ["agent_query", "tool_call", "tool_result", *["answer"] * 6, "complete"]
    assert (message.status, message.outcome) == ("complete", "answered")
    assert events[-1]["data"]["timing"]["stages_ms"] == {"look": 1.0, "write": 2.0, "sign": 0.5}


async def test_a_node_that_makes_another_error_of_it_does_not_fail_its_run(tmp_path: Path) -> None:
    async def looking(emit: RunEmitter) -> None:
        if stack.ran.count("look") == 1:
            await fill(stack.journal)
            try:
                await stack.texts.keep([LONG])
            except StorageFull as error:
                raise RuntimeError("could not keep it") from error

    async with a_stack(tmp_path, looking=looking) as stack:
        asked = await stack.ask()
        await until_paused(stack, asked["run_id"])
        await make_room(stack.journal)
        assert (await stack.runs.finished(asked["run_id"])).content == ANSWER


async def test_a_question_that_cannot_be_stored_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    async with a_stack(tmp_path) as stack:
        session = (await stack.sessions.create()).id
        with log_cannot_grow(stack.journal):
            for _ in range(2):
                with pytest.raises(StorageFull):
                    await stack.ask(session_id=session)
            with pytest.raises(StorageFull):
                await stack.sessions.create()
            assert await stack.sessions.messages(session) == ([], 0)
        asked = await stack.ask(session_id=session)
        assert (await stack.runs.finished(asked["run_id"])).content == ANSWER


async def test_a_stop_that_cannot_be_stored_is_carried_out_all_the_same(tmp_path: Path) -> None:
    gate = Gate()
    async with a_stack(tmp_path, looking=gate) as stack:
        asked = await stack.ask()
        await gate.reached.wait()
        with log_cannot_grow(stack.journal):
            with pytest.raises(StorageFull):
                await stack.stop(asked)
            await until_paused(stack, asked["run_id"])
        message = await stack.runs.finished(asked["run_id"])
        events = await stack.all_of(asked)

    assert message.status == "stopped"
    assert types(events)[-1] == "stop"
    assert stack.ran == ["look"]


async def test_a_paused_run_is_left_for_the_next_start_by_a_shutdown(tmp_path: Path) -> None:
    filling = Filling(at=2)
    async with a_stack(tmp_path, between=filling) as first:
        filling.stack = first
        asked = await first.ask()
        await until_paused(first, asked["run_id"])
        with log_cannot_grow(first.journal):
            await first.runs.drain(grace_s=0.05)
    async with a_stack(tmp_path) as second:
        assert await second.runs.resume_unfinished() == 1
        message = await second.runs.finished(asked["run_id"])

    assert message.content == ANSWER
    assert second.ran == ["write", "sign"]


async def test_many_paused_runs_all_go_on_and_one_that_said_nothing_never_paused(tmp_path: Path) -> None:
    opened, quiet = asyncio.Event(), Gate()
    waiting: list[str] = []

    async def looking(emit: RunEmitter) -> None:
        if not waiting:
            waiting.append("quiet")
            await quiet.wait()
        elif not opened.is_set():
            waiting.append("loud")
            await opened.wait()
            emit("thinking", LONG, data={"segment": emit.new_segment()})

    async with a_stack(tmp_path, looking=looking) as stack:
        first = await stack.ask("安静的一个")
        await quiet.reached.wait()
        asked = [await stack.ask(f"问题 {n}") for n in range(20)]
        while len(waiting) < 21:
            await stack.journal.read(lambda _: None)
        await fill(stack.journal)
        opened.set()
        await until_paused(stack, *(one["run_id"] for one in asked))
        assert stack.runs.waits_for(first["run_id"]) is None
        await make_room(stack.journal)
        quiet.opened.set()
        messages = [await stack.runs.finished(one["run_id"]) for one in (first, *asked)]

    assert {message.content for message in messages} == {ANSWER}
    assert stack.ran.count("look") == 41
