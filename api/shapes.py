"""What is kept, as it stands on the wire."""

from collections.abc import Sequence
from typing import Any

from ..checkpoints.sessions import Message, Session
from ..context import Chunk, Document, FaqEntry, KnowledgeBase, Tag, model_name


def session_shape(session: Session) -> dict[str, Any]:
    return {
        "id": session.id,
        "title": session.title,
        "knowledge_base_ids": session.kb_ids,
        "created_at": session.created_at,
        "updated_at": session.updated_at,
        "pinned": session.pinned_at is not None,
    }


def message_shape(message: Message) -> dict[str, Any]:
    return {
        **message.details,
        "id": message.id,
        "session_id": message.session_id,
        "request_id": message.request_id,
        "role": message.role,
        "content": message.content,
        "status": message.status,
        "outcome": message.outcome,
        "knowledge_references": message.references,
        "run_id": message.run_id,
        "created_at": message.created_at,
        "timing": message.timing,
        "error": message.error,
        "feedback": message.feedback,
        "erased_at": message.erased_at,
    }


def kb_shape(kb: KnowledgeBase) -> dict[str, Any]:
    return {
        "id": kb.id,
        "name": kb.name,
        "description": kb.description,
        "kind": kb.kind,
        "settings": dict(kb.settings),
        "embedding_model": model_name(kb.embedding_model),
        "version": kb.version,
        "document_count": kb.document_count,
        "created_at": kb.created_at,
        "updated_at": kb.updated_at,
    }


def document_shape(document: Document, tags: Sequence[Tag] = ()) -> dict[str, Any]:
    return {
        "id": document.id,
        "knowledge_base_id": document.kb_id,
        "title": document.title,
        "media_type": document.media_type,
        "status": document.status,
        "error": document.error,
        "revision": document.revision,
        "chunk_count": document.chunk_count,
        "bytes": document.bytes,
        "tags": [{"id": tag.id, "name": tag.name} for tag in tags],
        "progress": {"stage": document.stage, "done": document.done, "total": document.total},
        "created_at": document.created_at,
        "updated_at": document.updated_at,
    }


def tag_shape(tag: Tag) -> dict[str, Any]:
    return {
        "id": tag.id,
        "knowledge_base_id": tag.kb_id,
        "name": tag.name,
        "document_count": tag.document_count,
    }


def faq_shape(entry: FaqEntry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "knowledge_base_id": entry.kb_id,
        "question": entry.question,
        "similar_questions": [*entry.similar_questions],
        "negative_questions": [*entry.negative_questions],
        "answers": [*entry.answers],
        "answer_strategy": entry.answer_strategy,
        "tags": [*entry.tags],
        "enabled": entry.enabled,
        "revision": entry.revision,
        "created_at": entry.created_at,
        "updated_at": entry.updated_at,
    }


def chunk_shape(chunk: Chunk) -> dict[str, Any]:
    return {
        "id": chunk.id,
        "knowledge_base_id": chunk.kb_id,
        "knowledge_id": chunk.document_id,
        "chunk_index": chunk.chunk_index,
        "content": chunk.text,
        "kind": chunk.kind,
        "page": chunk.page,
        "boxes": [list(box) for box in chunk.boxes],
        "section": chunk.section,
        "parent_chunk_id": chunk.parent_chunk_id,
        "chunk_revision": chunk.revision,
        "revision": chunk.revision,
        "enabled": chunk.enabled,
    }
