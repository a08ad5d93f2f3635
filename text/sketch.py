"""A quick look at what a text is made of, to tell at once that two long texts cannot be much alike."""

import re
from collections.abc import Iterable, Sequence, Set
from functools import cached_property

# Words, long ones and runs of Han characters in pieces; where a run begins, so does a piece.
_PIECES = re.compile(r"[^\W_]{2,4}")
SHORT = 400  # characters; of two such texts no sketch says enough
MANY = 20  # pieces of a sample: of fewer ones no share says enough
LONGEST_WORDS = 10  # characters, on average
# Of texts that share .85 of their tokens, at least so many pieces are the same. Where words have spaces
# between them the pieces are words, of which any two texts of a language share a third and more. Where they
# have none two texts about one subject share a fifth at most, but one changed word shifts all behind it in
# its clause.
LEAST_SHARE_OF_WORDS = 0.6
LEAST_SHARE_OF_RUNS = 0.3
SURE = 0.95  # of all pieces: what so many pieces are made of is made of the same tokens


def _sampled_from() -> str:
    """Letters and digits of the basic plane: of alphabets one in 8, such as h, p and x, of Han one in 32."""
    numbers = (*range(0, 0x2000, 8), *range(0x2000, 0x10000, 32))
    return "".join(filter(str.isalnum, map(chr, numbers)))


# Wherever one of these stands, a piece of the sample begins.
_SAMPLE = re.compile(rf"[{_sampled_from()}][^\W_]{{1,3}}")


class Sketch:
    """`sample` has a bit for each of its pieces; bits mean the same in sketches that were made together."""

    def __init__(self, text: str, numbers: dict[str, int]) -> None:
        self._text = text.casefold()
        self.short = len(text) <= SHORT
        self.spaced = text.count(" ") * LONGEST_WORDS > len(text)
        sample = set(_SAMPLE.findall(self._text))
        self.sampled = len(sample)
        self.sample = _with_bits([numbers.setdefault(piece, len(numbers)) for piece in sample])

    @cached_property
    def pieces(self) -> Set[str]:
        return frozenset(_PIECES.findall(self._text))


def sketches(texts: Iterable[str]) -> list[Sketch]:
    """One for each text, to be compared with each other."""
    numbers: dict[str, int] = {}
    return [Sketch(text, numbers) for text in texts]


def may_be_alike(a: Sketch, b: Sketch) -> bool:
    """Whether two texts are worth comparing."""
    if a.short and b.short:
        return True
    least = LEAST_SHARE_OF_WORDS if a.spaced and b.spaced else LEAST_SHARE_OF_RUNS
    smaller = min(a.sampled, b.sampled)
    if smaller >= MANY and (a.sample & b.sample).bit_count() < least * smaller:
        return False
    smaller = min(len(a.pieces), len(b.pieces))
    return len(a.pieces & b.pieces) >= least * smaller


def are_alike(a: Sketch, b: Sketch) -> bool:
    """Whether two texts need no comparing: all but a few of their pieces are the same."""
    if a.short or b.short:
        return False
    shared = len(a.pieces & b.pieces)
    return shared >= SURE * (len(a.pieces) + len(b.pieces) - shared)


def _with_bits(numbers: Sequence[int]) -> int:
    bits = bytearray(max(numbers, default=0) // 8 + 1)
    for number in numbers:
        bits[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(bits, "little")
