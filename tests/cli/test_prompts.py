"""`headrace prompts`: what the prompts are, and whether those of an installation fit."""

import json
from pathlib import Path

import pytest

from headrace.cli import main
from headrace.prompts.own import OWN_FOLDER


def an_own_file(data: Path, text: str) -> Path:
    (data / OWN_FOLDER).mkdir()
    path = data / OWN_FOLDER / "ours.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_prompts_are_listed_with_what_is_fixed_and_what_was_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    an_own_file(tmp_path, "kind: fallback\ntemplates: [{text: {zh: 没有。}}]")
    assert main(["prompts", "--data", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("citation.on ") and "[fixed]" in line for line in lines)
    assert any(line.startswith("fallback.default ") and "[changed: zh]" in line for line in lines)


def test_one_prompt_is_shown_in_both_languages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    an_own_file(tmp_path, "kind: fallback\ntemplates: [{text: {zh: 没有。}}]")
    assert main(["prompts", "fallback", "--data", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("[zh]\n没有。\n\n[en]\n")


def test_the_json_holds_every_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prompts", "--json", "--data", str(tmp_path)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["files"] == []
    rewrite = next(one for one in told["prompts"] if one["name"] == "rewrite.user")
    assert "{conversation}" in rewrite["text"]["zh"]
    assert (rewrite["editable"], rewrite["changed"]) == (True, [])


def test_a_file_that_does_not_fit_ends_with_its_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = an_own_file(tmp_path, "kind: fallback\ntemplates: [{text: '{answer}'}]")
    assert main(["prompts", "--data", str(tmp_path)]) == 1
    assert main(["prompts", "--check", str(path), "--data", str(tmp_path / "other")]) == 1
    assert capsys.readouterr().err.count("unknown placeholder {answer}") == 2


@pytest.mark.parametrize("arguments", [["没有"], ["--check", "/nowhere"]])
def test_what_is_not_there_is_wrong_use(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert main(["prompts", *arguments, "--data", str(tmp_path)]) == 2
    assert "There is no" in capsys.readouterr().err
