"""An event loop in which waiting takes no time: its clock leaps to the next timer."""

import asyncio
import selectors
from collections.abc import Callable
from typing import Any


class LeapingLoop(asyncio.SelectorEventLoop):
    """Leaps only while nothing can happen before the next timer: no socket is ready, no thread is at work."""

    def __init__(self) -> None:
        self._clock = _LeapingSelector()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:
        working = super().run_in_executor(executor, func, *args)
        self._clock.working += 1
        working.add_done_callback(self._end_of_work)
        return working

    def _end_of_work(self, _: object) -> None:
        self._clock.working -= 1


class _LeapingSelector(selectors.DefaultSelector):
    def __init__(self) -> None:
        super().__init__()
        self.now: float = 0.0
        self.working = 0

    def select(self, timeout: float | None = None) -> Any:
        # Timers wait for threads: one that ends wakes the loop through the loop's own pipe.
        may_leap = timeout is not None and not (self.working and timeout)
        ready = super().select(0 if may_leap else None)
        if may_leap and not ready:
            self.now += timeout or 0.0
        return ready
