import json
from pathlib import Path

import pytest

from headrace.cli import main


def test_search_prints_passages_best_first(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "住宿标准", "--kb", "文档", "--data", str(folder)]) == 0
    assert "450 元" in capsys.readouterr().out
    assert main(["search", "grease", "--kb", "文档", "--json", "--top-k", "1", "--data", str(folder)]) == 0
    (reference,) = json.loads(capsys.readouterr().out)["knowledge_references"]
    assert "lithium" in reference["content"]
