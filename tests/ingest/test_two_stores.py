"""Two engines, each with a folder of its own: a knowledge base lives in the one that it names."""

import shutil
import sqlite3
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import pytest
import tantivy

from headrace.context import KnowledgeBase, SearchStore
from headrace.errors import DependencyFailed
from headrace.ingest.changes import IndexChanges
from headrace.ingest.editing import ChunkEdits
from headrace.ingest.erasing import ErasedDocuments
from headrace.ingest.faq import Faq
from headrace.ingest.faq_drafts import FaqDraft
from headrace.ingest.pipeline import Ingestion
from headrace.nodes.searching.hybrid import hybrid_search
from headrace.nodes.searching.search import Search
from headrace.settings import load_settings
from headrace.stores.catalogue import SqliteCatalogue, open_catalogue
from headrace.stores.chroma import ChromaVectors
from headrace.stores.files import OriginalFiles
from headrace.stores.tantivy import TantivyKeywords

from ..fakes import MODEL, FakeEmbedder, World
from .fakes import HereParser
from .places import TOKENS

pytestmark = pytest.mark.anyio

NEAR, FAR = "embedded", "far"


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    folder: Path
    catalogue: SqliteCatalogue
    stores: Mapping[str, SearchStore]
    ingestion: Ingestion
    faq: Faq
    edits: ChunkEdits
    erased: ErasedDocuments

    async def kb(self, store: str, *, kind: str = "document") -> KnowledgeBase:
        made = await self.catalogue.create_kb(name=f"{store} {kind}", kind=kind, embedding_model=MODEL)
        with closing(sqlite3.connect(self.folder / "catalogue.sqlite")) as file, file:
            file.execute("update knowledge_bases set store = ? where id = ?", (store, made.id))
        return await self.catalogue.get_kb(made.id)

    async def added(self, kb: KnowledgeBase, text: str) -> str:
        document = await self.ingestion.add(kb, name="a.txt", content=text.encode())
        assert (await self.ingestion.finished(document.id)).error is None
        return document.id

    async def held(self, store: str, kb: KnowledgeBase) -> set[str]:
        """What this store has of it, the same in both indexes."""
        there = await self.stores[store].vectors.ids(kb.id, MODEL)
        assert await self.stores[store].keywords.ids(kb.id) == there
        return there

    async def found(self, *kbs: KnowledgeBase) -> set[str]:
        context = replace(
            World().context(),
            catalogue=self.catalogue,
            stores=self.stores,
            tokens=TOKENS,
            stale=self.ingestion.heal,
        )
        result = await hybrid_search(context, Search(query="年假 leave", kb_ids=[kb.id for kb in kbs]))
        return {hit["document_id"] for hit in result.hits}


@asynccontextmanager
async def opened(folder: Path) -> AsyncGenerator[Data]:
    async with AsyncExitStack() as closing_last:
        catalogue = await closing_last.enter_async_context(open_catalogue(folder / "catalogue.sqlite"))
        vectors = {name: ChromaVectors(folder / name / "chroma") for name in (NEAR, FAR)}
        stores: dict[str, SearchStore] = {}
        for name, index in vectors.items():
            closing_last.push_async_callback(index.close)
            keywords = TantivyKeywords(folder / name / "keywords", TOKENS)
            stores[name] = SearchStore(vectors=index, keywords=keywords)
        embedder = FakeEmbedder()
        ingestion = Ingestion(
            catalogue=catalogue,
            stores=stores,
            embedder=embedder,
            files=OriginalFiles(folder / "files"),
            parser=HereParser(),
            settings=load_settings(),
        )
        changes = IndexChanges(catalogue, stores, ingestion.indexing)
        closing_last.push_async_callback(ingestion.close)
        await ingestion.start()
        yield Data(
            folder=folder,
            catalogue=catalogue,
            stores=stores,
            ingestion=ingestion,
            faq=Faq(catalogue=catalogue, embedder=embedder, changes=changes),
            edits=ChunkEdits(catalogue=catalogue, embedder=embedder, changes=changes),
            erased=ErasedDocuments(ingestion, catalogue, stores, [*vectors.values()]),
        )


async def test_documents_entries_and_edits_go_into_the_store_of_their_knowledge_base(tmp_path: Path) -> None:
    async with opened(tmp_path) as data:
        near, far, faq = await data.kb(NEAR), await data.kb(FAR), await data.kb(FAR, kind="faq")
        documents = {await data.added(kb, f"年假十天 {kb.store} annual leave.") for kb in (near, far)}
        entry = await data.faq.add(faq.id, FaqDraft(question="年假有几天？", answers=["Ten. 十天。"]))
        assert await data.found(near, far, faq) == {*documents, entry.id}
        [old] = await data.held(FAR, far)
        chunk = await data.edits.change(old, text="年假十二天 leave of twelve days.")
        assert await data.held(FAR, far) == {chunk.entry_id}
        assert await data.held(FAR, faq) == await data.catalogue.chunk_ids(faq.id) != set()
        for kb in (far, faq):
            assert await data.held(NEAR, kb) == set()
        assert await data.held(FAR, near) == set()

        await data.faq.remove(faq.id, [entry.id])
        await data.ingestion.delete_kb(far.id)
        assert await data.held(FAR, faq) == await data.held(FAR, far) == set()
        assert len(await data.held(NEAR, near)) == 1


async def test_what_one_store_has_lost_is_made_again_there_and_nowhere_else(tmp_path: Path) -> None:
    async with opened(tmp_path) as data:
        near, far = await data.kb(NEAR), await data.kb(FAR)
        documents = {await data.added(kb, f"年假十天 {kb.store} annual leave.") for kb in (near, far)}
        before = {store: await data.held(store, kb) for store, kb in {NEAR: near, FAR: far}.items()}
    shutil.rmtree(tmp_path / FAR)
    async with opened(tmp_path) as data:
        await data.added(near, "Other.")  # after the work at the start
        with anyio.fail_after(10):
            while data.ingestion.reindexing():
                await anyio.lowlevel.checkpoint()
        assert await data.held(FAR, far) == before[FAR]
        assert await data.held(NEAR, far) == await data.held(FAR, near) == set()
        assert await data.found(far) < documents


async def test_an_erased_document_leaves_no_term_in_the_index_of_its_store(tmp_path: Path) -> None:
    def holding(kb: KnowledgeBase, term: str) -> int:
        index = tantivy.Index.open(str(tmp_path / kb.store / "keywords" / kb.id))
        return index.searcher().doc_freq("tokens", term)

    async with opened(tmp_path) as data:
        near, far = await data.kb(NEAR), await data.kb(FAR)
        document, kept = [await data.added(kb, "鹦鹉 parrot leave") for kb in (far, near)]
        assert (holding(near, "鹦鹉"), holding(far, "鹦鹉")) == (1, 1)
        assert await data.erased.erase(document, far.id) == 1
        await data.erased.clear_unused()
        assert (holding(near, "鹦鹉"), holding(far, "鹦鹉")) == (1, 0)
        assert await data.held(FAR, far) == set()
        assert await data.found(near, far) == {kept}


async def test_a_store_that_is_not_configured_is_named_wherever_it_is_needed(tmp_path: Path) -> None:
    async with opened(tmp_path) as data:
        faq = await data.kb("elsewhere", kind="faq")
        with pytest.raises(DependencyFailed, match="'elsewhere', which holds 'elsewhere faq'") as failed:
            await data.faq.add(faq.id, FaqDraft(question="年假有几天？", answers=["Ten."]))
        assert failed.value.code == "store_not_configured"
        assert await data.catalogue.faq_ids(faq.id) == []
