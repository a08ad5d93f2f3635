"""One way to write what has several: width, compatibility forms, thousands; and the way back."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache
from typing import Protocol, cast

from opencc import OpenCC

_THOUSANDS = re.compile(r"(?<![\w,.])\d{1,3}(?:,\d{3})+(?![\d,])")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def normalised(text: str) -> str:
    """NFKC, one apostrophe, no lone surrogates (they have no UTF-8, which OpenCC takes)."""
    return unicodedata.normalize("NFKC", _SURROGATE.sub("", text)).replace("’", "'")


def to_simplified(text: str) -> str:
    """Traditional characters as Simplified ones; a text without lone surrogates is wanted."""
    return _converter().convert(text)


class _Converter(Protocol):
    def convert(self, text: str) -> str: ...


@cache
def _converter() -> _Converter:
    return cast("_Converter", OpenCC("t2s"))


def without_thousands(text: str) -> str:
    """1,200,000 as 1200000; a list such as 1,2,3 stays one."""
    return _THOUSANDS.sub(lambda number: number[0].replace(",", ""), text)


def folded_with_origins(text: str, simplified: Callable[[str], str]) -> tuple[str, list[tuple[int, int]]]:
    """The folded text, and for each of its characters the part of `text`, start and end, that it comes from.

    What is folded together (the two letters of "㎏", or "é" from "e" and its accent) has one origin.
    """
    pieces = [(start, end, normalised(text[start:end])) for start, end in _clusters(text)]
    origins = [(start, end) for start, end, piece in pieces for _ in piece]
    folded = _simplified_alike("".join(piece for *_, piece in pieces), simplified)
    commas = {
        number.start() + place
        for number in _THOUSANDS.finditer(folded)
        for place, character in enumerate(number[0])
        if character == ","
    }
    kept = [place for place in range(len(folded)) if place not in commas]
    return "".join(folded[place] for place in kept), [origins[place] for place in kept]


def _simplified_alike(text: str, simplified: Callable[[str], str]) -> str:
    """Simplified without a change of length, so that places stay what they are."""
    whole = simplified(text)
    return whole if len(whole) == len(text) else "".join(simplified(character)[:1] for character in text)


def _clusters(text: str) -> Iterator[tuple[int, int]]:
    """Stretches that normalise on their own, with their places."""
    start = 0
    for place in range(1, len(text)):
        cluster, after = text[start:place], text[place]
        if normalised(cluster) + normalised(after) == normalised(cluster + after):
            yield start, place
            start = place
    if text:
        yield start, len(text)
