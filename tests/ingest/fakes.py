"""Stores, embedder and parser in memory: real behaviour, and switches for what can go wrong."""

import hashlib
import itertools
from collections.abc import AsyncIterable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any

import anyio
import anyio.lowlevel

from headrace.context import (
    Chunk,
    Document,
    DocumentStatus,
    IndexEntry,
    KnowledgeBase,
    QueryTerms,
    Scored,
    SearchStore,
)
from headrace.errors import NotFound, Unreadable
from headrace.ingest.formats import Format
from headrace.ingest.parse import parse
from headrace.ingest.parsed import Parsed
from headrace.ingest.pipeline import Ingestion
from headrace.settings import Settings, load_settings

NOW = "2024-01-01T00:00:00.000Z"
MODEL = "letters"


class Crash(BaseException):
    """The process ends here: nothing in the program may catch it."""


@dataclass(slots=True)
class MemoryCatalogue:
    """`DocumentCatalogue` in dictionaries."""

    kbs: dict[str, KnowledgeBase] = field(default_factory=dict[str, KnowledgeBase])
    rows: dict[str, Document] = field(default_factory=dict[str, Document])
    stored: dict[str, Chunk] = field(default_factory=dict[str, Chunk])
    crash_in_publish: bool = False
    _numbers: Any = field(default_factory=lambda: itertools.count(1))

    def create_kb(self, name: str, *, embedding_model: str = MODEL) -> KnowledgeBase:
        kb = KnowledgeBase(
            id=f"kb{next(self._numbers)}",
            tenant_id="default",
            name=name,
            description="",
            kind="document",
            settings={},
            embedding_model=embedding_model,
            version=1,
            created_at=NOW,
            updated_at=NOW,
        )
        self.kbs[kb.id] = kb
        return kb

    async def list_kbs(self, *, page: int = 1, page_size: int = 20) -> tuple[list[KnowledgeBase], int]:
        return [*self.kbs.values()][(page - 1) * page_size : page * page_size], len(self.kbs)

    async def get_kb(self, kb_id: str) -> KnowledgeBase:
        if kb_id not in self.kbs:
            raise NotFound("no such knowledge base", code="kb_not_found")
        return self.kbs[kb_id]

    async def delete_kb(self, kb_id: str) -> None:
        del self.kbs[kb_id]
        for document in [document for document in self.rows.values() if document.kb_id == kb_id]:
            await self.remove(document.id)

    async def create_document(
        self, *, kb_id: str, title: str, media_type: str, sha256: str, bytes: int
    ) -> Document:
        document = Document(
            id=f"d{next(self._numbers)}",
            kb_id=kb_id,
            title=title,
            media_type=media_type,
            sha256=sha256,
            bytes=bytes,
            status="pending",
            error=None,
            revision=0,
            chunk_count=0,
            stage="",
            done=0,
            total=0,
            created_at=NOW,
            updated_at=NOW,
        )
        self.rows[document.id] = document
        return document

    async def replace_document(
        self, document_id: str, *, media_type: str, sha256: str, bytes: int
    ) -> Document:
        return self._change(document_id, media_type=media_type, sha256=sha256, bytes=bytes, status="pending")

    async def get_document(self, document_id: str) -> Document:
        if document_id not in self.rows:
            raise NotFound("no such document", code="document_not_found")
        return self.rows[document_id]

    async def list_documents(
        self, kb_id: str, *, page: int = 1, page_size: int = 20
    ) -> tuple[list[Document], int]:
        found = [document for document in self.rows.values() if document.kb_id == kb_id]
        return found[(page - 1) * page_size : page * page_size], len(found)

    async def document_by_hash(self, kb_id: str, sha256: str) -> Document | None:
        return self._one(kb_id, lambda document: document.sha256 == sha256)

    async def document_by_title(self, kb_id: str, title: str) -> Document | None:
        return self._one(kb_id, lambda document: document.title == title)

    async def documents_in(self, *statuses: DocumentStatus) -> list[Document]:
        return [document for document in self.rows.values() if document.status in statuses]

    async def files_in_use(self, hashes: Iterable[str]) -> set[str]:
        return {document.sha256 for document in self.rows.values()} & {*hashes}

    async def set_progress(
        self,
        document_id: str,
        *,
        status: DocumentStatus,
        stage: str,
        done: int,
        total: int,
        error: str | None = None,
    ) -> Document:
        return self._change(document_id, status=status, stage=stage, done=done, total=total, error=error)

    async def publish(self, document_id: str, *, revision: int, chunks: Sequence[Chunk]) -> list[str]:
        if self.crash_in_publish:
            raise Crash
        document = await self.get_document(document_id)
        old = self._ids_of(document_id)
        self.stored = {id: chunk for id, chunk in self.stored.items() if id not in old}
        self.stored.update({chunk.id: chunk for chunk in chunks})
        searched = sum(chunk.kind != "parent" for chunk in chunks)
        self._change(document_id, status="ready", revision=revision, chunk_count=searched, error=None)
        kb = self.kbs[document.kb_id]
        self.kbs[kb.id] = replace(kb, version=kb.version + 1)
        return [*(old - self.stored.keys())]

    async def remove(self, document_id: str) -> list[str]:
        await self.get_document(document_id)
        del self.rows[document_id]
        return [id for id in self._ids_of(document_id) if self.stored.pop(id)]

    async def documents(self, ids: Sequence[str]) -> Mapping[str, Document]:
        return {id: self.rows[id] for id in ids if id in self.rows}

    async def indexed_chunks(self, entry_ids: Sequence[str]) -> Mapping[str, Chunk]:
        return {id: self.stored[id] for id in entry_ids if id in self.stored}

    async def chunk_ids(self, kb_id: str) -> set[str]:
        return {chunk.id for chunk in self.stored.values() if chunk.kb_id == kb_id and chunk.kind != "parent"}

    def _ids_of(self, document_id: str) -> set[str]:
        return {chunk.id for chunk in self.stored.values() if chunk.document_id == document_id}

    def _one(self, kb_id: str, fits: Callable[[Document], bool]) -> Document | None:
        return next(
            (
                document
                for document in self.rows.values()
                if document.kb_id == kb_id and document.status != "deleting" and fits(document)
            ),
            None,
        )

    def _change(self, document_id: str, **values: Any) -> Document:
        if document_id not in self.rows:
            raise NotFound("no such document", code="document_not_found")
        self.rows[document_id] = replace(self.rows[document_id], **values)
        return self.rows[document_id]


