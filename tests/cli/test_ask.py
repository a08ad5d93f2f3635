import json
import shlex
from pathlib import Path

import pytest

from headrace.cli import main
from headrace.folder import running_owner

from ..running import a_client


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
    owner = running_owner(folder)
    assert owner is not None
    with a_client(owner.url) as client:
        client.post("/api/v1/knowledge-bases", json={"name": "空"})
    assert main(["--data", str(folder), "ask", "年休假有多少天？", "--kb", "空"]) == 3
    assert main(["--data", str(folder), "search", "年休假", "--kb", "空"]) == 3
    assert "Nothing found" in capsys.readouterr().err


def test_a_question_without_a_knowledge_base_is_wrong_use(tmp_path: Path) -> None:
    assert main(["--data", str(tmp_path), "ask", "年休假有多少天？"]) == 2
