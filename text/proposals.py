"""What a model proposes beside an answer, made fit to be shown: further questions, a title."""

import json
import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import cast

from .similarity import jaccard, normalise

MOST_QUESTIONS = 3
HAN_CHARACTERS = range(10, 41)
WORDS = range(3, 21)
TOO_CLOSE = 0.7  # Jaccard of content tokens with the question that was asked, or one proposed before
TITLE_LENGTH = 40
LONGEST_LINE = 300  # characters; more is no question, and looked at no further
MOST_LOOKED_AT = 20

_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_MARKUP = re.compile(r"<[^<>]{0,200}>")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,2}\s*[.)、．])\s*")
_HAN = re.compile(r"[\u3400-\u9fff]")
_NAMED = re.compile(r"^\s*(?:标题|title)\s*[:：]\s*", re.IGNORECASE)
_QUOTES = "\"'“”‘’「」『』《》`*# "


def further_questions(said: str, *, asked: str, content: Callable[[str], Sequence[str]]) -> list[str]:
    """At most three questions of what a model said, whatever it said; `content` gives content tokens."""
    kept: list[str] = []
    known = [content(asked)]
    for line in _listed(_THOUGHT.sub("", said))[:MOST_LOOKED_AT]:
        question = _clean(line)
        tokens = list(content(question))
        if not tokens or not _is_fit(question) or normalise(question) == normalise(asked):
            continue
        if all(jaccard(tokens, other) < TOO_CLOSE for other in known):
            kept.append(question)
            known.append(tokens)
    return kept[:MOST_QUESTIONS]


def title(said: str) -> str:
    """The first line that says something, without what models put around it; empty if there is none."""
    for line in _THOUGHT.sub("", said).splitlines()[:MOST_LOOKED_AT]:
        words = _NAMED.sub("", _clean(line)).strip(_QUOTES + "。.")
        if normalise(words) and len(words) <= TITLE_LENGTH:
            return words
    return ""


def _listed(said: str) -> list[str]:
    start, end = said.find("["), said.rfind("]")
    if 0 <= start < end:
        try:
            items = cast("list[object]", json.loads(said[start : end + 1]))
            return [item for item in items if isinstance(item, str)]
        except (ValueError, RecursionError):
            pass
    return [line for line in said.splitlines() if line.rstrip(' ",').endswith(("?", "？"))]


def _clean(line: str) -> str:
    """One line without tags, bullets, quotes, and characters that are not seen or turn the reading."""
    plain = _BULLET.sub("", _MARKUP.sub("", line[:LONGEST_LINE]))
    seen = "".join(" " if unicodedata.category(sign)[0] in "CZ" else sign for sign in plain)
    return " ".join(seen.split()).strip('"“”` ,')


def _is_fit(question: str) -> bool:
    if _HAN.search(question):
        return len(question) in HAN_CHARACTERS
    return len(question.split()) in WORDS