@dataclass(slots=True)
class MemoryVectors:
    """`VectorIndex` that keeps entries; `fails` is raised by the next `add` or `delete`."""

    entries: dict[str, dict[str, IndexEntry]] = field(default_factory=dict[str, dict[str, IndexEntry]])
    fails: BaseException | None = None

    async def add(self, kb_id: str, model: str, entries: Sequence[IndexEntry]) -> None:
        self._fail()
        self.entries.setdefault(kb_id, {}).update({entry.chunk_id: entry for entry in entries})

    async def delete(self, kb_id: str, model: str, chunk_ids: Sequence[str]) -> None:
        self._fail()
        for chunk_id in chunk_ids:
            self.entries.get(kb_id, {}).pop(chunk_id, None)

    async def drop(self, kb_id: str) -> None:
        self.entries.pop(kb_id, None)

    async def keep_only(self, kb_ids: set[str]) -> None:
        self.entries = {id: entries for id, entries in self.entries.items() if id in kb_ids}

    async def ids(self, kb_id: str, model: str) -> set[str]:
        return {*self.entries.get(kb_id, {})}

    async def search(self, *given: Any, **named: Any) -> list[Scored]:
        return []

    async def scores(self, *given: Any, **named: Any) -> dict[str, float]:
        return {}

    def _fail(self) -> None:
        if self.fails is not None:
            fails, self.fails = self.fails, None
            raise fails


@dataclass(slots=True)
class MemoryKeywords:
    """`KeywordIndex` that finds by substring; those in `old` are to be written anew."""

    entries: dict[str, dict[str, IndexEntry]] = field(default_factory=dict[str, dict[str, IndexEntry]])
    old: set[str] = field(default_factory=set[str])

    async def add(self, kb_id: str, entries: Sequence[IndexEntry]) -> None:
        self.entries.setdefault(kb_id, {}).update({entry.chunk_id: entry for entry in entries})

    async def delete(self, kb_id: str, chunk_ids: Sequence[str]) -> None:
        for chunk_id in chunk_ids:
            self.entries.get(kb_id, {}).pop(chunk_id, None)

    async def drop(self, kb_id: str) -> None:
        self.entries.pop(kb_id, None)

    async def keep_only(self, kb_ids: set[str]) -> None:
        self.entries = {id: entries for id, entries in self.entries.items() if id in kb_ids}

    async def ids(self, kb_id: str) -> set[str]:
        return {*self.entries.get(kb_id, {})}

    async def outdated(self) -> set[str]:
        return self.old

    async def rewrite(self, kb_id: str, batches: AsyncIterable[Sequence[IndexEntry]]) -> None:
        self.entries[kb_id] = {entry.chunk_id: entry async for batch in batches for entry in batch}
        self.old.discard(kb_id)

    async def search(self, kb_ids: Sequence[str], query: str, *, limit: int, **narrowed: Any) -> list[Scored]:
        found = (id for id, entry in self._of(kb_ids).items() if query in entry.text)
        return [Scored(chunk_id=id, score=1.0) for id in found][:limit]

    async def scores(
        self, kb_ids: Sequence[str], query: str, chunk_ids: Sequence[str], **terms: Any
    ) -> dict[str, float]:
        entries = self._of(kb_ids)
        return {id: 1.0 for id in chunk_ids if id in entries and query in entries[id].text}

    async def terms(self, kb_ids: Sequence[str], query: str) -> QueryTerms:
        entries = self._of(kb_ids).values()
        held = sum(query in entry.text for entry in entries)
        return QueryTerms(entries=len(entries), frequencies={query: held}, saturation=1.0)

    def _of(self, kb_ids: Sequence[str]) -> dict[str, IndexEntry]:
        return {id: entry for kb_id in kb_ids for id, entry in self.entries.get(kb_id, {}).items()}


