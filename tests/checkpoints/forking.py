"""A process that asks, forks the answer from rerank, and is killed: `forking.py FOLDER HOLD`.

HOLD names the place where it waits for that, after it has printed `held`: `checkpoint` (the fork's checkpoint
is written, nothing else), `row` (its row is written, nobody has begun it), or `chat` (before the first word
of the fork's answer).
"""

import asyncio
import signal
import sys
from pathlib import Path
from typing import Any

from headrace.checkpoints.forks import Fork, Forks
from headrace.checkpoints.runs import Runs
from headrace.state import Asked
from tests.checkpoints.library import a_library

FORK = Fork(stage="rerank", settings={"rerank_top_k": 1})


class Held:
    """Where this process stops for ever."""

    def __init__(self, place: str) -> None:
        self.place = place

    def here(self, place: str) -> None:
        if place == self.place:
            print("held", flush=True)
            signal.pause()


async def live(folder: Path, held: Held) -> None:
    class HeldRuns(Runs):
        def adopt(self, asked: Asked) -> None:
            held.here("row")
            super().adopt(asked)

    class HeldForks(Forks):
        async def _write_checkpoint(self, asked: Asked, point: Any, state: Any) -> None:
            await super()._write_checkpoint(asked, point, state)
            held.here("checkpoint")

    async with a_library(folder, runs_type=HeldRuns, forks_type=HeldForks) as library:
        asked = await library.ask()
        library.chat.before = lambda: held.here("chat")
        forked = await library.forks.fork(asked["run_id"], FORK)
        await library.answer(forked.run_id)


if __name__ == "__main__":
    asyncio.run(live(Path(sys.argv[1]), Held(sys.argv[2])))
