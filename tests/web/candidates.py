"""A passage that was found, as a run's record and a search tell it."""

from typing import Any

from .told import Json


def a_candidate(chunk_id: str, title: str, fate: str = "selected", **more: Any) -> Json:
    return {
        "chunk_id": chunk_id,
        "document_id": "d",
        "document_title": title,
        "kb_id": "kb",
        "kind": "text",
        "section": None,
        "page": None,
        "chunk_index": 0,
        "snippet": f"text of {chunk_id}",
        "match_type": "both",
        "question": None,
        "marks": [],
        "ranks": {},
        "scores": {},
        "alias": None,
        "cited": False,
        "fate": fate,
        "merged_into": None,
        "merged_by": None,
        "left": None,
        "shown_in": None,
        **more,
    }
