"""Step 7: a passage too short to be understood gets its neighbours."""

from collections.abc import Mapping, Sequence

from ...context import Chunk
from ...text.joining import join_overlapping
from .pieces import Piece

ENOUGH = 350  # characters
MOST = 850


def neighbour_ids(pieces: Sequence[Piece], known: Mapping[str, Chunk]) -> list[str]:
    """Neighbours of short pieces that have not been read yet."""
    wanted = (id for piece in pieces if len(piece.text) < ENOUGH for id in _neighbours(piece))
    return [id for id in dict.fromkeys(wanted) if id not in known]


def extended(piece: Piece, known: Mapping[str, Chunk]) -> Piece:
    """The piece with as many of its `known` neighbours as it takes to be long enough, one by one.

    A chunk is never taken twice, so chains that run in circles end.
    """
    while len(piece.text) < ENOUGH:
        longer = _one_longer(piece, known)
        if longer is None:
            break
        piece = longer
    return piece


def _one_longer(piece: Piece, known: Mapping[str, Chunk]) -> Piece | None:
    taken = {chunk.id for chunk in piece.chunks}
    for place, id in enumerate(_neighbours(piece)):
        chunk = known.get(id)
        if chunk is None or id in taken or not chunk.enabled or chunk.document_id != piece.hit["document_id"]:
            continue
        before = place == 0 and id == piece.chunks[0].pre_chunk_id
        text = _with(piece.text, chunk.text, before=before)
        chunks = [chunk, *piece.chunks] if before else [*piece.chunks, chunk]
        ids = dict.fromkeys([piece.hit["chunk_id"], *piece.hit["sub_chunk_ids"], id])
        return Piece(hit={**piece.hit, "sub_chunk_ids": [*ids]}, text=text, chunks=chunks)
    return None


def _with(text: str, neighbour: str, *, before: bool) -> str:
    longer = join_overlapping(neighbour, text) if before else join_overlapping(text, neighbour)
    # The far end of the neighbour goes: what touches the passage explains it best.
    return longer if len(longer) <= MOST else longer[-MOST:] if before else longer[:MOST]


def _neighbours(piece: Piece) -> list[str]:
    if not piece.chunks:
        return []
    ids = (piece.chunks[0].pre_chunk_id, piece.chunks[-1].next_chunk_id)
    return [id for id in ids if id]
