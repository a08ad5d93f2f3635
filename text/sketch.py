"""A quick look at what a text is made of, to tell at once that two long texts cannot be much alike."""

import re
from collections.abc import Set
from dataclasses import dataclass

# Words, long ones and runs of Han characters in pieces; where a run begins, so does a piece.
_PIECES = re.compile(r"[^\W_]{2,4}")
SHORT = 400  # characters; of two such texts no sketch says enough
ONE_IN = 8  # pieces are looked at where both have many
MANY = 100
LONGEST_WORDS = 10  # characters, on average
# Of texts that share .85 of their tokens, at least so many pieces are the same. Where words have spaces
# between them the pieces are words, of which any two texts of a language share a third and more. Where they
# have none two texts about one subject share a fifth at most, but one changed word shifts all behind it in
# its clause.
LEAST_SHARE_OF_WORDS = 0.6
LEAST_SHARE_OF_RUNS = 0.3
SURE = 0.95  # of all pieces: what so many pieces are made of is made of the same tokens


@dataclass(frozen=True, slots=True)
class Sketch:
    """`sample` are the pieces with certain first letters, the same ones for all texts."""

    short: bool
    spaced: bool
    pieces: Set[str]
    sample: Set[str]


def sketch(text: str) -> Sketch:
    pieces = frozenset(_PIECES.findall(text.casefold()))
    sample = frozenset([piece for piece in pieces if not ord(piece[0]) % ONE_IN])
    spaced = text.count(" ") * LONGEST_WORDS > len(text)
    return Sketch(len(text) <= SHORT, spaced, pieces, sample)


def may_be_alike(a: Sketch, b: Sketch) -> bool:
    """Whether two texts are worth comparing."""
    if a.short and b.short:
        return True
    least = LEAST_SHARE_OF_WORDS if a.spaced and b.spaced else LEAST_SHARE_OF_RUNS
    few = len(a.pieces) < MANY or len(b.pieces) < MANY
    return (few or _share(a.sample, b.sample) >= least) and _share(a.pieces, b.pieces) >= least


def _share(mine: Set[str], theirs: Set[str]) -> float:
    smaller = min(len(mine), len(theirs))
    return len(mine & theirs) / smaller if smaller else 1.0


def are_alike(a: Sketch, b: Sketch) -> bool:
    """Whether two texts need no comparing: all but a few of their pieces are the same."""
    if a.short or b.short:
        return False
    shared = len(a.pieces & b.pieces)
    return shared >= SURE * (len(a.pieces) + len(b.pieces) - shared)
