"""Steps 2 and 8: each chunk and each text once."""

from collections import Counter
from collections.abc import Sequence

from ...state import Departure
from ...text.similarity import normalise, signature
from .pieces import Piece, left

# Texts that say the same begin the same: so many normalised characters of them, looked for in so many.
OPENING = 16
LOOKED_AT = 96


def without_repeats(pieces: Sequence[Piece]) -> tuple[list[Piece], list[Departure]]:
    """The best piece of each chunk and of each text, best first."""
    ordered = [*_by_chunk(pieces)]
    openings = [opening(piece.text) for piece in ordered]
    common = Counter(openings)
    kept: dict[str, Piece] = {}
    departures: list[Departure] = []
    for place, (piece, begin) in enumerate(zip(ordered, openings, strict=True)):
        # Most begin like no other, and need not be normalised whole.
        mark = signature(piece.text) if common[begin] > 1 else f"{place}"
        if mark in kept:
            departures.append(left(piece, "same_text", other=kept[mark]))
        else:
            kept[mark] = piece
    return [*kept.values()], departures


def opening(text: str) -> str:
    """How a text begins once normalised: the same for all texts of one signature."""
    start = normalise(text[:LOOKED_AT])
    # What stands at the cut may come out differently in the whole text, so some more than is taken.
    return (start if len(start) > OPENING + 8 else normalise(text))[:OPENING]


def _by_chunk(pieces: Sequence[Piece]) -> Sequence[Piece]:
    found: dict[str, Piece] = {}
    for piece in sorted(pieces, key=lambda piece: piece.rank):
        found.setdefault(piece.hit["chunk_id"], piece)
    return [*found.values()]
