"""Whether a write failed for want of room, and whether there is room again."""

import asyncio
import errno
import os
import resource
import sqlite3
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import StorageFull

if TYPE_CHECKING:
    from .journal import Journal

# SQLite says `disk I/O error` for a full quota, for a file at its size limit, and for a broken disk alike.
# https://sqlite.org/rescode.html#extrc
PERHAPS_FULL = frozenset(
    {
        sqlite3.SQLITE_IOERR_WRITE,
        sqlite3.SQLITE_IOERR_FSYNC,
        sqlite3.SQLITE_IOERR_TRUNCATE,
        sqlite3.SQLITE_IOERR_SHMSIZE,
    }
)
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
# A question writes about half of this; less room is none.
ROOM_BYTES = 256 * 1024


def storage_full() -> StorageFull:
    return StorageFull(
        "The disk or quota that holds the data folder is full, so this could not be stored. Free some space "
        "and try again; answers in progress wait and then go on by themselves."
    )


def is_full(error: BaseException, path: Path) -> bool:
    """Whether a failed write to the database at `path` would have worked with more room."""
    code = getattr(error, "sqlite_errorcode", None)
    return code == sqlite3.SQLITE_FULL or (code in PERHAPS_FULL and not _has_room(path))


def take_room(connection: sqlite3.Connection) -> None:
    """Write as much as a question needs, for good once it is committed; `give_room` takes it back.

    The pages stay the file's own then, so that what has waited for the room finds it.
    """
    connection.execute("insert or replace into passages values (?, zeroblob(?))", (_NOT_A_HASH, ROOM_BYTES))


def give_room(connection: sqlite3.Connection) -> None:
    connection.execute("delete from passages where hash = ?", (_NOT_A_HASH,))


_NOT_A_HASH = "room"


def _has_room(path: Path) -> bool:
    limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    files = [one for one in path.parent.glob(f"{path.name}*") if one.is_file()]
    if limit != resource.RLIM_INFINITY and max(one.stat().st_size for one in files) + ROOM_BYTES > limit:
        return False
    try:
        with tempfile.TemporaryFile(dir=path.parent) as probe:
            probe.write(bytes(ROOM_BYTES))
            probe.flush()
            os.fsync(probe.fileno())
    except OSError as error:
        return error.errno not in NO_ROOM
    return True


async def until_room(journal: "Journal", *, first_s: float, longest_s: float) -> None:
    """Returns once the journal has taken what a question needs. Tries after `first_s`, then after twice as
    long each time, up to `longest_s`. Raises JournalClosed."""
    pause = first_s
    while True:
        await asyncio.sleep(pause)
        try:
            await journal.write(take_room)
            await journal.write(give_room)
        except StorageFull:
            pause = min(2 * pause, longest_s)
        else:
            return
