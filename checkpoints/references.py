"""References as they are stored: without their text, which is read by its hash when somebody looks."""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from ..state import Hit, Source
from .texts import read_texts

StoredReference = dict[str, Any]


def fill_contents(connection: sqlite3.Connection, lists: Iterable[list[StoredReference]]) -> None:
    """Give every reference its `content`, in place; empty where the passage is gone."""
    references = [reference for references in lists for reference in references]
    texts = read_texts(connection, [r["passage"] for r in references if r.get("passage")])
    for reference in references:
        if "content" not in reference:
            reference["content"] = texts.get(reference.get("passage") or "", "")


def to_hits(references: Sequence[StoredReference]) -> list[Hit]:
    """The hits an answer quoted, as far as its references tell: what a later turn may use again."""
    return [_to_hit(reference) for reference in references]


def _to_hit(reference: StoredReference) -> Hit:
    hit = Hit(
        chunk_id=reference["id"],
        chunk_revision=reference.get("chunk_revision", 1),
        kb_id=reference.get("knowledge_base_id", ""),
        document_id=reference.get("knowledge_id", ""),
        kind=reference.get("chunk_type", "text"),
        match_type=reference.get("match_type", "vector"),
        chunk_index=reference.get("chunk_index", 0),
        score=reference.get("score", 0.0),
        scores=reference.get("scores") or {},
        ranks={},
        marks=[],
        sub_chunk_ids=reference.get("sub_chunk_ids") or [],
        source=Source(
            page=reference.get("page"),
            boxes=reference.get("boxes") or [],
            section=reference.get("section"),
            url=reference.get("url"),
        ),
    )
    if passage := reference.get("passage"):
        hit["passage"] = passage
    return hit
