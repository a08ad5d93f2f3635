from pathlib import Path

import pytest

from headrace.cli import main

from .documents import report_of
from .keyboard import Keyboard


def test_a_tag_is_made_set_renamed_and_deleted(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def tag(*words: str, code: int = 0) -> dict[str, object]:
        return report_of("--data", str(folder), "tag", *words, "--kb", "文档", code=code)

    tag("add", "人事")
    tag("add", "Pumps")
    document = tag("set", "员工手册.md", "人事", "pumps")
    assert [one["name"] for one in document["tags"]] == ["Pumps", "人事"]  # pyright: ignore
    assert main(["--data", str(folder), "tag", "list", "--kb", "文档"]) == 0
    assert capsys.readouterr().out == "      1  Pumps\n      1  人事\n"
    assert tag("rename", "Pumps", "泵")["name"] == "泵"
    assert tag("set", "员工手册.md", "泵", "没有", code=1)["error"]["code"] == "tag_not_found"  # pyright: ignore
    assert tag("set", "没有.md", "泵", code=1)["error"]["code"] == "document_not_found"  # pyright: ignore
    assert tag("set", str(document["id"]))["tags"] == []
    assert main(["--data", str(folder), "tag", "delete", "泵", "--kb", "文档"]) == 2
    monkeypatch.setattr("sys.stdin", Keyboard("yes\n"))
    tag("delete", "泵")
    tag("delete", "人事", "--yes")
    assert tag("list") == {"tags": []}
