from pathlib import Path
from typing import Any

import pytest

from headrace.cli import main
from headrace.cli.chunks import chunk_lines, chunk_report

from .documents import report_of
from .keyboard import Keyboard


@pytest.fixture
def chunk(folder: Path, tmp_path: Path) -> dict[str, Any]:
    """The only searched chunk of a document of its own."""
    (tmp_path / "便条.md").write_text("# 便条\n\n门禁密码每季度更换。 The code changes.", "utf-8")
    report_of("--data", str(folder), "ingest", str(tmp_path / "便条.md"), "--kb", "改动")
    words = ("chunks", "list", "便条.md", "--kb", "改动", "--kind", "text")
    (chunk,) = report_of("--data", str(folder), *words)["chunks"]
    return chunk


def test_a_chunk_is_shown_edited_and_kept_from_being_found(
    folder: Path,
    chunk: dict[str, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def chunks(*words: str) -> Any:
        return report_of("--data", str(folder), "chunks", *words)

    assert chunks("show", chunk["id"]) == chunk
    assert chunks("edit", chunk["id"], "--text", "停车场在北门。")["revision"] == chunk["revision"] + 1
    (tmp_path / "text.txt").write_text("停车场在南门。", "utf-8")
    assert chunks("edit", chunk["id"], "--text", f"@{tmp_path / 'text.txt'}")["content"] == "停车场在南门。"
    monkeypatch.setattr("sys.stdin", Keyboard("The car park 停车场\n"))
    assert chunks("edit", chunk["id"], "--text", "-")["content"].startswith("The car park")
    search = ["--data", str(folder), "search", "car park", "--kb", "改动"]
    assert main(search) == 0
    assert chunks("disable", chunk["id"])["chunks"][0]["enabled"] is False
    assert main(search) == 3
    assert chunks("enable", chunk["id"])["chunks"][0]["enabled"] is True
    capsys.readouterr()
    assert main(["--data", str(folder), "chunks", "list", chunk["knowledge_id"]]) == 0
    assert any(chunk["id"] in one and "The car park" in one for one in capsys.readouterr().out.splitlines())


def test_what_is_not_there_or_empty_is_said(folder: Path, chunk: dict[str, Any]) -> None:
    def refusal(*words: str) -> str:
        return report_of("--data", str(folder), "chunks", *words, code=1)["error"]["code"]

    assert refusal("show", "none") == "chunk_not_found"
    assert refusal("list", "none") == "document_not_found"
    assert refusal("list", "none", "--kb", "改动") == "document_not_found"
    assert refusal("edit", chunk["id"], "--text", " ") == "empty_chunk"
    assert refusal("edit", chunk["id"], "--text", "@/none/没有") == "unreadable_file"


def test_the_text_of_a_chunk_cannot_steer_the_terminal() -> None:
    chunk: dict[str, Any] = {
        "id": "c1",
        "kind": "text",
        "chunk_index": 3,
        "content": "第一行\n\x1b[2Jsecond\u202e",
        "page": 2,
        "section": "差旅\x1b[31m",
        "knowledge_id": "d1",
        "revision": 1,
        "enabled": False,
    }
    (told,) = chunk_lines([chunk])
    assert told.endswith("text         3  off  第一行 [2Jsecond")
    shown = "\n".join(chunk_report(chunk))
    assert shown.endswith("disabled: never found\n\n第一行\n[2Jsecond")
    assert "\x1b" not in shown
