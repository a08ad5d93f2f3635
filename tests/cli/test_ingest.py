import json
from pathlib import Path

import pytest

from headrace.cli import main


def test_ingest_takes_folders_and_says_what_became_of_them(
    folder: Path, papers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--data", str(folder), "ingest", str(papers), "--kb", "文档", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert sorted(one["title"] for one in told["documents"]) == ["LS-200.md", "员工手册.md"]
    assert told["refused"] == []


def test_ingest_names_what_it_could_not_take(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "照片.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (tmp_path / "good.txt").write_text("可以 fine")
    assert main(["--data", str(folder), "ingest", str(tmp_path), "--kb", "mixed"]) == 1
    told = capsys.readouterr()
    (line,) = [line for line in told.err.splitlines() if "照片.png" in line]
    assert line.startswith("refused ")
    assert "xlsx" in line  # the supported formats come last: the line is whole
    assert told.out.startswith("1 of 2 files are ready")


def test_a_missing_path_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data", str(tmp_path), "ingest", str(tmp_path / "没有.txt"), "--kb", "x"]) == 1
    assert "没有.txt" in capsys.readouterr().err


def test_the_name_of_a_file_cannot_steer_the_terminal(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "照片\x1b[2J\u202egnp.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    assert main(["--data", str(folder), "ingest", str(tmp_path), "--kb", "mixed"]) == 1
    told = capsys.readouterr().err
    assert "照片[2Jgnp.png" in told
    assert "\x1b" not in told
    assert "\u202e" not in told
