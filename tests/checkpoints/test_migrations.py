"""Files of older programs: copied, brought to today's version at once or not at all, then gone on with.

`journal_v1.sql` was written by the program of version 1: a finished run, a stopped one, one that was killed.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from headrace.checkpoints.journal import Journal
from headrace.checkpoints.migrations import STEPS
from headrace.checkpoints.schema import SCHEMA_VERSION
from headrace.errors import StartRefused
from headrace.migrations import migrate

from .toys import PIECES, a_stack, live_answer, types

pytestmark = pytest.mark.anyio

VERSION_1 = Path(__file__).with_name("journal_v1.sql").read_text(encoding="utf-8")
ANSWER = "".join(PIECES)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "journal.sqlite"
    with closing(sqlite3.connect(path)) as old:
        old.execute("pragma auto_vacuum = incremental")
        old.execute("pragma journal_mode = wal")
        old.executescript(VERSION_1)
    return path


def version_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as file:
        return file.execute("select version from schema_version").fetchone()[0]


def rows_of(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """What version 1 knew of every row, in any version."""
    with closing(sqlite3.connect(":memory:")) as old, closing(sqlite3.connect(path)) as file:
        old.executescript(VERSION_1)
        found: dict[str, list[tuple[object, ...]]] = {}
        for (table,) in old.execute("select name from sqlite_master where type = 'table'"):
            names = [row[1] for row in old.execute(f"pragma table_info({table})")]
            if table != "schema_version":
                query = f"select {', '.join(names)} from {table} order by 1, 2"
                found[table] = file.execute(query).fetchall()
        return found


def shape_of(path: Path) -> tuple[object, object]:
    """Every column with its type, default and key, and every index with what it holds."""
    with closing(sqlite3.connect(path)) as file:
        columns = {
            (table, *column[1:])
            for (table,) in file.execute("select name from sqlite_master where type = 'table'").fetchall()
            for column in file.execute(f"pragma table_info({table})")
        }
        indexes = {
            (name, " ".join(sql.split()))
            for name, sql in file.execute(
                "select name, sql from sqlite_master where type = 'index' and sql > ''"
            )
        }
    return columns, indexes


def test_an_older_file_gets_the_tables_of_a_new_one_and_keeps_every_row(path: Path) -> None:
    before = rows_of(path)
    Journal(path).close()
    new = path.with_name("new.sqlite")
    Journal(new).close()

    assert version_of(path) == SCHEMA_VERSION
    assert rows_of(path) == before
    assert shape_of(path) == shape_of(new)


def test_the_older_file_stays_beside_it_as_it_was(path: Path) -> None:
    before = rows_of(path)
    Journal(path).close()
    copy = path.with_name("journal.sqlite.v1")

    assert version_of(copy) == 1
    assert rows_of(copy) == before
    assert [one.name for one in path.parent.glob("*.part*")] == []


async def test_old_answers_are_read_replayed_and_gone_on_with(path: Path) -> None:
    with closing(sqlite3.connect(path)) as old:
        finished, stopped, killed = (
            run for (run,) in old.execute("select id from runs order by created_at").fetchall()
        )
        last_told = old.execute("select max(seq) from events where run_id = ?", (killed,)).fetchone()[0]
    async with a_stack(path.parent) as stack:
        assert await stack.runs.resume_unfinished() == 1
        messages = {run: await stack.runs.finished(run) for run in (finished, stopped, killed)}
        events = {run: await stack.events.read(run) for run in (finished, stopped, killed)}
        rows = {run: await stack.runs.get(run) for run in (finished, stopped, killed)}
        session = await stack.sessions.get(messages[finished].session_id)
        turns = await stack.sessions.turns(session.id, before="", limit=10)

    assert [messages[run].content for run in (finished, stopped, killed)] == [ANSWER, "水从渠中来。", ANSWER]
    assert [live_answer(events[run]) for run in events] == [ANSWER, "水从渠中来。", ANSWER]
    assert [rows[run]["status"] for run in rows] == ["complete", "stopped", "complete"]
    assert [rows[run]["kept"] for run in rows] == ["all"] * 3
    assert messages[finished].references[0]["content"] == "水从渠中来。\nWater comes down the headrace."
    assert session.title == "水从哪里来？"
    assert [turn["user"] for turn in turns] == ["水从哪里来？"]
    assert stack.ran == ["write", "sign"]
    assert types(events[killed][last_told:])[0] == "reset"


@pytest.mark.parametrize("left", ["journal.sqlite.v1.part", "journal.sqlite.v1"])
def test_a_start_that_was_killed_between_copy_and_change_is_simply_done_again(path: Path, left: str) -> None:
    before = rows_of(path)
    path.with_name(left).write_bytes(b"half of a copy")
    Journal(path).close()

    assert (version_of(path), rows_of(path)) == (SCHEMA_VERSION, before)
    assert rows_of(path.with_name("journal.sqlite.v1")) == before
    assert not path.with_name("journal.sqlite.v1.part").exists()


def test_steps_are_taken_together_or_not_at_all(path: Path) -> None:
    before = rows_of(path)
    steps = {**STEPS, SCHEMA_VERSION: "create table later (id text); insert into nowhere values (1);"}
    with (
        closing(sqlite3.connect(path, isolation_level=None)) as old,
        pytest.raises(StartRefused, match="nowhere") as error,
    ):
        migrate(old, path, stored=1, wanted=SCHEMA_VERSION + 1, steps=steps)

    assert error.value.code == "migration_failed"
    assert (version_of(path), rows_of(path)) == (1, before)
    Journal(path).close()
    assert version_of(path) == SCHEMA_VERSION


def test_the_next_step_only_has_to_be_added(path: Path) -> None:
    steps = {**STEPS, SCHEMA_VERSION: "create table later (id text);"}
    with closing(sqlite3.connect(path, isolation_level=None)) as old:
        migrate(old, path, stored=1, wanted=SCHEMA_VERSION + 1, steps=steps)
        assert old.execute("select count(*) from later").fetchone() == (0,)

    assert version_of(path) == SCHEMA_VERSION + 1


def test_without_room_for_a_copy_nothing_is_changed(path: Path) -> None:
    before = rows_of(path)
    # A folder where the copy should be: it cannot be written, whoever tries.
    (path.parent / "journal.sqlite.v1").mkdir()
    (path.parent / "journal.sqlite.v1" / "taken").touch()
    with pytest.raises(StartRefused, match="could not be written"):
        Journal(path)

    assert (version_of(path), rows_of(path)) == (1, before)
