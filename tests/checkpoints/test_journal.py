"""One writer, first in first out, each item on its own."""

import asyncio
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Callable
from functools import partial
from pathlib import Path

import pytest

from headrace.checkpoints.journal import Journal, JournalClosed, open_journal

pytestmark = pytest.mark.anyio


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncGenerator[Journal]:
    async with open_journal(tmp_path / "journal.sqlite") as journal:
        await journal.write(_make_lines)
        yield journal


def _make_lines(connection: sqlite3.Connection) -> None:
    connection.execute("create table lines (position integer primary key, text text unique)")


def line(text: str) -> Callable[[sqlite3.Connection], None]:
    def insert(connection: sqlite3.Connection) -> None:
        connection.execute("insert into lines (text) values (?)", (text,))

    return insert


def lines(connection: sqlite3.Connection) -> list[str]:
    return [text for (text,) in connection.execute("select text from lines order by position")]


class Held:
    """Work that keeps the writer busy until it is let go, so that what comes meanwhile is one batch."""

    def __init__(self) -> None:
        self.let_go = threading.Event()

    def __call__(self, connection: sqlite3.Connection) -> None:
        self.let_go.wait()


async def test_a_write_returns_its_value_and_is_then_readable(journal: Journal) -> None:
    assert await journal.write(lambda c: c.execute("select '水'").fetchone()) == ("水",)
    await journal.write(line("水"))
    assert await journal.read(lines) == ["水"]


async def test_items_are_stored_in_the_order_they_were_given(journal: Journal) -> None:
    held = Held()
    journal.post(held)
    for n in range(30):
        journal.post(line(str(n)))
    held.let_go.set()
    await journal.write(line("last"))
    assert await journal.read(lines) == [*(str(n) for n in range(30)), "last"]


async def test_an_error_undoes_its_own_item_and_no_other(journal: Journal) -> None:
    def half(connection: sqlite3.Connection) -> None:
        line("half")(connection)
        raise ValueError("other half")

    held = Held()
    journal.post(held)
    waiting = [asyncio.ensure_future(journal.write(work)) for work in (line("a"), half, line("a"), line("b"))]
    await asyncio.sleep(0)
    held.let_go.set()
    results = await asyncio.gather(*waiting, return_exceptions=True)

    assert [type(result) for result in results] == [
        type(None),
        ValueError,
        sqlite3.IntegrityError,
        type(None),
    ]
    assert await journal.read(lines) == ["a", "b"]


async def test_what_waits_becomes_one_transaction(journal: Journal) -> None:
    held = Held()
    journal.post(held)
    seen: list[int] = []

    def count(connection: sqlite3.Connection) -> None:
        # Another connection sees nothing of this batch while it is being written.
        seen.append(len(journal.read_now(lines)))

    for n in range(20):
        journal.post(line(str(n)))
    journal.post(count)
    held.let_go.set()
    await journal.write(lambda c: None)

    assert seen == [0]
    assert len(await journal.read(lines)) == 20


async def test_nobody_hears_of_a_write_before_its_commit(journal: Journal) -> None:
    visible: list[bool] = []
    held = Held()
    journal.post(held)
    for n in range(10):
        text = str(n)
        journal.post(line(text)).add_done_callback(
            lambda _, text=text: visible.append(text in journal.read_now(lines))
        )
    held.let_go.set()
    await journal.write(lambda c: None)
    assert visible == [True] * 10


async def test_a_cancelled_caller_has_written_all_the_same(journal: Journal) -> None:
    held = Held()
    journal.post(held)
    write = asyncio.ensure_future(journal.write(line("kept")))
    await asyncio.sleep(0)
    write.cancel()
    held.let_go.set()
    with pytest.raises(asyncio.CancelledError):
        await write
    await journal.write(lambda c: None)
    assert await journal.read(lines) == ["kept"]


async def test_readers_and_writers_interleave_without_locks(journal: Journal) -> None:
    async def write(name: str) -> None:
        for n in range(50):
            await journal.write(line(f"{name}{n}"))

    async def read() -> list[int]:
        return [len(await journal.read(lines)) for _ in range(30)]

    reading = [asyncio.ensure_future(read()) for _ in range(2)]
    await asyncio.gather(*(write(name) for name in "abcd"))
    seen, also_seen = await asyncio.gather(*reading)
    assert seen == sorted(seen)
    assert also_seen == sorted(also_seen)
    assert len(await journal.read(lines)) == 200


async def test_threads_write_too(journal: Journal) -> None:
    def write(name: int) -> None:
        for n in range(50):
            journal.post(line(f"{name} {n}")).result()

    await asyncio.gather(*(asyncio.to_thread(write, name) for name in range(3)))
    assert len(await journal.read(lines)) == 150


async def test_readers_cannot_write(journal: Journal) -> None:
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        await journal.read(line("no"))


async def test_a_reader_sees_one_moment(journal: Journal) -> None:
    await journal.write(line("before"))

    def twice(connection: sqlite3.Connection) -> tuple[list[str], list[str]]:
        first = lines(connection)
        journal.post(line("meanwhile")).result()
        return first, lines(connection)

    assert await journal.read(twice) == (["before"], ["before"])


async def test_closing_writes_what_waits_and_leaves_no_thread(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    path = tmp_path / "journal.sqlite"
    async with open_journal(path) as journal:
        await journal.write(_make_lines)
        await journal.read(lines)
        for n in range(100):
            journal.post(line(str(n)))

    assert {t.name for t in set(threading.enumerate()) - before if t.name.startswith("journal")} == set()
    with pytest.raises(JournalClosed):
        await journal.write(line("late"))
    reopened = Journal(path)
    assert len(reopened.read_now(lines)) == 100
    reopened.close()


@pytest.mark.parametrize("end", ["", "journal.close()"], ids=["forgotten", "closed"])
def test_the_process_exits(tmp_path: Path, end: str) -> None:
    program = (
        "from pathlib import Path\n"
        "from headrace.checkpoints.journal import Journal\n"
        f"journal = Journal(Path({str(tmp_path / 'journal.sqlite')!r}))\n"
        "journal.post(lambda c: None).result()\n"
        "journal.read_now(lambda c: None)\n"
        f"{end}\n"
    )
    finished = partial(subprocess.run, capture_output=True, text=True, timeout=20, check=False)
    result = finished([sys.executable, "-c", program])
    assert (result.returncode, result.stderr) == (0, "")


async def test_work_that_stands_alone_runs_between_transactions_in_its_place(journal: Journal) -> None:
    def vacuum(connection: sqlite3.Connection) -> int:
        connection.execute("vacuum")
        return connection.execute("select count(*) from lines").fetchone()[0]

    before = journal.post(line("之前"))
    alone = asyncio.ensure_future(journal.write_alone(vacuum))
    await asyncio.sleep(0)
    after = journal.post(line("after"))
    assert await alone == 1
    assert (await asyncio.wrap_future(before), await asyncio.wrap_future(after)) == (None, None)


async def test_work_that_stands_alone_and_fails_leaves_no_transaction_behind(journal: Journal) -> None:
    def fail(connection: sqlite3.Connection) -> None:
        connection.execute("begin")
        raise ValueError("半途 halfway")

    with pytest.raises(ValueError, match="halfway"):
        await journal.write_alone(fail)
    await journal.write(line("afterwards"))


async def test_who_reads_after_the_end_is_told_so(tmp_path: Path) -> None:
    async with open_journal(tmp_path / "journal.sqlite") as journal:
        pass
    with pytest.raises(JournalClosed):
        await journal.read(lambda c: None)
    with pytest.raises(JournalClosed):
        journal.read_now(lambda c: None)
