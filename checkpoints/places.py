"""Runs that go on from where they stood do so a few at a time, so that new questions are served meanwhile."""

from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from .owned import OwnedRun


class Places:
    """At most `most` runs at once; the others wait, without a task each, in the order they came."""

    def __init__(
        self,
        most: int,
        go_on: Callable[[OwnedRun], Awaitable[None]],
        spawn: Callable[[Coroutine[Any, Any, None]], object],
    ) -> None:
        self._most = most
        self._go_on = go_on
        self._spawn = spawn
        self._line: deque[OwnedRun] = deque()
        self._taken = 0

    def wait_for_one(self, run: OwnedRun) -> None:
        run.waits = "place"
        self._line.append(run)
        if self._taken < self._most:
            self._taken += 1
            self._spawn(self._serve())

    async def _serve(self) -> None:
        try:
            while self._line:
                run = self._line.popleft()
                if run.waits == "place":  # and was not stopped meanwhile
                    run.waits = None
                    await self._go_on(run)
        finally:
            self._taken -= 1
