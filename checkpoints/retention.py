"""What old runs keep: everything for some days, then their last checkpoint, then only their message."""

import asyncio
import logging
import sqlite3
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Literal

from .clock import to_text
from .journal import Journal
from .record import WITH_RECORD, unmentioned
from .run_rows import Kept
from .saver import JournalSaver
from .schema import RUN_TABLES, delete_threads, delete_unused, passages_of
from .space import bytes_on_disk, give_back, live_bytes

logger = logging.getLogger(__name__)

MEGABYTE = 1_000_000
# A fork writes its first checkpoint before its run: a younger thread may still get one.
LEAST_AGE_OF_ORPHANS = timedelta(hours=1)
# The times of version 6 UUIDs count from here (RFC 9562), in steps of 100 ns.
GREGORIAN = datetime(1582, 10, 15, tzinfo=UTC)

Work = Callable[[sqlite3.Connection], Counter[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long a finished run keeps everything, and how large the journal may be. 0 days: for ever."""

    days: float = 30
    megabytes: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """What was removed, or with `dry_run` would be. Bytes are those of the file and its log."""

    dry_run: bool
    runs_trimmed: int  # to their last checkpoint
    runs_emptied: int  # to their message
    checkpoints: int
    events: int
    passages: int
    threads: int  # without a run
    bytes_before: int
    bytes_after: int

    @property
    def freed_bytes(self) -> int:
        return max(0, self.bytes_before - self.bytes_after)


class Retention:
    """Removes what is too old or too much, a run at a time, so that questions are answered meanwhile.

    Only runs that have ended are touched. What forks and their origins share stays while one of them has it.
    """

    def __init__(
        self,
        journal: Journal,
        saver: JournalSaver,
        limits: Limits,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._journal = journal
        self._saver = saver
        self._limits = limits
        self._clock = clock
        self._one_at_a_time = asyncio.Lock()

    async def collect(self, *, dry_run: bool = False) -> Collected:
        """Remove, and give the space back. With `dry_run` everything stays: sizes are estimates then."""
        async with self._one_at_a_time:
            before = bytes_on_disk(self._journal.path)
            sweep = _Sweep(self._journal, dry_run=dry_run)
            await self._trim_old(sweep)
            await self._clear_orphans(sweep)
            await self._keep_under_limit(sweep)
            if dry_run:
                after = min(before, await sweep.live_bytes())
            else:
                await give_back(self._journal)
                after = bytes_on_disk(self._journal.path)
            return sweep.collected(before, after)

    async def _trim_old(self, sweep: "_Sweep") -> None:
        if self._limits.days > 0:
            until = to_text(self._clock() - timedelta(days=self._limits.days))
            for run_id in await self._journal.read(partial(_finished, kept=("all",), until=until)):
                await self._trim(sweep, run_id)

    async def _clear_orphans(self, sweep: "_Sweep") -> None:
        newest = await self._journal.read(threads_without_record)
        until = self._clock() - LEAST_AGE_OF_ORPHANS
        for thread_id in [id for id, checkpoint_id in newest.items() if is_older(checkpoint_id, until)]:
            await sweep.do(f"thread {thread_id}", partial(_delete_thread, thread_id=thread_id))
        for run_id in await self._journal.read(_uses_without_record):
            await sweep.do(f"passages of {run_id}", partial(_delete_uses, run_id=run_id))

    async def _keep_under_limit(self, sweep: "_Sweep") -> None:
        """The oldest runs lose the most that can be missed first: stages between, then the record."""
        if self._limits.megabytes is None:
            return
        limit = self._limits.megabytes * MEGABYTE
        for less, kept in ((self._trim, ("all",)), (self._empty, WITH_RECORD)):
            if await sweep.live_bytes() <= limit:
                return
            for run_id in await self._journal.read(partial(_finished, kept=kept)):
                await less(sweep, run_id)
                if await sweep.live_bytes() <= limit:
                    return
        if (left := await sweep.live_bytes()) > limit:
            logger.warning(
                "the journal has %.1f MB with nothing left to trim, journal_limit_mb is %g: messages and "
                "unfinished answers are kept; delete sessions, or raise it",
                left / MEGABYTE,
                self._limits.megabytes,
            )

    async def _trim(self, sweep: "_Sweep", run_id: str) -> None:
        if await sweep.do(run_id, partial(_trim_run, run_id=run_id, saver=self._saver)):
            sweep.left[run_id] = "last"

    async def _empty(self, sweep: "_Sweep", run_id: str) -> None:
        if await sweep.do(run_id, partial(empty_run, run_id=run_id, kept="nothing")):
            sweep.left[run_id] = "nothing"


@dataclass(slots=True)
class _Sweep:
    """One collection: what it does, or only tries, and how much that comes to."""

    journal: Journal
    dry_run: bool
    left: dict[str, Kept] = field(default_factory=dict[str, Kept])  # of runs: what they keep now
    done: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])

    async def do(self, what: str, work: Work) -> bool:
        """Whether anything was there to do. `what` names a thing that may be done more to later."""
        if not self.dry_run:
            counts = await self.journal.write(partial(_measured, work=work))
            self.done[what] = self.done.get(what, Counter()) + counts
            return bool(counts)
        try:
            await self.journal.write(partial(_undone, work=work))
        except _Undone as tried:
            # Undone before this one began, so it found what an earlier one had counted: it counts that too.
            self.done[what] = tried.counts
            return bool(tried.counts)
        return False

    async def live_bytes(self) -> int:
        live = await self.journal.read(live_bytes)
        return live - self.counts()["bytes"] if self.dry_run else live

    def counts(self) -> Counter[str]:
        return sum(self.done.values(), Counter[str]())

    def collected(self, before: int, after: int) -> Collected:
        counts, left = self.counts(), Counter(self.left.values())
        return Collected(
            dry_run=self.dry_run,
            runs_trimmed=left["last"],
            runs_emptied=left["nothing"],
            checkpoints=counts["checkpoints"],
            events=counts["events"],
            passages=counts["passages"],
            threads=counts["threads"],
            bytes_before=before,
            bytes_after=after,
        )


class _Undone(Exception):
    """Undoes the work that it is raised after, and says what that would have done."""

    def __init__(self, counts: Counter[str]) -> None:
        super().__init__()
        self.counts = counts


def is_older(checkpoint_id: str, until: datetime) -> bool:
    """Whether a checkpoint was made before; ids that are no time-ordered UUID tell nothing, so no."""
    try:
        id = uuid.UUID(checkpoint_id)
    except ValueError:
        return False
    if id.version != 6:
        return False
    ticks = id.int >> 96 << 28 | (id.int >> 80 & 0xFFFF) << 12 | id.int >> 64 & 0xFFF
    return GREGORIAN + timedelta(microseconds=ticks // 10) < until


# --- on the writer's thread ---


def empty_run(
    connection: sqlite3.Connection, *, run_id: str, kept: Literal["nothing", "erased"]
) -> Counter[str]:
    """Remove the record of an ended run: its thread, its events, and the passages that only it keeps."""
    if not _has_ended_with(connection, run_id, WITH_RECORD):
        return Counter()
    counts = Counter(
        runs=1,
        checkpoints=_count(connection, "checkpoints where thread_id = ?", run_id),
        events=_count(connection, "events where run_id = ?", run_id),
    )
    delete_threads(connection, [run_id])
    hashes = passages_of(connection, run_id)
    for table in RUN_TABLES:
        connection.execute(f"delete from {table} where run_id = ?", (run_id,))
    counts["passages"] = delete_unused(connection, hashes)
    connection.execute("update runs set kept = ? where id = ?", (kept, run_id))
    return counts


def _trim_run(connection: sqlite3.Connection, *, run_id: str, saver: JournalSaver) -> Counter[str]:
    if not _has_ended_with(connection, run_id, ("all",)):
        return Counter()
    before = _count(connection, "checkpoints where thread_id = ?", run_id)
    saver.prune_on(connection, [run_id])
    counts = Counter(
        runs=1, checkpoints=before - _count(connection, "checkpoints where thread_id = ?", run_id)
    )
    unused = unmentioned(connection, run_id, passages_of(connection, run_id))
    counts["passages"] = _drop_uses(connection, run_id, unused)
    connection.execute("update runs set kept = 'last' where id = ?", (run_id,))
    return counts


def _delete_thread(connection: sqlite3.Connection, *, thread_id: str) -> Counter[str]:
    if _has_record(connection, thread_id):
        return Counter()  # it has become a run's
    counts = Counter(threads=1, checkpoints=_count(connection, "checkpoints where thread_id = ?", thread_id))
    delete_threads(connection, [thread_id])
    return counts


def _delete_uses(connection: sqlite3.Connection, *, run_id: str) -> Counter[str]:
    if _has_record(connection, run_id):
        return Counter()
    return Counter(passages=_drop_uses(connection, run_id, passages_of(connection, run_id)))


def _drop_uses(connection: sqlite3.Connection, run_id: str, hashes: Iterable[str]) -> int:
    gone = list(hashes)
    connection.executemany(
        "delete from passage_uses where hash = ? and run_id = ?", [(hash, run_id) for hash in gone]
    )
    return delete_unused(connection, gone)


def _measured(connection: sqlite3.Connection, *, work: Work) -> Counter[str]:
    before = live_bytes(connection)
    counts = work(connection)
    if counts:
        counts["bytes"] = max(0, before - live_bytes(connection))
    return counts


def _undone(connection: sqlite3.Connection, *, work: Work) -> None:
    raise _Undone(_measured(connection, work=work))


# --- also on a reader's ---


def _finished(connection: sqlite3.Connection, *, kept: Sequence[str], until: str = "9999") -> list[str]:
    rows = connection.execute(
        f"select id from runs where ended_at < ? and kept in ({_marks(kept)}) order by ended_at, id",
        (until, *kept),
    )
    return [id for (id,) in rows]


def threads_without_record(connection: sqlite3.Connection) -> dict[str, str]:
    """Threads that no run has, or one that has lost its record: with their newest checkpoint."""
    rows = connection.execute(
        "select thread_id, max(checkpoint_id) from "
        "(select thread_id, checkpoint_id from checkpoints "
        "union all select thread_id, checkpoint_id from checkpoint_writes) "
        f"where thread_id not in ({_IDS_WITH_RECORD}) group by thread_id"
    )
    return dict(rows.fetchall())


def _uses_without_record(connection: sqlite3.Connection) -> list[str]:
    """Runs without a record for which passages are kept, as by a node that outlived its run."""
    rows = connection.execute(
        f"select distinct run_id from passage_uses where run_id not in ({_IDS_WITH_RECORD})"
    )
    return [id for (id,) in rows]


def _has_record(connection: sqlite3.Connection, run_id: str) -> bool:
    where = f"runs where id = ? and kept in ({_marks(WITH_RECORD)})"
    return _count(connection, where, run_id, *WITH_RECORD) == 1


def _has_ended_with(connection: sqlite3.Connection, run_id: str, kept: Sequence[str]) -> bool:
    where = f"runs where id = ? and ended_at is not null and kept in ({_marks(kept)})"
    return _count(connection, where, run_id, *kept) == 1


def _count(connection: sqlite3.Connection, where: str, *values: str) -> int:
    return connection.execute(f"select count(*) from {where}", values).fetchone()[0]


def _marks(values: Sequence[str]) -> str:
    return ", ".join("?" * len(values))


_IDS_WITH_RECORD = f"select id from runs where kept in ({', '.join(map(repr, WITH_RECORD))})"
