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


def reranker_of(folder: Path, config: str, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    (folder / "headrace.toml").write_text(config, "utf-8")
    main(["doctor", "--json", "--data", str(folder)])
    findings = {one["name"]: one for one in json.loads(capsys.readouterr().out)["findings"]}
    return findings["rerank"]


def test_doctor_tries_the_reranker_that_lies_on_disk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("flashrank", reason="the extra `rerank` is not installed")
    pytest.importorskip("onnx", reason="without onnx no model can be made for this test")
    from ..models.tiny_reranker import write_model

    assert "models pull" in reranker_of(tmp_path, "", capsys)["todo"]
    folder = write_model(tmp_path / "models" / "flashrank" / "tiny")
    found = reranker_of(tmp_path, "", capsys)
    assert found["state"] == "ok"
    assert found["now"].startswith("tiny on this machine (flashrank): answered in ")
    (folder / "tokenizer.json").write_text("{", "utf-8")
    assert "tiny cannot be loaded" in reranker_of(tmp_path, "", capsys)["todo"]
    (folder / "tokenizer.json").unlink()
    assert "lacks tokenizer.json" in reranker_of(tmp_path, "", capsys)["todo"]


@pytest.mark.parametrize(
    ("config", "state", "says"),
    [
        (
            'rerank_base_url = "http://u:geheim@127.0.0.1:9"\nrerank_model = "m"',
            "broken",
            "cannot be reached",
        ),
        ('rerank = "dashscope"', "broken", "HEADRACE_RERANK_BASE_URL"),
        ('rerank = "flashrank"\nrerank_model = "模型"', "broken", "HEADRACE_RERANK=flashrank"),
        ('rerank = "llm"', "broken", "set a chat model"),
        ('rerank_model = "tiny"', "absent", "there is no model 'tiny'"),
    ],
)
def test_doctor_says_what_a_reranker_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], config: str, state: str, says: str
) -> None:
    found = reranker_of(tmp_path, config, capsys)
    assert found["state"] == state
    assert says in found["todo"]
    assert "geheim" not in json.dumps(found)
