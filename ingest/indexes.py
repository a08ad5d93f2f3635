"""The indexes of all knowledge bases in step with the catalogue, which alone says what exists."""

import logging
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from time import monotonic
from typing import TypeVar

import anyio

from ..context import Embedder, KnowledgeBase, SearchStore, store_of
from ..errors import HeadraceError, NotFound
from .entries import embedded, is_searched, unembedded
from .ports import DocumentCatalogue

KB_PAGE = 200
# What is embedded between two documents: some ten seconds of work.
VECTOR_BATCH = 100

T = TypeVar("T")

log = logging.getLogger(__name__)


class Indexes:
    """What a crash, a lost folder or another version has left in the indexes is cleared or made again.

    A store that fails is logged, and costs nothing but its own knowledge bases.
    """

    def __init__(
        self,
        *,
        catalogue: DocumentCatalogue,
        stores: Mapping[str, SearchStore],
        embedder: Embedder,
        indexing: anyio.Lock,
    ) -> None:
        """`indexing` is held by whoever puts entries into the indexes before the catalogue knows them."""
        self._catalogue = catalogue
        self._stores = stores
        self._embedder = embedder
        self._indexing = indexing
        self._without_vector: deque[tuple[str, Sequence[str]]] = deque()  # entries, by knowledge base
        # Knowledge bases whose keywords are being made again; and those with which that has failed.
        self._unfinished: set[str] = set()
        self._stale: dict[str, set[str]] = {}  # entries that a search has met, by knowledge base
        self._healing: dict[str, set[str]] = {}
        self._reported = anyio.Event()

    def of(self, kb: KnowledgeBase) -> SearchStore:
        """Raises DependencyFailed `store_not_configured`."""
        return store_of(self._stores, kb)

    async def remove(self, kb: KnowledgeBase, entry_ids: Sequence[str]) -> None:
        if entry_ids:
            store = self.of(kb)
            await store.vectors.delete(kb.id, kb.embedding_model, entry_ids)
            await store.keywords.delete(kb.id, entry_ids)

    async def drop(self, kb_id: str) -> None:
        for store in self._stores.values():
            await store.vectors.drop(kb_id)
            await store.keywords.drop(kb_id)

    # --- at start ---

    async def catch_up(self) -> None:
        """Remove entries without a knowledge base or chunk, and make keyword indexes whole.

        Vectors that are missing are left for `restore`, since embedding takes its time.
        """
        async with self._indexing:
            kbs = await self._kbs()
            for name, store in self._stores.items():
                try:
                    await self._catch_up(store, [kb for kb in kbs if kb.store == name])
                except HeadraceError:
                    log.exception("what a crash may have left in store %s could not be cleared", name)

    async def _catch_up(self, store: SearchStore, kbs: Sequence[KnowledgeBase]) -> None:
        await store.keywords.keep_only({kb.id for kb in kbs})
        outdated = await store.keywords.outdated()
        self._unfinished |= outdated
        for kb in kbs:
            known = await self._catalogue.chunk_ids(kb.id)
            try:
                await self._complete_keywords(store, kb, known, anew=kb.id in outdated)
            except HeadraceError:
                log.exception("the keyword index of knowledge base %s could not be made whole", kb.id)
        await store.vectors.keep_only({kb.id for kb in kbs})
        for kb in kbs:
            try:
                await self._compare_vectors(store, kb, await self._catalogue.chunk_ids(kb.id))
            except HeadraceError:
                self._unfinished.add(kb.id)
                log.exception("the vectors of knowledge base %s could not be compared", kb.id)

    async def _complete_keywords(
        self, store: SearchStore, kb: KnowledgeBase, known: AbstractSet[str], *, anew: bool
    ) -> None:
        there = set[str]() if anew else await store.keywords.ids(kb.id)
        if extra := there - known:
            await store.keywords.delete(kb.id, [*extra])
        lacking = known - there
        if not anew and not lacking:
            return
        self._unfinished.add(kb.id)
        began = monotonic()
        if anew or not there:
            await store.keywords.rewrite(kb.id, unembedded(self._catalogue, sorted(known)))
        else:
            async for batch in unembedded(self._catalogue, sorted(lacking)):
                await store.keywords.add(kb.id, batch)
        self._unfinished.discard(kb.id)
        took = monotonic() - began
        log.info(
            "keyword index of knowledge base %s: %d entries made again, %.1f s", kb.id, len(lacking), took
        )

    async def _compare_vectors(self, store: SearchStore, kb: KnowledgeBase, known: AbstractSet[str]) -> None:
        there = await store.vectors.ids(kb.id, kb.embedding_model)
        if extra := there - known:
            await store.vectors.delete(kb.id, kb.embedding_model, [*extra])
        if kb.embedding_model != self._embedder.model:
            return  # to be searched by nobody until its model is configured again
        if lacking := sorted(known - there):
            log.warning("knowledge base %s: %d vectors are made again", kb.id, len(lacking))
            self._without_vector.extend((kb.id, batch) for batch in _batches(lacking, VECTOR_BATCH))

    async def _kbs(self) -> list[KnowledgeBase]:
        # All at once before the first is used: pages would shift if one were deleted meanwhile.
        found: list[KnowledgeBase] = []
        while True:
            page, total = await self._catalogue.list_kbs(page=len(found) // KB_PAGE + 1, page_size=KB_PAGE)
            found.extend(page)
            if not page or len(found) >= total:
                return found

    # --- between two documents ---

    @property
    def has_gaps(self) -> bool:
        return bool(self._without_vector)

    def reindexing(self) -> frozenset[str]:
        """Knowledge bases with an index that is being made again, or that could not be: then the next start
        tries it once more."""
        return frozenset({*self._unfinished, *(kb_id for kb_id, _ in self._without_vector)})

    async def restore(self) -> None:
        """Make some of the vectors again that an index has lost, from what the catalogue has: texts that were
        edited stay so."""
        if not self._without_vector:
            return
        kb_id, ids = self._without_vector[0]
        try:
            await self._restore(await self._catalogue.get_kb(kb_id), ids)
        except NotFound:
            log.info("knowledge base %s is gone before its vectors were made again", kb_id)
        except HeadraceError:
            self._unfinished.add(kb_id)
            log.exception("vectors of knowledge base %s could not be made again", kb_id)
        finally:
            self._without_vector.popleft()

    async def _restore(self, kb: KnowledgeBase, ids: Sequence[str]) -> None:
        chunks = await self._catalogue.indexed_chunks(ids)
        homes = await self._catalogue.documents([*{chunk.document_id for chunk in chunks.values()}])
        titles = {document.id: document.title for document in homes.values()}
        there = [chunk for chunk in chunks.values() if chunk.document_id in titles]
        entries = await embedded(there, titles, self._embedder)
        async with self._indexing:
            # Documents may have been deleted or published anew while this was embedded.
            known = await self._catalogue.chunk_ids(kb.id)
            entries = [entry for entry in entries if entry.chunk_id in known]
            await self.of(kb).vectors.add(kb.id, kb.embedding_model, entries)

    # --- when a search meets it ---

    def report(self, kb_id: str, entry_ids: Sequence[str]) -> None:
        """A search has met entries that the catalogue lacks: `heal` looks again, and removes them."""
        if new := {*entry_ids} - self._healing.get(kb_id, set()):
            self._stale.setdefault(kb_id, set()).update(new)
            self._reported.set()

    async def heal(self) -> None:
        """Work on what is reported until cancelled."""
        while True:
            await self._reported.wait()
            self._reported = anyio.Event()
            self._healing, self._stale = self._stale, {}
            for kb_id, ids in self._healing.items():
                try:
                    async with self._indexing:  # what is being indexed has its chunks after that
                        await self._heal(kb_id, sorted(ids))
                except HeadraceError:
                    log.exception("stale entries of knowledge base %s could not be removed", kb_id)
            self._healing = {}

    async def _heal(self, kb_id: str, ids: Sequence[str]) -> None:
        try:
            kb = await self._catalogue.get_kb(kb_id)
        except NotFound:
            await self.drop(kb_id)
            log.warning(
                "indexes of knowledge base %s, which is gone, were met by a search and removed", kb_id
            )
            return
        chunks = await self._catalogue.indexed_chunks(ids)
        valid = {id for id, chunk in chunks.items() if chunk.kb_id == kb_id and is_searched(chunk)}
        # A search over several knowledge bases cannot tell in which of them it met an entry.
        gone = sorted(await self._held(kb, {*ids} - valid))
        if gone:
            await self.remove(kb, gone)
            log.warning(
                "%d index entries of knowledge base %s, which the catalogue does not have, were met by a "
                "search and removed: %s",
                len(gone),
                kb_id,
                ", ".join(gone[:10]) + (" …" if len(gone) > 10 else ""),
            )

    async def _held(self, kb: KnowledgeBase, ids: AbstractSet[str]) -> set[str]:
        """Those of these entries that are in one of the indexes."""
        if not ids:
            return set()
        store = self.of(kb)
        there = await store.vectors.ids(kb.id, kb.embedding_model) | await store.keywords.ids(kb.id)
        return there & ids


def _batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
