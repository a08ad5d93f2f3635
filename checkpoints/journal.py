"""One file and one connection that writes to it: what waits while it is busy becomes its next transaction."""

import asyncio
import queue
import sqlite3
import threading
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol, TypeVar

from ..databases import damaged, is_damage, look_at, make, opening
from ..errors import StorageFull
from .room import is_full, storage_full
from .schema import prepare

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

# More than this in one transaction would make the first of them wait long for its commit.
MOST_PER_COMMIT = 1000
READERS = 2
BUSY_TIMEOUT_S = 10.0
KIND = "journal"


class Reader(Protocol):
    """The part of a journal that reading needs: also a journal that belongs to another process has it."""

    async def read(self, query: Work[T]) -> T: ...


class JournalClosed(RuntimeError):
    """Something was written or read after the journal had been closed: no run is owned any more."""


class Journal:
    """First in, first out: a write that is durable implies that all that came before it is durable.

    `write` and `post` take a function of the connection. It runs on the writer's thread, inside a
    savepoint of its own, so what it raises undoes only itself and comes back to its caller alone. It must
    not commit, and must not touch anything that another thread changes.

    What there is no room for fails with StorageFull. A `stream` keeps its order then: once one of its items
    is lost, its later ones and those that come `after` it are refused, until it is mended.
    """

    def __init__(self, path: Path, *, full_sync: bool = False) -> None:
        self.path = path
        look_at(path, KIND, holds="the conversations")
        if not path.exists():
            make(path, KIND, partial(prepare, full_sync=full_sync))
        self._connection = _connect(path)
        try:
            with opening(path, KIND):
                prepare(self._connection, full_sync=full_sync)
        except BaseException:
            self._connection.close()
            raise
        self._waiting: queue.SimpleQueue[_Item | None] = queue.SimpleQueue()
        self._lost: set[str] = set()  # streams; used on the writer's thread only
        self._closing = threading.Lock()
        self._closed = False
        self._readers = ThreadPoolExecutor(READERS, "journal-read")
        self._idle: queue.SimpleQueue[sqlite3.Connection] = queue.SimpleQueue()
        for _ in range(READERS):
            self._idle.put(_connect(path, read_only=True))
        # A daemon, so that a journal somebody forgot to close never keeps the process alive.
        self._writer = threading.Thread(target=self._write_all, name="journal-write", daemon=True)
        self._writer.start()

    async def write(
        self, work: Work[T], *, after: str | None = None, undo: Callable[[], None] | None = None
    ) -> T:
        """Returns what `work` returned, after the commit. Once called it is written, also if the caller
        is cancelled while it waits. Raises JournalClosed, StorageFull, or whatever `work` raised.

        `undo` runs on the writer's thread if nothing is stored of what `work` has done.
        """
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[T] = loop.create_future()
        self._put(_Item(work, waiter=waiter, after=after, undo=undo))
        return await waiter

    def post(
        self,
        work: Work[T],
        *,
        stream: str | None = None,
        after: str | None = None,
        undo: Callable[[], None] | None = None,
    ) -> Future[T]:
        """As `write`, but only takes its place in the queue: may be called from any thread.

        The future's callbacks run on the writer's thread, after the commit.
        """
        future: Future[T] = Future()
        self._put(_Item(work, future=future, stream=stream, after=after, undo=undo))
        return future

    async def mend(self, stream: str) -> None:
        """Whoever writes the stream knows what it has lost: what comes now is stored again."""
        await self.write(lambda _: self._lost.discard(stream))

    async def write_alone(self, work: Work[T]) -> T:
        """As `write`, but outside of any transaction: for what SQLite refuses to do in one, such as `vacuum`.

        Everything written after it waits until it is done.
        """
        waiter: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._put(_Item(work, waiter=waiter, alone=True))
        return await waiter

    async def read(self, query: Work[T]) -> T:
        """Run `query` off the event loop, on another connection, in one snapshot of what is committed.

        Raises JournalClosed, Damaged, or whatever `query` raised.
        """
        return await asyncio.wrap_future(self._reading(query))

    def read_now(self, query: Work[T]) -> T:
        """As `read`, for callers without an event loop: blocks."""
        return self._reading(query).result()

    def close(self) -> None:
        """Write what waits, then close every thread and connection. Blocks; safe to call twice."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
            self._waiting.put(None)
        self._writer.join()
        self._readers.shutdown()
        for _ in range(READERS):
            self._idle.get().close()
        self._connection.close()

    def _put(self, item: "_Item") -> None:
        with self._closing:
            if self._closed:
                raise JournalClosed("the journal is closed")
            self._waiting.put(item)

    def _reading(self, query: Work[T]) -> Future[T]:
        try:
            return self._readers.submit(self._read, query)
        except RuntimeError as error:  # the readers have been shut down
            raise JournalClosed("the journal is closed") from error

    def _read(self, query: Work[T]) -> T:
        connection = self._idle.get()
        try:
            connection.execute("begin")
            try:
                return query(connection)
            except sqlite3.DatabaseError as error:
                if is_damage(error):
                    raise damaged(self.path, KIND, error) from error
                raise
            finally:
                connection.execute("rollback")
        finally:
            self._idle.put(connection)

    def _write_all(self) -> None:
        while (first := self._waiting.get()) is not None:
            batch, last = self._with_waiting(first)
            for alone, items in groupby(batch, key=lambda item: item.alone):
                self._write_part([*items], alone=alone)
            if last:
                return

    def _write_part(self, items: list["_Item"], *, alone: bool) -> None:
        if alone:
            self._run_alone(items)
        else:
            self._commit(items)
        _settle(items)

    def _with_waiting(self, first: "_Item") -> tuple[list["_Item"], bool]:
        batch = [first]
        while len(batch) < MOST_PER_COMMIT:
            try:
                item = self._waiting.get_nowait()
            except queue.Empty:
                break
            if item is None:
                return batch, True
            batch.append(item)
        return batch, False

    def _commit(self, batch: list["_Item"]) -> None:
        try:
            self._connection.execute("begin immediate")
            for item in batch:
                self._run(item)
            self._connection.execute("commit")
        except sqlite3.Error as error:
            # Disk full, file gone: nothing of this transaction is stored, so nobody may hear that it is.
            if self._connection.in_transaction:
                self._connection.execute("rollback")
            # What comes after SQLite has ended the transaction by itself fails for that reason alone.
            full = next((item.error for item in batch if isinstance(item.error, StorageFull)), None)
            for item in batch:
                self._fail(item, item.error or full or error)

    def _run(self, item: "_Item") -> None:
        if item.stream in self._lost or item.after in self._lost:
            return self._fail(item, storage_full())
        self._connection.execute("savepoint item")
        try:
            item.result = item.work(self._connection)
        except BaseException as error:
            self._fail(item, error)
            # Some errors (disk full) have ended the transaction: then this fails, and with it the batch.
            self._connection.execute("rollback to item")
        self._connection.execute("release item")

    def _run_alone(self, items: list["_Item"]) -> None:
        for item in items:
            try:
                item.result = item.work(self._connection)
            except BaseException as error:
                if self._connection.in_transaction:
                    self._connection.execute("rollback")
                self._fail(item, error)

    def _fail(self, item: "_Item", error: BaseException) -> None:
        item.error = self._named(error)
        if item.stream is not None and isinstance(item.error, StorageFull):
            self._lost.add(item.stream)
        if item.undo is not None:
            item.undo()

    def _named(self, error: BaseException) -> BaseException:
        if is_damage(error):
            return damaged(self.path, KIND, error)
        if is_full(error, self.path):
            full = storage_full()
            full.__cause__ = error
            return full
        return error


@asynccontextmanager
async def open_journal(path: Path, *, full_sync: bool = False) -> AsyncGenerator[Journal]:
    """Open or create the journal. Raises StartRefused: damaged, not writable, written by a newer program."""
    journal = await asyncio.to_thread(Journal, path, full_sync=full_sync)
    try:
        yield journal
    finally:
        # Shielded: a cancelled shutdown must still leave no thread and no connection behind.
        await asyncio.shield(asyncio.to_thread(journal.close))


class _Item:
    """One piece of work and who waits for it: a coroutine, or whoever holds the future."""

    __slots__ = ("after", "alone", "error", "future", "result", "stream", "undo", "waiter", "work")

    def __init__(
        self,
        work: Work[Any],
        *,
        waiter: asyncio.Future[Any] | None = None,
        future: Future[Any] | None = None,
        stream: str | None = None,
        after: str | None = None,
        undo: Callable[[], None] | None = None,
        alone: bool = False,
    ) -> None:
        self.work = work
        self.stream = stream
        self.after = after
        self.undo = undo
        self.alone = alone  # outside of a transaction
        self.waiter = waiter
        self.future = future
        self.result: Any = None
        self.error: BaseException | None = None


def _connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False, cached_statements=256
    )
    if read_only:
        connection.execute("pragma query_only = on")
    return connection


def _settle(batch: list[_Item]) -> None:
    awaited: dict[asyncio.AbstractEventLoop, list[_Item]] = {}
    for item in batch:
        if item.waiter is not None:
            awaited.setdefault(item.waiter.get_loop(), []).append(item)
        elif item.future is not None:
            _tell(item, item.future)
    for loop, items in awaited.items():
        try:
            loop.call_soon_threadsafe(_wake, items)
        except RuntimeError:  # the loop was closed: nobody waits there any more
            continue


def _wake(items: list[_Item]) -> None:
    for item in items:
        if item.waiter is not None and not item.waiter.done():
            _tell(item, item.waiter)


def _tell(item: _Item, future: "asyncio.Future[Any] | Future[Any]") -> None:
    if item.error is not None:
        future.set_exception(item.error)
    else:
        future.set_result(item.result)
