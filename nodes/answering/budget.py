"""How much of what was found fits into a model's context."""

import re
from collections.abc import Sequence

# Tokens per character, on the high side: measured on paragraphs of five corpora in both languages, the
# estimate is 1.0 to 2.2 times what Qwen2.5's tokeniser makes of them. Older ones need more for Han text.
_WIDE = 1.0  # Han, kana, hangul
_LETTER = 0.3  # Latin letters and spaces
_OTHER = 1.0  # digits, punctuation, other scripts

_WIDE_RUN = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]")
_LETTER_RUN = re.compile(r"[A-Za-z ]")

_SENTENCE_END = re.compile(r"[。！？；\n]|[.!?](?=\s)")

# A passage is shortened to no less than this many characters; where less is left for it, it is dropped
# whole. The measure is that of short_context: what is shorter makes little sense on its own.
LEAST_PASSAGE = 350
# Tokens around a passage: its tags, title and section.
PASSAGE_OVERHEAD = 60


def token_estimate(text: str) -> int:
    """At least as many tokens as a current tokeniser makes of `text`, at most about twice as many."""
    wide = len(_WIDE_RUN.findall(text))
    letters = len(_LETTER_RUN.findall(text))
    return int(wide * _WIDE + letters * _LETTER + (len(text) - wide - letters) * _OTHER) + 1


def fit(texts: Sequence[str], found: Sequence[str], *, tokens: int) -> list[str | None]:
    """Texts, best first, cut to a budget: from the lowest up shortened, then from the lowest up dropped.

    `found` is the part of each text that matched, empty where it is not known: it is what a shortened
    text keeps. Dropped ones are None.
    """
    fitted: list[str | None] = list(texts)
    sizes = [token_estimate(text) + PASSAGE_OVERHEAD for text in texts]
    for place in reversed(range(len(texts))):
        if (over := sum(sizes) - tokens) <= 0:
            break
        fitted[place] = shortened(texts[place], found[place], tokens=sizes[place] - over - PASSAGE_OVERHEAD)
        sizes[place] = token_estimate(fitted[place] or "") + PASSAGE_OVERHEAD
    for place in reversed(range(len(texts))):
        if sum(sizes) <= tokens:
            break
        fitted[place], sizes[place] = None, 0
    return fitted


def shortened(text: str, found: str, *, tokens: int) -> str:
    """A part of `text` of about `tokens`, with what was found in it, but no less than makes sense alone."""
    room = max(int(len(text) * max(tokens, 0) / token_estimate(text)), LEAST_PASSAGE)
    if room >= len(text):
        return text
    at = max(text.find(found), 0) if found else 0
    before = max(0, room - len(found)) // 2 if found else 0
    start = min(max(0, at - before), len(text) - room)
    return _whole_sentences(text, start, start + room)


def _whole_sentences(text: str, start: int, end: int) -> str:
    """Between the sentence ends nearest inside the part, where that costs little."""
    slack = (end - start) // 5
    ends = [found.end() for found in _SENTENCE_END.finditer(text, start, end)]
    if start and ends and ends[0] - start <= slack:
        start = ends[0]
    if end < len(text) and ends and end - ends[-1] <= slack:
        end = max(ends[-1], start + 1)
    return text[start:end].strip()
