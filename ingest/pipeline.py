"""A document's way in: kept, parsed, cut, embedded, indexed, published; and its way out."""

import asyncio
import logging
import re
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import anyio
from anyio.to_thread import run_sync

from ..context import (
    Chunk,
    Document,
    DocumentStatus,
    Embedder,
    IndexEntry,
    KnowledgeBase,
    SearchStore,
    require_same_model,
)
from ..errors import Conflict, HeadraceError, NotFound, TooLarge, Unreadable
from ..settings import Settings
from .chunking import Chunks, chunk
from .entries import EMBED_BATCH, embedded
from .formats import (
    MEDIA_TYPES,
    SUFFIXES,
    Format,
    clean_name,
    clean_title,
    format_of,
    format_of_media_type,
    suffix_of,
)
from .indexes import Indexes
from .leftovers import clear_unused_originals
from .parse.process import Parser
from .parsed import Parsed
from .ports import DocumentCatalogue, Originals

ENDED: tuple[DocumentStatus, ...] = ("ready", "failed")
INDEX_BATCH = 500
MARKDOWN_SIGNS = re.compile(r"^(?:#{1,6}\s+\S|```|\|.*\|\s*\n\|?\s*:?-{2,})", re.MULTILINE)

T = TypeVar("T")

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Job:
    """The document being worked on: how to stop it, and what it put into the indexes so far."""

    document_id: str
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    ended: anyio.Event = field(default_factory=anyio.Event)
    indexed: list[str] = field(default_factory=list[str])


