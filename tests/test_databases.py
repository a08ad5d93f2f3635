"""Database files that are damaged or cannot be written: refused with a reason, and not touched."""

import asyncio
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from headrace.checkpoints.journal import Journal
from headrace.errors import StartRefused
from headrace.folder import own_folder
from headrace.stores.catalogue import open_catalogue

NOBODY = 65534
GARBAGE = "这不是数据库, this is no database. ".encode() * 4000


def open_the_journal(folder: Path) -> None:
    Journal(folder / "journal.sqlite").close()


def open_the_catalogue(folder: Path) -> None:
    async def open_and_close() -> None:
        async with open_catalogue(folder / "catalogue.sqlite"):
            pass

    asyncio.run(open_and_close())


Opener = Callable[[Path], None]
FILES = {"journal": open_the_journal, "catalogue": open_the_catalogue}
each_file = pytest.mark.parametrize(("kind", "opened"), FILES.items(), ids=FILES)


def a_file(folder: Path, kind: str, opened: Opener) -> Path:
    """As a server leaves it, with something in it."""
    opened(folder)
    path = folder / f"{kind}.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table rows (text text)")
        connection.executemany("insert into rows values (?)", [("水从渠中来 " * 50,)] * 500)
        connection.commit()
    return path


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith("-shm")}


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda whole: b"",
    "cut in the header": lambda whole: whole[:60],
    "cut after the first page": lambda whole: whole[:4096],
    "cut in the middle": lambda whole: whole[: len(whole) // 2],
    "without its last page": lambda whole: whole[:-4096],
    "garbage": lambda whole: GARBAGE,
    "zeros": lambda whole: bytes(len(whole)),
    "its first half overwritten": lambda whole: GARBAGE[: len(whole) // 2] + whole[len(whole) // 2 :],
    "all but its header overwritten": lambda whole: whole[:100] + GARBAGE[: len(whole) - 100],
    "another page size": lambda whole: whole[:16] + b"\x01\x23" + whole[18:],
}


@each_file
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_refused_with_the_way_out_and_left_as_it_is(
    tmp_path: Path, kind: str, opened: Opener, damage: str
) -> None:
    path = a_file(tmp_path, kind, opened)
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    before = bytes_of(tmp_path)

    with pytest.raises(StartRefused) as refused:
        opened(tmp_path)

    assert refused.value.code == f"{kind}_damaged"
    assert str(path) in refused.value.message
    assert "Put back a copy" in refused.value.message
    assert "\n" not in refused.value.message
    after = bytes_of(tmp_path)
    assert {name: after[name] for name in before} == before
    assert {name for name, content in after.items() if content} == {name for name in before if before[name]}


@each_file
def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path, kind: str, opened: Opener) -> None:
    (tmp_path / f"{kind}.sqlite" / "内").mkdir(parents=True)
    with pytest.raises(StartRefused, match="is not a file"):
        opened(tmp_path)
    assert (tmp_path / f"{kind}.sqlite" / "内").is_dir()


@each_file
def test_a_database_of_another_program_is_not_made_ours(tmp_path: Path, kind: str, opened: Opener) -> None:
    path = tmp_path / f"{kind}.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table recipes (text text)")
    before = path.read_bytes()
    with pytest.raises(StartRefused, match="not one of headrace"):
        opened(tmp_path)
    assert path.read_bytes() == before


@each_file
def test_a_log_without_its_file_is_not_thrown_away(tmp_path: Path, kind: str, opened: Opener) -> None:
    log = tmp_path / f"{kind}.sqlite-wal"
    log.write_bytes(GARBAGE)
    with pytest.raises(StartRefused, match="missing"):
        opened(tmp_path)
    assert log.read_bytes() == GARBAGE


