import json
from pathlib import Path

import pytest

from headrace.cli import main

from ..running import running


def test_doctor_says_what_is_missing_and_how_to_get_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--data", str(tmp_path / "new")]) == 0
    told = capsys.readouterr().out
    assert "HEADRACE_CHAT_BASE_URL" in told
    assert not (tmp_path / "new").exists()
    assert main(["doctor", "--json", "--data", str(tmp_path / "new")]) == 0
    findings = {one["name"]: one for one in json.loads(capsys.readouterr().out)["findings"]}
    assert findings["chat"]["state"] == "absent"
    assert findings["embedding"]["state"] == "ok"


def test_doctor_fails_when_something_configured_does_not_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "own.toml"
    config.write_text('chat_base_url = "http://reader:p4ssword@127.0.0.1:9/v1"\nchat_model = "m"\n')
    assert main(["doctor", "--data", str(tmp_path), "--config", str(config), "--json"]) == 1
    told = capsys.readouterr()
    assert "p4ssword" not in told.out + told.err
    findings = {one["name"]: one for one in json.loads(told.out)["findings"]}
    assert findings["chat"]["state"] == "broken"
    assert "HEADRACE_CHAT_BASE_URL" in findings["chat"]["todo"]


def test_doctor_does_not_take_its_own_settings_for_those_of_a_running_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running(tmp_path) as url:
        assert main(["doctor", "--data", str(tmp_path), "--json"]) == 0
    findings = {one["name"]: one for one in json.loads(capsys.readouterr().out)["findings"]}
    assert url in findings["data folder"]["now"]
    assert "the settings that it was started with" in findings["data folder"]["todo"]
