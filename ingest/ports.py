"""What ingestion asks of the catalogue and of the folder of originals."""

from collections.abc import AsyncIterable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from ..context import Chunk, Document, DocumentStatus, KnowledgeBase


class DocumentCatalogue(Protocol):
    """Knowledge bases, documents and chunks, a transaction per call. Raises NotFound for unknown ids."""

    async def list_kbs(self, *, page: int = 1, page_size: int = 20) -> tuple[list[KnowledgeBase], int]: ...

    async def get_kb(self, kb_id: str) -> KnowledgeBase: ...

    async def delete_kb(self, kb_id: str) -> None: ...

    async def create_document(
        self, *, kb_id: str, title: str, media_type: str, sha256: str, bytes: int
    ) -> Document: ...

    async def replace_document(
        self, document_id: str, *, media_type: str, sha256: str, bytes: int
    ) -> Document:
        """Another original, pending; what is published stays searchable until the next `publish`."""
        ...

    async def get_document(self, document_id: str) -> Document: ...

    async def list_documents(
        self, kb_id: str, *, page: int = 1, page_size: int = 20
    ) -> tuple[list[Document], int]: ...

    async def document_by_hash(self, kb_id: str, sha256: str) -> Document | None: ...

    async def document_by_title(self, kb_id: str, title: str) -> Document | None: ...

    async def documents_in(self, *statuses: DocumentStatus) -> list[Document]: ...

    async def files_in_use(self, hashes: Iterable[str]) -> set[str]: ...

    async def set_progress(
        self,
        document_id: str,
        *,
        status: DocumentStatus,
        stage: str,
        done: int,
        total: int,
        error: str | None = None,
    ) -> Document: ...

    async def publish(self, document_id: str, *, revision: int, chunks: Sequence[Chunk]) -> list[str]:
        """These chunks instead of the old ones, the document ready. Returns the ids that are gone."""
        ...

    async def remove(self, document_id: str) -> list[str]:
        """The document and its chunks gone. Returns the ids that are gone."""
        ...

    async def documents(self, ids: Sequence[str]) -> Mapping[str, Document]: ...

    async def indexed_chunks(self, entry_ids: Sequence[str]) -> Mapping[str, Chunk]:
        """Chunks by the id they have in the indexes; unknown ones are left out."""
        ...

    async def chunk_ids(self, kb_id: str) -> set[str]:
        """What the indexes of this knowledge base should hold."""
        ...


class RewritableCatalogue(Protocol):
    """A catalogue whose file can be freed of what was removed from it."""

    async def chunk_ids(self, kb_id: str) -> set[str]: ...

    async def indexed_chunks(self, entry_ids: Sequence[str]) -> Mapping[str, Chunk]: ...

    async def documents(self, ids: Sequence[str]) -> Mapping[str, Document]: ...

    async def kbs(self, ids: Sequence[str]) -> Mapping[str, KnowledgeBase]: ...

    async def rewrite(self) -> bool:
        """Write the file anew. Whether its log could be emptied too."""
        ...


class ClearableVectors(Protocol):
    """A vector index whose files can be freed of what is no part of it."""

    async def clear_unused(self) -> None: ...


class Originals(Protocol):
    """Uploaded bytes by their sha256."""

    async def save(self, content: bytes | Path | AsyncIterable[bytes]) -> str: ...

    def path(self, sha256: str) -> Path: ...

    async def delete(self, sha256: str) -> None: ...

    async def hashes(self) -> set[str]:
        """All that are kept."""
        ...

    async def clear_partial(self) -> None: ...
