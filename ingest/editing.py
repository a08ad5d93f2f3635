"""The text of a single chunk changed by hand, and chunks that no search may find."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import anyio

from ..context import Chunk, Document, Embedder, KnowledgeBase, require_same_model
from ..errors import BadRequest, Conflict, TooLarge
from ..text.labels import is_visible
from ..text.signature import chunk_id as hashed
from .changes import IndexChanges
from .entries import embedded, is_searched
from .faq_drafts import storable

CHUNK_LENGTH = 100_000


class ChunkCatalogue(Protocol):
    """Where chunks are kept. Raises NotFound for unknown ids."""

    async def get_kb(self, kb_id: str) -> KnowledgeBase: ...

    async def get_document(self, document_id: str) -> Document: ...

    async def get_chunk(self, chunk_id: str) -> Chunk: ...

    async def change_chunk(self, chunk: Chunk, *, seen: int) -> Chunk: ...

    async def chunks(self, ids: Sequence[str]) -> Mapping[str, Chunk]: ...


class ChunkEdits:
    """What is changed here stays until the document is replaced by other bytes: that cuts it anew.

    The chunk keeps its id and gets another revision; answers that quoted the old text keep it. The text of
    the parent above an edited chunk stays as it is, and the other way round.
    """

    def __init__(self, *, catalogue: ChunkCatalogue, embedder: Embedder, changes: IndexChanges) -> None:
        self._catalogue = catalogue
        self._embedder = embedder
        self._changes = changes
        self._editing = anyio.Lock()

    async def change(self, chunk_id: str, *, text: str | None = None, enabled: bool | None = None) -> Chunk:
        """The chunk as it is now; what is not given stays.

        Raises NotFound `chunk_not_found`, Conflict `chunk_of_faq`, `embedding_model_mismatch`, BadRequest
        `empty_chunk`, `not_searched` for a parent that should be disabled, TooLarge, and DependencyFailed:
        then nothing has changed.
        """
        async with self._editing:
            old = await self._catalogue.get_chunk(chunk_id)
            kb = await self._catalogue.get_kb(old.kb_id)
            new = _changed(old, kb, text=text, enabled=enabled)
            if new == old:
                return old
            return await self._replace(kb, old, new)

    async def _replace(self, kb: KnowledgeBase, old: Chunk, new: Chunk) -> Chunk:
        before = {old.indexed_as} if is_searched(old) else set[str]()
        after = {new.indexed_as} if is_searched(new) else set[str]()
        added = [new] if after - before else []
        if added:
            require_same_model(kb, self._embedder.model)
        title = (await self._catalogue.get_document(new.document_id)).title
        entries = await embedded(added, {new.document_id: title}, self._embedder)
        async with self._changes.around(kb, entries) as gone:
            kept = await self._catalogue.change_chunk(new, seen=old.revision)
            gone += before - after
        return kept


def _changed(old: Chunk, kb: KnowledgeBase, *, text: str | None, enabled: bool | None) -> Chunk:
    if kb.kind == "faq":
        raise Conflict(
            "This chunk belongs to an FAQ entry: change the entry.",
            code="chunk_of_faq",
            details={"id": old.document_id},
        )
    if old.kind == "parent" and enabled is False:
        raise BadRequest(
            "This chunk is the context of the chunks below it and is never searched itself: disable those.",
            code="not_searched",
        )
    new = replace(old, enabled=old.enabled if enabled is None else enabled)
    if text is None or (text := _good(text)) == old.text:
        return new
    revision = old.revision + 1
    # A hash of its own for each text: the indexes hold the new one beside the old one for a moment.
    entry_id = hashed(old.id, revision, old.kind, old.chunk_index)
    return replace(new, text=text, revision=revision, entry_id=entry_id)


def _good(text: str) -> str:
    text = storable(text.replace("\r\n", "\n").replace("\r", "\n")).strip("\n").rstrip()
    if not is_visible(text):
        raise BadRequest("A chunk needs some text: to have it never found, disable it.", code="empty_chunk")
    if len(text) > CHUNK_LENGTH:
        raise TooLarge(
            f"A chunk has at most {CHUNK_LENGTH} characters, this text has {len(text)}.",
            code="chunk_too_long",
            details={"limit": CHUNK_LENGTH},
        )
    return text
