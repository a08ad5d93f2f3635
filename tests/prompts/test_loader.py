"""Templates are checked when they are loaded and filled once when they are used."""

import pytest

from headrace.errors import BadRequest, StartRefused
from headrace.prompts.loader import LANGUAGES, PromptLibrary, TemplateFile, load_prompts, parse_library

FILE = """
kind: {kind}
templates:
  - id: {id}
    name: Name
    description: Description
    mode: chat
    text:
      zh: {zh}
      en: {en}
"""


def a_file(kind: str = "fallback", id: str = "default", zh: str = "中文", en: str = "English") -> str:
    return FILE.format(kind=kind, id=id, zh=zh, en=en)


def refusal(source: str) -> str:
    with pytest.raises(StartRefused) as refused:
        parse_library({"a.yaml": source})
    return refused.value.message


def test_every_template_that_ships_has_both_languages() -> None:
    library = load_prompts()
    for kind, file in library.kinds().items():
        for template in file.templates:
            for language in LANGUAGES:
                assert library.text(kind, template.id, language=language)


def test_values_go_in_once_and_stay_as_typed() -> None:
    text = load_prompts().text(
        "context_template",
        language="zh",
        query="{contexts} %s $a \\1",
        contexts="{query}",
        current_time="now",
    )
    assert "资料段落：\n{query}\n" in text
    assert text.endswith("问题：{contexts} %s $a \\1")


def test_a_language_without_a_variant_gets_english() -> None:
    library = load_prompts()
    assert library.text("fallback", language="fr") == library.text("fallback", language="en")


def test_the_citation_protocol_is_not_for_users_to_edit() -> None:
    editable = {kind: file.editable for kind, file in load_prompts().kinds().items()}
    assert editable["citation"] is False
    assert editable["system_prompt"] is True


@pytest.mark.parametrize(("kind", "id"), [("no_such_kind", "default"), ("fallback", "no_such_id")])
def test_an_unknown_name_is_a_key_error(kind: str, id: str) -> None:
    with pytest.raises(KeyError):
        load_prompts().text(kind, id)


def test_a_file_that_is_no_yaml_is_named() -> None:
    assert refusal("kind: [").startswith("a.yaml: not YAML")


def test_an_unknown_kind_is_named() -> None:
    assert refusal(a_file(kind="falback")) == "a.yaml: unknown kind 'falback'"


def test_a_field_too_many_is_named() -> None:
    assert "surprise" in refusal(a_file() + "surprise: 1\n")


def test_a_missing_language_is_named() -> None:
    assert refusal(a_file(en="''")) == "a.yaml: default.en: no text"


def test_a_misspelt_placeholder_is_named() -> None:
    assert refusal(a_file(zh="'{qeury}'")) == "a.yaml: default.zh: unknown placeholder {qeury}"


def test_a_missing_placeholder_is_named() -> None:
    source = a_file(kind="context_template", zh="'{query}'")
    assert refusal(source) == "a.yaml: default.zh: placeholder {contexts} is missing"


def test_a_second_file_of_a_kind_is_refused() -> None:
    with pytest.raises(StartRefused, match="second file"):
        parse_library({"a.yaml": a_file(), "b.yaml": a_file()})


def test_a_kind_nobody_wrote_is_named() -> None:
    with pytest.raises(StartRefused, match="no prompts of kind"):
        parse_library({"a.yaml": a_file()})


def test_a_library_answers_for_what_it_was_given() -> None:
    file = TemplateFile.model_validate(
        {
            "kind": "fallback",
            "templates": [
                {
                    "id": "x",
                    "name": "n",
                    "description": "d",
                    "mode": "reply",
                    "text": {"zh": "{language}", "en": "in {language}"},
                }
            ],
        }
    )
    library = PromptLibrary({"fallback": file})
    assert library.text("fallback", "x", language="zh") == "中文"
    assert library.text("fallback", "x") == "in English"


def test_a_changed_prompt_speaks_for_both_languages_and_the_rest_stays() -> None:
    library = load_prompts()
    changed = library.changed({"system_prompt": "短 short", "intent_prompts.greeting": "你好 hello"})
    for language in LANGUAGES:
        assert changed.text("system_prompt", language=language) == "短 short"
        assert changed.text("intent_prompts", "greeting", language=language) == "你好 hello"
        assert changed.text("fallback", language=language) == library.text("fallback", language=language)
    assert library.text("system_prompt") != "短 short"


def test_a_changed_prompt_is_filled_once_like_any_other() -> None:
    changed = load_prompts().changed({"context_template.plain": '{"q": {query}} {1} {}'})
    assert changed.text("context_template", "plain", query="{query} {x}") == '{"q": {query} {x}} {1} {}'


def test_a_prompt_has_one_name_whatever_it_was_called() -> None:
    library = load_prompts()
    assert library.checked({"fallback.default": "a", "fallback.model": "b"}) == {
        "fallback": "a",
        "fallback.model": "b",
    }


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("nothing", "x", "there is no such prompt, there are context_template, "),
        ("system_prompt.", "x", "no such prompt"),
        ("extractive.quotes", "x", "cannot be changed"),
        ("system_prompt", None, "must be a text"),
        ("context_template.quoted", "无", "{quoted} is missing"),
        ("system_prompt", "{Query} {query}", "unknown placeholder {query}"),
    ],
)
def test_a_change_that_breaks_a_rule_of_the_loader_is_named(name: str, text: object, why: str) -> None:
    with pytest.raises(BadRequest) as refused:
        load_prompts().changed({name: text})
    assert refused.value.code == "bad_prompt"
    assert name in refused.value.message
    assert why in refused.value.message
