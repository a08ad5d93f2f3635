"""Step 5: neighbours in a document become one passage."""

from collections.abc import Sequence
from dataclasses import replace

from ...state import Departure
from .pieces import NEVER_JOINED, Piece, absorbed, left, united

# Two parents of the longest (`ingest/chunking.py`). Without a limit a document of which every chunk was found
# would become one passage with one citation.
JOINED_LIMIT = 4_400  # characters


def joined(pieces: Sequence[Piece]) -> tuple[list[Piece], list[Departure]]:
    """Pieces whose chunks follow one another, or of which one holds the other, as one, best first.

    Adjacency goes by chunk index and current text, never by character offsets: chunks can be edited.
    """
    merged: list[Piece] = []
    departures: list[Departure] = []
    for piece in sorted(pieces, key=_place):
        if merged and (one := _as_one(merged[-1], piece)):
            better, other = sorted((merged[-1], piece), key=lambda piece: piece.rank)
            departures.append(left(other, "joined", other=better))
            merged[-1] = one
        else:
            merged.append(piece)
    if departures:
        # What has grown may touch what stood before it.
        merged, more = joined(merged)
        departures += more
    return sorted(merged, key=lambda piece: piece.rank), departures


def _place(piece: Piece) -> tuple[str, str, int, str]:
    hit = piece.hit
    return (hit["document_id"], hit["kind"], piece.first, hit["chunk_id"])


def _as_one(before: Piece, after: Piece) -> Piece | None:
    """None where they stay two."""
    same = all(before.hit[key] == after.hit[key] for key in ("document_id", "kind"))
    if not same or before.hit["kind"] in NEVER_JOINED:
        return None
    better, other = sorted((before, after), key=lambda piece: piece.rank)
    if after.first <= before.last + 1:
        one = united(better, other)
        # Where one is held by the other nothing grows.
        if len(one.text) <= max(JOINED_LIMIT, len(before.text), len(after.text)):
            return one
    longer, shorter = (before, after) if len(before.text) >= len(after.text) else (after, before)
    if shorter.text not in longer.text:
        return None
    return replace(
        absorbed(better, other),
        text=longer.text,
        parts=longer.parts,
        chunks=longer.chunks,
        holders=longer.holders,
    )
