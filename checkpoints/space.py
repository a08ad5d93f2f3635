"""Giving the space of what was removed back to the disk, while questions are answered."""

import logging
import sqlite3
from pathlib import Path

from .journal import BUSY_TIMEOUT_S, Journal

logger = logging.getLogger(__name__)

# A step holds the writer for 4 ms (measured).
PAGES_PER_STEP = 256
# Emptying the log waits for those who read the file, and everything that is written waits for it.
READERS_WAIT_S = 0.2
LOG_TRIES = 25


async def give_back(journal: Journal) -> None:
    """Cut free pages off the file, a step at a time, each in its turn among what others write."""
    while await journal.write(_step):
        pass
    if not await empty_log(journal, tries=1):
        logger.info("the journal's log is being read: it is emptied another time")


async def rewrite(journal: Journal) -> bool:
    """Write the whole file anew: nothing is left of what was deleted. Whether the log could be emptied too.

    `secure_delete` alone is not enough: when SQLite splits a page, what moved to another one stays behind
    as well, in the gap between the rows, and is not known there when it is deleted (measured: 4 of 5,829
    rows). Everything that is written waits, about 6 s for 1 GB.
    """
    await journal.write_alone(_vacuum)
    return await empty_log(journal)


async def empty_log(journal: Journal, *, tries: int = LOG_TRIES) -> bool:
    """Move what the write-ahead log holds into the file and cut the log to nothing."""
    for _ in range(tries):
        if await journal.write_alone(_truncate):
            return True
    return False


def live_bytes(connection: sqlite3.Connection) -> int:
    """What the file would have without its free pages."""
    pages = _number(connection, "page_count") - _number(connection, "freelist_count")
    return pages * _number(connection, "page_size")


def bytes_on_disk(path: Path) -> int:
    """Of the file and its log."""
    files = (path, path.with_name(f"{path.name}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def _step(connection: sqlite3.Connection) -> bool:
    """Whether there is more to do."""
    before = _number(connection, "freelist_count")
    for _ in range(PAGES_PER_STEP):
        # One by one: Python's sqlite3 takes the first page given back for the end of the statement.
        connection.execute("pragma incremental_vacuum(1)")
    return 0 < _number(connection, "freelist_count") < before


def _vacuum(connection: sqlite3.Connection) -> None:
    connection.execute("vacuum")


def _truncate(connection: sqlite3.Connection) -> bool:
    connection.execute(f"pragma busy_timeout = {READERS_WAIT_S * 1000:.0f}")
    try:
        busy, _, _ = connection.execute("pragma wal_checkpoint(truncate)").fetchone()
    finally:
        connection.execute(f"pragma busy_timeout = {BUSY_TIMEOUT_S * 1000:.0f}")
    return not busy


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return connection.execute(f"pragma {pragma}").fetchone()[0]
