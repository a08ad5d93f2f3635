import json
from pathlib import Path

import pytest

from headrace.cli import main


@pytest.mark.parametrize(
    ("question", "said"), [("国内出差的住宿标准是多少？", "450"), ("Which grease is used?", "NLGI 2")]
)
def test_replay_prints_what_ask_has_printed(
    folder: Path, capsys: pytest.CaptureFixture[str], question: str, said: str
) -> None:
    data = ["--data", str(folder)]
    assert main([*data, "ask", question, "--kb", "文档"]) == 0
    asked = capsys.readouterr().out
    assert main([*data, "ask", question, "--kb", "文档", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert main([*data, "replay", report["run_id"]]) == 0
    again = capsys.readouterr().out
    assert said in again
    assert again == asked
    assert main([*data, "replay", report["run_id"], "--speed", "1000", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["run_id"] == report["run_id"]
    assert [event["seq"] for event in told["events"]] == list(range(1, len(told["events"]) + 1))
    answer = "".join(one["content"] for one in told["events"] if one["response_type"] == "answer")
    assert answer == report["answer"]


def test_replay_of_an_unknown_run_is_a_failure_with_a_reason(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--data", str(folder), "replay", "没有", "--json"]) == 1
    told = capsys.readouterr()
    assert json.loads(told.out)["error"]["code"] == "run_not_found"
    assert "没有" in told.err
