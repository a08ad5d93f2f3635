"""Step 7: a passage too short to be understood gets its neighbours."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ...context import Chunk
from ...state import Hit
from ...text.sentences import split_sentences
from .pieces import NEVER_JOINED, Piece, part_of, read_through

ENOUGH = 350  # characters
MOST = 850


@dataclass(frozen=True, slots=True, kw_only=True)
class Extended:
    """`missing` are chunks that have not been read yet and may be a neighbour."""

    pieces: Sequence[Piece]
    missing: Sequence[str]


def extended(pieces: Sequence[Piece], known: Mapping[str, Chunk], *, left: Iterable[str] = ()) -> Extended:
    """Short pieces with as many of their `known` neighbours as it takes to be long enough, the best first.

    One on either side in turn. No chunk is taken twice, nor one that another piece has, nor one that `left`
    because its text is there, so nothing is said twice, and chains that run in circles end.
    """
    taken = _Taken(pieces, left)
    missing: list[str] = []
    longer: list[Piece] = []
    for piece in sorted(pieces, key=lambda piece: piece.rank):
        done, wanted = _extended(piece, known, taken)
        longer.append(done)
        missing += wanted
    return Extended(pieces=longer, missing=list(dict.fromkeys(missing)))


class _Taken:
    """Chunks whose text is in some piece: its own, or below a parent that it has."""

    def __init__(self, pieces: Sequence[Piece], left: Iterable[str]) -> None:
        self._ids = {*left} | {
            id for piece in pieces for id in (piece.hit["chunk_id"], *piece.hit["sub_chunk_ids"])
        }
        self._ids |= {chunk.id for piece in pieces for chunk in piece.chunks}
        self._holders = {id for piece in pieces for id in piece.holders}

    def has(self, chunk: Chunk) -> bool:
        return chunk.id in self._ids or chunk.parent_chunk_id in self._holders

    def add(self, chunk: Chunk) -> None:
        self._ids.add(chunk.id)


def _extended(piece: Piece, known: Mapping[str, Chunk], taken: _Taken) -> tuple[Piece, list[str]]:
    # A hit with a text of its own was merged before, with what there was to extend it by.
    if piece.hit["kind"] in NEVER_JOINED or not piece.chunks or "passage" in piece.hit:
        return piece, []
    sides = [_before, _after]
    while sides and len(piece.text) < ENOUGH:
        side = sides.pop(0)
        id = side(piece)
        chunk = known.get(id) if id else None
        if id and chunk is None:
            # Not further on the other side either before this one is read.
            return piece, [
                one for one in (id, *(other(piece) for other in sides)) if one and one not in known
            ]
        if chunk and _is_neighbour(chunk, piece, before=side is _before) and not taken.has(chunk):
            taken.add(chunk)
            piece = _with(piece, chunk, before=side is _before)
            sides.append(side)
    return piece, []


def _is_neighbour(chunk: Chunk, piece: Piece, *, before: bool) -> bool:
    # A link may lead anywhere.
    in_place = chunk.chunk_index <= piece.first if before else chunk.chunk_index >= piece.last
    same = chunk.document_id == piece.hit["document_id"]
    return same and in_place and chunk.enabled and chunk.kind not in NEVER_JOINED


def _with(piece: Piece, chunk: Chunk, *, before: bool) -> Piece:
    def longer(text: str) -> Piece:
        part = replace(part_of(chunk), text=text, whole=chunk.text if text != chunk.text else "")
        parts = [part, *piece.parts] if before else [*piece.parts, part]
        return replace(piece, text=read_through(parts), parts=parts)

    whole = longer(chunk.text)
    if len(whole.text) > MOST:
        whole = _fitting(longer, chunk.text, room=MOST - len(piece.text) - 1, before=before)
    ids = dict.fromkeys([piece.hit["chunk_id"], *piece.hit["sub_chunk_ids"], chunk.id])
    chunks = [chunk, *piece.chunks] if before else [*piece.chunks, chunk]
    hit: Hit = {**piece.hit, "sub_chunk_ids": [*ids]}
    return replace(whole, hit=hit, chunks=chunks)


def _fitting(longer: Callable[[str], Piece], text: str, *, room: int, before: bool) -> Piece:
    """With as much of a neighbour as there is room for: whole sentences, if these are enough.

    Its far end goes, since what touches the passage explains it best.
    """
    cut = text[-room:] if before else text[:room]
    sentences = split_sentences(cut)[1:] if before else split_sentences(cut)[:-1]
    whole = longer("".join(sentences).strip()) if sentences else None
    return whole if whole and len(whole.text) >= ENOUGH else longer(cut)


def _before(piece: Piece) -> str | None:
    return piece.chunks[0].pre_chunk_id


def _after(piece: Piece) -> str | None:
    return piece.chunks[-1].next_chunk_id
