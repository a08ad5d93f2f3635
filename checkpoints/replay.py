"""A recorded run told once more, from its log alone: nothing is asked, computed or written again."""

import asyncio
import sqlite3
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from ..errors import Conflict, Gone, NotFound
from .event_rows import MOST_PER_READ, Event, read_events
from .journal import Reader
from .record import read_recorded_run

Told = tuple[Event, int]  # and when, in milliseconds of Unix time


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How fast a run is told: 0 at once, 1 as it was recorded, N so many times faster."""

    speed: int = 0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep


async def replay(journal: Reader, run_id: str, pace: Pace) -> AsyncGenerator[Event]:
    """The events of a run that has ended, as a live reader got them.

    Raises, before there is a first event, NotFound (run_not_found), Gone (run_trimmed, run_erased), and
    Conflict (run_unfinished, with `session_id`, `message_id` and `status` as details).
    """
    return _tell(journal, run_id, pace, first=await journal.read(partial(_read, run_id=run_id, after=0)))


async def _tell(journal: Reader, run_id: str, pace: Pace, *, first: list[Told]) -> AsyncGenerator[Event]:
    told, began = first, pace.clock()
    while told:
        for event, at in told:
            if pace.speed:
                # From the beginning, not from the event before: the small delays of each would add up.
                due = began + (at - first[0][1]) / 1000 / pace.speed
                if (early := due - pace.clock()) > 0:
                    await pace.sleep(early)
            yield event
        try:
            told = await journal.read(partial(_read, run_id=run_id, after=told[-1][0]["seq"]))
        except (NotFound, Gone):  # removed meanwhile
            return


def _read(connection: sqlite3.Connection, *, run_id: str, after: int) -> list[Told]:
    run = read_recorded_run(connection, run_id=run_id)
    if run.ended_at is None:
        raise Conflict(
            "This run has not ended yet: follow its answer with continue-stream, wait for its end, or stop "
            "it; then it can be replayed.",
            code="run_unfinished",
            details={"session_id": run.session_id, "message_id": run.message_id, "status": run.status},
        )
    events, _ = read_events(connection, run_id=run_id, after=after, limit=MOST_PER_READ)
    times = connection.execute(
        "select at from events where run_id = ? and seq > ? order by seq limit ?",
        (run_id, after, len(events)),
    )
    return [(event, at) for event, (at,) in zip(events, times, strict=True)]
