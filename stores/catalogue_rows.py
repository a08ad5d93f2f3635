"""Rows of the catalogue to values and back."""

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

from ..context import Chunk, Document, FaqEntry, KnowledgeBase
from ..text.language import language_of


def to_kb(row: sqlite3.Row) -> KnowledgeBase:
    return KnowledgeBase(
        id=row["id"],
        tenant_id=row["tenant_id"],
        name=row["name"],
        description=row["description"],
        kind=row["kind"],
        settings=json.loads(row["settings"]),
        embedding_model=row["embedding_model"],
        version=row["version"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        document_count=row["document_count"],
        store=row["store"],
    )


def to_document(row: sqlite3.Row) -> Document:
    return Document(**{name: row[name] for name in row.keys()})  # a Row iterates its values


def to_chunk(row: sqlite3.Row) -> Chunk:
    return Chunk(
        id=row["id"],
        revision=row["revision"],
        kb_id=row["kb_id"],
        document_id=row["document_id"],
        kind=row["kind"],
        chunk_index=row["chunk_index"],
        text=row["text"],
        page=row["page"],
        boxes=json.loads(row["boxes"]),
        section=row["section"],
        pre_chunk_id=row["pre_chunk_id"],
        next_chunk_id=row["next_chunk_id"],
        parent_chunk_id=row["parent_chunk_id"],
        enabled=bool(row["enabled"]),
        entry_id=row["entry_id"],
        images=tuple(json.loads(row["images"])),
        language=row["language"],
    )


def chunk_row(chunk: Chunk) -> dict[str, Any]:
    return {
        "id": chunk.id,
        "kb_id": chunk.kb_id,
        "document_id": chunk.document_id,
        "revision": chunk.revision,
        "kind": chunk.kind,
        "chunk_index": chunk.chunk_index,
        "text": chunk.text,
        "page": chunk.page,
        "boxes": json.dumps([[*box] for box in chunk.boxes]),
        "section": chunk.section,
        "pre_chunk_id": chunk.pre_chunk_id,
        "next_chunk_id": chunk.next_chunk_id,
        "parent_chunk_id": chunk.parent_chunk_id,
        "enabled": int(chunk.enabled),
        "entry_id": "" if chunk.entry_id == chunk.id else chunk.entry_id,
        "language": language_of(chunk.text),
        "images": json.dumps([dict(image) for image in chunk.images], ensure_ascii=False),
    }


def to_faq_entry(row: sqlite3.Row) -> FaqEntry:
    """`row` has the names of its tags beside what the table has, as JSON in `tags`."""
    return FaqEntry(
        id=row["id"],
        kb_id=row["kb_id"],
        question=row["question"],
        similar_questions=json.loads(row["similar_questions"]),
        negative_questions=json.loads(row["negative_questions"]),
        answers=json.loads(row["answers"]),
        answer_strategy=row["answer_strategy"],
        tags=json.loads(row["tags"]),
        enabled=bool(row["enabled"]),
        revision=row["revision"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def insert(table: str, row: Mapping[str, Any]) -> str:
    return f"insert into {table} ({', '.join(row)}) values ({', '.join(f':{name}' for name in row)})"


def upsert(table: str, row: Mapping[str, Any]) -> str:
    """As `insert`; a row that is there gets these values, and keeps when it was made."""
    changed = ", ".join(f"{name} = excluded.{name}" for name in row if name not in ("id", "created_at"))
    return f"{insert(table, row)} on conflict (id) do update set {changed}"


def update(table: str, row: Mapping[str, Any]) -> str:
    changed = ", ".join(f"{name} = :{name}" for name in row if name != "id")
    return f"update {table} set {changed} where id = :id"
