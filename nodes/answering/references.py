"""References as clients get them: hits with names, without internal fields."""

from collections.abc import Mapping, Sequence
from typing import Any

from ...context import Document
from ...state import Hit


def to_references(
    hits: Sequence[Hit],
    *,
    documents: Mapping[str, Document],
    aliases: Mapping[str, str],
    texts: Sequence[str | None] | None = None,
) -> list[dict[str, Any]]:
    """Wire references of `hits`, in order.

    Without `texts` each holds `passage`, the hash under which its text was kept, and its `content` is
    put in when the event is read; with `texts` (as long as `hits`) it holds `content`.
    """
    alias_of = {chunk_id: alias for alias, chunk_id in aliases.items()}
    references = [_reference(hit, documents, alias_of.get(hit["chunk_id"])) for hit in hits]
    if texts is not None:
        for reference, text in zip(references, texts, strict=True):
            reference["content"] = text or ""
    return references


def _reference(hit: Hit, documents: Mapping[str, Document], alias: str | None) -> dict[str, Any]:
    document = documents.get(hit["document_id"])
    return {
        "id": hit["chunk_id"],
        "alias": alias,
        "chunk_type": hit["kind"],
        "chunk_revision": hit["chunk_revision"],
        "knowledge_base_id": hit["kb_id"],
        "knowledge_id": hit["document_id"],
        "knowledge_title": document.title if document else "",
        "passage": hit.get("passage"),
        "chunk_index": hit["chunk_index"],
        "sub_chunk_ids": hit["sub_chunk_ids"],
        "score": hit["score"],
        "scores": hit["scores"],
        "ranks": hit["ranks"],
        "marks": hit["marks"],
        "match_type": hit["match_type"],
        "page": hit["source"]["page"],
        "boxes": hit["source"]["boxes"],
        "section": hit["source"]["section"],
        "url": hit["source"]["url"],
        "date": None,
    }
