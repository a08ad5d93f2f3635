"""A journal that runs out of room for as long as a test wants it to."""

from headrace.checkpoints.journal import Journal


async def fill(journal: Journal) -> None:
    """SQLite's own "database or disk is full" from now on: the file may have no more pages than it has."""
    await journal.write(lambda c: c.execute("pragma max_page_count = 1").fetchone())


async def make_room(journal: Journal) -> None:
    await journal.write(lambda c: c.execute("pragma max_page_count = 1000000").fetchone())
