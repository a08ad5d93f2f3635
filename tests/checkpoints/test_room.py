"""A journal without room: what is not stored says so, order is kept, reading goes on."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import pytest

from headrace.checkpoints.journal import Journal, open_journal
from headrace.checkpoints.room import ROOM_BYTES, give_room, take_room
from headrace.errors import StorageFull

from .full import fill, log_cannot_grow, make_room

pytestmark = pytest.mark.anyio

LONG = "水 water " * 2000


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncGenerator[Journal]:
    async with open_journal(tmp_path / "journal.sqlite") as journal:
        await journal.write(lambda c: c.execute("create table lines (text text)"))
        yield journal


def line(text: str) -> Callable[[sqlite3.Connection], None]:
    def insert(connection: sqlite3.Connection) -> None:
        connection.execute("insert into lines values (?)", (text,))

    return insert


def lines(connection: sqlite3.Connection) -> list[str]:
    return [text for (text,) in connection.execute("select text from lines order by rowid")]


async def test_a_write_without_room_says_so_and_reading_goes_on(journal: Journal) -> None:
    await journal.write(line("水"))
    await fill(journal)
    for _ in range(2):
        with pytest.raises(StorageFull) as error:
            await journal.write(line(LONG))
        assert (error.value.status, error.value.code) == (507, "disk_full")
        assert await journal.read(lines) == ["水"]
    await make_room(journal)
    await journal.write(line(LONG))

    assert await journal.read(lines) == ["水", LONG]


async def test_all_that_shares_the_transaction_is_told_and_none_of_it_is_stored(journal: Journal) -> None:
    await fill(journal)
    let_go = threading.Event()
    journal.post(lambda _: let_go.wait())
    writes = [asyncio.ensure_future(journal.write(line(text))) for text in ("a", LONG, "b")]
    await asyncio.sleep(0)
    let_go.set()
    results = await asyncio.gather(*writes, return_exceptions=True)

    assert [type(result) for result in results] == [StorageFull] * 3
    assert await journal.read(lines) == []


async def test_a_stream_that_has_lost_something_stores_nothing_more_until_it_is_mended(
    journal: Journal,
) -> None:
    await fill(journal)
    lost = asyncio.wrap_future(journal.post(line(LONG), stream="run"))
    with pytest.raises(StorageFull):
        await lost
    await make_room(journal)

    with pytest.raises(StorageFull):
        await asyncio.wrap_future(journal.post(line("later"), stream="run"))
    with pytest.raises(StorageFull):
        await journal.write(line("stands on it"), after="run")
    await journal.write(line("another's"), after="other")
    await journal.mend("run")
    await journal.write(line("again"), after="run")
    assert await journal.read(lines) == ["another's", "again"]


async def test_what_was_remembered_of_a_lost_write_is_undone(journal: Journal) -> None:
    undone: list[str] = []
    await fill(journal)
    with pytest.raises(StorageFull):
        await journal.write(line(LONG), undo=lambda: undone.append("lost"))
    await make_room(journal)
    await journal.write(line("kept"), undo=lambda: undone.append("kept"))

    assert set(undone) == {"lost"}


async def test_room_is_tried_for_what_a_question_needs_and_given_back(journal: Journal) -> None:
    await fill(journal)
    with pytest.raises(StorageFull):
        await journal.write(take_room)
    await make_room(journal)
    await journal.write(take_room)
    await journal.write(give_room)
    (free,) = await journal.read(lambda c: c.execute("pragma freelist_count").fetchone())
    (left,) = await journal.read(lambda c: c.execute("select count(*) from passages").fetchone())

    assert free * 4096 >= ROOM_BYTES
    assert left == 0


async def test_a_file_at_its_size_limit_is_a_lack_of_room_too(journal: Journal) -> None:
    await journal.write(line("before"))
    with log_cannot_grow(journal):
        # SQLite calls this one `disk I/O error`.
        with pytest.raises(StorageFull) as error:
            await journal.write(line(LONG))
        assert isinstance(error.value.__cause__, sqlite3.OperationalError)
        assert await journal.read(lines) == ["before"]
    await journal.write(line(LONG))

    assert await journal.read(lines) == ["before", LONG]


async def test_other_errors_stay_what_they_are(journal: Journal) -> None:
    with pytest.raises(sqlite3.OperationalError, match="nowhere"):
        await journal.write(lambda c: c.execute("insert into nowhere values (1)"))
