"""One life of a server with the toy graph, for tests that kill it: `process.py FOLDER AFTER HOLD`.

Prints every event after AFTER as a line of JSON, as a client would get it. Nodes write their names to
FOLDER/ran. HOLD names the place where it waits to be killed, after it has printed `held`: `look`, `write:N`
(before piece N), `sign`, `end` (the graph has returned, nothing of the end is stored) or `nowhere`.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import cast

from headrace.checkpoints.events import EventLog, RunEmitter
from headrace.checkpoints.journal import open_journal
from headrace.checkpoints.run_rows import read_unfinished
from headrace.checkpoints.runs import Runs
from headrace.checkpoints.saver import JournalSaver
from headrace.checkpoints.sessions import Sessions
from headrace.context import Context
from headrace.state import Asked
from tests.checkpoints.toys import Toy, an_asked, toy_graph

Here = Callable[[str], Awaitable[None]]


async def live(folder: Path, after: int, hold: str) -> None:
    async def here(place: str) -> None:
        if place == hold:
            print("held", flush=True)
            await asyncio.Event().wait()

    async with open_journal(folder / "journal.sqlite") as journal:
        events, sessions = EventLog(journal), Sessions(journal)

        def make_context(emit: RunEmitter, asked: Asked) -> Context:
            return cast(Context, a_toy(folder / "ran", emit, here))

        graph = toy_graph().compile(checkpointer=JournalSaver(journal))
        runs = HeldAtTheEnd(journal, events, sessions, graph, make_context)
        runs.here = here
        left = await journal.read(read_unfinished)
        if await runs.resume_unfinished():
            run_id = left[0].id
        else:
            run_id = await runs.start(an_asked((await sessions.create()).id))
        async for event in events.follow(run_id, after=after):
            print(json.dumps(event), flush=True)
        await runs.drain()


class HeldAtTheEnd(Runs):
    here: Here

    async def _end(self, run: object, end: object) -> None:
        await self.here("end")
        await super()._end(run, end)  # type: ignore[arg-type]


class Trace(list[str]):
    """Written at once: what a killed process has begun must be known afterwards."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    def append(self, name: str) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{name}\n")


def a_toy(ran: Path, emit: RunEmitter, here: Here) -> Toy:
    return Toy(
        emit=emit,
        ran=Trace(ran),
        told=[],
        looking=lambda _: here("look"),
        between=lambda _, number: here(f"write:{number}"),
        signing=lambda _: here("sign"),
    )


if __name__ == "__main__":
    asyncio.run(live(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
