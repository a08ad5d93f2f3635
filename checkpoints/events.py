"""The event log of runs: what nodes tell, in order, stored before anybody sees it."""

import asyncio
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from langgraph.config import get_config
from langgraph.runtime import get_runtime

from ..errors import NotFound
from ..ids import new_id
from .event_rows import (
    TEXT_TYPES,
    Event,
    OpenCall,
    Piece,
    TaskTag,
    Told,
    insert_event,
    insert_task,
    interrupted,
    is_void,
    read_events,
    read_last,
    read_piece,
    read_voided,
    to_body,
    without_voided,
)
from .journal import Journal, Work

__all__ = ["EmitterClosed", "Event", "EventLog", "EventLost", "RunEmitter", "without_voided"]


class EventLost(RuntimeError):
    """An event could not be stored; its run must not go on as if it had been."""


class EmitterClosed(RuntimeError):
    """Something was emitted after its run had ended: whoever emits must stop."""


class EventLog:
    """Reads what is committed, and wakes those who follow a run when there is more."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._lock = threading.Lock()
        self._more: dict[str, dict[asyncio.AbstractEventLoop, _Waiting]] = {}
        self._followers = Counter[str]()
        self._abandoned: set[str] = set()
        self._lingering: set[str] = set()  # runs that something may be told of behind their end
        self._closed = False

    async def read(self, run_id: str, *, after: int = 0) -> list[Event]:
        """The stored events after `after`. Raises NotFound (run_not_found)."""
        events, _ = await self._journal.read(partial(read_events, run_id=run_id, after=after))
        return events

    async def last(self, run_id: str) -> int:
        """The number of the newest stored event; 0 for a run that does not exist."""
        return await self._journal.read(partial(read_last, run_id=run_id))

    async def follow(self, run_id: str, *, after: int = 0, compact: bool = False) -> AsyncIterator[Event]:
        """Stored events after `after`, then new ones as they are committed, until the run's end, and those
        behind it while the run lingers.

        `compact` leaves out what is void by now; their numbers are missing then.

        Also ends, without an end event, when the log is closed or the run is abandoned (it goes on in
        another process), and when the run is deleted meanwhile. Raises NotFound (run_not_found).
        """
        last = after
        void = await self._journal.read(partial(read_voided, run_id=run_id)) if compact else set[int]()
        known = over = False
        self._follow(run_id)
        try:
            while not over:
                # Registered before the read: what is committed in between wakes this future.
                waiting = self._register(run_id)
                closing = self._closed or run_id in self._abandoned
                lingers = run_id in self._lingering
                try:
                    events, over, cut = await self._read_shared(waiting, run_id, last)
                except NotFound:
                    if known:
                        return
                    raise
                known = True
                for event in events:
                    last = event["seq"]
                    if not is_void(event, void, after=after):
                        yield event
                over = over and not lingers
                if over or cut:
                    continue
                if closing and not events:
                    return
                if not closing:
                    # Shielded: the future is shared by all who follow this run.
                    await asyncio.shield(waiting.more)
        finally:
            self._unfollow(run_id)

    def append(self, run_id: str, insert: Work[None]) -> Future[None]:
        """Take an event's place in the queue. Callable from any thread."""
        stored = self._journal.post(insert, stream=run_id)
        stored.add_done_callback(lambda _: self.wake(run_id))
        return stored

    def wake(self, run_id: str) -> None:
        """Let those who follow the run look again. Callable from any thread."""
        with self._lock:
            waiting = self._more.pop(run_id, {})
        for loop, readers in waiting.items():
            try:
                loop.call_soon_threadsafe(_resolve, readers.more)
            except RuntimeError:  # the loop was closed: nobody follows from there
                continue

    def abandon(self, run_id: str) -> None:
        """Nothing more comes from this process: end every `follow` of the run, as `close` does."""
        self._abandoned.add(run_id)
        self.wake(run_id)

    def linger(self, run_id: str) -> None:
        """Something may come behind the run's end: `follow` waits for it, until `settle`."""
        self._lingering.add(run_id)

    def settle(self, run_id: str) -> None:
        self._lingering.discard(run_id)
        self.wake(run_id)

    def close(self) -> None:
        """End every `follow` once it has delivered what is stored."""
        self._closed = True
        with self._lock:
            followed = list(self._more)
        for run_id in followed:
            self.wake(run_id)

    def _register(self, run_id: str) -> "_Waiting":
        loop = asyncio.get_running_loop()
        with self._lock:
            waiting = self._more.setdefault(run_id, {})
            if loop not in waiting:
                waiting[loop] = _Waiting(loop.create_future())
            return waiting[loop]

    def _follow(self, run_id: str) -> None:
        with self._lock:
            self._followers[run_id] += 1

    def _unfollow(self, run_id: str) -> None:
        with self._lock:
            self._followers[run_id] -= 1
            last = self._followers[run_id] <= 0
            if last:
                del self._followers[run_id]
        if last:
            # A future nobody will resolve must not stay behind.
            self.wake(run_id)

    async def _read_shared(self, waiting: "_Waiting", run_id: str, after: int) -> Piece:
        """One read for all who stand at the same place: a thousand readers are woken at once.

        Whoever joins a read has registered before it ends, so that what it misses wakes them all.
        """
        reading = waiting.reads.get(after)
        if reading is None:
            read = self._journal.read(partial(read_piece, run_id=run_id, after=after))
            reading = waiting.reads[after] = asyncio.ensure_future(read)
            reading.add_done_callback(lambda done: waiting.forget(after, done))
        # Shielded: one reader that leaves does not end the read of the others.
        return await asyncio.shield(reading)


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Those who follow one run in one loop until there is more, and what they read meanwhile."""

    more: asyncio.Future[None]
    reads: "dict[int, asyncio.Future[Piece]]" = field(default_factory=dict[int, "asyncio.Future[Piece]"])

    def forget(self, after: int, done: "asyncio.Future[Piece]") -> None:
        del self.reads[after]
        if not done.cancelled():
            done.exception()  # all who wanted it may have left; asyncio complains unless somebody looks


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class RunEmitter:
    """Implements `context.Emitter` for one run.

    Safe from any thread that carries the node's context variables (asyncio.to_thread does). A task's
    events stand in the queue before its result. What a failed attempt of a node had shown is reset as
    soon as the next attempt emits.
    """

    def __init__(self, log: EventLog, run_id: str, told: Told) -> None:
        self._log = log
        self._run_id = run_id
        self._seq = told.seq
        self._next_segment = told.next_segment
        self._segments = dict(told.segments)
        self._open = list(told.open_calls)
        self._opened_at: dict[str, float] = {}  # by call id; a call of an earlier process has no entry
        self._tasks = {(task["task_id"], task["checkpoint_id"]): task for task in told.tasks}
        self._attempts: dict[int, int] = {}
        self._stored = _StoredSoFar(run_id, told.seq)
        # Number and place in the queue are taken together, or two threads could swap them.
        self._lock = threading.RLock()
        self._failure: BaseException | None = None
        self._closed = False

    @property
    def failure(self) -> BaseException | None:
        """Why an event could not be stored, if one could not."""
        return self._failure

    def __call__(
        self, response_type: str, content: str = "", *, data: Mapping[str, Any] | None = None, **top: Any
    ) -> None:
        """Raises EmitterClosed after the run's end, EventLost when an earlier event could not be stored."""
        with self._lock:
            self._append(response_type, content, data=data or {}, top=top, task=self._current_task())

    def new_segment(self) -> int:
        with self._lock:
            segment = self._next_segment
            self._next_segment += 1
            return segment

    def open_call(self, tool_name: str, arguments: Mapping[str, Any]) -> None:
        with self._lock:
            task = self._current_task()
            call = OpenCall(id=new_id(), tool_name=tool_name, task=task["number"] if task else None)
            data = {"tool_call_id": call["id"], "tool_name": tool_name, "arguments": dict(arguments)}
            self._append("tool_call", data=data, task=task)
            self._open.append(call)
            self._opened_at[call["id"]] = time.monotonic()

    def close_call(self, tool_name: str, result: Mapping[str, Any]) -> None:
        with self._lock:
            task = self._current_task()
            call = next((call for call in reversed(self._open) if call["tool_name"] == tool_name), None)
            if call is not None:
                self._open.remove(call)
                data: dict[str, Any] = {"tool_call_id": call["id"], "tool_name": tool_name}
                data["result"] = dict(result)
                if (opened_at := self._opened_at.pop(call["id"], None)) is not None:
                    data["duration_ms"] = round((time.monotonic() - opened_at) * 1000)
                self._append("tool_result", data=data, task=task)

    def void(self, tasks: Iterable[TaskTag]) -> None:
        """These tasks start over: what they showed is reset, the calls they opened are interrupted."""
        numbers = {task["number"] for task in tasks}
        with self._lock:
            segments = sorted(segment for segment, task in self._segments.items() if task in numbers)
            if segments:
                self._segments = {s: task for s, task in self._segments.items() if task not in numbers}
                self._append("reset", data={"segments": segments})
            for call in [call for call in self._open if call["task"] in numbers]:
                self._open.remove(call)
                self._append("tool_result", data=interrupted(call))

    def close(self) -> None:
        """Nothing is taken after this; what was taken before is stored before whatever comes next."""
        with self._lock:
            self._closed = True

    def _append(
        self,
        response_type: str,
        content: str = "",
        *,
        data: Mapping[str, Any],
        top: Mapping[str, Any] | None = None,
        task: TaskTag | None = None,
    ) -> None:
        if self._closed:
            raise EmitterClosed(f"run {self._run_id} has ended")
        if self._failure is not None:
            raise EventLost(f"an event of run {self._run_id} was not stored") from self._failure
        if response_type in TEXT_TYPES and "segment" in data:
            self._segments[data["segment"]] = task["number"] if task else None
        body = to_body(content, data, top or {})
        insert = partial(self._stored.insert, self._seq + 1, response_type, body, task)
        self._log.append(self._run_id, insert).add_done_callback(self._note_failure)
        self._seq += 1

    def _note_failure(self, stored: Future[None]) -> None:
        if error := stored.exception():
            self._failure = self._failure or error
            self._stored.broken = True

    def _current_task(self) -> TaskTag | None:
        found = _running_task()
        if found is None:
            return None
        task_id, checkpoint_id, attempt = found
        task = self._tasks.get((task_id, checkpoint_id))
        if task is None:
            task = TaskTag(number=len(self._tasks) + 1, task_id=task_id, checkpoint_id=checkpoint_id)
            self._tasks[task_id, checkpoint_id] = task
        if attempt > self._attempts.setdefault(task["number"], attempt):
            self._attempts[task["number"]] = attempt
            self.void([task])
        return task


