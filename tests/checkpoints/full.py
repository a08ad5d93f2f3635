"""A journal that runs out of room for as long as a test wants it to."""

import resource
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager

from headrace.checkpoints.journal import Journal

# More than fits into what a file has free.
LONG = "水 water " * 5000


async def fill(journal: Journal) -> None:
    """SQLite's own "database or disk is full" from now on: the file may have no more pages than it has."""
    await journal.write(_fill)


def _fill(connection: sqlite3.Connection) -> None:
    (free,) = connection.execute("pragma freelist_count").fetchone()
    for _ in range(free):
        connection.execute("pragma incremental_vacuum(1)")
    connection.execute("pragma max_page_count = 1").fetchone()


async def make_room(journal: Journal) -> None:
    await journal.write(lambda c: c.execute("pragma max_page_count = 1000000").fetchone())


@contextmanager
def log_cannot_grow(journal: Journal) -> Generator[None]:
    """Nothing at all can be stored: no file of this process may be larger than the write-ahead log is now."""
    log = journal.path.with_name(f"{journal.path.name}-wal").stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (log, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
