import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.errors import StartRefused
from headrace.folder import LOCK_FILE, FolderTaken, own_folder, running_owner

URL = "http://127.0.0.1:8000"
OWN_AND_DIE = """
import os, pathlib, sys
from headrace.folder import own_folder
with own_folder(pathlib.Path(sys.argv[1]), url=sys.argv[2]):
    os._exit(9)
"""


def test_makes_a_folder_that_only_its_user_can_enter(tmp_path: Path) -> None:
    with own_folder(tmp_path / "a" / "数据", url=URL):
        assert (tmp_path / "a" / "数据").stat().st_mode & 0o777 == 0o700


def test_what_is_made_in_a_folder_that_others_may_enter_is_its_user_s_alone(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    folder.chmod(0o755)
    with own_folder(folder, url=URL):
        (folder / "journal.sqlite").touch()
        (folder / "chroma").mkdir()
    assert (folder / "journal.sqlite").stat().st_mode & 0o777 == 0o600
    assert (folder / "chroma").stat().st_mode & 0o777 == 0o700


def test_a_lock_file_that_leads_elsewhere_is_refused_and_nothing_is_written_there(tmp_path: Path) -> None:
    elsewhere = tmp_path / "precious.txt"
    elsewhere.write_text("重要")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / LOCK_FILE).symlink_to(elsewhere)
    with pytest.raises(StartRefused, match="--data"), own_folder(tmp_path / "data", url=URL):
        pass
    assert elsewhere.read_text() == "重要"
    assert running_owner(tmp_path / "data") is None


def test_says_in_the_lock_file_who_serves_it_and_where(tmp_path: Path) -> None:
    with own_folder(tmp_path, url=URL):
        assert json.loads((tmp_path / LOCK_FILE).read_bytes()) == {"pid": os.getpid(), "url": URL}


def test_refuses_a_second_owner_and_names_the_first(tmp_path: Path) -> None:
    with (
        own_folder(tmp_path, url=URL),
        pytest.raises(FolderTaken, match=rf"{os.getpid()} at {URL}"),
        own_folder(tmp_path, url="http://127.0.0.1:9000"),
    ):
        pass


def test_is_free_again_after_its_owner_has_left(tmp_path: Path) -> None:
    with own_folder(tmp_path, url=URL):
        pass
    assert running_owner(tmp_path) is None
    with own_folder(tmp_path, url=URL):
        assert running_owner(tmp_path) is not None


def test_the_lock_file_of_a_killed_process_does_not_count(tmp_path: Path) -> None:
    victim = subprocess.Popen([sys.executable, "-c", OWN_AND_DIE, tmp_path, URL])
    assert victim.wait() == 9
    assert json.loads((tmp_path / LOCK_FILE).read_bytes())["pid"] == victim.pid
    assert running_owner(tmp_path) is None
    with own_folder(tmp_path, url=URL):
        assert json.loads((tmp_path / LOCK_FILE).read_bytes())["pid"] == os.getpid()


def test_finds_the_running_owner(tmp_path: Path) -> None:
    assert running_owner(tmp_path) is None
    with own_folder(tmp_path, url=URL):
        owner = running_owner(tmp_path)
        assert owner is not None
        assert (owner.pid, owner.url) == (os.getpid(), URL)
    assert running_owner(tmp_path) is None


def test_a_folder_that_cannot_be_made_is_refused_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StartRefused, match="--data"), own_folder(tmp_path / "file" / "data", url=URL):
        pass


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_refused_with_the_way_out(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StartRefused, match="--data"), own_folder(tmp_path, url=URL):
        pass