@each_file
def test_a_first_start_that_was_killed_leaves_nothing_in_the_way(
    tmp_path: Path, kind: str, opened: Opener
) -> None:
    (tmp_path / f"{kind}.sqlite.new").write_bytes(b"SQLite for")
    opened(tmp_path)
    opened(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [f"{kind}.sqlite"]


COPY_IN_MID_FLIGHT = """
import pathlib, shutil, sqlite3, sys
path, copy = map(pathlib.Path, sys.argv[1:])
writing = sqlite3.connect(path, isolation_level=None)
reading = sqlite3.connect(path, isolation_level=None)
writing.execute("pragma wal_autocheckpoint = 0")
reading.execute("begin")
reading.execute("select count(*) from rows").fetchall()
writing.executemany("insert into rows values (?)", [("Water comes down. " * 50,)] * 500)
for name in (path.name, path.name + "-wal"):
    shutil.copy(path.with_name(name), copy)
"""


@each_file
def test_what_a_killed_process_had_only_in_its_log_is_no_damage(
    tmp_path: Path, kind: str, opened: Opener
) -> None:
    path = a_file(tmp_path, kind, opened)
    (tmp_path / "copy").mkdir()
    subprocess.run(
        [sys.executable, "-c", COPY_IN_MID_FLIGHT, path, tmp_path / "copy"], check=True, timeout=60
    )
    opened(tmp_path / "copy")
    with closing(sqlite3.connect(tmp_path / "copy" / path.name)) as connection:
        assert connection.execute("select count(*) from rows").fetchone() == (1000,)


# --- rights -----------------------------------------------------------------------------------


@pytest.fixture
def plain_user(tmp_path: Path) -> Generator[Path]:
    """A folder, for a test that runs as a user whose rights are checked: root may write everywhere."""
    if os.geteuid() != 0:
        yield tmp_path
        return
    with TemporaryDirectory(prefix="headrace-test-") as folder:
        os.chown(folder, NOBODY, NOBODY)
        os.seteuid(NOBODY)
        try:
            yield Path(folder)
        finally:
            os.seteuid(0)


@each_file
def test_a_file_that_may_only_be_read_is_refused(plain_user: Path, kind: str, opened: Opener) -> None:
    path = a_file(plain_user, kind, opened)
    path.chmod(0o400)
    before = bytes_of(plain_user)
    with pytest.raises(StartRefused, match=r"cannot be written to.*--data") as refused:
        opened(plain_user)
    assert str(path) in refused.value.message
    assert refused.value.code == "file_not_writable"
    assert bytes_of(plain_user) == before


@each_file
@pytest.mark.parametrize("new", [True, False])
def test_a_folder_that_may_only_be_read_is_refused(
    plain_user: Path, kind: str, opened: Opener, new: bool
) -> None:
    if not new:
        a_file(plain_user, kind, opened)
    before = bytes_of(plain_user)
    plain_user.chmod(0o500)
    try:
        with pytest.raises(StartRefused, match=r"folder .* cannot be written to"):
            opened(plain_user)
        assert bytes_of(plain_user) == before
    finally:
        plain_user.chmod(0o700)


def test_a_folder_that_may_only_be_read_has_no_owner(plain_user: Path) -> None:
    with own_folder(plain_user, url="http://127.0.0.1:1"):
        pass
    plain_user.chmod(0o500)
    try:
        with (
            pytest.raises(StartRefused, match=r"cannot be used: Permission denied.*--data"),
            own_folder(plain_user, url="http://127.0.0.1:2"),
        ):
            pass
    finally:
        plain_user.chmod(0o700)


# --- the program ------------------------------------------------------------------------------


@pytest.mark.integration
@each_file
def test_the_server_does_not_start_and_says_why_in_one_line(
    tmp_path: Path, kind: str, opened: Opener
) -> None:
    path = a_file(tmp_path, kind, opened)
    path.write_bytes(path.read_bytes()[:8192])
    command = [sys.executable, "-m", "headrace.cli", "--data", str(tmp_path), "serve", "--port", "0"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    [line] = ended.stderr.splitlines()
    assert line.startswith(f"headrace: {path} is damaged: it has 8192 of ")
