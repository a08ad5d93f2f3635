"""Pieces for the tests of single steps."""

from typing import Any

from headrace.nodes.merge.pieces import Piece, piece_of

from ...fakes import a_chunk, a_hit


def a_piece(id: str, text: str, *, score: float = 0.5, index: int = 0, **parts: Any) -> Piece:
    """`parts` are other fields of its chunk."""
    chunk = a_chunk(id, text, chunk_index=index, **parts)
    document = parts.get("document_id", "doc1")
    hit = a_hit(id, score=score, chunk_index=index, document_id=document, kind=chunk.kind)
    return piece_of(hit, text, [chunk])


def ids(pieces: list[Piece]) -> list[str]:
    return [piece.hit["chunk_id"] for piece in pieces]
