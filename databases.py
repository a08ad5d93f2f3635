"""The SQLite files of the data folder: looked at before they are opened, and made whole or not at all."""

import os
import sqlite3
import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path

from .errors import Damaged, StartRefused

# https://sqlite.org/fileformat2.html#the_database_header and #the_write_ahead_log
HEADER_BYTES = 100
MAGIC = b"SQLite format 3\x00"
WAL_HEADER_BYTES = 32
FRAME_HEADER_BYTES = 24
OPCODES_BETWEEN_LOOKS = 10_000  # at the clock: about a millisecond
DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT})


def look_at(path: Path, kind: str, *, holds: str) -> None:
    """Cheap, whatever the size: rights, header, length, and the first page of every table. Changes nothing.

    `kind` is `journal` or `catalogue`; `holds` says what is lost with the file. What only reading all of it
    would find is found by `headrace doctor`, or when it is read.

    Raises StartRefused (`journal_damaged`, `catalogue_damaged`, `file_not_writable`, `file_not_usable`).
    """
    _check_rights(path)
    if problem := _problem(path):
        raise StartRefused(
            f"{path} {problem}. Nothing in it was changed. Put back a copy of the data folder; or move the "
            f"file and those beside it that begin with its name elsewhere, to start without {holds}.",
            code=f"{kind}_damaged",
        )


def make(path: Path, kind: str, fill: Callable[[sqlite3.Connection], None]) -> None:
    """A new file gets its name once it is whole: an empty one is damage, not a first start that was killed.

    Raises StartRefused.
    """
    new = path.with_name(f"{path.name}.new")
    for left in (new, _beside(new, "wal"), _beside(new, "shm"), _beside(new, "journal")):
        left.unlink(missing_ok=True)
    with opening(path, kind), closing(sqlite3.connect(new, isolation_level=None)) as connection:
        fill(connection)
    new.replace(path)


@contextmanager
def opening(path: Path, kind: str) -> Generator[None]:
    """What SQLite says against the file becomes a StartRefused that names it."""
    try:
        yield
    except sqlite3.Error as error:
        raise StartRefused(
            f"{path} cannot be opened: {error}. See that the disk has room and that this program may write "
            "to the file and its folder; `headrace doctor` looks through the file.",
            code=f"{kind}_damaged" if is_damage(error) else "file_not_usable",
        ) from error


def read_through(path: Path, *, limit_s: float) -> list[str] | None:
    """What SQLite finds wrong in the whole file, at most five things; None when the time was not enough.

    Changes nothing, and may run beside the server that owns the file. Raises sqlite3.Error.
    """
    end = time.monotonic() + limit_s
    with closing(_read_only(path)) as connection:
        connection.set_progress_handler(lambda: time.monotonic() > end, OPCODES_BETWEEN_LOOKS)
        try:
            found = [str(line) for (line,) in connection.execute("pragma quick_check(5)")]
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
                return None
            raise
        except sqlite3.DatabaseError as error:
            if is_damage(error):
                return [str(error)]
            raise
    return [line for line in found if line != "ok"]


def is_damage(error: BaseException) -> bool:
    """Whether SQLite has found the file itself wrong, rather than the statement or the disk."""
    return isinstance(error, sqlite3.DatabaseError) and primary_code(error) in DAMAGE


def primary_code(error: BaseException) -> int:
    """The kind of error: the low byte of SQLite's code, whose rest says where. 0 where there is none."""
    return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF


def damaged(path: Path, kind: str, error: BaseException) -> Damaged:
    """For what is found when it is read: the rest of the file may be sound."""
    found = Damaged(
        f"{path.name} is damaged where this is stored: {error}. `headrace doctor` looks through the file; "
        "put back a copy of the data folder to have it whole.",
        code=f"{kind}_damaged",
    )
    found.__cause__ = error
    return found


def _check_rights(path: Path) -> None:
    folder = path.parent
    # SQLite makes files of its own beside this one. Asked for the user we act as, who may not be the one
    # that started us.
    if folder.is_dir() and not os.access(folder, os.W_OK | os.X_OK, effective_ids=True):
        raise _not_writable(f"The folder {folder}")
    if path.is_file() and not os.access(path, os.R_OK | os.W_OK, effective_ids=True):
        raise _not_writable(f"{path}")


def _not_writable(what: str) -> StartRefused:
    return StartRefused(
        f"{what} cannot be written to by this user. Change its owner or rights, or give another folder with "
        "--data or HEADRACE_DATA.",
        code="file_not_writable",
    )


def _problem(path: Path) -> str | None:
    """What is wrong with the file, as the end of a sentence that begins with its name."""
    log = _size(_beside(path, "wal"))
    if not path.exists():
        # SQLite would throw away the log of a file that is not there.
        return f"is missing, but {path.name}-wal beside it holds changes to it" if log else None
    if not path.is_file():
        return "is not a file"
    return _problem_of_length(path, log) or _problem_of_tables(path)


def _problem_of_length(path: Path, log: int) -> str | None:
    with path.open("rb") as file:
        header = file.read(HEADER_BYTES)
    size = _size(path)
    if size == 0:
        return "is damaged: it is empty"
    if len(header) < HEADER_BYTES or not header.startswith(MAGIC):
        return "is damaged: it does not begin like an SQLite database"
    page = int.from_bytes(header[16:18], "big")
    page = 65536 if page == 1 else page
    if page < 512 or page & (page - 1):
        return f"is damaged: its header speaks of pages of {page} bytes"
    # Pages that a checkpoint had not copied when the process died are still in the log.
    in_log = max(0, log - WAL_HEADER_BYTES) // (page + FRAME_HEADER_BYTES)
    pages = int.from_bytes(header[28:32], "big")
    counted = header[24:28] == header[92:96]
    if counted and size + in_log * page < pages * page:
        return f"is damaged: it has {size} of {pages * page} bytes"
    return None


def _problem_of_tables(path: Path) -> str | None:
    try:
        with closing(_read_only(path)) as connection:
            found = connection.execute("select name from sqlite_master where type = 'table'")
            tables = [name for (name,) in found]
            for table in tables:
                connection.execute(f'select 1 from "{table}" limit 1').fetchone()
    except sqlite3.DatabaseError as error:
        if is_damage(error):
            return f"is damaged: {error}"
        raise StartRefused(f"{path} cannot be read: {error}.", code="file_not_usable") from error
    return None if "schema_version" in tables else "is an SQLite database, but not one of headrace"


def _read_only(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)


def _beside(path: Path, name: str) -> Path:
    return path.with_name(f"{path.name}-{name}")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
