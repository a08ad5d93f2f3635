"""Text to sentences, Chinese and English, without losing a character."""

import re

from .tokens import HAN

_CLOSING = r"[”’\"'」』）)\]】》]*"
_ENDING = re.compile(
    rf"[。！？]+[!?…]*{_CLOSING}"
    rf"|(?<![.!?…])[.!?…]+{_CLOSING}(?=\s|$)"  # followed by a space: not in 3.14, a.b or ?page=2
    rf"|[!?]+(?=[{HAN}])"
    r"|\n"  # a line is a sentence at most
)
_BEFORE_STOP = re.compile(r"(\S*)$")
_ABBREVIATIONS = frozenset(
    """
    mr mrs ms dr prof st jr sr vs etc e.g i.e cf al fig figs eq eqs vol ch pp approx
    dept inc ltd corp jan feb mar apr jun jul aug sep sept oct nov dec u.s u.k a.m p.m
    """.split()
)
_BEFORE_NUMBER = frozenset(("no", "nos", "art", "sec", "p"))


def split_sentences(text: str) -> list[str]:
    """Sentences with their marks and the space after them; joined they are the text again."""
    sentences: list[str] = []
    start = 0
    for ending in _ENDING.finditer(text):
        if ending.start() < start or _is_abbreviation(text, ending):
            continue
        end = _after_space(text, ending.end())
        if text[start:end].strip() or not sentences:
            sentences.append(text[start:end])
        else:
            sentences[-1] += text[start:end]
        start = end
    if start < len(text):
        sentences.append(text[start:])
    return _without_blank_start(sentences)


def _is_abbreviation(text: str, ending: re.Match[str]) -> bool:
    if ending[0] != "." or ending.end() == len(text):
        return False
    before = _BEFORE_STOP.search(text, max(0, ending.start() - 12), ending.start())
    word = before[1].strip("(（[\"'“‘").lower() if before else ""
    following = text[(at := _after_space(text, ending.end())) : at + 1]
    if word in _ABBREVIATIONS or (len(word) == 1 and word.isalpha()):
        return True
    if word in _BEFORE_NUMBER and following.isdigit():
        return True
    if word.isdigit():
        # "1. First" numbers an item; elsewhere a number may end a sentence.
        line = text.rfind("\n", 0, ending.start()) + 1
        return text[line : ending.start()].strip() == word
    return following.islower()


def _after_space(text: str, end: int) -> int:
    while end < len(text) and text[end].isspace():
        end += 1
    return end


def _without_blank_start(sentences: list[str]) -> list[str]:
    if len(sentences) > 1 and not sentences[0].strip():
        return [sentences[0] + sentences[1], *sentences[2:]]
    return sentences
