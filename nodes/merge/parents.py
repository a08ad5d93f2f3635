"""Step 4: a small chunk is found, its parent is read; children of one parent are one hit."""

from collections.abc import Mapping, Sequence

from ...context import Chunk
from ...state import Departure
from .pieces import Piece, left, one_of


def parent_ids(pieces: Sequence[Piece]) -> list[str]:
    return list(dict.fromkeys(id for piece in pieces for id in _parents_of(piece)))


def with_parents(
    pieces: Sequence[Piece], parents: Mapping[str, Chunk]
) -> tuple[list[Piece], list[Departure]]:
    """Children with the current text of their parent; the best child of each parent stands for all."""
    merged: dict[str, Piece] = {}
    departures: list[Departure] = []
    for piece in sorted(pieces, key=lambda piece: piece.rank):
        parent = next((parents[id] for id in _parents_of(piece) if id in parents), None)
        if parent is None or not parent.enabled:
            merged[piece.hit["chunk_id"]] = piece
        elif parent.id in merged:
            best = merged[parent.id]
            departures.append(left(piece, "same_parent", other=best))
            merged[parent.id] = one_of(best, piece, best.text, [*best.chunks, *piece.chunks])
        else:
            merged[parent.id] = Piece(hit=piece.hit, text=parent.text, chunks=piece.chunks)
    return [*merged.values()], departures


def _parents_of(piece: Piece) -> list[str]:
    return [chunk.parent_chunk_id for chunk in piece.chunks if chunk.parent_chunk_id]
