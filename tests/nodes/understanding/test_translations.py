"""Translations of a question, however a model wraps them, and what is none."""

from typing import Any

import pytest

from headrace.nodes.understanding.parse import parse_understanding
from headrace.nodes.understanding.translations import is_translation, translations_in

QUESTION = "2021年的营业额是多少？"
ENGLISH = "What was the revenue in 2021?"


@pytest.mark.parametrize(
    "said",
    [
        {"translations": {"en": ENGLISH}},
        {"translations": {"English": f" {ENGLISH} "}},
        {"translations": {"英文": ENGLISH}},
        {"translations": {"en-US": ENGLISH, "fr": "Quel était le chiffre ?"}},
        {"translation": ENGLISH},
        {"translations": [{"language": "en", "text": ENGLISH}]},
        {"translations": [{"lang": "English", "query": ENGLISH}]},
        {"translations": [{"en": ENGLISH}]},
        {"translated_query": {"en": ENGLISH}},
        {"en": ENGLISH},
    ],
)
def test_every_wrapping_is_read(said: dict[str, Any]) -> None:
    assert translations_in(said, QUESTION, ["en"]) == {"en": ENGLISH}


@pytest.mark.parametrize(
    "said", [{}, {"translations": 3}, {"translations": [ENGLISH]}, {"translations": {"en": 1}}]
)
def test_what_cannot_be_read_is_none(said: dict[str, Any]) -> None:
    assert translations_in(said, QUESTION, ["en"]) == {}


def test_only_what_was_asked_for_is_taken() -> None:
    assert translations_in({"translations": {"en": ENGLISH}}, QUESTION, []) == {}
    assert translations_in({"translations": {"en": ENGLISH}}, "How much?", ["zh"]) == {}


@pytest.mark.parametrize(
    ("text", "question", "language"),
    [
        ("2021年的营业额是多少？", QUESTION, "en"),  # not translated
        (QUESTION, QUESTION, "zh"),
        ("…", QUESTION, "en"),
        ("x " * 400, QUESTION, "en"),
        ("Sure! Here it is:\nWhat was the revenue?", QUESTION, "en"),
        ("What was the revenue in 2021?", ENGLISH, "zh"),
    ],
)
def test_absurd_translations_are_none(text: str, question: str, language: str) -> None:
    assert not is_translation(text, question, language)


@pytest.mark.parametrize(
    ("text", "question", "language"), [(ENGLISH, QUESTION, "en"), (QUESTION, ENGLISH, "zh")]
)
def test_a_question_in_the_other_language_is_one(text: str, question: str, language: str) -> None:
    assert is_translation(text, question, language)


def test_they_are_read_with_the_rest() -> None:
    answer = (
        f'{{"rewrite_query": "{QUESTION}", "translations": {{"en": "{ENGLISH}"}}, "intent": "kb_search"}}'
    )
    understood = parse_understanding(answer, QUESTION, ["en"])
    assert understood is not None
    assert understood.translations == {"en": ENGLISH}
