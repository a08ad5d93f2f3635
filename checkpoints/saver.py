"""LangGraph's checkpoints in the journal: each value of a thread stored once, under its hash."""

import hashlib
import sqlite3
import zlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    PendingWrite,
    get_checkpoint_id,
    get_serializable_checkpoint_metadata,
    writes_sort_key,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.constants import START
from langgraph.pregel._checkpoint import LATEST_VERSION

from ..errors import Conflict
from .journal import Work
from .schema import THREAD_TABLES, delete_threads

T = TypeVar("T")

# Below this a value costs less inside the checkpoint than as a row with a hash.
INLINE_BYTES = 64
COMPRESS_FROM_BYTES = 200
# A long value is only compressed when a sample of it shrinks to half: lists of hits shrink to a fifth, while
# text and numbers that do not would take a millisecond per 50 KB for nothing. The sample is from all over: a
# history begins with an answer, and is mostly hits.
SAMPLE_BYTES = 4096
SAMPLES = 4
HASH_BYTES = 16
COMPRESSED = "zlib:"
# Checkpoints whose list of values is remembered, so that the next one need not read it back.
REMEMBERED = 256

Typed = tuple[str, bytes]
Encoded = Typed | dict[str, Typed]
# Named here because `list` means the method inside the class.
PendingWrites = list[PendingWrite]
# A value in a checkpoint: [type, bytes] itself, the hash of its row, or for the input one of these for each
# channel it sets.
Entry = list[Any] | bytes | dict[str, Any]


class CheckpointTooNew(Conflict):
    """A newer LangGraph has written the checkpoint: to guess what it means could damage the run."""

    code = "checkpoint_too_new"


class Queue(Protocol):
    """What a saver needs of `Journal`. One over a file of somebody else refuses to write."""

    def read_now(self, query: Work[T]) -> T: ...

    async def read(self, query: Work[T]) -> T: ...

    async def write(
        self, work: Work[T], *, after: str | None = None, undo: Callable[[], None] | None = None
    ) -> T: ...

    def post(
        self, work: Work[T], *, after: str | None = None, undo: Callable[[], None] | None = None
    ) -> Future[T]: ...


