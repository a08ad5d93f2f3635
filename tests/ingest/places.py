"""A data folder with the stores that are shipped, and a switch that ends the process at a step."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headrace.context import Chunk, FaqEntry, IndexEntry, SearchStore
from headrace.errors import DependencyFailed
from headrace.ingest.changes import IndexChanges
from headrace.ingest.editing import ChunkEdits
from headrace.ingest.erasing import ErasedDocuments
from headrace.ingest.faq import Faq
from headrace.ingest.pipeline import Ingestion
from headrace.settings import load_settings
from headrace.stores.catalogue import SqliteCatalogue, open_catalogue
from headrace.stores.chroma import ChromaVectors
from headrace.stores.files import OriginalFiles
from headrace.stores.tantivy import TantivyKeywords
from headrace.text.tokens import Tokens

from ..fakes import MODEL, FakeEmbedder
from .fakes import Crash, HereParser

TOKENS = Tokens()


@dataclass(slots=True)
class Steps:
    """Writes in the order in which they come; the process ends before the one of that number. Those named
    in `fails` are refused by their store."""

    ends_before: int | None = None
    fails: str = ""
    taken: list[str] = field(default_factory=list[str])

    def step(self, name: str) -> None:
        if len(self.taken) == self.ends_before:
            raise Crash
        if name == self.fails:
            raise DependencyFailed("index", "There is no room.")
        self.taken.append(name)


class SteppedVectors(ChromaVectors):
    def __init__(self, folder: Path, steps: Steps) -> None:
        super().__init__(folder)
        self._steps = steps

    async def add(self, kb_id: str, model: str, entries: Sequence[IndexEntry]) -> None:
        self._steps.step("vectors.add")
        await super().add(kb_id, model, entries)

    async def delete(self, kb_id: str, model: str, chunk_ids: Sequence[str]) -> None:
        self._steps.step("vectors.delete")
        await super().delete(kb_id, model, chunk_ids)


class SteppedKeywords(TantivyKeywords):
    def __init__(self, folder: Path, steps: Steps) -> None:
        super().__init__(folder, TOKENS)
        self._steps = steps

    async def add(self, kb_id: str, entries: Sequence[IndexEntry]) -> None:
        self._steps.step("keywords.add")
        await super().add(kb_id, entries)

    async def delete(self, kb_id: str, chunk_ids: Sequence[str]) -> None:
        self._steps.step("keywords.delete")
        await super().delete(kb_id, chunk_ids)


class SteppedCatalogue:
    """The catalogue, with the changes that are looked at here counted."""

    def __init__(self, inner: SqliteCatalogue, steps: Steps) -> None:
        self._inner = inner
        self._steps = steps

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def write_faq(
        self, kb_id: str, written: Sequence[tuple[FaqEntry, Sequence[Chunk]]]
    ) -> list[FaqEntry]:
        self._steps.step("catalogue")
        return await self._inner.write_faq(kb_id, written)

    async def remove_faq(self, kb_id: str, entry_ids: Sequence[str]) -> tuple[list[str], list[str]]:
        self._steps.step("catalogue")
        return await self._inner.remove_faq(kb_id, entry_ids)

    async def change_chunk(self, chunk: Chunk, *, seen: int) -> Chunk:
        self._steps.step("catalogue")
        return await self._inner.change_chunk(chunk, seen=seen)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What is open of one data folder."""

    catalogue: SqliteCatalogue
    vectors: ChromaVectors
    keywords: TantivyKeywords
    ingestion: Ingestion
    faq: Faq
    edits: ChunkEdits
    erased: ErasedDocuments
    steps: Steps

    async def in_step(self, kb_id: str) -> set[str]:
        """What is searched; both indexes must hold exactly this."""
        known = await self.catalogue.chunk_ids(kb_id)
        assert await self.vectors.ids(kb_id, MODEL) == known
        assert await self.keywords.ids(kb_id) == known
        return known

    async def texts(self, kb_id: str) -> set[str]:
        """The texts of what is searched."""
        found = await self.catalogue.indexed_chunks([*await self.in_step(kb_id)])
        return {chunk.text for chunk in found.values()}

    async def version(self, kb_id: str) -> int:
        return (await self.catalogue.get_kb(kb_id)).version

    async def tidied(self) -> None:
        """Wait for the work at the start: a document that comes after it is done after it."""
        kb = await self.catalogue.kb_by_name("after") or await self.catalogue.create_kb(
            name="after", embedding_model=MODEL
        )
        added = await self.ingestion.add(kb, name="a.txt", content=b"Anything.")
        await self.ingestion.finished(added.id)
        await self.ingestion.delete(added.id)


@asynccontextmanager
async def a_place(folder: Path, *, steps: Steps | None = None) -> AsyncGenerator[Place]:
    """Open it as a server does; after the block all is closed, also when the process "ended" in it."""
    steps = steps or Steps()
    async with open_catalogue(folder / "catalogue.sqlite") as catalogue:
        vectors = SteppedVectors(folder / "chroma", steps)
        keywords = SteppedKeywords(folder / "keywords", steps)
        embedder, stores = FakeEmbedder(), {"embedded": SearchStore(vectors=vectors, keywords=keywords)}
        ingestion = Ingestion(
            catalogue=catalogue,
            stores=stores,
            embedder=embedder,
            files=OriginalFiles(folder / "files"),
            parser=HereParser(),
            settings=load_settings(),
        )
        stepped: Any = SteppedCatalogue(catalogue, steps)
        changes = IndexChanges(catalogue, stores, ingestion.indexing)
        await ingestion.start()
        try:
            yield Place(
                catalogue=catalogue,
                vectors=vectors,
                keywords=keywords,
                ingestion=ingestion,
                faq=Faq(catalogue=stepped, embedder=embedder, changes=changes),
                edits=ChunkEdits(catalogue=stepped, embedder=embedder, changes=changes),
                erased=ErasedDocuments(ingestion, catalogue, stores, [vectors]),
                steps=steps,
            )
        finally:
            await ingestion.close()
            await keywords.close()
            await vectors.close()