class FolderOriginals:
    """`Originals` in one flat folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(exist_ok=True)

    async def save(self, content: bytes | Path | AsyncIterable[bytes]) -> str:
        assert isinstance(content, bytes | Path)
        data = content if isinstance(content, bytes) else await anyio.Path(content).read_bytes()
        sha256 = hashlib.sha256(data).hexdigest()
        await anyio.Path(self.path(sha256)).write_bytes(data)
        return sha256

    def path(self, sha256: str) -> Path:
        return self._folder / sha256

    async def delete(self, sha256: str) -> None:
        await anyio.Path(self.path(sha256)).unlink(missing_ok=True)

    async def hashes(self) -> set[str]:
        return {path.name async for path in anyio.Path(self._folder).iterdir()}

    async def clear_partial(self) -> None:
        return


@dataclass(slots=True)
class LetterEmbedder:
    """Counts of a few letters as a vector. Waits at `gate` before every batch when there is one."""

    model: str = MODEL
    batches: list[int] = field(default_factory=list[int])
    gate: anyio.Event | None = None
    reached: anyio.Event = field(default_factory=anyio.Event)

    async def embed_queries(self, texts: Sequence[str]) -> list[list[float]]:
        return [[float(text.count(letter)) for letter in "aeiou的是"] for text in texts]

    async def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        self.batches.append(len(texts))
        self.reached.set()
        for _ in range(5):
            await anyio.lowlevel.checkpoint()  # as long as others need to look at the progress
        if self.gate is not None:
            await self.gate.wait()
        return await self.embed_queries(texts)


@dataclass(slots=True)
class HereParser:
    """`Parser` in this process; files named in `breaks` cannot be parsed."""

    breaks: dict[str, Exception] = field(default_factory=dict[str, Exception])
    closed: bool = False

    async def parse(self, path: Path, name: str, format: Format) -> Parsed:
        if name in self.breaks:
            raise self.breaks[name]
        return parse(path, name, format)

    async def close(self) -> None:
        self.closed = True


@dataclass(slots=True)
class Place:
    """Everything an `Ingestion` needs; what it holds outlives the ingestions made over it."""

    folder: Path
    catalogue: MemoryCatalogue = field(default_factory=MemoryCatalogue)
    vectors: MemoryVectors = field(default_factory=MemoryVectors)
    keywords: MemoryKeywords = field(default_factory=MemoryKeywords)
    embedder: LetterEmbedder = field(default_factory=LetterEmbedder)
    parser: HereParser = field(default_factory=HereParser)
    settings: Settings = field(default_factory=lambda: load_settings(upload_limit_mb=1))

    @property
    def files(self) -> FolderOriginals:
        return FolderOriginals(self.folder / "files")

    def ingestion(self) -> Ingestion:
        return Ingestion(
            catalogue=self.catalogue,
            stores={"embedded": SearchStore(vectors=self.vectors, keywords=self.keywords)},
            embedder=self.embedder,
            files=self.files,
            parser=self.parser,
            settings=self.settings,
        )

    def running(self) -> "Running":
        return Running(self.ingestion())

    def indexed(self, kb: KnowledgeBase) -> set[str]:
        """Ids in both indexes, which must hold the same."""
        vectors, keywords = {*self.vectors.entries.get(kb.id, {})}, {*self.keywords.entries.get(kb.id, {})}
        assert vectors == keywords
        return vectors

    def text_of(self, kb: KnowledgeBase) -> str:
        return "\n".join(
            chunk.text
            for chunk in self.catalogue.stored.values()
            if chunk.kb_id == kb.id and chunk.kind != "parent"
        )


class Running(AbstractAsyncContextManager[Ingestion]):
    """An ingestion between `start` and `close`."""

    def __init__(self, ingestion: Ingestion) -> None:
        self._ingestion = ingestion

    async def __aenter__(self) -> Ingestion:
        await self._ingestion.start()
        return self._ingestion

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._ingestion.close()


def unreadable() -> Unreadable:
    return Unreadable("the parser crashed on this file", code="parser_failed")
