"""Text to tokens, the same for an index and for the queries against it."""

import hashlib
import re
import threading
from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import rjieba
import snowballstemmer

from ..context import Span
from ..errors import StartRefused
from .folding import folded_with_origins, normalised, to_simplified, without_thousands
from .stopwords import CHINESE, ENGLISH

# To be raised with every change of what `index` makes of a text: what was indexed otherwise is indexed again.
CHAIN = 3
LIBRARIES = ("rjieba", "jieba", "OpenCC", "snowballstemmer")

# What jieba's dictionary covers; of the rest, mostly in names, each character is a word.
_COMMON_HAN = r"\u4e00-\u9fd5"
HAN = r"\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"

# Longer ones are no words but encoded data; the same cut on both sides lets them still match.
TOKEN_LENGTH = 64
# "GB/T5009.3-2016" has five pieces. What has more than six is a hash or an id, whose pieces mean nothing.
MOST_PIECES = 6

_LETTERS = rf"(?:(?![{HAN}])[^\W\d_])+"
_WORD = rf"(?:(?![{HAN}])[^\W_])+"
_RUN = re.compile(
    rf"(?P<han>[{_COMMON_HAN}]+)"
    rf"|(?P<rare>[{HAN}])"
    rf"|(?P<sharp>(?<![^\W_])[A-Za-z](?:\+\+|\#)(?![^\W_]))"  # C++, C#, F#
    rf"|(?P<word>{_WORD}(?:['\-/._]{_WORD})*)"
)
_PIECE = re.compile(rf"\d+(?:\.\d+)*|{_LETTERS}(?:'{_LETTERS})*|{_WORD}")
_SEPARATOR = re.compile(r"[-/._]+")
_ONE_HAN = re.compile(f"[{HAN}]")


