"""The command line as a script sees it: what is on stdout, what on stderr, and the exit code."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Generator
from importlib.metadata import version
from pathlib import Path

import pytest

from headrace.cli import main

from .running import HANDBOOK, MANUAL, a_client, running


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("papers")
    (folder / "制度").mkdir()
    (folder / "制度" / "员工手册.md").write_text(HANDBOOK, "utf-8")
    (folder / "LS-200.md").write_text(MANUAL, "utf-8")
    (folder / ".hidden.md").write_text("不要", "utf-8")
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, papers: Path) -> Generator[Path]:
    """A data folder that a running server owns, with one knowledge base."""
    folder = tmp_path_factory.mktemp("data")
    with running(folder):
        assert main(["ingest", str(papers), "--kb", "文档", "--data", str(folder)]) == 0
        yield folder


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


def test_ask_prints_the_answer_with_numbers_and_their_sources(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["ask", "累计工龄满 10 年的员工每年有多少天年休假？", "--kb", "文档", "--data", str(folder)])
    told = capsys.readouterr()
    assert code == 0
    assert "12 天" in told.out
    assert "[1]" in told.out
    assert "\n[1] 员工手册.md" in told.out
    assert "<kb" not in told.out
    assert "No chat model is configured" in told.err


def test_ask_json_is_one_document_and_a_session_goes_on(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--data", str(folder), "ask", "Which grease is used?", "--kb", "文档", "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert "NLGI 2" in first["text"]
    assert first["outcome"] == "answered"
    assert first["generated"] is False
    assert first["sources"][0]["title"] == "LS-200.md"
    again = [
        "--data",
        str(folder),
        "ask",
        "噪音是多少？",
        "--kb",
        "文档",
        "--session",
        first["session_id"],
        "--json",
    ]
    main(again)
    assert json.loads(capsys.readouterr().out)["session_id"] == first["session_id"]


@pytest.mark.parametrize(
    ("question", "follow_up", "part"),
    [
        ("累计工龄满 10 年的员工每年有多少天年休假？", "国内出差的住宿标准是多少？", "450"),
        ("Which grease is used?", "and how loud is the pump?", "62"),
    ],
)
def test_the_printed_command_goes_on_in_the_same_knowledge_base(
    folder: Path, capsys: pytest.CaptureFixture[str], question: str, follow_up: str, part: str
) -> None:
    assert main(["--data", str(folder), "ask", question, "--kb", "文档"]) == 0
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("To go on: ")]
    program, *arguments = shlex.split(line.removeprefix("To go on: ").removesuffix("…"))
    assert program == "headrace"
    assert main([*arguments, follow_up]) == 0
    assert part in capsys.readouterr().out


def test_nothing_found_is_exit_code_three(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from headrace.folder import running_owner

    owner = running_owner(folder)
    assert owner is not None
    with a_client(owner.url) as client:
        client.post("/api/v1/knowledge-bases", json={"name": "空"})
    assert main(["--data", str(folder), "ask", "年休假有多少天？", "--kb", "空"]) == 3
    assert main(["--data", str(folder), "search", "年休假", "--kb", "空"]) == 3
    assert "Nothing found" in capsys.readouterr().err


def test_search_prints_passages_best_first(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "住宿标准", "--kb", "文档", "--data", str(folder)]) == 0
    assert "450 元" in capsys.readouterr().out
    assert main(["search", "grease", "--kb", "文档", "--json", "--top-k", "1", "--data", str(folder)]) == 0
    (reference,) = json.loads(capsys.readouterr().out)["knowledge_references"]
    assert "lithium" in reference["content"]


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


def test_a_question_without_a_knowledge_base_is_wrong_use(tmp_path: Path) -> None:
    assert main(["--data", str(tmp_path), "ask", "年休假有多少天？"]) == 2


def test_a_missing_path_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data", str(tmp_path), "ingest", str(tmp_path / "没有.txt"), "--kb", "x"]) == 1
    assert "没有.txt" in capsys.readouterr().err


def test_what_is_told_cannot_steer_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data", str(tmp_path), "ingest", str(tmp_path / "\x1b[2J没有.txt"), "--kb", "x"]) == 1
    told = capsys.readouterr().err
    assert "没有.txt" in told
    assert "\x1b" not in told


def test_doctor_says_what_is_missing_and_how_to_get_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--data", str(tmp_path / "new")]) == 0
    told = capsys.readouterr().out
    assert "HEADRACE_CHAT_BASE_URL" in told
    assert not (tmp_path / "new").exists()
    assert main(["doctor", "--json", "--data", str(tmp_path / "new")]) == 0
    findings = {one["name"]: one for one in json.loads(capsys.readouterr().out)["findings"]}
    assert findings["chat"]["state"] == "absent"
    assert findings["embedding"]["state"] == "ok"


def test_doctor_fails_when_something_configured_does_not_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "own.toml"
    config.write_text('chat_base_url = "http://reader:p4ssword@127.0.0.1:9/v1"\nchat_model = "m"\n')
    assert main(["doctor", "--data", str(tmp_path), "--config", str(config), "--json"]) == 1
    told = capsys.readouterr()
    assert "p4ssword" not in told.out + told.err
    findings = {one["name"]: one for one in json.loads(told.out)["findings"]}
    assert findings["chat"]["state"] == "broken"
    assert "HEADRACE_CHAT_BASE_URL" in findings["chat"]["todo"]


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


@pytest.mark.parametrize(
    ("question", "said"), [("国内出差的住宿标准是多少？", "450"), ("Which grease is used?", "NLGI 2")]
)
def test_replay_prints_what_ask_has_printed(
    folder: Path, capsys: pytest.CaptureFixture[str], question: str, said: str
) -> None:
    data = ["--data", str(folder)]
    assert main([*data, "ask", question, "--kb", "文档"]) == 0
    asked = capsys.readouterr().out
    assert main([*data, "ask", question, "--kb", "文档", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert main([*data, "replay", report["run_id"]]) == 0
    again = capsys.readouterr().out
    assert said in again
    assert again == asked
    assert main([*data, "replay", report["run_id"], "--speed", "1000", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["run_id"] == report["run_id"]
    assert [event["seq"] for event in told["events"]] == list(range(1, len(told["events"]) + 1))
    answer = "".join(one["content"] for one in told["events"] if one["response_type"] == "answer")
    assert answer == report["answer"]


def test_replay_of_an_unknown_run_is_a_failure_with_a_reason(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--data", str(folder), "replay", "没有", "--json"]) == 1
    told = capsys.readouterr()
    assert json.loads(told.out)["error"]["code"] == "run_not_found"
    assert "没有" in told.err
