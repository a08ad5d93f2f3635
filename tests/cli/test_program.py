"""The command line as a script sees it: what is on stdout, what on stderr, and the exit code."""

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from headrace.cli import main


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HEADRACE_")}
    return subprocess.run(
        [sys.executable, "-m", "headrace.cli", *arguments],
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
    )


def test_the_program_tells_its_version() -> None:
    told = run("--version")
    assert (told.returncode, told.stdout) == (0, f"headrace {version('headrace')}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["ask"],
        ["ask", " ", "--kb", "文档"],
        ["ingest", "x"],
        ["ingest", "x", "--kb", ""],
        ["search", "x"],
        ["search", "", "--kb", "文档"],
        ["search", "x", "--kb", "文档", "--top-k", "0"],
        ["search", "x", "--kb", "文档", "--knob", "fusion"],
        ["search", "x", "--kb", "文档", "--tag", ""],
        ["kb"],
        ["kb", "create"],
        ["kb", "create", "x", "--kind", "wiki"],
        ["kb", "rename", "x"],
        ["faq", "list"],
        ["faq", "add", "年假？"],
        ["faq", "add", "", "--kb", "问答"],
        ["faq", "add", "年假？", "--kb", "问答", "--strategy", "some"],
        ["faq", "delete", "--kb", "问答"],
        ["faq", "import", "--kb", "问答"],
        ["faq", "export", "--kb", "问答", "--format", "pdf"],
        ["tag", "add", "人事"],
        ["tag", "set", "--kb", "文档"],
        ["chunks", "list"],
        ["chunks", "edit", "c1"],
        ["chunks", "disable"],
        ["replay"],
        ["replay", ""],
        ["replay", "x", "--speed", "-1"],
        ["replay", "x", "--speed", "0.5"],
        ["replay", "x", "--speed", "1001"],
        ["nonsense"],
        ["serve", "--port", "x"],
        ["serve", "--port", "65536"],
    ],
)
def test_wrong_use_is_exit_code_two(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        main(arguments)
    assert exit.value.code == 2


def test_an_unknown_knowledge_base_is_answered_with_the_known_ones(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--data", str(folder), "ask", "x", "--kb", "没有"]) == 1
    told = capsys.readouterr()
    assert "'文档'" in told.err
    assert told.out == ""


@pytest.mark.parametrize("command", ["ask", "search"])
def test_a_failure_is_one_json_document_too(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    assert main(["--data", str(folder), command, "x", "--kb", "没有", "--json"]) == 1
    told = capsys.readouterr()
    error = json.loads(told.out)["error"]
    assert error["code"] == "kb_not_found"
    assert error["message"] in told.err


def test_what_the_server_refuses_is_told_without_a_traceback(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--data", str(folder), "ask", "长" * 10_001, "--kb", "文档"]) == 1
    assert "10000" in capsys.readouterr().err


def test_what_is_told_cannot_steer_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data", str(tmp_path), "ingest", str(tmp_path / "\x1b[2J没有.txt"), "--kb", "x"]) == 1
    told = capsys.readouterr().err
    assert "没有.txt" in told
    assert "\x1b" not in told


def test_an_impossible_setting_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "headrace.toml").write_text("rerank_top_k = 0\n")
    assert main(["--data", str(tmp_path), "doctor"]) == 1
    assert "rerank_top_k" in capsys.readouterr().err


@pytest.mark.integration
def test_without_a_server_a_command_brings_its_own(tmp_path: Path, papers: Path) -> None:
    data = str(tmp_path / "data")
    ingested = run("ingest", str(papers), "--kb", "文档", "--data", data)
    assert (ingested.returncode, ingested.stdout) == (0, ingested.stdout), ingested.stderr
    assert ingested.stdout.startswith("2 of 2 files are ready in '文档'")
    asked = run("--data", data, "ask", "How many dB(A) at one metre?", "--kb", "文档", "--json")
    assert asked.returncode == 0, asked.stderr
    report = json.loads(asked.stdout)
    assert "62 dB" in report["text"]
    replayed = run("replay", report["run_id"], "--data", data)
    assert (replayed.returncode, replayed.stdout.splitlines()[0]) == (0, report["text"].splitlines()[0])
    assert (tmp_path / "data" / "headrace.lock").read_bytes() == b""
