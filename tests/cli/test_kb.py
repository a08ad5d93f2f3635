from pathlib import Path

import pytest

from headrace.cli import main
from headrace.cli.kb import contents, kb_lines

from .documents import report_of
from .keyboard import Keyboard


def test_a_knowledge_base_is_made_listed_renamed_and_deleted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = ["--data", str(folder)]
    made = report_of(*data, "kb", "create", "客服 Support", "--kind", "faq", "--knob", "rerank_top_k=3")
    assert (made["kind"], made["settings"]) == ("faq", {"rerank_top_k": 3})
    assert made in report_of(*data, "kb", "list")["knowledge_bases"]
    assert report_of(*data, "kb", "rename", "客服 support", "Help 帮助")["name"] == "Help 帮助"
    assert main([*data, "kb", "list"]) == 0
    assert any(line.endswith("0 entries  Help 帮助") for line in capsys.readouterr().out.splitlines())
    assert main([*data, "kb", "delete", "Help 帮助", "--yes"]) == 0
    assert capsys.readouterr().out == "Deleted 'Help 帮助' with 0 entries.\n"
    assert main([*data, "kb", "delete", "Help 帮助", "--yes"]) == 1


def test_nothing_is_deleted_without_a_yes(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = ["--data", str(folder)]
    assert main([*data, "kb", "delete", "文档"]) == 2
    assert "--yes" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", Keyboard("no\n"))
    assert main([*data, "kb", "delete", "文档"]) == 1
    assert "2 documents" in capsys.readouterr().err
    assert [kb["name"] for kb in report_of(*data, "kb", "list")["knowledge_bases"]] == ["文档"]


def test_an_impossible_knob_is_wrong_use(folder: Path) -> None:
    told = report_of("--data", str(folder), "kb", "create", "x", "--knob", "rerank_top_k=0", code=2)
    assert told["error"]["code"] == "bad_setting"


def test_what_it_holds_is_said_in_words() -> None:
    assert contents({"kind": "faq", "document_count": 1}) == "1 entry"
    assert contents({"kind": "document", "document_count": 1234}) == "1,234 documents"


def test_a_name_cannot_steer_the_terminal() -> None:
    (told,) = kb_lines([{"id": "1", "name": "\x1b[2J知识\u202e库", "kind": "faq", "document_count": 2}])
    assert told.endswith("2 entries  [2J知识库")
