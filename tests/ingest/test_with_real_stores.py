"""The whole way in and out over the stores that are shipped."""

import zipfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import docx
import pytest

from headrace.context import SearchStore
from headrace.ingest.parse.process import ParserProcess
from headrace.ingest.pipeline import Ingestion
from headrace.settings import load_settings
from headrace.stores.catalogue import SqliteCatalogue, open_catalogue
from headrace.stores.chroma import ChromaVectors
from headrace.stores.files import OriginalFiles
from headrace.stores.tantivy import TantivyKeywords
from headrace.text.tokens import Tokens

from .fakes import MODEL, LetterEmbedder

pytestmark = pytest.mark.anyio


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    catalogue: SqliteCatalogue
    vectors: ChromaVectors
    keywords: TantivyKeywords
    files: OriginalFiles
    ingestion: Ingestion

    async def in_step(self, kb_id: str) -> int:
        """How many chunks are searched; both indexes must hold exactly these."""
        known = await self.catalogue.chunk_ids(kb_id)
        assert await self.vectors.ids(kb_id, MODEL) == known
        assert await self.keywords.ids(kb_id) == known
        return len(known)


@asynccontextmanager
async def opened(folder: Path) -> AsyncGenerator[Stores]:
    async with open_catalogue(folder / "catalogue.sqlite") as catalogue:
        vectors, files = ChromaVectors(folder / "chroma"), OriginalFiles(folder / "files")
        keywords = TantivyKeywords(folder / "keywords", Tokens())
        settings = load_settings(parse_timeout_s=30)
        ingestion = Ingestion(
            catalogue=catalogue,
            stores={"embedded": SearchStore(vectors=vectors, keywords=keywords)},
            embedder=LetterEmbedder(),
            files=files,
            parser=ParserProcess(settings),
            settings=settings,
        )
        await ingestion.start()
        yield Stores(
            catalogue=catalogue, vectors=vectors, keywords=keywords, files=files, ingestion=ingestion
        )
        await ingestion.close()
        await keywords.close()
        await vectors.close()


def a_docx(folder: Path) -> Path:
    path = folder / "手册.docx"
    document = docx.Document()
    document.add_heading("引水系统", 1)
    document.add_paragraph("闸门每周检查一次，发现漏水要立即报告。" * 40)
    document.save(str(path))
    return path


def a_broken_docx(folder: Path) -> Path:
    path = folder / "broken.docx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", "<w:document")
    return path


async def test_documents_come_are_found_are_replaced_and_go(tmp_path: Path) -> None:
    async with opened(tmp_path / "data") as stores:
        kb = await stores.catalogue.create_kb(name="手册", embedding_model=MODEL)
        added = await stores.ingestion.add(kb, name="手册.docx", content=a_docx(tmp_path))
        notes = await stores.ingestion.add(kb, name="notes.md", content=b"# Notes\n\nThe gate was painted.")
        assert (await stores.ingestion.finished(added.id)).status == "ready"
        assert (await stores.ingestion.finished(notes.id)).status == "ready"
        assert await stores.in_step(kb.id) > 2

        (hit, *_) = await stores.keywords.search([kb.id], "闸门漏水", limit=5)
        chunk = (await stores.catalogue.chunks([hit.chunk_id]))[hit.chunk_id]
        assert (chunk.document_id, chunk.section) == (added.id, "引水系统")

        await stores.ingestion.add(kb, name="手册.docx", content=a_broken_docx(tmp_path))
        replaced = await stores.ingestion.finished(added.id)
        assert (replaced.status, replaced.revision) == ("failed", 1)
        assert await stores.keywords.search([kb.id], "闸门漏水", limit=5)

        await stores.ingestion.add(kb, name="notes.md", content=b"# Notes\n\nThe gate was sold.")
        assert (await stores.ingestion.finished(notes.id)).revision == 2
        assert await stores.in_step(kb.id) > 2
        assert not await stores.keywords.search([kb.id], "painted", limit=5)

        await stores.ingestion.delete(added.id)
        assert await stores.in_step(kb.id) == 1
        await stores.ingestion.delete_kb(kb.id)
        assert await stores.in_step(kb.id) == 0
        assert await stores.files.hashes() == set()


async def test_unfinished_documents_and_leftovers_after_a_restart(tmp_path: Path) -> None:
    async with opened(tmp_path) as stores:
        kb = await stores.catalogue.create_kb(name="Manuals", embedding_model=MODEL)
        ready = await stores.ingestion.add(kb, name="a.txt", content=b"The first text.")
        await stores.ingestion.finished(ready.id)
        await stores.ingestion.close()
        waiting = await stores.ingestion.add(kb, name="b.txt", content="第二篇。".encode())
        # As if the process had ended between taking a document out of the catalogue and out of the indexes.
        await stores.catalogue.remove(ready.id)
    async with opened(tmp_path) as stores:
        assert (await stores.ingestion.finished(waiting.id)).status == "ready"
        assert await stores.in_step(kb.id) == 1
        assert await stores.files.hashes() == {waiting.sha256}
