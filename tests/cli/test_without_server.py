"""Commands on a folder that nobody serves: the server that each starts does only what it asks for."""

from pathlib import Path

import pytest

from headrace.cli import main

from ..running import HANDBOOK, MANUAL, a_client, a_kb, running
from .documents import report_of


def test_a_dry_run_removes_nothing_and_tells_what_gc_then_removes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = ["--data", str(tmp_path)]
    with running(tmp_path) as url, a_client(url) as client:
        a_kb(client, "文档", [("员工手册.md", HANDBOOK), ("LS-200.md", MANUAL)])
        questions = ("国内出差的住宿标准是多少？", "How often must the seal kit be replaced?")
        runs = [report_of(*data, "ask", question, "--kb", "文档")["run_id"] for question in questions]
    monkeypatch.setenv("HEADRACE_JOURNAL_LIMIT_MB", "0.001")
    planned = report_of(*data, "gc", "--dry-run")
    assert planned["runs_emptied"] == len(runs)
    traces = [report_of(*data, "trace", run) for run in runs]
    assert [trace["run"]["kept"] for trace in traces] == ["all", "all"]
    assert all(trace["candidates"] for trace in traces)
    removed = report_of(*data, "gc")
    same = ("runs_trimmed", "runs_emptied", "checkpoints", "events")
    assert [removed[name] for name in same] == [planned[name] for name in same]
    capsys.readouterr()
    assert main([*data, "trace", runs[0]]) == 1
    assert "journal_limit_mb" in capsys.readouterr().err
