"""A catalogue of an older program: copied, brought to today's version at once or not at all.

`catalogue_v1.sql` was written by the program of version 1: a document with a disabled chunk, a broken one.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from headrace.errors import StartRefused
from headrace.migrations import migrate
from headrace.stores.catalogue import open_catalogue
from headrace.stores.catalogue_schema import SCHEMA_VERSION, STEPS

pytestmark = pytest.mark.anyio

VERSION_1 = Path(__file__).with_name("catalogue_v1.sql").read_text(encoding="utf-8")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "catalogue.sqlite"
    with closing(sqlite3.connect(path)) as old:
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
                found[table] = file.execute(f"select {', '.join(names)} from {table} order by 1").fetchall()
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


async def open_and_close(path: Path) -> None:
    async with open_catalogue(path):
        pass


async def test_an_older_file_gets_the_tables_of_a_new_one_and_keeps_every_row(path: Path) -> None:
    before = rows_of(path)
    await open_and_close(path)
    new = path.with_name("new.sqlite")
    await open_and_close(new)

    assert version_of(path) == SCHEMA_VERSION
    assert rows_of(path) == before
    assert shape_of(path) == shape_of(new)


async def test_the_older_file_stays_beside_it_as_it_was(path: Path) -> None:
    before = rows_of(path)
    await open_and_close(path)
    copy = path.with_name("catalogue.sqlite.v1")

    assert version_of(copy) == 1
    assert rows_of(copy) == before
    assert list(path.parent.glob("*.part*")) == []


async def test_what_came_from_an_older_file_is_read_like_anything_else(path: Path) -> None:
    async with open_catalogue(path) as catalogue:
        kb = await catalogue.kb_by_name("员工手册")
        assert kb is not None
        assert (kb.store, kb.version, kb.document_count) == ("embedded", 2, 2)
        ids = await catalogue.chunk_ids(kb.id)
        found = await catalogue.indexed_chunks([*ids])
        assert {chunk.text for chunk in found.values()} == {"年假十天。", "Sick leave needs a certificate."}
        assert await catalogue.languages([kb.id]) == {kb.id: {"zh": 1, "en": 1}}


@pytest.mark.parametrize("left", ["catalogue.sqlite.v1.part", "catalogue.sqlite.v1"])
async def test_a_start_that_was_killed_between_copy_and_change_is_done_again(path: Path, left: str) -> None:
    before = rows_of(path)
    path.with_name(left).write_bytes(b"half of a copy")
    await open_and_close(path)

    assert (version_of(path), rows_of(path)) == (SCHEMA_VERSION, before)
    assert rows_of(path.with_name("catalogue.sqlite.v1")) == before
    assert not path.with_name("catalogue.sqlite.v1.part").exists()


async def test_steps_are_taken_together_or_not_at_all(path: Path) -> None:
    before = rows_of(path)
    steps = {**STEPS, 1: "create table later (id text); insert into nowhere values (1);"}
    with (
        closing(sqlite3.connect(path, isolation_level=None)) as old,
        pytest.raises(StartRefused, match="nowhere") as error,
    ):
        migrate(old, path, stored=1, wanted=2, steps=steps)

    assert error.value.code == "migration_failed"
    assert (version_of(path), rows_of(path)) == (1, before)
    await open_and_close(path)
    assert version_of(path) == SCHEMA_VERSION
