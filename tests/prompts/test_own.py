"""An installation says some things in its own words."""

from pathlib import Path

import pytest

from headrace.errors import StartRefused
from headrace.prompts.loader import load_prompts
from headrace.prompts.own import OWN_FOLDER, own_files, prompts_of, with_own


def written(data: Path, name: str, text: str) -> Path:
    path = data / OWN_FOLDER / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_text_for_one_language_leaves_the_other_and_all_else_as_it_is(tmp_path: Path) -> None:
    written(tmp_path, "a.yaml", "kind: fallback\ntemplates:\n  - text: {zh: 资料里没有。}\n")
    own, builtin = prompts_of(tmp_path), load_prompts()
    assert own.text("fallback", language="zh") == "资料里没有。"
    assert own.text("fallback", language="en") == builtin.text("fallback", language="en")
    assert own.text("system_prompt", language="zh") == builtin.text("system_prompt", language="zh")


def test_a_plain_text_is_for_both_languages_and_a_template_may_be_named(tmp_path: Path) -> None:
    text = "kind: intent_prompts\nnote: ours\ntemplates:\n  - id: greeting_reply\n    text: 您好 hello\n"
    written(tmp_path, "b.yml", f"\ufeff{text}")
    own = prompts_of(tmp_path)
    assert {own.text("intent_prompts", "greeting_reply", language=one) for one in ("zh", "en")} == {
        "您好 hello"
    }


def test_what_a_request_changes_wins_over_the_installation(tmp_path: Path) -> None:
    written(tmp_path, "a.yaml", "kind: fallback\ntemplates: [{text: ours}]\n")
    asked = prompts_of(tmp_path).changed({"fallback": "theirs"})
    assert asked.text("fallback", language="en") == "theirs"


def test_without_files_the_prompts_are_the_built_in_ones(tmp_path: Path) -> None:
    assert own_files(tmp_path / OWN_FOLDER) == []
    assert prompts_of(tmp_path).kinds() == load_prompts().kinds()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("kind: fallback\ntemplates: [{text: 'no {answer}'}]", "unknown placeholder {answer}"),
        ("kind: context_template\ntemplates: [{text: '{query}'}]", "placeholder {contexts} is missing"),
        ("kind: citation\ntemplates: [{id: 'on', text: x}]", "cannot be changed"),
        ("kind: 未知\ntemplates: [{text: x}]", "no such prompt"),
        ("kind: fallback\ntemplates: [{id: none, text: x}]", "no such prompt"),
        ("kind: fallback\ntemplates: [{text: x}, {text: y}]", "changed twice"),
        ("kind: fallback\ntemplates: [{text: {}}]", "has no text"),
        ("kind: fallback\ntemplates: [{text: {fr: x}}]", "templates.0.text"),
        ("kind: fallback\ntemplates: [{text: '  '}]", "no text"),
        ("kind: fallback\ntemplates: []", "templates"),
        ("- a list", "valid dictionary"),
        ("kind: [", "no YAML"),
        ("[" * 100_000, "no YAML"),
        ("", "valid dictionary"),
    ],
)
def test_a_file_that_does_not_fit_is_named_with_its_fault(tmp_path: Path, text: str, fault: str) -> None:
    path = written(tmp_path, "坏.yaml", text)
    with pytest.raises(StartRefused) as refused:
        prompts_of(tmp_path)
    assert str(path) in refused.value.message
    assert fault in refused.value.message
    assert refused.value.code == "bad_prompt"


def test_one_template_changed_in_two_files_is_refused(tmp_path: Path) -> None:
    one = written(tmp_path, "a.yaml", "kind: fallback\ntemplates: [{text: x}]")
    other = written(tmp_path, "b.yaml", "kind: fallback\ntemplates: [{text: y}]")
    with pytest.raises(StartRefused, match=r"b\.yaml.*changed twice"):
        with_own(load_prompts(), [one, other])


def test_a_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "gbk.yaml"
    path.write_bytes("kind: fallback\ntemplates: [{text: 资料}]".encode("gbk"))
    with pytest.raises(StartRefused, match="no YAML in UTF-8"):
        with_own(load_prompts(), [path])
