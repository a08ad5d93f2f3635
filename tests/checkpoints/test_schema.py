"""The file of the journal."""

import sqlite3
from pathlib import Path

import pytest

from headrace.checkpoints.journal import Journal
from headrace.checkpoints.schema import SCHEMA_VERSION
from headrace.errors import StartRefused


def test_a_newer_file_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with sqlite3.connect(path) as newer:
        newer.execute("create table schema_version (version integer)")
        newer.execute("insert into schema_version values (?)", (SCHEMA_VERSION + 1,))
    newer.close()
    before = path.read_bytes()

    with pytest.raises(StartRefused, match=str(SCHEMA_VERSION + 1)):
        Journal(path)

    assert path.read_bytes() == before


def test_opens_again_what_it_has_made(tmp_path: Path) -> None:
    for _ in range(2):
        Journal(tmp_path / "中文 journal.sqlite").close()


@pytest.mark.parametrize(
    ("pragma", "value"), [("auto_vacuum", 2), ("journal_mode", "wal")], ids=["incremental", "wal"]
)
def test_space_can_be_given_back_in_steps_and_readers_do_not_wait(
    tmp_path: Path, pragma: str, value: int | str
) -> None:
    journal = Journal(tmp_path / "journal.sqlite")
    assert journal.read_now(lambda c: c.execute(f"pragma {pragma}").fetchone()) == (value,)
    journal.close()


@pytest.mark.parametrize(("full_sync", "level"), [(False, 1), (True, 2)])
def test_syncs_as_asked(tmp_path: Path, full_sync: bool, level: int) -> None:
    journal = Journal(tmp_path / "journal.sqlite", full_sync=full_sync)
    assert journal.post(lambda c: c.execute("pragma synchronous").fetchone()).result() == (level,)
    journal.close()
