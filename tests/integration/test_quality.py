"""`scripts/quality` as it is called, over the repository's own small bank of questions."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

OWN = Path(__file__).parents[1] / "evaluation" / "own"
PAGE = "# 质量\n\n<!-- measured: begin -->\n<!-- measured: end -->\n"


def quality(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    given = ["--only", "own-bank", "--out", str(folder / "out"), "--cache", str(folder / "vectors.sqlite")]
    return subprocess.run(
        [sys.executable, "-m", "headrace.evaluation.quality", str(OWN), *given, *more],
        capture_output=True,
        text=True,
        check=False,
    )


def test_tasks_are_measured_once_compared_and_written(tmp_path: Path) -> None:
    (tmp_path / "ranks.toml").write_text('fusion = "rrf"\n')
    (tmp_path / "quality.md").write_text(PAGE, "utf-8")
    first = quality(tmp_path, "--write", str(tmp_path / "quality.md"))
    assert first.returncode == 0, first.stderr
    assert "default: faq.jsonl, own-bank" in first.stderr
    assert "| own-bank | 9 |" in (tmp_path / "quality.md").read_text("utf-8")

    second = quality(tmp_path, "--config", "default", "--config", str(tmp_path / "ranks.toml"))
    assert second.returncode == 0, second.stderr
    assert "default: faq.jsonl" not in second.stderr  # its figures still hold
    assert "ranks: faq.jsonl, own-bank" in second.stderr
    assert "### default → ranks" in second.stdout


def test_what_cannot_be_measured_is_said(tmp_path: Path) -> None:
    done = quality(tmp_path, "--config", str(tmp_path / "没有.toml"))
    assert done.returncode == 1
    assert "没有.toml" in done.stderr
