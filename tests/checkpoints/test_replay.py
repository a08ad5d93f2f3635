"""A run told once more: the same events, at whatever pace, and nothing besides."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from headrace.checkpoints.events import RunEmitter, without_voided
from headrace.checkpoints.journal import Journal
from headrace.checkpoints.replay import Pace, replay
from headrace.checkpoints.sessions import Sessions
from headrace.errors import Conflict, NotFound
from headrace.state import Asked

from .toys import PIECES, Gate, Stack, a_stack, live_answer, types

pytestmark = pytest.mark.anyio


class FakeTime:
    """A clock that only moves when somebody sleeps, or when `slow` seconds are spent on an event."""

    def __init__(self, *, slow: float = 0.0) -> None:
        self.now = 1000.0
        self.slow = slow

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds

    def pace(self, speed: int) -> Pace:
        return Pace(speed=speed, clock=self.clock, sleep=self.sleep)


async def an_ended_run(stack: Stack, query: str = "水从哪里来？") -> Asked:
    asked = await stack.ask(query)
    await stack.runs.finished(asked["run_id"])
    return asked


async def record_times(journal: Journal, run_id: str, *, every_ms: int) -> None:
    statement = "update events set at = 1700000000000 + (seq - 1) * ? where run_id = ?"
    await journal.write(lambda c: c.execute(statement, (every_ms, run_id)))


async def told_at(journal: Journal, run_id: str, time: FakeTime, speed: int) -> list[float]:
    """Seconds from the beginning at which each event is told."""
    moments: list[float] = []
    async for _ in await replay(journal, run_id, time.pace(speed)):
        moments.append(round(time.now - 1000.0, 6))
        time.now += time.slow
    return moments


async def dump(journal: Journal) -> list[str]:
    """The whole journal as text."""
    return await journal.read(lambda c: list(c.iterdump()))


@pytest.mark.parametrize("query", ["水从哪里来？", "Where does the water come from?"])
async def test_the_events_of_a_run_are_told_again_and_nothing_is_written(tmp_path: Path, query: str) -> None:
    async with a_stack(tmp_path) as stack:
        asked = await an_ended_run(stack, query)
        live, before, ran = await stack.all_of(asked), await dump(stack.journal), list(stack.ran)
        again = [event async for event in await replay(stack.journal, asked["run_id"], Pace())]
        assert again == live
        assert again[0]["content"] == query
        assert await dump(stack.journal) == before
        assert stack.ran == ran


async def test_every_event_has_the_time_at_which_it_was_stored(tmp_path: Path) -> None:
    async with a_stack(tmp_path) as stack:
        asked = await an_ended_run(stack)
        (wrong,) = await stack.journal.read(
            lambda c: c.execute(
                "select count(*) from events join runs on runs.id = run_id where not at between "
                "unixepoch(created_at) * 1000 and (unixepoch(ended_at) + 1) * 1000 and runs.id = ?",
                (asked["run_id"],),
            ).fetchone()
        )
        assert wrong == 0


@pytest.mark.parametrize(("speed", "every"), [(0, 0.0), (1, 0.5), (4, 0.125)])
async def test_the_pace_is_the_recorded_one_divided_by_the_speed(
    tmp_path: Path, speed: int, every: float
) -> None:
    async with a_stack(tmp_path) as stack:
        asked = await an_ended_run(stack)
        await record_times(stack.journal, asked["run_id"], every_ms=500)
        moments = await told_at(stack.journal, asked["run_id"], FakeTime(), speed)
        assert moments == [round(every * number, 6) for number in range(len(moments))]


async def test_a_slow_reader_does_not_make_the_replay_longer(tmp_path: Path) -> None:
    async with a_stack(tmp_path) as stack:
        asked = await an_ended_run(stack)
        await record_times(stack.journal, asked["run_id"], every_ms=500)
        moments = await told_at(stack.journal, asked["run_id"], FakeTime(slow=0.3), 1)
        assert moments[-1] == 0.5 * (len(moments) - 1)


async def test_a_clock_that_was_set_back_while_the_run_went_on_delays_nothing(tmp_path: Path) -> None:
    async with a_stack(tmp_path) as stack:
        asked = await an_ended_run(stack)
        await record_times(stack.journal, asked["run_id"], every_ms=-500)
        assert set(await told_at(stack.journal, asked["run_id"], FakeTime(), 1)) == {0.0}


async def test_a_long_log_is_told_whole(tmp_path: Path) -> None:
    async def chatter(emit: RunEmitter) -> None:
        for number in range(2500):
            emit("warning", f"第 {number} 条")

    async with a_stack(tmp_path, signing=chatter) as stack:
        asked = await an_ended_run(stack)
        events = [event async for event in await replay(stack.journal, asked["run_id"], Pace())]
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        assert len(events) > 2500
        assert events[-1]["done"]


async def test_a_run_that_goes_on_is_refused_with_where_to_follow_it(tmp_path: Path) -> None:
    gate = Gate()
    async with a_stack(tmp_path, looking=gate) as stack:
        asked = await stack.ask()
        await gate.reached.wait()
        with pytest.raises(Conflict, match="continue-stream") as refused:
            await replay(stack.journal, asked["run_id"], Pace())
        assert refused.value.details == {
            "session_id": asked["session_id"],
            "message_id": asked["message_id"],
            "status": "running",
        }
        gate.opened.set()
        await stack.runs.finished(asked["run_id"])
        await replay(stack.journal, asked["run_id"], Pace())


async def test_an_unknown_run_is_not_found_and_one_deleted_meanwhile_ends(tmp_path: Path) -> None:
    async with a_stack(tmp_path) as stack:
        with pytest.raises(NotFound):
            await replay(stack.journal, "没有", Pace())
        asked = await an_ended_run(stack)
        events = await replay(stack.journal, asked["run_id"], Pace())
        assert (await anext(events))["response_type"] == "agent_query"
        await Sessions(stack.journal).delete(asked["session_id"])
        assert not (await anext(events))["done"]  # what had been read is still told
        _ = [event async for event in events]


async def test_compact_leaves_out_what_was_void_when_the_reader_came(tmp_path: Path) -> None:
    first_gate, second_gate = Gate(), Gate()

    async def first_try(_: RunEmitter, number: int) -> None:
        if number == 3:
            await first_gate.wait()

    async def second_try(_: RunEmitter, number: int) -> None:
        if number == 2:
            await second_gate.wait()

    async with a_stack(tmp_path, between=first_try) as stack:
        asked = await stack.ask()
        await first_gate.reached.wait()
        await stack.runs.drain(grace_s=0.05)
        seen = (await stack.events.read(asked["run_id"]))[-1]["seq"]
    async with a_stack(tmp_path, between=second_try) as stack:
        await stack.runs.resume_unfinished()
        await second_gate.reached.wait()
        run_id = asked["run_id"]

        async def follow(after: int) -> list[Any]:
            return [event async for event in stack.events.follow(run_id, after=after, compact=True)]

        following = [asyncio.create_task(follow(after)) for after in (0, seen)]
        second_gate.opened.set()
        from_start, from_there = await asyncio.gather(*following)
        stored = await stack.events.read(run_id)

    assert types(from_start) == ["agent_query", "tool_call", "tool_result", *["answer"] * 6, "complete"]
    assert live_answer(from_start) == "".join(PIECES)
    assert without_voided(stored) == from_start
    # Whoever has shown the first try must hear that it is void.
    assert types(from_there) == ["reset", *["answer"] * 6, "complete"]
    assert without_voided(stored[seen:], after=seen) == from_there
