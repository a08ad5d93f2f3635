"""Entries on the command line: made, looked at, changed, deleted; and whole files of them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.cli import main
from headrace.cli.faq import entry_lines, entry_report
from headrace.cli.faq_files import rejected_lines

from .documents import report_of
from .keyboard import Keyboard

ROWS = (
    "问题,相似问,答案,标签,备注\n年假？,How much leave?,十天。##Ten days.,HR,x\n"
    ",没有,问题,,\n病假？,,三天,HR,\n"
)


@pytest.fixture
def data(folder: Path) -> Iterator[list[str]]:
    """The words that every command begins with, beside an empty FAQ knowledge base 问答."""
    words = ["--data", str(folder)]
    report_of(*words, "kb", "create", "问答", "--kind", "faq")
    yield words
    report_of(*words, "kb", "delete", "问答", "--yes")


def faq(data: list[str], *words: str, code: int = 0) -> Any:
    return report_of(*data, "faq", *words, "--kb", "问答", code=code)


def run(data: list[str], *words: str) -> int:
    return main([*data, "faq", *words, "--kb", "问答"])


def test_an_entry_is_added_shown_edited_and_listed(
    data: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "answer.md").write_text("## 年假\n\n满十年为十天。\n", "utf-8")
    made = faq(
        data,
        *("add", "年假有几天？", "--answer", f"@{tmp_path / 'answer.md'}", "--answer", "Ten days."),
        *("--similar", "How much leave?", "--negative", "病假？", "--tag", "HR", "--strategy", "first"),
    )
    assert made["answers"] == ["## 年假\n\n满十年为十天。", "Ten days."]
    assert faq(data, "show", "年假有几天") == faq(data, "show", made["id"]) == made
    changed = faq(data, "edit", "年假有几天？", "--question", "年假？", "--tag", "", "--strategy", "all")
    assert (changed["question"], changed["tags"], changed["answers"]) == ("年假？", [], made["answers"])
    assert faq(data, "list", "--search", "ten days")["entries"] == [changed]
    assert run(data, "show", "年假？") == 0
    assert "Answer 1    ## 年假\n            \n            满十年为十天。\n" in capsys.readouterr().out


def test_entries_are_disabled_enabled_and_deleted(
    data: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for question in ("年假？", "Leave?"):
        faq(data, "add", question, "--tag", "HR")
    assert faq(data, "disable", "年假？", "Leave?") == {"changed": 2}
    assert faq(data, "enable", "Leave?") == {"changed": 1}
    assert [one["question"] for one in faq(data, "list", "--disabled", "--tag", "hr")["entries"]] == [
        "年假？"
    ]
    assert run(data, "delete", "年假？") == 2
    monkeypatch.setattr("sys.stdin", Keyboard("n\n"))
    assert run(data, "delete", "年假？", "Leave?") == 1
    assert "Delete '年假？', 'Leave?'?" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", Keyboard("是\n"))
    assert run(data, "delete", "年假？", "Leave?") == 0
    assert faq(data, "list")["entries"] == []


def test_what_is_not_there_is_said(data: list[str]) -> None:
    assert faq(data, "show", "没有", code=1)["error"]["code"] == "faq_entry_not_found"
    assert faq(data, "show", "0" * 32, code=1)["error"]["code"] == "faq_entry_not_found"
    assert faq(data, "list", "--tag", "没有", code=1)["error"]["code"] == "tag_not_found"
    assert faq(data, "edit", "没有", code=2)["error"]["code"] == "wrong_use"
    report = report_of(*data, "faq", "add", "x", "--kb", "文档", code=1)
    assert report["error"]["code"] == "not_a_faq_kb"


def test_a_file_goes_in_and_its_bad_rows_are_told(
    data: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "问答.csv"
    file.write_bytes(ROWS.encode("gbk"))
    assert run(data, "import", str(file)) == 1
    told = capsys.readouterr()
    assert told.out.splitlines() == [
        "Entries: 2 created, 0 updated, 0 unchanged, 0 deleted. Rows rejected: 1.",
        "Columns that say nothing of an entry: 备注.",
    ]
    assert told.err.splitlines()[-1] == "row 3: There is no question in this row."
    assert faq(data, "show", "年假？")["answers"] == ["十天。", "Ten days."]
    again = faq(data, "import", str(file), code=1)
    assert (again["created"], again["unchanged"], len(again["rejected"])) == (0, 2, 1)


def test_replacing_asks_first(data: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    faq(data, "add", "旧的 Old?")
    file = tmp_path / "new.json"
    file.write_text('[{"question": "新的 New?"}]', "utf-8")
    assert run(data, "import", str(file), "--replace") == 2
    monkeypatch.setattr("sys.stdin", Keyboard("no\n"))
    assert run(data, "import", str(file), "--replace") == 1
    assert [one["question"] for one in faq(data, "list")["entries"]] == ["旧的 Old?"]
    assert faq(data, "import", str(file), "--replace", "--yes")["deleted"] == 1
    assert [one["question"] for one in faq(data, "list")["entries"]] == ["新的 New?"]


@pytest.mark.parametrize("format", ["csv", "xlsx", "json"])
def test_what_is_exported_can_be_imported_elsewhere(
    data: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], format: str
) -> None:
    faq(data, "add", "=年假？", "--answer", "a\n## b", "--tag", "x,y")
    file = tmp_path / f"out.{format}"
    assert run(data, "export", str(file)) == 0
    assert capsys.readouterr().out == f"The entries of '问答' are in {file}.\n"
    told = report_of(*data, "faq", "import", str(file), "--kb", f"新的 {format}")
    assert (told["created"], told["rejected"]) == (1, [])
    (copied,) = report_of(*data, "faq", "list", "--kb", f"新的 {format}")["entries"]
    assert (copied["question"], copied["answers"], copied["tags"]) == ("=年假？", ["a\n## b"], ["x,y"])
    report_of(*data, "kb", "delete", f"新的 {format}", "--yes")


def test_without_a_file_the_entries_go_to_standard_output(
    data: list[str], capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    faq(data, "add", "年假？")
    assert run(data, "export", "--format", "json") == 0
    (entry,) = json.loads(capfdbinary.readouterr().out)
    assert entry["question"] == "年假？"


def test_wrong_use_of_files_is_said(data: list[str], tmp_path: Path) -> None:
    assert faq(data, "export", code=2)["error"]["code"] == "wrong_use"
    assert faq(data, "export", str(tmp_path / "a.doc"), code=2)["error"]["code"] == "wrong_use"
    assert faq(data, "import", str(tmp_path / "没有.csv"), code=1)["error"]["code"] == "no_file"
    assert run(data, "export", str(tmp_path / "none" / "a.csv")) == 1


def test_texts_of_entries_cannot_steer_the_terminal() -> None:
    evil = "\x1b[2J年假\u202e？"
    entry: dict[str, Any] = {
        "id": "e1",
        "question": evil,
        "similar_questions": [evil],
        "negative_questions": [],
        "answers": [f"{evil}\nnext"],
        "answer_strategy": "all",
        "tags": [evil],
        "enabled": False,
        "revision": 1,
    }
    told = {"rejected": [{"row": 3, "question": evil, "reason": evil, "code": "x"}]}
    shown = "\n".join([*entry_lines([entry]), *entry_report(entry), *rejected_lines(told)])
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert shown.count("[2J年假？") == 8
