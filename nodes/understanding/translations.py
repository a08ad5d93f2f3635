"""The rewritten question in other languages, as a model gave it."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from ...text.language import language_of
from ...text.similarity import normalise

_FIELDS = ("translations", "translation", "translated", "translated_query")
_NAMES = {
    "zh": ("zh", "zh-cn", "zh_cn", "zh-hans", "cn", "chinese", "中文", "汉语", "简体中文"),
    "en": ("en", "en-us", "en-gb", "english", "英文", "英语"),
}
_TEXTS = ("text", "query", "question", "translation", "value")


def translations_in(said: Mapping[str, Any], rewritten: str, languages: Sequence[str]) -> dict[str, str]:
    """The question by language, of those asked for. What is no translation of it is left out.

    An object by language or by the language's name, a list of objects that name it, and a single text where
    one language was asked for are all read; so are such texts beside the other fields.
    """
    given = next((said[field] for field in _FIELDS if said.get(field)), said)
    found = _by_language(given, languages)
    return {
        language: found[language]
        for language in languages
        if language in found and is_translation(found[language], rewritten, language)
    }


def is_translation(text: str, question: str, language: str) -> bool:
    """Whether `text` may be `question` in that language: one line in it, in proportion, and not the same."""
    return (
        bool(normalise(text))
        and "\n" not in text
        and language_of(text) == language
        and len(text) <= 4 * len(question) + 200
        and normalise(text) != normalise(question)
    )


def _by_language(given: object, languages: Sequence[str]) -> dict[str, str]:
    match given:
        case str() if len(languages) == 1:
            return {languages[0]: given.strip()}
        case dict():
            named = {_folded(name): text for name, text in _texts(cast("Mapping[Any, Any]", given))}
            names = {language: _NAMES.get(language, (language,)) for language in languages}
            return {
                language: text
                for language, own in names.items()
                if (text := next((named[name] for name in own if name in named), ""))
            }
        case list():
            return {
                name: text
                for one in _objects(cast("Sequence[Any]", given))
                for name, text in _told(one, languages).items()
            }
        case _:
            return {}


def _told(one: Mapping[str, Any], languages: Sequence[str]) -> dict[str, str]:
    """`{"language": "en", "text": "…"}`, or `{"en": "…"}`."""
    language = one.get("language") or one.get("lang")
    text = next((one[field] for field in _TEXTS if isinstance(one.get(field), str)), None)
    return _by_language({language: text} if language and text else dict(one), languages)


def _objects(given: Sequence[Any]) -> list[Mapping[str, Any]]:
    return [one for one in given if isinstance(one, dict)]


def _texts(given: Mapping[Any, Any]) -> list[tuple[str, str]]:
    return [(str(name), text.strip()) for name, text in given.items() if isinstance(text, str)]


def _folded(name: str) -> str:
    return name.strip().casefold()
