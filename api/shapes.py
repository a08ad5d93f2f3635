"""What is kept, as it stands on the wire."""

from typing import Any

from ..checkpoints.sessions import Message, Session
from ..context import Chunk, Document, KnowledgeBase, model_name


def session_shape(session: Session) -> dict[str, Any]:
    return {
        "id": session.id,
        "title": session.title,
        "knowledge_base_ids": session.kb_ids,
        "created_at": session.created_at,
        "updated_at": session.updated_at,
    }


def message_shape(message: Message) -> dict[str, Any]:
    return {
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


def document_shape(document: Document) -> dict[str, Any]:
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
        "progress": {"stage": document.stage, "done": document.done, "total": document.total},
        "created_at": document.created_at,
        "updated_at": document.updated_at,
    }


def chunk_shape(chunk: Chunk) -> dict[str, Any]:
    return {
        "id": chunk.id,
        "chunk_index": chunk.chunk_index,
        "content": chunk.text,
        "kind": chunk.kind,
        "page": chunk.page,
        "boxes": [list(box) for box in chunk.boxes],
        "section": chunk.section,
        "parent_chunk_id": chunk.parent_chunk_id,
        "chunk_revision": chunk.revision,
        "enabled": chunk.enabled,
    }
