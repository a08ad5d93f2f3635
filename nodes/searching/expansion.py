"""The same question in other words, made by rules: what else to look for when little was found."""

import re
from collections.abc import Iterable, Iterator, Sequence

from ...context import Tokens
from ...text.similarity import normalise
from ...text.stopwords import ENGLISH
from ...text.tokens import HAN

MOST_VARIANTS = 5
# A longer question is a pasted text: its beginning says what is asked.
LONGEST_QUESTION = 1_000
KEY_PHRASES = 2

_QUOTED = re.compile(
    r"“([^”]+)”|「([^」]+)」|『([^』]+)』|《([^》]+)》|\"([^\"]+)\"|(?<![^\W_])'([^']+)'(?![^\W_])"
)
_RUN = re.compile(rf"[{HAN}]+|(?:(?![{HAN}])[^\W_])+(?:['’\-./](?:(?![{HAN}])[^\W_])+)*|[^\w\s'’]+")
_HAN_RUN = re.compile(f"[{HAN}]")


def variants(question: str, asked: str, tokens: Tokens) -> list[str]:
    """At most five other ways to look for `question`, of which `asked` is what the user typed.

    In this order: as typed, where the question was rewritten; what stands in quotes; without stop words; its
    longest phrases. An index sees words and not their order: a reordered question would find the same, and
    of two ways with the same words the first stays.
    """
    question, asked = question[:LONGEST_QUESTION], asked[:LONGEST_QUESTION]
    phrases = [*_phrases(question, tokens)]
    longest = sorted(phrases, key=lambda phrase: -_length(phrase))[:KEY_PHRASES]
    ways = [
        asked,
        " ".join(_quoted(question)),
        _joined(phrases),
        *(_joined([phrase]) for phrase in longest if len(phrases) > 1),
    ]
    return _distinct(ways, question, tokens)[:MOST_VARIANTS]


def _quoted(question: str) -> Iterator[str]:
    for found in _QUOTED.finditer(question):
        yield next(part.strip() for part in found.groups() if part is not None)


def _phrases(question: str, tokens: Tokens) -> Iterator[list[str]]:
    """Words that stand together between stop words and marks."""
    phrase: list[str] = []
    for word in _words(question, tokens):
        if word:
            phrase.append(word)
        elif phrase:
            yield phrase
            phrase = []
    if phrase:
        yield phrase


def _words(question: str, tokens: Tokens) -> Iterator[str | None]:
    """Each word as it is written, None in the place of stop words and marks."""
    for run in _RUN.finditer(question):
        word = run[0]
        if _HAN_RUN.match(word):
            yield from _han_words(word, tokens)
        else:
            yield word if word[0].isalnum() and word.lower() not in ENGLISH else None


def _han_words(run: str, tokens: Tokens) -> Iterator[str | None]:
    kept = set(tokens.query(run))
    for word in tokens.words(run):
        yield word if word in kept else None


def _joined(phrases: Iterable[Sequence[str]]) -> str:
    return " ".join(word for phrase in phrases for word in phrase)


def _length(phrase: Sequence[str]) -> int:
    return sum(map(len, phrase))


def _distinct(ways: Iterable[str], question: str, tokens: Tokens) -> list[str]:
    asked_already, kept = {normalise(question)}, dict[frozenset[str], str]()
    for way in ways:
        bag = frozenset(tokens.search(way))
        if bag and normalise(way) not in asked_already:
            kept.setdefault(bag, way)
            asked_already.add(normalise(way))
    return [*kept.values()]
