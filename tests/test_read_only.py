"""Reading a folder of somebody else: nothing in it changes, whoever writes meanwhile."""

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from headrace.checkpoints.saver import JournalSaver
from headrace.errors import Damaged, HeadraceError, StartRefused
from headrace.read_only import NotWritten, ReadOnlyCatalogue, ReadOnlyFile, ReadOnlyJournal
from headrace.stores.catalogue import open_catalogue
from headrace.stores.catalogue_schema import SCHEMA_VERSION

# Leaves a log that is not yet part of the file, as a killed server does.
WRITE_AND_DIE = """
import os, sqlite3, sys
writer = sqlite3.connect(sys.argv[1], isolation_level=None)
writer.execute("insert into texts values ('来不及写完')")
os._exit(9)
"""


def test_a_file_at_rest_is_read_without_a_trace(path: Path) -> None:
    before = everything(path.parent)
    assert texts(ReadOnlyFile(path, version=1)) == ["水轮机", "turbine"]
    assert everything(path.parent) == before


def test_what_a_writer_has_committed_is_read_while_it_writes(path: Path) -> None:
    with closing(writing(path)) as writer:
        file = ReadOnlyFile(path, version=1)
        writer.execute("insert into texts values ('引水渠')")
        assert texts(file) == ["水轮机", "turbine", "引水渠"]
        writer.execute("begin")
        writer.execute("insert into texts values ('uncommitted')")
        assert texts(file) == ["水轮机", "turbine", "引水渠"]


def test_a_writer_that_comes_and_goes_between_two_reads_is_no_matter(path: Path) -> None:
    file = ReadOnlyFile(path, version=1)
    with closing(writing(path)) as writer:
        writer.execute("insert into texts values ('headrace')")
        assert len(texts(file)) == 3
    assert len(texts(file)) == 3
    assert not path.with_name(f"{path.name}-wal").exists()


def test_a_read_that_a_new_writer_has_spoilt_is_done_again(path: Path) -> None:
    file, seen = ReadOnlyFile(path, version=1), list[int]()

    def read(connection: sqlite3.Connection) -> int:
        if not seen:
            with closing(writing(path)) as writer:
                writer.execute("insert into texts values ('中途写入')")
        (found,) = connection.execute("select count(*) from texts").fetchone()
        seen.append(found)
        return found

    assert file.read(read) == 3
    assert len(seen) == 2


def test_what_a_killed_writer_has_left_in_the_log_is_read_and_stays_there(path: Path) -> None:
    subprocess.run([sys.executable, "-c", WRITE_AND_DIE, path], check=False)
    before = everything(path.parent)
    assert "来不及写完" in texts(ReadOnlyFile(path, version=1))
    after = everything(path.parent)
    for name in (path.name, f"{path.name}-wal"):
        assert after[name] == before[name]


def test_a_log_without_its_index_is_read_in_a_copy_that_goes_with_the_file(path: Path) -> None:
    subprocess.run([sys.executable, "-c", WRITE_AND_DIE, path], check=False)
    path.with_name(f"{path.name}-shm").unlink()
    before = everything(path.parent)
    file = ReadOnlyFile(path, version=1)
    assert "来不及写完" in texts(file)
    assert "来不及写完" in texts(file)
    assert everything(path.parent) == before
    (copy,) = (Path(name) for name in opened_by(file))
    assert copy.is_file()
    file.close()
    assert not copy.parent.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_is_read(path: Path) -> None:
    path.parent.chmod(0o500)
    try:
        assert texts(ReadOnlyFile(path, version=1)) == ["水轮机", "turbine"]
    finally:
        path.parent.chmod(0o700)


def test_names_with_signs_of_an_address_are_names(tmp_path: Path, path: Path) -> None:
    odd = tmp_path / "50% 数据?mode=rwc#"
    shutil.copytree(path.parent, odd)
    assert len(texts(ReadOnlyFile(odd / path.name, version=1))) == 2


def test_a_statement_that_writes_is_refused(path: Path) -> None:
    with pytest.raises(HeadraceError, match="readonly"):
        ReadOnlyFile(path, version=1).read(lambda connection: connection.execute("delete from texts"))


def test_a_file_of_a_newer_version_says_which_one_to_use(path: Path) -> None:
    with pytest.raises(StartRefused, match="newer") as refused:
        ReadOnlyFile(path, version=0)
    assert refused.value.code == "newer_schema"


def test_a_file_of_an_older_version_is_brought_up_to_date_by_its_server(path: Path) -> None:
    with pytest.raises(StartRefused, match="next start") as refused:
        ReadOnlyFile(path, version=2)
    assert (refused.value.code, refused.value.details) == ("older_schema", {"found": 1, "known": 2})


def test_another_program_s_database_is_named(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.sqlite")) as other:
        other.execute("create table bookmarks (address)")
    with pytest.raises(StartRefused, match=r"other\.sqlite") as refused:
        ReadOnlyFile(tmp_path / "other.sqlite", version=1)
    assert refused.value.code == "not_a_data_folder"


def test_what_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "journal.sqlite").write_text("不是数据库" * 1000)
    with pytest.raises(Damaged, match=r"journal\.sqlite is damaged .* file is not a database"):
        ReadOnlyFile(tmp_path / "journal.sqlite", version=1)


def test_a_saver_over_it_reads_and_refuses_to_write(path: Path) -> None:
    saver = JournalSaver(ReadOnlyJournal(ReadOnlyFile(path, version=1)))
    with pytest.raises(NotWritten, match="server"):
        saver.delete_thread("任意")


@pytest.mark.anyio
async def test_the_catalogue_of_a_running_server_is_read(tmp_path: Path) -> None:
    file = tmp_path / "catalogue.sqlite"
    async with open_catalogue(file) as catalogue:
        kb = await catalogue.create_kb(name="手册", embedding_model="m")
        made = await catalogue.create_document(
            kb_id=kb.id, title="员工手册.md", media_type="text/markdown", sha256="0", bytes=1
        )
        read = ReadOnlyCatalogue(ReadOnlyFile(file, version=SCHEMA_VERSION))
        assert (await read.kbs([kb.id, "unknown"]))[kb.id].name == "手册"
        assert (await read.documents([made.id]))[made.id] == made
        assert await read.chunks([]) == {}
        assert await read.chunks(["unknown"]) == {}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "数据"
    folder.mkdir()
    with closing(writing(folder / "journal.sqlite")) as writer:
        writer.execute("create table schema_version (version)")
        writer.execute("insert into schema_version values (1)")
        writer.execute("create table texts (text)")
        writer.execute("insert into texts values ('水轮机'), ('turbine')")
    return folder / "journal.sqlite"


def writing(path: Path) -> sqlite3.Connection:
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("pragma journal_mode = wal")
    return writer


def texts(file: ReadOnlyFile) -> list[str]:
    return file.read(lambda connection: [text for (text,) in connection.execute("select text from texts")])


def opened_by(file: ReadOnlyFile) -> list[str]:
    return file.read(lambda connection: [row[2] for row in connection.execute("pragma database_list")])


def everything(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Time and bytes of every file. Only for a folder that nobody in this process has open."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file()
    }
