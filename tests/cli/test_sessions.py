from pathlib import Path

import pytest

from headrace.cli import main

from .documents import report_of


def test_sessions_are_listed_searched_pinned_and_deleted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def sessions(*words: str, code: int = 0) -> dict[str, object]:
        return report_of("--data", str(folder), "sessions", *words, code=code)

    assert main(["--data", str(folder), "ask", "--kb", "文档", "年休假有几天？"]) in (0, 3)
    capsys.readouterr()
    (found,) = sessions("list", "--title", "年休假有几天")["sessions"]  # pyright: ignore
    assert sessions("search", "年休假")["messages"][0]["session_id"] == found["id"]  # pyright: ignore
    assert sessions("search", "zebra", code=3) == {"messages": []}
    assert sessions("pin", found["id"])["pinned"] is True  # pyright: ignore
    assert sessions("pin", found["id"], "--off")["pinned"] is False  # pyright: ignore
    assert sessions("pin", "none", code=1)["error"]["code"] == "session_not_found"  # pyright: ignore
    assert main(["--data", str(folder), "sessions", "delete", found["id"]]) == 2  # pyright: ignore
    capsys.readouterr()
    assert sessions("delete", found["id"], "none", "--yes")["deleted"] == 1  # pyright: ignore
