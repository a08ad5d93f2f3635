import json
import shutil
from pathlib import Path

import pytest

from headrace.cli import main

NEEDED = ("tokenizer.json", "config.json", "tokenizer_config.json", "special_tokens_map.json", "m.onnx")


@pytest.fixture(autouse=True)
def without_network(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")


def an_archive(folder: Path, name: str) -> Path:
    (folder / "source" / name).mkdir(parents=True)
    for file in NEEDED:
        (folder / "source" / name / file).write_bytes(b"{}")
    return Path(shutil.make_archive(str(folder / "download"), "zip", folder / "source"))


def listed(data: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    assert main(["models", "list", "--json", "--data", str(data)]) == 0
    return json.loads(capsys.readouterr().out)


def test_what_is_in_use_and_what_could_be_is_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("flashrank", reason="the extra `rerank` is not installed")
    assert main(["models", "list", "--data", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "extractive (built in)" in told
    assert f"headrace --data {tmp_path} models pull NAME" in told
    assert "ms-marco-MultiBERT-L-12   about 150 MB" in told
    found = listed(tmp_path, capsys)
    assert (found["on_disk"], found["folder"]) == ([], str(tmp_path / "models" / "flashrank"))


def test_an_archive_is_unpacked_and_then_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive = an_archive(tmp_path, "tiny-m")
    assert main(["models", "pull", str(archive), "--data", str(tmp_path / "data")]) == 0
    told = capsys.readouterr()
    assert told.out.startswith("tiny-m is in ")
    assert "restart" in told.err
    found = listed(tmp_path / "data", capsys)
    assert found["on_disk"] == [{"name": "tiny-m", "bytes": 10, "missing": []}]


def test_a_model_that_is_not_whole_is_listed_with_what_it_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "models" / "flashrank" / "half").mkdir(parents=True)
    assert main(["models", "list", "--data", str(tmp_path)]) == 0
    assert "half                      0.0 MB, not usable: it lacks tokenizer.json" in capsys.readouterr().out


def test_without_network_it_is_said_which_file_goes_where(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("flashrank", reason="the extra `rerank` is not installed")
    name = "ms-marco-TinyBERT-L-2-v2"
    assert main(["models", "pull", name, "--json", "--data", str(tmp_path)]) == 1
    told = capsys.readouterr()
    assert f"models pull /path/{name}.zip" in told.err
    assert str(tmp_path / "models" / "flashrank" / name) in told.err
    assert json.loads(told.out)["error"]["code"] == "not_fetched"
    assert [*(tmp_path / "models" / "flashrank").iterdir()] == []


def test_what_is_there_is_not_fetched_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("flashrank", reason="the extra `rerank` is not installed")
    archive = an_archive(tmp_path, "rank-T5-flan")
    assert main(["models", "pull", str(archive), "--data", str(tmp_path)]) == 0
    assert main(["models", "pull", "rank-T5-flan", "--data", str(tmp_path)]) == 0
    assert capsys.readouterr().out.count("rank-T5-flan is in") == 2


@pytest.mark.parametrize(
    ("model", "says"),
    [("好模型", "There is no model '好模型'"), ("none/x.zip", "There is no file none/x.zip")],
)
def test_an_unknown_name_or_file_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], model: str, says: str
) -> None:
    pytest.importorskip("flashrank", reason="the extra `rerank` is not installed")
    assert main(["models", "pull", model, "--data", str(tmp_path)]) == 1
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("config", "rerank"),
    [
        (
            'rerank_base_url = "http://u:geheim@127.0.0.1:9"\nrerank_model = "bge"',
            "bge at http://127.0.0.1:9 (http)",
        ),
        ('rerank = "llm"', "the chat model orders passages"),
        ('rerank = "flashrank"', "FlashRank, but its model is not on disk"),
        ('rerank = "none"', "none: the scores of the search decide"),
    ],
)
def test_the_reranker_in_use_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], config: str, rerank: str
) -> None:
    (tmp_path / "headrace.toml").write_text(config)
    found = listed(tmp_path, capsys)
    assert found["in_use"]["rerank"] == rerank  # pyright: ignore[reportIndexIssue, reportUnknownVariableType]


@pytest.mark.parametrize(
    "arguments", [["models"], ["models", "pull"], ["models", "pull", ""], ["models", "x"]]
)
def test_wrong_use_is_exit_code_two(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        main(arguments)
    assert exit.value.code == 2
