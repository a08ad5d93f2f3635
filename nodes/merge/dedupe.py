"""Steps 2 and 8: each text once, and nothing that another passage holds already."""

from collections.abc import Sequence

from ...context import Tokens
from ...state import Departure
from ...text.similarity import containment, jaccard, normalise, signature
from .pieces import Piece, left

PARTIAL_OVERLAP = 0.85  # share of tokens
# Containment of a handful of tokens says nothing: "see table 3" is held by any page about tables.
LEAST_TOKENS = 8


def without_repeats(pieces: Sequence[Piece]) -> tuple[list[Piece], list[Departure]]:
    """The best piece of each chunk and of each text, best first."""
    kept: list[Piece] = []
    departures: list[Departure] = []
    seen: dict[str, Piece] = {}  # by chunk and by text, the piece that was kept
    for piece in sorted(pieces, key=lambda piece: piece.rank):
        marks = (piece.hit["chunk_id"], signature(piece.text))
        same = next((seen[mark] for mark in marks if mark in seen), None)
        if same:
            departures.append(left(piece, "same_text", other=same))
        else:
            kept.append(piece)
        seen |= dict.fromkeys(marks, same or piece)
    return kept, departures


def without_overlaps(pieces: Sequence[Piece], tokens: Tokens) -> tuple[list[Piece], list[Departure]]:
    """Pieces without those that a better one says in full or nearly, wherever it comes from.

    A better piece that is held by a longer, lower one goes too and leaves it its score: the longer
    text says more.
    """
    kept: list[tuple[Piece, str, set[str]]] = []
    departures: list[Departure] = []
    for piece in sorted(pieces, key=lambda piece: piece.rank):
        plain, words = normalise(piece.text), set(tokens.content(piece.text))
        holder = next((k for k, other, theirs in kept if plain in other or _alike(words, theirs)), None)
        if holder:
            departures.append(left(piece, "overlap", limit=PARTIAL_OVERLAP, other=holder))
            continue
        for entry in [entry for entry in kept if entry[1] in plain]:
            kept.remove(entry)
            departures.append(left(entry[0], "overlap", limit=PARTIAL_OVERLAP, other=piece))
            piece = _raised(piece, entry[0])
        kept.append((piece, plain, words))
    return sorted((piece for piece, _, _ in kept), key=lambda piece: piece.rank), departures


def _alike(words: set[str], theirs: set[str]) -> bool:
    if jaccard(words, theirs) >= PARTIAL_OVERLAP:
        return True
    # Only a piece that is itself held by a better one goes by containment.
    return LEAST_TOKENS <= len(words) <= len(theirs) and containment(words, theirs) >= PARTIAL_OVERLAP


def _raised(piece: Piece, better: Piece) -> Piece:
    score = max(piece.hit["score"], better.hit["score"])
    return Piece(hit={**piece.hit, "score": score}, text=piece.text, chunks=piece.chunks)
