"""The tables of the journal, and which of them a run or a thread owns."""

import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..errors import StartRefused
from ..migrations import migrate
from .migrations import STEPS

SCHEMA_VERSION = 3

TABLES = """
create table schema_version (version integer not null);

create table sessions (
    id text primary key,
    tenant_id text not null,
    title text not null,
    kb_ids text not null,
    created_at text not null,
    updated_at text not null,
    pinned_at text
) without rowid;
create index sessions_by_time on sessions (tenant_id, updated_at);

create table messages (
    position integer primary key,
    id text not null unique,
    session_id text not null references sessions (id) on delete cascade,
    request_id text not null,
    role text not null,
    content text not null,
    status text not null,
    refs text not null default '[]',
    run_id text not null,
    created_at text not null,
    timing text,
    outcome text,
    error text,
    feedback text,
    forked integer not null default 0, -- of a fork, or of a turn that another took the place of: not shown
    erased_at text,
    details text not null default '{}' -- what a page shows beside the text, as JSON
);
create index messages_by_session on messages (session_id, position);

create table runs (
    id text primary key,
    session_id text not null references sessions (id) on delete cascade,
    message_id text not null unique,
    user_message_id text not null,
    request_id text not null,
    status text not null,
    asked text not null,
    resumes integer not null default 0,
    resumed_from text,
    created_at text not null,
    started_at text, -- when its turn came, if it had to wait for one
    ended_at text,
    timing text,
    forked_from text, -- the run it branches off; that one may be gone
    fork_stage text,
    kept text not null default 'all', -- all, last (checkpoint), nothing (but the message), erased
    unique (session_id, request_id)
) without rowid;
create unique index one_run_per_session on runs (session_id)
    where ended_at is null and status <> 'queued' and forked_from is null;
create index unfinished_runs on runs (session_id) where ended_at is null;
create index runs_by_time on runs (created_at);

create table events (
    run_id text not null,
    seq integer not null,
    response_type text not null,
    task integer,
    body text not null,
    at integer not null, -- milliseconds of Unix time
    primary key (run_id, seq)
) without rowid;

create table event_tasks (
    run_id text not null,
    number integer not null,
    task_id text not null,
    checkpoint_id text not null,
    primary key (run_id, number)
) without rowid;

create table passages (hash text primary key, body blob not null);
create table passage_uses (
    hash text not null,
    run_id text not null,
    primary key (hash, run_id)
) without rowid;
create index passage_uses_by_run on passage_uses (run_id);

create table checkpoints (
    thread_id text not null,
    ns text not null,
    checkpoint_id text not null,
    parent_id text,
    run_id text,
    type text not null,
    body blob not null,
    primary key (thread_id, ns, checkpoint_id)
);
create index checkpoints_by_run on checkpoints (run_id);

create table checkpoint_values (
    thread_id text not null,
    hash blob not null,
    type text not null,
    body blob not null,
    primary key (thread_id, hash)
);

create table checkpoint_writes (
    thread_id text not null,
    ns text not null,
    checkpoint_id text not null,
    task_id text not null,
    type text not null,
    body blob not null,
    primary key (thread_id, ns, checkpoint_id, task_id)
);
"""

THREAD_TABLES = ("checkpoints", "checkpoint_values", "checkpoint_writes")
RUN_TABLES = ("events", "event_tasks", "passage_uses")


def prepare(connection: sqlite3.Connection, *, full_sync: bool) -> None:
    """Make the file ours: tables, write-ahead log, and space that can be given back in small steps.

    A file of an older version is brought to this one; a copy of it stays beside it.

    Raises StartRefused when a newer program wrote the file, before anything in it is touched, and when an
    older one cannot be copied.
    """
    version = _stored_version(connection)
    if version is not None and version > SCHEMA_VERSION:
        raise StartRefused(
            f"the journal has schema version {version}, this program knows {SCHEMA_VERSION}: "
            "start the newer program, or choose another data folder"
        )
    # The vacuum mode is fixed once the file has its first page, which switching to WAL writes.
    connection.execute("pragma auto_vacuum = incremental")
    connection.execute("pragma journal_mode = wal")
    connection.execute(f"pragma synchronous = {'full' if full_sync else 'normal'}")
    connection.execute("pragma foreign_keys = on")
    # Zeros in place of what is deleted where that takes no further write, so not in pages that become free:
    # those cost a tenth of the speed (bench/checkpoints.py). Erasing writes the whole file anew anyway.
    connection.execute("pragma secure_delete = fast")
    if version is None:
        connection.executescript(
            f"begin immediate; {TABLES} insert into schema_version values ({SCHEMA_VERSION}); commit;"
        )
    elif version < SCHEMA_VERSION:
        migrate(connection, _path_of(connection), stored=version, wanted=SCHEMA_VERSION, steps=STEPS)


def delete_threads(connection: sqlite3.Connection, thread_ids: Sequence[str]) -> None:
    """Remove what LangGraph kept of these threads."""
    for table in THREAD_TABLES:
        connection.executemany(f"delete from {table} where thread_id = ?", [(id,) for id in thread_ids])


def delete_runs(connection: sqlite3.Connection, run_ids: Sequence[str]) -> None:
    """Remove runs with their events, their threads, and the passages no other run has kept."""
    delete_threads(connection, run_ids)
    keys = [(id,) for id in run_ids]
    kept = [hash for id in run_ids for hash in passages_of(connection, id)]
    for table in RUN_TABLES:
        connection.executemany(f"delete from {table} where run_id = ?", keys)
    connection.executemany("delete from runs where id = ?", keys)
    delete_unused(connection, kept)


def passages_of(connection: sqlite3.Connection, run_id: str) -> list[str]:
    """The hashes of the passages that a run has kept."""
    rows = connection.execute("select hash from passage_uses where run_id = ?", (run_id,))
    return [hash for (hash,) in rows]


def delete_unused(connection: sqlite3.Connection, hashes: Iterable[str]) -> int:
    """Remove those of the passages that no run has kept any more. Returns how many."""
    deleted = [connection.execute(_DELETE_UNUSED, (hash,)).rowcount for hash in hashes]
    return sum(deleted)


_DELETE_UNUSED = """
delete from passages where hash = ?1 and not exists (select 1 from passage_uses where hash = ?1)
"""


def _path_of(connection: sqlite3.Connection) -> Path:
    (_, _, path) = connection.execute("pragma database_list").fetchone()
    return Path(path)


def _stored_version(connection: sqlite3.Connection) -> int | None:
    if connection.execute("select 1 from sqlite_master where name = 'schema_version'").fetchone() is None:
        return None
    (version,) = connection.execute("select max(version) from schema_version").fetchone()
    return version
