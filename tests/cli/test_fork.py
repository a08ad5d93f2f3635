"""`headrace fork` against a real server and a model that does as its prompt tells it."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headrace.cli import main
from headrace.cli.answers import stopped_by_interrupt
from headrace.client import Client
from headrace.folder import running_owner

from .documents import report_of

SAYING_MORE = "context_template=say: 更多 more words\n{contexts}{query}"
WAITING = "context_template=wait: 等 a while\n{contexts}{query}"


@pytest.fixture(scope="module")
def asked(with_model: Path) -> dict[str, Any]:
    """The origin of every fork here, as `ask --json` reports it."""
    return report_of("--data", str(with_model), "ask", "年休假 say: 十二 天", "--kb", "文档")


def fork(folder: Path, run: str, *arguments: str) -> int:
    return main(["--data", str(folder), "fork", run, *arguments])


def test_a_fork_prints_its_answer_and_how_to_compare(
    with_model: Path, asked: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    run = asked["run_id"]
    assert fork(with_model, run, "--from", "generate_answer", "--prompt", SAYING_MORE) == 0
    told = capsys.readouterr()
    assert told.out.startswith("更多 more words")
    (line,) = [line for line in told.err.splitlines() if line.startswith("This is run ")]
    assert line.endswith(f"a fork of {run} from generate_answer.")
    assert f"headrace --data {with_model} diff {run} {line.split()[3].rstrip(',')}" in told.err


def test_fork_json_is_the_report_of_ask_with_its_origin(
    with_model: Path, asked: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    changes = ["--set", "rerank_top_k=1", "--set", "mmr_lambda=null"]
    assert fork(with_model, asked["run_id"], "--from", "rerank", *changes, "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["forked_from"] == asked["run_id"] != report["run_id"]
    assert report["fork_stage"] == "rerank"
    assert report["text"] == asked["text"] == "十二 天"
    assert len(report["knowledge_references"]) == 1
    assert set(asked) < set(report)


def test_the_state_before_the_stage_can_be_changed(
    with_model: Path, asked: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    state = ["--state", "rewritten_query=lithium grease", "--state", 'intent="kb_search"', "--json"]
    assert fork(with_model, asked["run_id"], "--from", "search_chunks", *state) == 0
    assert "grease" in json.loads(capsys.readouterr().out)["knowledge_references"][0]["content"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--from", "重排"], "bad_stage", "generate_answer"),
        (["--from", "rerank", "--set", "rerank_treshold=0.1"], "bad_setting", "rerank_treshold"),
        (["--from", "rerank", "--set", "rerank_top_k=many"], "bad_setting", "rerank_top_k"),
        (["--from", "rerank", "--prompt", "greeting=你好"], "bad_prompt", "greeting"),
        (["--from", "rerank", "--state", "hitz=[]"], "bad_state", "hitz"),
        (["--from", "rerank", "--state", "hits=text"], "bad_state", "hits"),
    ],
)
def test_what_a_run_does_not_have_is_wrong_use_that_says_what_there_is(
    with_model: Path,
    asked: dict[str, Any],
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: str,
    said: str,
) -> None:
    assert fork(with_model, asked["run_id"], *arguments, "--json") == 2
    told = capsys.readouterr()
    assert json.loads(told.out)["error"]["code"] == code
    assert said in told.err


@pytest.mark.parametrize("arguments", [["--set", "x=1"], ["--from", "rerank", "--set", "x"]])
def test_a_fork_without_a_stage_or_an_equals_sign_is_wrong_use(
    with_model: Path, arguments: list[str]
) -> None:
    with pytest.raises(SystemExit) as exit:
        fork(with_model, "r", *arguments)
    assert exit.value.code == 2


def test_a_stage_that_the_run_never_reached_is_answered_with_those_it_did(
    with_model: Path, asked: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert fork(with_model, asked["run_id"], "--from", "fallback", "--json") == 1
    told = capsys.readouterr()
    error = json.loads(told.out)["error"]
    assert error["code"] == "stage_not_reached"
    assert "rerank" in error["details"]["reached"]
    assert len(told.err.splitlines()) == 1


def test_an_unknown_run_is_one_line_and_a_failure(
    with_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fork(with_model, "没有", "--from", "rerank", "--json") == 1
    told = capsys.readouterr()
    assert json.loads(told.out)["error"]["code"] == "run_not_found"
    assert len(told.err.splitlines()) == 1


def test_an_interrupted_reader_stops_the_fork(with_model: Path, asked: dict[str, Any]) -> None:
    owner = running_owner(with_model)
    assert owner is not None
    with closing(Client(owner.url)) as client:
        kind, text = WAITING.split("=", 1)
        body = {"from": "generate_answer", "prompts": {kind: text}}
        made = client.call("POST", f"/runs/{asked['run_id']}/fork", json=body)
        path = f"/sessions/continue-stream/{made['session_id']}?message_id={made['message_id']}"

        def read_until_the_first_word_and_leave() -> None:
            with stopped_by_interrupt(client, made["session_id"], lambda: made["message_id"]):
                for event in client.events("GET", path):
                    if event["response_type"] == "answer":
                        raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            read_until_the_first_word_and_leave()
        assert list(client.events("GET", path))[-1]["response_type"] == "stop"
