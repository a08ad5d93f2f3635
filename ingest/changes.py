"""Changes of single chunks and FAQ entries: wherever one stops, the old or the new is found."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager

import anyio

from ..context import IndexEntry, KnowledgeBase, SearchStore, store_of
from ..errors import HeadraceError
from .ports import DocumentCatalogue

log = logging.getLogger(__name__)


class IndexChanges:
    """Into the indexes, then the catalogue, then out of the indexes.

    An index entry counts once the catalogue has it and no longer than that, so the transaction in the middle
    is the moment of change. What a crash leaves beside it is cleared at the next start, or by the search that
    meets it.
    """

    def __init__(
        self, catalogue: DocumentCatalogue, stores: Mapping[str, SearchStore], indexing: anyio.Lock
    ) -> None:
        self._catalogue = catalogue
        self._stores = stores
        self._indexing = indexing

    @asynccontextmanager
    async def around(
        self, kb: KnowledgeBase, entries: Sequence[IndexEntry] = ()
    ) -> AsyncGenerator[list[str]]:
        """The block is the transaction; it puts the ids that the indexes are to forget into the list.

        When it raises, nothing has changed. Raises NotFound when the knowledge base has been deleted, and
        DependencyFailed when an index does not take the entries.
        """
        gone: list[str] = []
        added = [entry.chunk_id for entry in entries]
        async with self._indexing:
            await self._catalogue.get_kb(kb.id)  # or entries would come to the indexes of one that is gone
            try:
                await self._add(kb, entries)
            except (HeadraceError, asyncio.CancelledError):
                await self._forget(kb, added)
                raise
            # Whoever asked for it may have gone away: what has begun to change is brought to its end.
            with anyio.CancelScope(shield=True):
                try:
                    yield gone
                except HeadraceError:
                    await self._forget(kb, added)
                    raise
                await self._forget(kb, gone)

    async def _add(self, kb: KnowledgeBase, entries: Sequence[IndexEntry]) -> None:
        if entries:
            store = store_of(self._stores, kb)
            await store.vectors.add(kb.id, kb.embedding_model, entries)
            await store.keywords.add(kb.id, entries)

    async def _forget(self, kb: KnowledgeBase, ids: Sequence[str]) -> None:
        if not ids:
            return
        try:
            store = store_of(self._stores, kb)
            with anyio.CancelScope(shield=True):
                await store.vectors.delete(kb.id, kb.embedding_model, ids)
                await store.keywords.delete(kb.id, ids)
        except HeadraceError:
            log.exception("index entries without a chunk are left", extra={"kb_id": kb.id})