class _StoredSoFar:
    """Keeps the log of one run contiguous; lives on the writer's thread.

    An event that could not be stored takes all later ones of its emitter with it: readers would take a
    gap for an event they have lost.
    """

    def __init__(self, run_id: str, seq: int) -> None:
        self._run_id = run_id
        self._seq = seq
        self._tasks: set[int] = set()
        self.broken = False

    def insert(
        self, seq: int, response_type: str, body: str, task: TaskTag | None, connection: sqlite3.Connection
    ) -> None:
        if self.broken or seq != self._seq + 1:
            raise EventLost(f"an event before {seq} of run {self._run_id} was not stored")
        number = task["number"] if task else None
        if task is not None and number not in self._tasks:
            insert_task(connection, run_id=self._run_id, task=task)
        insert_event(
            connection, run_id=self._run_id, seq=seq, response_type=response_type, body=body, task=number
        )
        self._seq = seq
        if number is not None:
            self._tasks.add(number)


def _running_task() -> tuple[str, str, int] | None:
    """Task id, checkpoint id and attempt of the node of the outermost graph that this code runs in."""
    try:
        configurable = get_config().get("configurable", {})
    except RuntimeError:  # not inside a node: the run's owner speaks
        return None
    namespace: str = configurable.get("checkpoint_ns") or ""
    parents: dict[str, str] = configurable.get("checkpoint_map") or {}
    if not namespace or "" not in parents:
        return None
    # `node:task|inner node:inner task`: only tasks of the outermost graph have results we can look for.
    task_id = namespace.split("|")[0].rsplit(":", 1)[-1]
    execution = get_runtime().execution_info
    nested = "|" in namespace
    return task_id, parents[""], 1 if nested or execution is None else execution.node_attempt
