"""Which language a person wrote in, of the two that the product speaks."""

import re
from typing import Literal, get_args

from .stopwords import ENGLISH
from .tokens import HAN

Language = Literal["zh", "en"]
LANGUAGES: tuple[Language, ...] = get_args(Language)

_HAN = re.compile(f"[{HAN}]")
_LATIN_WORD = re.compile(r"[A-Za-zÀ-ɏ]+(?:['’][A-Za-z]+)*")


def language_of(text: str) -> Language:
    """ "zh" when Han characters are at least half of Han characters and Latin words together.

    English words of form ("what", "the") count twice: one such word says more about the sentence than
    a product name does, which both languages share. Text without either is "en".
    """
    han = len(_HAN.findall(text))
    words = [word.lower() for word in _LATIN_WORD.findall(text)]
    latin = len(words) + sum(word in ENGLISH for word in words)
    return "zh" if han and han >= latin else "en"
