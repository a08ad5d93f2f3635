"""The journal and the catalogue of a data folder that may belong to a running server: read, never written."""

import json
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal, NamedTuple, NoReturn, TypeVar

from .context import Chunk, Document, KnowledgeBase
from .databases import damaged, is_damage, primary_code
from .errors import HeadraceError, StartRefused
from .stores.catalogue import KB_ROWS
from .stores.catalogue_rows import to_chunk, to_document, to_kb

T = TypeVar("T")
Query = Callable[[sqlite3.Connection], T]

TRIES = 5
# Somebody else has the file for a moment.
PASSING = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
BUSY_TIMEOUT_S = 10.0
# How to open a file (https://sqlite.org/uri.html), by the state it is found in.
State = Literal["in use", "at rest", "without index"]
OPENED: Mapping[State, str] = {
    "in use": "mode=ro",
    "at rest": "mode=ro&immutable=1",
    "without index": "mode=ro",
}


class NotWritten(HeadraceError):
    """Something tried to write through a data folder that was opened for reading."""

    code = "read_only"


class ReadOnlyFile:
    """A SQLite file that every read opens anew, in the way that changes nothing then, and closes again.

    * Without a write-ahead log nobody has it open, and it is read as it lies there. Opened in any other way
      SQLite would make a log and its index beside it, and fail where the folder cannot be written.
    * With a log and its index somebody writes, or was killed while writing: it is read as any other reader
      of SQLite does. After a kill that makes the index anew where it can be written; the next server would.
    * A log without an index, as in a copied folder, can only be read by making one: in a copy of both, kept
      in the temporary folder of the machine until `close`.

    `version` is the schema that this program reads. Raises StartRefused for another one or no database at
    all, HeadraceError (`unreadable_file`) when the file cannot be read.
    """

    def __init__(self, path: Path, *, version: int) -> None:
        self.path = path
        self._copies = _Copies(path)
        self.read(lambda connection: _check_version(connection, path, version))

    def read(self, query: Query[T]) -> T:
        """What `query` returns, in one snapshot of what is committed. Blocks; from any thread."""
        for _ in range(TRIES):
            before = _found(self.path)
            try:
                with self._opened(before) as connection:
                    result = query(connection)
            except sqlite3.Error as error:
                if before == _found(self.path) and not _is_passing(error):
                    if is_damage(error):
                        raise damaged(self.path, self.path.stem, error) from error
                    raise _unreadable(self.path, str(error)) from error
                continue  # a server has just started or ended
            # What is read as it lies there takes no locks, so a writer that has come meanwhile spoils it.
            if before.state != "at rest" or before == _found(self.path):
                return result
        raise _unreadable(self.path, "it changes all the time")

    def close(self) -> None:
        """Remove the copy, if one was needed; reading again makes another one."""
        self._copies.close()

    @contextmanager
    def _opened(self, found: "_Found") -> Generator[sqlite3.Connection]:
        path = self._copies.of(found) if found.state == "without index" else self.path
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?{OPENED[found.state]}",
            uri=True,
            timeout=BUSY_TIMEOUT_S,
            isolation_level=None,
        )
        with closing(connection):
            connection.execute("pragma query_only = on")
            connection.execute("begin")
            yield connection


class ReadOnlyJournal:
    """What `checkpoints.Journal` offers to readers; the asynchronous methods never wait for anything."""

    def __init__(self, file: ReadOnlyFile) -> None:
        self._file = file

    def read_now(self, query: Query[T]) -> T:
        return self._file.read(query)

    async def read(self, query: Query[T]) -> T:
        return self._file.read(query)

    async def write(self, work: Query[T], **how: object) -> T:
        """Raises NotWritten."""
        _refuse()

    def post(self, work: Query[T], **how: object) -> NoReturn:
        """Raises NotWritten."""
        _refuse()


