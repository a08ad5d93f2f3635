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

# A passage is shortened to no less than this many characters: less is dropped whole (pipeline §7.7's
# measure of a passage that still makes sense on its own).
LEAST_PASSAGE = 350
# Tokens around a passage: its tags, title and section.
PASSAGE_OVERHEAD = 60


def token_estimate(text: str) -> int:
    """At least as many tokens as a current tokeniser makes of `text`, at most about twice as many."""
    wide = len(_WIDE_RUN.findall(text))
    letters = len(_LETTER_RUN.findall(text))
    return int(wide * _WIDE + letters * _LETTER + (len(text) - wide - letters) * _OTHER) + 1


def fit(texts: Sequence[str], *, tokens: int) -> list[str | None]:
    """Texts, best first, cut to a budget: the last that fits is shortened, those after it are None."""
    fitted: list[str | None] = []
    left = tokens
    for text in texts:
        kept = shortened(text, tokens=left - PASSAGE_OVERHEAD)
        fitted.append(kept)
        left = left - PASSAGE_OVERHEAD - token_estimate(kept) if kept == text and kept else 0
    return fitted


def shortened(text: str, *, tokens: int) -> str | None:
    """The longest beginning of `text` that fits, cut after a sentence where one ends late enough."""
    if (needed := token_estimate(text)) <= tokens:
        return text
    room = int(len(text) * tokens / needed)
    while room > 0 and token_estimate(text[:room]) > tokens:
        room -= max(1, room // 50)
    if room < LEAST_PASSAGE:
        return None
    ends = [found.end() for found in re.finditer(r"[。！？；\n]|[.!?](?=\s)", text[:room])]
    return text[: ends[-1]] if ends and ends[-1] >= max(LEAST_PASSAGE, room // 2) else text[:room]
