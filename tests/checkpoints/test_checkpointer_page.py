"""docs/checkpointer.md is true where a test can tell."""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "checkpointer.md").read_text(encoding="utf-8")


def test_the_example_runs_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "docs/checkpointer.md", "exec"), {"__name__": "example"})
    assert capsys.readouterr().out.splitlines() == [
        "1 {'text': '水从渠中来', 'length': 5}",
        "0 {'text': '水从渠中来'}",
        "-1 {}",
    ]
    assert (tmp_path / "graph.sqlite").exists()


def test_every_file_that_the_page_names_exists() -> None:
    named = re.findall(r"`((?:bench|tests)/[\w/]+\.py)`", PAGE)
    commands = re.findall(r"bench/\w+\.py", PAGE)
    assert commands
    assert all((Path(__file__).resolve().parents[2] / path).exists() for path in [*named, *commands])