class JournalSaver(BaseCheckpointSaver[int]):
    """A checkpointer over the journal's one queue, so that a task's events precede its writes, which
    precede the checkpoint.

    Values are serialised when they are handed over, everything else happens on the writer's thread. The
    synchronous methods block until the commit; they work on any thread, also on that of an event loop.
    """

    def __init__(self, journal: Queue, *, serde: SerializerProtocol | None = None) -> None:
        super().__init__(serde=serde)
        self._journal = journal
        # Used on the writer's thread only, also by the copies that `with_allowlist` makes.
        self._remembered = _Remembered()

    # --- reading ---

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return self._journal.read_now(partial(self._find, config=config))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await self._journal.read(partial(self._find, config=config))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        query = partial(self._list, config=config, filter=filter, before=before, limit=limit)
        yield from self._journal.read_now(query)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        # All of it at once: a caller that pauses between two must not hold a connection.
        query = partial(self._list, config=config, filter=filter, before=before, limit=limit)
        for found in await self._journal.read(query):
            yield found

    # --- writing ---

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        new = self._encode(config, checkpoint, metadata, new_versions)
        thread_id = new.at[0]
        undo = partial(self._remembered.forget, [thread_id])
        self._journal.post(partial(self._insert, new=new), after=thread_id, undo=undo).result()
        return _config(*new.at)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        new = self._encode(config, checkpoint, metadata, new_versions)
        thread_id = new.at[0]
        undo = partial(self._remembered.forget, [thread_id])
        await self._journal.write(partial(self._insert, new=new), after=thread_id, undo=undo)
        return _config(*new.at)

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        new = self._encode_writes(config, writes, task_id, task_path)
        self._journal.post(partial(self._insert_writes, new=new), after=new.at[0]).result()

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        new = self._encode_writes(config, writes, task_id, task_path)
        await self._journal.write(partial(self._insert_writes, new=new), after=new.at[0])

    # --- removing and copying ---

    def delete_thread(self, thread_id: str) -> None:
        self._journal.post(partial(self._delete, thread_ids=[thread_id])).result()

    async def adelete_thread(self, thread_id: str) -> None:
        await self._journal.write(partial(self._delete, thread_ids=[thread_id]))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        self._journal.post(partial(self._delete_for_runs, run_ids=run_ids)).result()

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        await self._journal.write(partial(self._delete_for_runs, run_ids=run_ids))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self._journal.post(partial(_copy, source=source_thread_id, target=target_thread_id)).result()

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        await self._journal.write(partial(_copy, source=source_thread_id, target=target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        self._journal.post(partial(self._prune, thread_ids=thread_ids, strategy=strategy)).result()

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keep the newest checkpoint of each namespace, or with `delete` none.

        A namespace with a DeltaChannel is left as it is: its newest checkpoint needs its ancestors.
        """
        await self._journal.write(partial(self._prune, thread_ids=thread_ids, strategy=strategy))

    def prune_on(self, connection: sqlite3.Connection, thread_ids: Sequence[str]) -> None:
        """As `prune`, as a part of a larger piece of the writer's work."""
        self._prune(connection, thread_ids=thread_ids, strategy="keep_latest")

    # --- on the caller's thread: state may change as soon as we return ---

    def _encode(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> "_NewCheckpoint":
        thread_id, ns, parent_id = _place(config)
        values = checkpoint["channel_values"]
        changed = {name: self._dump(name, values[name]) for name in new_versions if name in values}
        return _NewCheckpoint(
            at=(thread_id, ns, checkpoint["id"]),
            parent_id=parent_id,
            checkpoint={name: value for name, value in checkpoint.items() if name != "channel_values"},
            metadata=get_serializable_checkpoint_metadata(config, metadata),
            values=values,
            changed=changed,
            emptied={name for name in new_versions if name not in values},
        )

    def _encode_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str
    ) -> "_NewWrites":
        thread_id, ns, checkpoint_id = _place(config)
        return _NewWrites(
            at=(thread_id, ns, checkpoint_id or ""),
            task_id=task_id,
            task_path=task_path,
            writes={
                WRITES_IDX_MAP.get(channel, position): (channel, self._dump(channel, value))
                for position, (channel, value) in enumerate(writes)
            },
        )

    def _dump(self, channel: str, value: Any) -> Encoded:
        if channel == START and type(value) is dict:
            # The input holds what its channels hold a step later: taken apart, it is the same values.
            given = cast("dict[str, Any]", value)
            return {name: self.serde.dumps_typed(part) for name, part in given.items()}
        return self.serde.dumps_typed(value)

    # --- on the writer's thread ---

    def _insert(self, connection: sqlite3.Connection, *, new: "_NewCheckpoint") -> None:
        thread_id, ns, checkpoint_id = new.at
        entries = self._entries(connection, new)
        body = {"checkpoint": new.checkpoint, "metadata": new.metadata, "values": entries}
        connection.execute(
            "insert or replace into checkpoints values (?, ?, ?, ?, ?, ?, ?)",
            (
                thread_id,
                ns,
                checkpoint_id,
                new.parent_id,
                new.metadata.get("run_id"),
                *_packed(self.serde.dumps_typed(body)),
            ),
        )
        self._remembered.add(new.at, _Values(new.checkpoint["channel_versions"], entries))

    def _entries(self, connection: sqlite3.Connection, new: "_NewCheckpoint") -> dict[str, Entry]:
        versions = new.checkpoint["channel_versions"]
        before = self._values_before(connection, new)
        entries: dict[str, Entry] = {}
        for name in {**versions, **new.changed}:
            if name in new.changed:
                entries[name] = _store(connection, new.at[0], new.changed[name])
            elif name in new.emptied:
                continue
            elif name in before.entries and before.versions.get(name) == versions[name]:
                entries[name] = before.entries[name]
            elif name in new.values:
                entries[name] = _store(connection, new.at[0], self._dump(name, new.values[name]))
        return entries

    def _values_before(self, connection: sqlite3.Connection, new: "_NewCheckpoint") -> "_Values":
        if new.parent_id is None:
            return _Values({}, {})
        parent = (*new.at[:2], new.parent_id)
        if known := self._remembered.get(parent):
            return known
        row = connection.execute(f"select type, body from checkpoints where {_AT}", parent).fetchone()
        if row is None:
            return _Values({}, {})
        body = self.serde.loads_typed(_unpacked(*row))
        return _Values(body["checkpoint"]["channel_versions"], body["values"])

    def _insert_writes(self, connection: sqlite3.Connection, *, new: "_NewWrites") -> None:
        thread_id = new.at[0]
        written = {
            position: [channel, new.task_path, _store(connection, thread_id, value)]
            for position, (channel, value) in new.writes.items()
        }
        added = connection.execute(
            "insert or ignore into checkpoint_writes values (?, ?, ?, ?, ?, ?)",
            (*new.at, new.task_id, *_packed(self.serde.dumps_typed(written))),
        )
        if added.rowcount == 0:
            self._merge_writes(connection, new, written)

    def _merge_writes(
        self, connection: sqlite3.Connection, new: "_NewWrites", written: Mapping[int, Sequence[Any]]
    ) -> None:
        key = (*new.at, new.task_id)
        row = connection.execute(
            f"select type, body from checkpoint_writes where {_AT} and task_id = ?", key
        ).fetchone()
        stored: dict[int, Sequence[Any]] = self.serde.loads_typed(_unpacked(*row))
        # Errors and interrupts replace what was there; a result, once written, stands.
        merged = {**written, **stored} | {at: write for at, write in written.items() if at < 0}
        connection.execute(
            f"update checkpoint_writes set type = ?, body = ? where {_AT} and task_id = ?",
            (*_packed(self.serde.dumps_typed(merged)), *key),
        )

    def _delete(self, connection: sqlite3.Connection, *, thread_ids: Sequence[str]) -> None:
        self._remembered.forget(thread_ids)
        delete_threads(connection, thread_ids)

    def _delete_for_runs(self, connection: sqlite3.Connection, *, run_ids: Sequence[str]) -> None:
        gone: list[tuple[str, str, str]] = []
        for run_id in run_ids:
            gone += connection.execute(
                "select thread_id, ns, checkpoint_id from checkpoints where run_id = ?", (run_id,)
            ).fetchall()
        self._delete_checkpoints(connection, gone)

    def _prune(self, connection: sqlite3.Connection, *, thread_ids: Sequence[str], strategy: str) -> None:
        if strategy == "delete":
            return self._delete(connection, thread_ids=thread_ids)
        if strategy != "keep_latest":
            raise ValueError(f"no pruning strategy {strategy!r}: keep_latest or delete")
        gone: list[tuple[str, str, str]] = []
        for thread_id in thread_ids:
            for (ns,) in connection.execute(
                "select distinct ns from checkpoints where thread_id = ?", (thread_id,)
            ).fetchall():
                gone += self._superseded(connection, thread_id, ns)
        self._delete_checkpoints(connection, gone)

    def _superseded(
        self, connection: sqlite3.Connection, thread_id: str, ns: str
    ) -> Sequence[tuple[str, str, str]]:
        (_, _, newest, type, body), *older = connection.execute(
            "select thread_id, ns, checkpoint_id, type, body from checkpoints "
            "where thread_id = ? and ns = ? order by checkpoint_id desc",
            (thread_id, ns),
        ).fetchall()
        metadata = self.serde.loads_typed(_unpacked(type, body))["metadata"]
        if "counters_since_delta_snapshot" in metadata:
            return []
        return [(thread_id, ns, row[2]) for row in older if row[2] != newest]

    def _delete_checkpoints(
        self, connection: sqlite3.Connection, places: Sequence[tuple[str, str, str]]
    ) -> None:
        connection.executemany(f"delete from checkpoints where {_AT}", places)
        connection.executemany(f"delete from checkpoint_writes where {_AT}", places)
        threads = {thread_id for thread_id, _, _ in places}
        self._remembered.forget(threads)
        for thread_id in threads:
            self._delete_unused_values(connection, thread_id)

    def _delete_unused_values(self, connection: sqlite3.Connection, thread_id: str) -> None:
        used: set[bytes] = set()
        for row in connection.execute("select type, body from checkpoints where thread_id = ?", (thread_id,)):
            used |= _hashes(self.serde.loads_typed(_unpacked(*row))["values"].values())
        for row in connection.execute(
            "select type, body from checkpoint_writes where thread_id = ?", (thread_id,)
        ):
            used |= _hashes(entry for _, _, entry in self.serde.loads_typed(_unpacked(*row)).values())
        stored = connection.execute("select hash from checkpoint_values where thread_id = ?", (thread_id,))
        unused = [(thread_id, hash) for (hash,) in stored.fetchall() if hash not in used]
        connection.executemany("delete from checkpoint_values where thread_id = ? and hash = ?", unused)

    # --- on a reader's thread ---

    def _find(self, connection: sqlite3.Connection, *, config: RunnableConfig) -> CheckpointTuple | None:
        thread_id, ns, checkpoint_id = _place(config)
        row = connection.execute(
            f"select {_COLUMNS} from checkpoints where thread_id = ? and ns = ? "
            "and (?3 is null or checkpoint_id = ?3) order by checkpoint_id desc limit 1",
            (thread_id, ns, checkpoint_id),
        ).fetchone()
        return self._to_tuple(connection, row) if row else None

    def _list(
        self,
        connection: sqlite3.Connection,
        *,
        config: RunnableConfig | None,
        filter: dict[str, Any] | None,
        before: RunnableConfig | None,
        limit: int | None,
    ) -> Sequence[CheckpointTuple]:
        wanted = (config or {}).get("configurable", {})
        rows = connection.execute(
            f"select {_COLUMNS} from checkpoints where (?1 is null or thread_id = ?1) "
            "and (?2 is null or ns = ?2) and (?3 is null or checkpoint_id = ?3) "
            "and (?4 is null or checkpoint_id < ?4) order by checkpoint_id desc",
            (
                wanted.get("thread_id"),
                wanted.get("checkpoint_ns"),
                wanted.get("checkpoint_id"),
                get_checkpoint_id(before) if before else None,
            ),
        )
        found: list[CheckpointTuple] = []
        for row in rows:
            if limit is not None and len(found) >= limit:
                break
            candidate = self._to_tuple(connection, row)
            if _matches(candidate.metadata, filter or {}):
                found.append(candidate)
        return found

    def _to_tuple(self, connection: sqlite3.Connection, row: Sequence[Any]) -> CheckpointTuple:
        thread_id, ns, checkpoint_id, parent_id, type, packed = row
        body = self.serde.loads_typed(_unpacked(type, packed))
        _check_version(thread_id, body["checkpoint"]["v"])
        values = {name: self._load(connection, thread_id, entry) for name, entry in body["values"].items()}
        return CheckpointTuple(
            config=_config(thread_id, ns, checkpoint_id),
            checkpoint=Checkpoint(**body["checkpoint"], channel_values=values),
            metadata=body["metadata"],
            parent_config=_config(thread_id, ns, parent_id) if parent_id else None,
            pending_writes=self._writes(connection, thread_id, ns, checkpoint_id),
        )

    def _writes(
        self, connection: sqlite3.Connection, thread_id: str, ns: str, checkpoint_id: str
    ) -> PendingWrites:
        keyed: Any = []
        for task_id, *packed in connection.execute(
            f"select task_id, type, body from checkpoint_writes where {_AT}", (thread_id, ns, checkpoint_id)
        ):
            writes: dict[int, list[Any]] = self.serde.loads_typed(_unpacked(*packed))
            for position, (channel, path, entry) in writes.items():
                write = (task_id, channel, self._load(connection, thread_id, entry))
                keyed.append((writes_sort_key(path, task_id, position), write))
        return [write for _, write in sorted(keyed, key=lambda pair: pair[0])]

    def _load(self, connection: sqlite3.Connection, thread_id: str, entry: Entry) -> Any:
        if isinstance(entry, bytes):
            (type, body) = connection.execute(
                "select type, body from checkpoint_values where thread_id = ? and hash = ?",
                (thread_id, entry),
            ).fetchone()
            return self.serde.loads_typed(_unpacked(type, body))
        if isinstance(entry, dict):
            return {name: self._load(connection, thread_id, part) for name, part in entry.items()}
        return self.serde.loads_typed((entry[0], entry[1]))


@dataclass(frozen=True, slots=True, kw_only=True)
class _NewCheckpoint:
    """A checkpoint on its way to the writer. `values` is live: only `changed` is safe to read later."""

    at: tuple[str, str, str]  # thread, namespace, checkpoint
    parent_id: str | None
    checkpoint: dict[str, Any]
    metadata: CheckpointMetadata
    values: Mapping[str, Any]
    changed: dict[str, Encoded]
    emptied: set[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _NewWrites:
    """What one task has written, by position; special channels have positions below 0."""

    at: tuple[str, str, str]
    task_id: str
    task_path: str
    writes: dict[int, tuple[str, Encoded]]


@dataclass(frozen=True, slots=True)
class _Values:
    """The values of a checkpoint, and the versions they belong to."""

    versions: Mapping[str, str | int | float]
    entries: Mapping[str, Entry]


class _Remembered:
    """The values of the checkpoints written last, by place."""

    def __init__(self) -> None:
        self._values: OrderedDict[tuple[str, str, str], _Values] = OrderedDict()

    def get(self, at: tuple[str, str, str]) -> _Values | None:
        return self._values.get(at)

    def add(self, at: tuple[str, str, str], values: _Values) -> None:
        self._values[at] = values
        if len(self._values) > REMEMBERED:
            self._values.popitem(last=False)

    def forget(self, thread_ids: Iterable[str]) -> None:
        threads = set(thread_ids)
        for at in [at for at in self._values if at[0] in threads]:
            del self._values[at]


_AT = "thread_id = ? and ns = ? and checkpoint_id = ?"
_COLUMNS = "thread_id, ns, checkpoint_id, parent_id, type, body"


def _place(config: RunnableConfig) -> tuple[str, str, str | None]:
    configurable = config.get("configurable", {})
    return str(configurable["thread_id"]), configurable.get("checkpoint_ns", ""), get_checkpoint_id(config)


def _config(thread_id: str, ns: str, checkpoint_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": ns, "checkpoint_id": checkpoint_id}}


def _matches(metadata: Mapping[str, Any], filter: Mapping[str, Any]) -> bool:
    return all(metadata.get(key) == value for key, value in filter.items())


def _store(connection: sqlite3.Connection, thread_id: str, value: Encoded) -> Entry:
    if isinstance(value, dict):
        return {name: _store(connection, thread_id, part) for name, part in value.items()}
    type, body = value
    if len(body) <= INLINE_BYTES:
        return [type, body]
    hash = hashlib.blake2b(body, digest_size=HASH_BYTES, key=type.encode()).digest()
    known = connection.execute(
        "select 1 from checkpoint_values where thread_id = ? and hash = ?", (thread_id, hash)
    ).fetchone()
    if known is None:
        connection.execute(
            "insert into checkpoint_values values (?, ?, ?, ?)", (thread_id, hash, *_packed(value))
        )
    return hash


def _check_version(thread_id: str, version: int) -> None:
    if version > LATEST_VERSION:
        raise CheckpointTooNew(
            f"Run {thread_id[:40]} stands at a checkpoint of format {version}, this program knows "
            f"{LATEST_VERSION}: start the newer program to go on with it, or stop it.",
            details={"format": version, "known": LATEST_VERSION},
        )


def _hashes(entries: Iterable[Entry]) -> set[bytes]:
    found: set[bytes] = set()
    for entry in entries:
        if isinstance(entry, bytes):
            found.add(entry)
        elif isinstance(entry, dict):
            found |= _hashes(entry.values())
    return found


def _packed(value: Typed) -> Typed:
    type, body = value
    if len(body) >= COMPRESS_FROM_BYTES and _shrinks(body):
        smaller = zlib.compress(body, level=1)
        if len(smaller) < len(body):
            return COMPRESSED + type, smaller
    return type, body


def _shrinks(body: bytes) -> bool:
    if len(body) <= 2 * SAMPLE_BYTES:
        return True
    size, step = SAMPLE_BYTES // SAMPLES, len(body) // SAMPLES
    sample = b"".join(body[start : start + size] for start in range(0, step * SAMPLES, step))
    return len(zlib.compress(sample, level=1)) < SAMPLE_BYTES / 2


def _unpacked(type: str, body: bytes) -> Typed:
    if type.startswith(COMPRESSED):
        return type.removeprefix(COMPRESSED), zlib.decompress(body)
    return type, body


def _copy(connection: sqlite3.Connection, *, source: str, target: str) -> None:
    for table in THREAD_TABLES:
        columns = [row[1] for row in connection.execute(f"pragma table_info({table})")][1:]
        names = ", ".join(columns)
        connection.execute(
            f"insert or replace into {table} (thread_id, {names}) "
            f"select ?, {names} from {table} where thread_id = ?",
            (target, source),
        )