class Tokens:
    """NFKC, lower case, Traditional to Simplified; jieba's search mode for Han; stems for other words.

    Numbers stay whole ("3.14"). A code ("GB/T-5009", "iPhone15") gives its pieces and itself without
    separators, so that every way to write it meets. Safe to use from several threads.
    """

    def __init__(self, user_dictionary: Path | None = None) -> None:
        """`user_dictionary` is a jieba one: a word, its frequency and its part of speech on each line.

        Raises StartRefused when it cannot be read.
        """
        self._simplified = to_simplified
        self._cut = _cutter(user_dictionary)
        self.version = _version(user_dictionary)  # of two that make the same tokens of every text the same
        stemmer: Any = snowballstemmer.stemmer("english")
        stemming = threading.Lock()

        @lru_cache(maxsize=50_000)
        def stem(word: str) -> str:
            with stemming:  # the stemmer keeps the word it works on in itself
                return stemmer.stemWord(word)

        self._stem: Callable[[str], str] = stem

    def index(self, text: str) -> list[str]:
        """What a passage is found by: its words and each of its Han characters, as often as they occur.

        Characters find what the dictionary cuts elsewhere: nDCG@10 of keywords alone rises from .481 to
        .512 on statutes asked for in everyday words, and falls nowhere (docs/quality.md).
        """
        folded = self._folded(text)
        words = [word for word, _ in self._words(folded) if not _ONE_HAN.fullmatch(word)]
        return words + _ONE_HAN.findall(folded)

    def search(self, text: str) -> list[str]:
        """What a question is looked up by: each word of `query` once, then each Han character of these."""
        words = self.query(text)
        longer = [word for word in words if not _ONE_HAN.fullmatch(word)]
        return [*dict.fromkeys([*longer, *_ONE_HAN.findall("".join(words))])]

    def words(self, text: str) -> list[str]:
        """All words of a text, in order, repeated as often as they occur."""
        return [word for word, _ in self._words(self._folded(text))]

    def query(self, text: str) -> list[str]:
        """The words of a question without stop and question words; all of them if nothing else is left."""
        pairs = [*self._words(self._folded(text))]
        return [word for word, stop in pairs if not stop] or [word for word, _ in pairs]

    def content(self, text: str) -> list[str]:
        """What two texts are compared by: each word of `query` once."""
        return [*dict.fromkeys(self.query(text))]

    def spans(self, text: str) -> list[Span]:
        """Where the tokens of `index` stand in the text as it was given, in order of their beginning."""
        folded, origins = folded_with_origins(text, self._simplified)
        found = [
            Span(token=token, start=origins[start][0], end=origins[end - 1][1])
            for token, start, end in self._places(folded)
        ]
        return sorted(found, key=lambda span: (span.start, span.end, span.token))

    def _words(self, folded: str) -> Iterator[tuple[str, bool]]:
        """Each word, and whether it is a stop word."""
        shouted = _is_shouted(folded)
        for run in _RUN.finditer(folded):
            if run["han"]:
                for word in self._cut(run["han"]):
                    yield word, word in CHINESE
            elif run["rare"] or run["sharp"]:
                yield run[0].lower(), False
            else:
                yield from self._pieces(run["word"], shouted)

    def _places(self, folded: str) -> Iterator[tuple[str, int, int]]:
        """Each token with the place it stands at in the folded text."""
        for run in _RUN.finditer(folded):
            start, end = run.span()
            if run["han"]:
                for token in {*self._cut(run["han"]), *run["han"]}:
                    for place in _occurrences(token, run["han"]):
                        yield token, start + place, start + place + len(token)
            elif run["rare"] or run["sharp"]:
                yield run[0].lower(), start, end
            else:
                # A code's pieces are marked as the whole that they were found by.
                for token, _ in self._pieces(run["word"], shouted=False):
                    yield token, start, end

    def _folded(self, text: str) -> str:
        return without_thousands(self._simplified(normalised(text)))

    def _pieces(self, run: str, shouted: bool) -> Iterator[tuple[str, bool]]:
        pieces = _PIECE.findall(run)
        if len(pieces) > MOST_PIECES:
            pieces = _SEPARATOR.split(run)
        whole = _SEPARATOR.sub("", run).lower()
        if len(pieces) > 1 and all(len(piece) == 1 and piece.isalpha() for piece in pieces):
            yield whole[:TOKEN_LENGTH], False  # U.S.A
            return
        for piece in pieces:
            word = piece.lower()
            # WHO, IT and US are names when the rest is not in capitals too.
            stop = word in ENGLISH and (shouted or len(piece) == 1 or not piece.isupper())
            yield self._stem(word[:TOKEN_LENGTH]), stop
        if len(pieces) > 1 and any(character.isdigit() for character in run):
            yield whole[:TOKEN_LENGTH], False


def _version(user_dictionary: Path | None) -> str:
    parts = [str(CHAIN), *(f"{name}-{version(name)}" for name in LIBRARIES)]
    if user_dictionary is not None:
        parts.append(f"dictionary-{hashlib.sha256(user_dictionary.read_bytes()).hexdigest()[:16]}")
    return " ".join(parts)


def _occurrences(token: str, run: str) -> Iterator[int]:
    place = run.find(token)
    while place >= 0:
        yield place
        place = run.find(token, place + 1)


def _is_shouted(text: str) -> bool:
    words = re.findall(r"[A-Za-z]+", text[:1_000])
    return len(words) > 3 and all(word.isupper() for word in words)


def _cutter(user_dictionary: Path | None) -> Callable[[str], list[str]]:
    # Measured on 1.9 million characters of four Chinese corpora: rjieba cuts 2 of 236,000 runs
    # differently (a tie between 常/在 and 常在) at ten times the speed, 3 million characters a second.
    # It cannot read jieba's user dictionaries.
    if user_dictionary is None:
        return rjieba.Jieba().cut_for_search
    return _jieba_cutter(user_dictionary)


def _jieba_cutter(user_dictionary: Path) -> Callable[[str], list[str]]:
    import jieba  # only here: it takes half a second to load

    tokenizer: Any = jieba.Tokenizer()
    # What `initialize` does, without its cache file in the temporary folder that all users share.
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    try:
        with user_dictionary.open(encoding="utf-8-sig") as lines:
            tokenizer.load_userdict(lines)
    except (OSError, ValueError, AttributeError) as error:
        raise StartRefused(f"user_dictionary: {user_dictionary} cannot be read: {error}") from error
    return tokenizer.lcut_for_search
