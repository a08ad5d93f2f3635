"""Runs listed, traced, compared and erased over a real server, in both languages."""

import io
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from headrace.cli import main
from headrace.client import Client
from headrace.folder import running_owner

from .documents import report_of
from .keyboard import Keyboard

ZH = ("年休假有几天？ say: 十二 天", "十二 天")
EN = ("Which grease is used? say: lithium grease", "lithium grease")


@pytest.fixture
def data(with_model: Path) -> list[str]:
    return ["--data", str(with_model)]


def asked(data: Sequence[str], question: str) -> dict[str, Any]:
    return report_of(*data, "ask", question, "--kb", "文档")


def test_runs_are_listed_newest_first_with_their_forks(
    data: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    run = asked(data, ZH[0])
    fork = report_of(*data, "fork", run["run_id"], "--from", "generate_answer")
    assert main([*data, "runs", "--session", run["session_id"]]) == 0
    newest, oldest = capsys.readouterr().out.splitlines()
    assert newest.startswith(fork["run_id"])
    assert "↳ generate_answer · 年休假有几天？" in newest
    assert oldest.startswith(run["run_id"])
    (only,) = report_of(*data, "runs", "--session", run["session_id"], "--limit", "1")["runs"]
    assert only["id"] == fork["run_id"]


@pytest.mark.parametrize(("question", "answer"), [ZH, EN])
def test_a_trace_tells_the_way_from_the_question_to_the_answer(
    data: list[str], capsys: pytest.CaptureFixture[str], question: str, answer: str
) -> None:
    run = asked(data, question)["run_id"]
    assert main([*data, "trace", run, "--all", "--prompts"]) == 0
    told = capsys.readouterr()
    lines = told.out.splitlines()
    assert lines[-1] == answer
    assert any(line.startswith("Question ") and question in line for line in lines)
    assert any(line.startswith("generate_answer") and "━" in line for line in lines)
    assert any(line.startswith("c1 ") for line in lines)
    assert any("stub" in line and "chat" in line for line in lines)
    assert max(map(cell_len, lines)) <= 100
    assert f"headrace {' '.join(data)} fork {run} --from STAGE" in told.err
    assert report_of(*data, "trace", run)["run"]["id"] == run


def test_a_difference_says_what_a_fork_changed(data: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    run = asked(data, EN[0])["run_id"]
    fork = report_of(*data, "fork", run, "--from", "rerank", "--set", "rerank_top_k=1")["run_id"]
    assert main([*data, "diff", run, fork]) == 0
    told = capsys.readouterr().out
    assert "rerank_top_k  10     1" in told
    assert "same answer\nlithium grease" in told
    assert report_of(*data, "diff", run, fork)["same_answer"] is True


def test_answers_that_differ_are_no_failure(data: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    runs = [asked(data, f"年休假 say: 一共 {days} 天")["run_id"] for days in ("十二", "十五")]
    assert main([*data, "diff", *runs]) == 0
    assert "一共 十[-二-]{+五+} 天" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments", [["trace", "没有"], ["diff", "没有", "x"], ["fork", "没有", "--from", "rerank"]]
)
def test_an_unknown_run_is_one_line_and_a_failure(
    data: list[str], capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert report_of(*data, *arguments, code=1)["error"]["code"] == "run_not_found"
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("headrace: ")


def test_an_unknown_session_or_document_is_not_erased(data: list[str]) -> None:
    for option, code in (("--session", "session_not_found"), ("--document", "document_not_found")):
        told = report_of(*data, "erase", option, "没有", "--yes", code=1)
        assert told["error"]["code"] == code


def test_without_a_terminal_erasing_needs_yes(data: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    run = asked(data, ZH[0])
    monkeypatch.setattr("sys.stdin", io.StringIO("yes\n"))
    assert report_of(*data, "erase", "--session", run["session_id"], code=2)["error"]["code"] == "wrong_use"
    assert len(report_of(*data, "runs", "--session", run["session_id"])["runs"]) == 1


def test_on_a_terminal_erasing_asks_and_takes_no_for_an_answer(
    data: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = asked(data, ZH[0])
    erase = [*data, "erase", "--session", run["session_id"]]
    for answer in ("\n", "no\n", ""):
        monkeypatch.setattr("sys.stdin", Keyboard(answer))
        assert main(erase) == 1
        assert "年休假有几天？" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", Keyboard("yes\n"))
    assert main(erase) == 0
    assert capsys.readouterr().out.startswith("Erased: 1 session")
    assert report_of(*data, "trace", run["run_id"], code=1)["error"]["code"] in (
        "run_not_found",
        "run_erased",
    )


def test_what_quoted_an_erased_document_is_gone_and_said_to_be(
    data: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "秘密.md").write_text("# 秘密\n\n保险柜密码是 7319，每季度更换。\n", "utf-8")
    (document,) = report_of(*data, "ingest", str(tmp_path / "秘密.md"), "--kb", "密")["documents"]
    run = report_of(*data, "ask", "密码 say: 密码是 7319", "--kb", "密")["run_id"]
    removed = report_of(*data, "erase", "--document", document["id"], "--yes")["removed"]
    assert removed["documents"] == 1
    for command in (["trace", run], ["replay", run], ["fork", run, "--from", "rerank"]):
        assert report_of(*data, *command, code=1)["error"]["code"] == "run_erased"
    assert all(len(line) < 300 for line in capsys.readouterr().err.splitlines())


def test_caches_are_cleared(data: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert set(report_of(*data, "cache", "clear")["cleared"]) == {
        *("queries", "embeddings", "rerank", "understanding", "answers")
    }
    assert main([*data, "cache", "clear"]) == 0
    assert capsys.readouterr().out == "Nothing was kept.\n"


def test_gc_says_what_it_would_do_and_what_it_did(
    data: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*data, "gc", "--dry-run"]) == 0
    assert "to be given back" in capsys.readouterr().out
    assert main([*data, "gc"]) == 0
    assert "Size: " in capsys.readouterr().out
    assert report_of(*data, "gc", "--dry-run")["dry_run"] is True


@pytest.mark.parametrize(
    "arguments",
    [
        ["runs", "--limit", "0"],
        ["trace"],
        ["diff", "x"],
        ["erase"],
        ["erase", "--session", "a", "--document", "b"],
    ],
)
def test_wrong_use_is_exit_code_two(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        main(arguments)
    assert exit.value.code == 2


def test_a_busy_session_says_how_to_ask_nevertheless(
    data: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    owner = running_owner(Path(data[1]))
    assert owner is not None
    with closing(Client(owner.url)) as client:
        kb = client.kb_named("文档")["id"]
        session = client.call("POST", "/sessions", json={"knowledge_base_ids": [kb]})["id"]
        events = client.events("POST", f"/sessions/{session}/knowledge-qa", json={"query": "年休假 wait: 等"})
        assert next(events)["response_type"] == "agent_query"
        ask = [*data, "ask", ZH[0], "--session", session]
        assert report_of(*ask, code=1)["error"]["code"] == "session_busy"
        assert "--on-busy queue" in capsys.readouterr().err
        assert report_of(*ask, "--on-busy", "stop")["text"] == ZH[1]
        assert list(events)[-1]["response_type"] == "stop"


def test_a_question_can_wait_in_line(data: list[str]) -> None:
    owner = running_owner(Path(data[1]))
    assert owner is not None
    with closing(Client(owner.url)) as client:
        kb = client.kb_named("文档")["id"]
        session = client.call("POST", "/sessions", json={"knowledge_base_ids": [kb]})["id"]
        before = client.events(
            "POST", f"/sessions/{session}/knowledge-qa", json={"query": "grease slowly: 20"}
        )
        assert next(before)["response_type"] == "agent_query"
        report = report_of(*data, "ask", EN[0], "--session", session, "--on-busy", "queue")
        assert report["text"] == EN[1]
        assert list(before)[-1]["response_type"] == "complete"
