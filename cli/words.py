"""What differs between two texts, word by word: in Chinese, which has no spaces, by character."""

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

# Han, kana and Hangul: each character stands for itself.
ALONE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
# The number of a citation, a number, a character or word, space, anything else.
TOKEN = re.compile(rf"\[\d+\]|\d+(?:[.,:]\d+)*|[{ALONE}]|[^\W\d_{ALONE}]+|\s+|.", re.DOTALL)
# Words: so few that are the same, between two changes of more words, are there by chance.
ISLAND = 2

Kind = Literal["same", "out", "in"]
Piece = tuple[Kind, str]


class Block(NamedTuple):
    """Tokens that are the same, and the change that follows them."""

    same: list[str]
    out: list[str]
    into: list[str]

    @property
    def changed(self) -> int:
        return max(_words(self.out), _words(self.into))


def word_diff(first: str, second: str) -> list[Piece]:
    """Pieces in order: `same` and `out` joined are the first text, `same` and `in` the second."""
    # Space between changed words first: only then is it known how large a change is.
    blocks = _joined(_joined(_blocks(TOKEN.findall(first), TOKEN.findall(second)), 0), ISLAND)
    pieces: list[Piece] = []
    for same, out, into in blocks:
        kinds: tuple[tuple[Kind, list[str]], ...] = (("same", same), ("out", out), ("in", into))
        for kind, tokens in kinds:
            if tokens:
                pieces.append((kind, "".join(tokens)))
    return pieces


def _blocks(a: Sequence[str], b: Sequence[str]) -> Iterator[Block]:
    same: list[str] = []
    for tag, i, j, k, m in SequenceMatcher(None, a, b).get_opcodes():
        if tag == "equal":
            same = list(a[i:j])
        else:
            yield Block(same, list(a[i:j]), list(b[k:m]))
            same = []
    yield Block(same, [], [])


def _joined(blocks: Iterable[Block], most: int) -> Iterator[Block]:
    """Two changes with at most that many words between them, and fewer than in either, are one."""
    before = Block([], [], [])
    for block in blocks:
        if _words(block.same) <= min(most, before.changed - 1, block.changed - 1):
            out, into = [*before.out, *block.same, *block.out], [*before.into, *block.same, *block.into]
            before = Block(before.same, out, into)
        else:
            yield before
            before = block
    yield before


def _words(tokens: Sequence[str]) -> int:
    # A citation's number says as much as a word, space and signs say nothing.
    return sum(token[0].isalnum() or len(token.strip()) > 1 for token in tokens)
