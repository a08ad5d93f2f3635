"""A hit with the text it stands for while passages are put together."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...context import Chunk
from ...state import Departure, Hit
from ..reporting.departures import departed


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """`chunks` are those whose text is in `text`, in reading order; empty where the catalogue gave none."""

    hit: Hit
    text: str
    chunks: Sequence[Chunk] = ()

    @property
    def rank(self) -> tuple[float, str]:
        """Better pieces first."""
        return (-self.hit["score"], self.hit["chunk_id"])


def order(hit: Hit) -> tuple[float, str, str, int, str]:
    """The one order of hits: score, then place, so that the same input always gives the same order."""
    return (-hit["score"], hit["document_id"], hit["kind"], hit["chunk_index"], hit["chunk_id"])


def one_of(better: Piece, other: Piece, text: str, chunks: Iterable[Chunk]) -> Piece:
    """Two pieces as one hit: the better one's, with the chunks of both on record."""
    ids = [
        better.hit["chunk_id"],
        *better.hit["sub_chunk_ids"],
        other.hit["chunk_id"],
        *other.hit["sub_chunk_ids"],
    ]
    unique = {chunk.id: chunk for chunk in chunks}
    return Piece(
        hit={**better.hit, "sub_chunk_ids": list(dict.fromkeys([*ids, *unique]))},
        text=text,
        chunks=sorted(unique.values(), key=lambda chunk: chunk.chunk_index),
    )


def left(piece: Piece, reason: str, *, limit: float | None = None, other: Piece | None = None) -> Departure:
    """`other` is the piece that holds what this one said."""
    into = other.hit["chunk_id"] if other else None
    return departed(piece.hit, "merge_chunks", reason, limit=limit, other=into)
