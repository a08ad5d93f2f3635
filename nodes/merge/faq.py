"""Step 6: who finds a known question reads its answers."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...context import FaqEntry
from .pieces import Piece


def entry_ids(pieces: Sequence[Piece]) -> list[str]:
    """FAQ hits are known by their entry (`Hit.question` is what it was found by)."""
    return [piece.hit["chunk_id"] for piece in pieces if piece.hit["kind"] == "faq"]


def with_answers(pieces: Sequence[Piece], entries: Mapping[str, FaqEntry], *, run_id: str) -> list[Piece]:
    """FAQ pieces as their standard question and what the entry's strategy takes of its answers."""
    return [
        _answered(piece, entry, run_id) if (entry := entries.get(piece.hit["chunk_id"])) else piece
        for piece in pieces
    ]


def content_of(entry: FaqEntry, *, run_id: str) -> str:
    """The question, an empty line, and an answer to a line."""
    return "\n\n".join(part for part in (entry.question, "\n".join(chosen(entry, run_id=run_id))) if part)


def chosen(entry: FaqEntry, *, run_id: str) -> Sequence[str]:
    """A random answer is the same whenever the same run is merged again."""
    match entry.answer_strategy:
        case "first":
            return entry.answers[:1]
        case "random" if entry.answers:
            # Ids hold no such separator, so no two pairs have one key.
            drawn = hashlib.sha256(f"{run_id}\x1f{entry.id}".encode()).digest()
            return [entry.answers[int.from_bytes(drawn[:8]) % len(entry.answers)]]
        case _:
            return entry.answers


def _answered(piece: Piece, entry: FaqEntry, run_id: str) -> Piece:
    text = content_of(entry, run_id=run_id)
    part = replace(piece.parts[0], text=text, holds=True)
    return replace(piece, text=text, parts=(part,))