class Ingestion:
    """One document after the other, in the order in which they came.

    A document's old version is searched until its new one is published in one transaction; whatever
    stops the work before that leaves the old version, and `start` takes the work up again.
    """

    def __init__(
        self,
        *,
        catalogue: DocumentCatalogue,
        stores: Mapping[str, SearchStore],
        embedder: Embedder,
        files: Originals,
        parser: Parser,
        settings: Settings,
    ) -> None:
        self._catalogue = catalogue
        self._embedder = embedder
        self._files = files
        self._parser = parser
        self._limit_mb = settings.upload_limit_mb
        self._queue: deque[str] = deque()
        self._filled = anyio.Event()
        self._changed: dict[str, anyio.Event] = {}
        self._superseded: dict[str, set[str]] = {}  # originals to drop once their replacement is published
        self._changing = anyio.Lock()  # who may decide about originals and documents' rows
        # Held from a document's first index entry to its publication: between the two, an index that is
        # written anew from the catalogue would come to lack it, and clearing takes it for a leftover.
        self.indexing = anyio.Lock()
        self._indexes = Indexes(catalogue=catalogue, stores=stores, embedder=embedder, indexing=self.indexing)
        self._job: _Job | None = None
        self._tasks: list[asyncio.Task[None]] = []

    # --- life ---

    async def start(self) -> None:
        """Begin to work in the background: first on what a crash left, then on what was unfinished."""
        await self._files.clear_partial()
        for document in await self._catalogue.documents_in("pending", "processing"):
            self._enqueue(document.id)
        # Tasks of their own rather than a task group: they live as long as the server, not as a block.
        self._tasks = [
            asyncio.create_task(self.run_queue(), name="ingestion"),
            asyncio.create_task(self._indexes.heal(), name="healing of indexes"),
        ]

    async def close(self) -> None:
        """Stop; what is unfinished is taken up at the next start."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        await self._parser.close()

    async def run_queue(self) -> None:
        """Work until cancelled."""
        await self._tidy()
        while True:
            while self._queue or self._indexes.has_gaps:
                await self._indexes.restore()
                if self._queue:
                    await self._work(self._queue.popleft())
            self._filled = anyio.Event()
            await self._filled.wait()

    async def _tidy(self) -> None:
        # Here and not in `start`: opening the stores takes a second that nobody needs to wait for.
        try:
            async with self._changing:
                for document in await self._catalogue.documents_in("deleting"):
                    await self._remove(document)
                await clear_unused_originals(self._catalogue, self._files)
            await self._indexes.catch_up()
        except HeadraceError:
            log.exception("what a crash may have left could not be cleared")

    def heal(self, kb_id: str, entry_ids: Sequence[str]) -> None:
        """Entries in the indexes of a knowledge base that the catalogue does not have, as a search has met
        them: looked at again and removed in the background."""
        self._indexes.report(kb_id, entry_ids)

    def reindexing(self) -> frozenset[str]:
        """Knowledge bases of which a search finds less than there is: their indexes are being made again."""
        return self._indexes.reindexing()

    # --- what comes in ---

    async def add(self, kb: KnowledgeBase, *, name: str, content: Path | bytes) -> Document:
        """Keep a file and queue it.

        The same bytes again give the document that is there (`ready` at once if it was); other bytes
        under a name that is there replace that document. Raises UnsupportedFormat, Unreadable for an
        empty file, TooLarge, and Conflict `embedding_model_mismatch` or `faq_kb`.
        """
        _refuse_faq(kb)
        require_same_model(kb, self._embedder.model)
        size = await _size(content)
        self._refuse_size(name, size)
        format = await run_sync(format_of, name, content)
        return await self._keep(kb, clean_name(name), MEDIA_TYPES[format], content, size)

    async def add_text(self, kb: KnowledgeBase, *, title: str, text: str) -> Document:
        """As `add`, for text that was typed or pasted: Markdown where it looks like it."""
        _refuse_faq(kb)
        require_same_model(kb, self._embedder.model)
        content = text.encode("utf-8", "replace")
        self._refuse_size(title, len(text.strip()) and len(content))
        return await self._keep(
            kb, clean_title(title), MEDIA_TYPES[_text_format(title, text)], content, len(content)
        )

    async def _keep(
        self, kb: KnowledgeBase, title: str, media_type: str, content: Path | bytes, size: int
    ) -> Document:
        async with self._changing:
            sha256 = await self._files.save(content)
            same = await self._catalogue.document_by_hash(kb.id, sha256)
            if same is not None:
                return same if same.status != "failed" else await self._queued(same)
            old = await self._catalogue.document_by_title(kb.id, title)
            if old is None:
                document = await self._catalogue.create_document(
                    kb_id=kb.id, title=title, media_type=media_type, sha256=sha256, bytes=size
                )
            else:
                await self._interrupt(old)
                self._superseded.setdefault(old.id, set()).add(old.sha256)
                document = await self._catalogue.replace_document(
                    old.id, media_type=media_type, sha256=sha256, bytes=size
                )
            return await self._queued(document)

    async def _queued(self, document: Document) -> Document:
        document = await self._tell(document.id, "pending", "queued", 0, 0)
        self._enqueue(document.id)
        return document

    def _enqueue(self, document_id: str) -> None:
        if document_id not in self._queue:
            self._queue.append(document_id)
            self._filled.set()

    def _refuse_size(self, name: str, size: int) -> None:
        if size == 0:
            raise Unreadable(f"{clean_name(name)} is empty.", code="empty_document")
        if size > self._limit_mb * 1024 * 1024:
            raise TooLarge(
                f"{clean_name(name)} is larger than {self._limit_mb:g} MB.", details={"limit": self._limit_mb}
            )

    # --- what goes out ---

    async def delete(self, document_id: str) -> None:
        """The document gone from everywhere; its original too unless another document has the same.

        Raises NotFound.
        """
        async with self._changing:
            document = await self._catalogue.get_document(document_id)
            await self._interrupt(document)
            # A crash from here on is finished at the next start.
            await self._tell(document_id, "deleting", "delete", 0, 0)
            await self._remove(document)

    async def delete_kb(self, kb_id: str) -> None:
        """The knowledge base gone with all its documents. Raises NotFound."""
        async with self._changing:
            await self._catalogue.get_kb(kb_id)
            documents = await self._documents_of(kb_id)
            for document in documents:
                await self._interrupt(document)
            async with self.indexing:  # a change of an entry or a passage is over, or finds it gone
                # One transaction, before anything else is touched: after a crash it is there whole, or gone.
                await self._catalogue.delete_kb(kb_id)
                try:
                    await self._indexes.drop(kb_id)
                except HeadraceError:
                    log.exception("indexes without a knowledge base are left", extra={"kb_id": kb_id})
            await self._delete_unused({document.sha256 for document in documents})
            for document in documents:
                self._announce(document.id)

    async def _remove(self, document: Document) -> None:
        kb = await self._catalogue.get_kb(document.kb_id)
        # Rows first: an index entry without its chunk is never shown, and is cleared at start.
        gone = await self._catalogue.remove(document.id)
        await self._forget(kb, gone)
        await self._delete_unused({document.sha256, *self._superseded.pop(document.id, set())})
        self._announce(document.id)

    async def _delete_unused(self, hashes: set[str]) -> None:
        for sha256 in hashes - await self._catalogue.files_in_use(hashes):
            await self._files.delete(sha256)

    async def _documents_of(self, kb_id: str) -> list[Document]:
        documents: list[Document] = []
        while True:
            page, total = await self._catalogue.list_documents(
                kb_id, page=len(documents) // INDEX_BATCH + 1, page_size=INDEX_BATCH
            )
            documents.extend(page)
            if not page or len(documents) >= total:
                return documents

    # --- who waits ---

    async def watch(self, document_id: str) -> AsyncIterator[Document]:
        """The document now and after every change, until it is ready, failed or gone. Raises NotFound."""
        document = await self._catalogue.get_document(document_id)
        while True:
            changed = self._changed.setdefault(document_id, anyio.Event())
            try:
                document = await self._catalogue.get_document(document_id)
            except NotFound:
                return
            if document.status in ENDED:
                await self._settled(document_id)
                yield document
                return
            yield document
            await changed.wait()

    async def finished(self, document_id: str) -> Document:
        """Wait until the document is ready or failed. Raises NotFound, also when it is deleted meanwhile."""
        async for document in self.watch(document_id):
            if document.status in ENDED:
                return document
        return await self._catalogue.get_document(document_id)

    async def _settled(self, document_id: str) -> None:
        """What follows a publication, such as taking the old version out of the indexes, is done too."""
        if self._job is not None and self._job.document_id == document_id:
            await self._job.ended.wait()
        self._announce(document_id)  # others who wait look again, and end too

    def _announce(self, document_id: str) -> None:
        if changed := self._changed.pop(document_id, None):
            changed.set()

    # --- the work ---

    async def _work(self, document_id: str) -> None:
        job = self._job = _Job(document_id)
        try:
            with job.scope:
                await self._process(job)
        except HeadraceError as error:
            await self._fail(job, error.message)
        except Exception as error:  # the edge of the background task: one document must not end it
            log.exception("ingestion of a document failed", extra={"document_id": document_id})
            await self._fail(job, f"internal error: {type(error).__name__}")
        finally:
            self._job = None
            job.ended.set()
            self._announce(document_id)

    async def _process(self, job: _Job) -> None:
        document = await self._catalogue.get_document(job.document_id)
        if document.status == "deleting":
            return
        kb = await self._catalogue.get_kb(document.kb_id)
        require_same_model(kb, self._embedder.model)
        chunks = await self._chunks(document)
        entries = await self._embedded(document, chunks.children)
        async with self.indexing:
            await self._index(job, kb, document, entries)
            gone = await self._catalogue.publish(
                document.id, revision=document.revision + 1, chunks=[*chunks.parents, *chunks.children]
            )
            job.indexed.clear()
        # The new version is what is found from here on; what fails now is cleared at the next start.
        await self._forget(kb, gone)
        async with self._changing:
            await self._delete_unused(self._superseded.pop(document.id, set()))

    async def _chunks(self, document: Document) -> Chunks:
        await self._tell(document.id, "processing", "parse", 0, 1)
        path = self._files.path(document.sha256)
        if not await run_sync(path.is_file):
            raise Unreadable("its original is gone: add the file again", code="original_missing")
        parsed = await self._parser.parse(path, document.title, format_of_media_type(document.media_type))
        await self._tell(document.id, "processing", "chunk", 0, 1)
        chunks = await run_sync(_cut, document, parsed)
        if not chunks.children:
            raise Unreadable("no text found in this file", code="empty_document")
        return chunks

    async def _embedded(self, document: Document, children: Sequence[Chunk]) -> list[IndexEntry]:
        entries: list[IndexEntry] = []
        for batch in _batches(children, EMBED_BATCH):
            await self._tell(document.id, "processing", "embed", len(entries), len(children))
            entries += await embedded(batch, {document.id: document.title}, self._embedder)
        return entries

    async def _index(
        self, job: _Job, kb: KnowledgeBase, document: Document, entries: Sequence[IndexEntry]
    ) -> None:
        store = self._indexes.of(kb)
        for done, batch in enumerate(_batches(entries, INDEX_BATCH)):
            await self._tell(document.id, "processing", "index", done * INDEX_BATCH, len(entries))
            job.indexed.extend(entry.chunk_id for entry in batch)
            await store.vectors.add(kb.id, kb.embedding_model, batch)
        await store.keywords.add(kb.id, entries)

    async def _fail(self, job: _Job, reason: str) -> None:
        """Say why; what is already published stays searchable, what was only indexed goes."""
        try:
            document = await self._catalogue.get_document(job.document_id)
            if document.revision:
                reason = f"{reason.rstrip('.')}. The version before it is still searched."
            await self._tell(job.document_id, "failed", document.stage, document.done, document.total, reason)
            await self._indexes.remove(await self._catalogue.get_kb(document.kb_id), job.indexed)
        except NotFound:
            self._announce(job.document_id)
        except HeadraceError:
            log.exception("a failed document could not be marked", extra={"document_id": job.document_id})

    async def _interrupt(self, document: Document) -> None:
        """Take a document out of the work, wherever it is. What it put into the indexes goes."""
        if document.id in self._queue:
            self._queue.remove(document.id)
        job = self._job
        if job is None or job.document_id != document.id:
            return
        job.scope.cancel()
        await job.ended.wait()
        await self._forget(await self._catalogue.get_kb(document.kb_id), job.indexed)

    async def _forget(self, kb: KnowledgeBase, chunk_ids: Sequence[str]) -> None:
        """Unindex what the catalogue no longer has; a store that fails leaves what `_tidy` clears."""
        try:
            await self._indexes.remove(kb, chunk_ids)
        except HeadraceError:
            log.exception("index entries without a chunk are left", extra={"kb_id": kb.id})

    async def _tell(
        self,
        document_id: str,
        status: DocumentStatus,
        stage: str,
        done: int,
        total: int,
        error: str | None = None,
    ) -> Document:
        document = await self._catalogue.set_progress(
            document_id, status=status, stage=stage, done=done, total=total, error=error
        )
        self._announce(document_id)
        return document


def _cut(document: Document, parsed: Parsed) -> Chunks:
    return chunk(parsed, kb_id=document.kb_id, document_id=document.id, revision=document.revision + 1)


def _refuse_faq(kb: KnowledgeBase) -> None:
    if kb.kind == "faq":
        raise Conflict(
            f"Knowledge base {kb.name!r} holds FAQ entries: add entries, or import a file of them.",
            code="faq_kb",
            details={"knowledge_base_id": kb.id},
        )


def _text_format(title: str, text: str) -> Format:
    by_suffix = SUFFIXES.get(suffix_of(title))
    if by_suffix in ("markdown", "html", "csv"):
        return by_suffix
    return "markdown" if MARKDOWN_SIGNS.search(text) else "text"


async def _size(content: Path | bytes) -> int:
    if isinstance(content, bytes):
        return len(content)
    return (await anyio.Path(content).stat()).st_size


def _batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
