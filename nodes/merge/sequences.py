"""Step 5: neighbours in a document become one passage."""

from collections.abc import Sequence

from ...state import Departure
from ...text.joining import join_overlapping
from .pieces import Piece, left, one_of

# Two parents' worth (`ingest/chunking.py`). Without a limit a document of which every chunk was found would
# become one passage with one citation.
JOINED_LIMIT = 4_000  # characters


def joined(pieces: Sequence[Piece]) -> tuple[list[Piece], list[Departure]]:
    """Pieces whose chunks follow one another, or of which one holds the other, as one, best first.

    Adjacency goes by chunk index and current text, never by character offsets: chunks can be edited.
    """
    ordered = sorted(pieces, key=_place)
    merged: list[Piece] = []
    departures: list[Departure] = []
    for piece in ordered:
        previous = merged[-1] if merged else None
        if previous is None or not _continues(previous, piece):
            merged.append(piece)
            continue
        better, other = sorted((previous, piece), key=lambda piece: piece.rank)
        text = join_overlapping(previous.text, piece.text)
        merged[-1] = one_of(better, other, text, [*previous.chunks, *piece.chunks])
        departures.append(left(other, "joined", other=better))
    return sorted(merged, key=lambda piece: piece.rank), departures


def _place(piece: Piece) -> tuple[str, str, int, str]:
    hit = piece.hit
    return (hit["document_id"], hit["kind"], _first(piece), hit["chunk_id"])


def _continues(previous: Piece, piece: Piece) -> bool:
    same = all(previous.hit[key] == piece.hit[key] for key in ("document_id", "kind"))
    if not same:
        return False
    if piece.text in previous.text or previous.text in piece.text:
        return True
    adjacent = _first(piece) <= _last(previous) + 1
    return adjacent and len(previous.text) + len(piece.text) <= JOINED_LIMIT


def _first(piece: Piece) -> int:
    return piece.chunks[0].chunk_index if piece.chunks else piece.hit["chunk_index"]


def _last(piece: Piece) -> int:
    return piece.chunks[-1].chunk_index if piece.chunks else piece.hit["chunk_index"]