class ReadOnlyCatalogue:
    """`context.Catalogue` over the file alone."""

    def __init__(self, file: ReadOnlyFile) -> None:
        self._file = file

    async def kbs(self, ids: Sequence[str]) -> Mapping[str, KnowledgeBase]:
        return {kb.id: kb for kb in map(to_kb, self._rows(KB_ROWS, ids))}

    async def documents(self, ids: Sequence[str]) -> Mapping[str, Document]:
        return {one.id: one for one in map(to_document, self._rows("select * from documents", ids))}

    async def chunks(self, ids: Sequence[str]) -> Mapping[str, Chunk]:
        return {chunk.id: chunk for chunk in map(to_chunk, self._rows("select * from chunks", ids))}

    def _rows(self, select: str, ids: Sequence[str]) -> list[sqlite3.Row]:
        return self._file.read(lambda connection: _rows_in(connection, select, ids)) if ids else []


class _Found(NamedTuple):
    """How a file is to be opened, and what would be different if somebody had written to it."""

    state: State
    stamps: tuple[tuple[int, int, int] | None, ...]


class _Copies:
    """The file and its log in a temporary folder, one copy at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._copied: tuple[_Found, tempfile.TemporaryDirectory[str]] | None = None

    def of(self, found: _Found) -> Path:
        with self._lock:
            if self._copied is None or self._copied[0] != found:
                self._remove()
                folder = tempfile.TemporaryDirectory(prefix="headrace-read-", ignore_cleanup_errors=True)
                self._copied = found, folder
                for path in (self._path, _beside(self._path, "wal")):
                    shutil.copyfile(path, Path(folder.name) / path.name)
            return Path(self._copied[1].name) / self._path.name

    def close(self) -> None:
        with self._lock:
            self._remove()

    def _remove(self) -> None:
        if self._copied is not None:
            self._copied[1].cleanup()
        self._copied = None


def _found(path: Path) -> _Found:
    log, index = _stamp(_beside(path, "wal")), _stamp(_beside(path, "shm"))
    if log and index:
        # Changes here are the normal case, and SQLite's own locks see to them.
        return _Found("in use", ())
    file = _stamp(path)
    if log and log[1]:
        return _Found("without index", (file, log))
    return _Found("at rest", (file,))


def _stamp(path: Path) -> tuple[int, int, int] | None:
    # Never by opening it: closing any handle of a file drops the locks that this process has on it.
    try:
        there = path.stat()
    except FileNotFoundError:
        return None
    return there.st_ino, there.st_size, there.st_mtime_ns


def _beside(path: Path, what: str) -> Path:
    return path.with_name(f"{path.name}-{what}")


def _is_passing(error: sqlite3.Error) -> bool:
    return primary_code(error) in PASSING


def _check_version(connection: sqlite3.Connection, path: Path, known: int) -> None:
    try:
        (found,) = connection.execute("select max(version) from schema_version").fetchone()
    except sqlite3.OperationalError as error:
        if "no such table" not in str(error):
            raise
        raise StartRefused(
            f"{path} is no file of headrace: it does not say which version wrote it.",
            code="not_a_data_folder",
        ) from error
    if found > known:
        raise StartRefused(
            f"{path} was written by a newer headrace (schema {found}, this one reads {known}): open it with "
            f"that version.",
            code="newer_schema",
            details={"found": found, "known": known},
        )
    if found < known:
        raise StartRefused(
            f"{path} was written by an older headrace (schema {found}, this one reads {known}). Its server "
            f"brings it up to date at its next start: run `headrace --data {path.parent} serve` once.",
            code="older_schema",
            details={"found": found, "known": known},
        )


def _rows_in(connection: sqlite3.Connection, select: str, ids: Sequence[str]) -> list[sqlite3.Row]:
    connection.row_factory = sqlite3.Row
    return connection.execute(
        f"{select} where id in (select value from json_each(?))", (json.dumps([*ids]),)
    ).fetchall()


def _unreadable(path: Path, why: str) -> HeadraceError:
    return HeadraceError(f"{path} cannot be read: {why}.", code="unreadable_file")


def _refuse() -> NoReturn:
    raise NotWritten("This data folder is open for reading only: what writes goes through its server.")
