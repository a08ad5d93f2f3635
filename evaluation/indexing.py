"""A corpus as a knowledge base of its kind, with ids that are the same every time."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeVar

from ..api.stack import Stack
from ..context import Chunk, Embedder, FaqEntry, IndexEntry, KnowledgeBase, SearchStore
from ..errors import BadRequest
from ..ingest.chunking import chunk
from ..ingest.entries import embedded, is_searched
from ..ingest.faq_drafts import FaqDraft, chunks_of, entry_of, good_draft, signatures
from ..ingest.parse.text import blocks_of
from ..ingest.parsed import Parsed
from .files import BadTask, Corpus, CorpusRow, FaqRow

T = TypeVar("T")

Progress = Callable[[str, int, int], object]  # what is done, how many of it, of how many

BATCH = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """The knowledge base, and which rows of the corpus a chunk or an index entry of it stands for.

    They are several where entries of a bank ask the same: such a bank holds the first of them only. `faq` are
    the entries by the row that they are of, `texts` those of the chunks.
    """

    kb: KnowledgeBase
    faq: Mapping[str, FaqEntry]
    texts: Mapping[str, str]
    by_chunk: Mapping[str, Sequence[str]]
    by_entry: Mapping[str, Sequence[str]]


async def index(
    corpus: Corpus, stack: Stack, store: SearchStore, embedder: Embedder, *, cut: bool, progress: Progress
) -> Indexed:
    """Texts whole, a document each, or `cut` as at an ingestion; entries of a bank as they are.

    Raises BadTask for an entry that no bank would take.
    """
    indexing = _Indexing(stack, store, embedder, progress)
    if corpus.entries:
        return await indexing.entries(corpus.entries)
    return await indexing.texts(corpus.texts, cut=cut)


class _Indexing:
    def __init__(self, stack: Stack, store: SearchStore, embedder: Embedder, progress: Progress) -> None:
        self._catalogue = stack.catalogue
        self._store = store
        self._embedder = embedder
        self._progress = progress
        self._texts: dict[str, str] = {}
        self._by_chunk: dict[str, list[str]] = {}
        self._by_entry: dict[str, list[str]] = {}
        self._faq: dict[str, FaqEntry] = {}

    async def texts(self, rows: Sequence[CorpusRow], *, cut: bool) -> Indexed:
        kb = await self._kb("document")
        for done, batch in _batches(rows):
            self._progress("indexing", done, len(rows))
            chunks: list[Chunk] = []
            titles: dict[str, str] = {}
            for row in batch:
                made = await self._stored(kb.id, row, cut=cut)
                chunks += made
                titles |= {one.document_id: (row.title or "") if cut else "" for one in made}
                self._stand_for(made, [row.id])
            await self._add(kb, chunks, titles)
        return self._indexed(kb)

    async def entries(self, rows: Sequence[FaqRow]) -> Indexed:
        kb = await self._kb("faq")
        owners: dict[str, list[str]] = {}  # by question: what its entry stands for
        for done, batch in _batches(rows):
            self._progress("indexing", done, len(rows))
            written = [
                (entry_of(draft, id=_hash(row.id), kb_id=kb.id), row.id)
                for row in batch
                if (draft := _draft(row, owners))
            ]
            self._faq |= {row: entry for entry, row in written}
            chunks = [chunks_of(entry) for entry, _ in written]
            await self._catalogue.write_faq(
                kb.id, [(entry, own) for (entry, _), own in zip(written, chunks, strict=True)]
            )
            for (entry, _), own in zip(written, chunks, strict=True):
                self._stand_for(own, owners[signatures(entry)[0]])
            titles = {entry.id: entry.question for entry, _ in written}
            await self._add(kb, [one for own in chunks for one in own], titles)
        return self._indexed(kb)

    async def _kb(self, kind: str) -> KnowledgeBase:
        return await self._catalogue.create_kb(
            name="evaluation", kind=kind, embedding_model=self._embedder.model
        )

    async def _stored(self, kb_id: str, row: CorpusRow, *, cut: bool) -> list[Chunk]:
        """The row as a document with its chunks, whose ids do not hang on the document's random one."""
        document = await self._catalogue.create_document(
            kb_id=kb_id,
            title=row.title or row.id,
            media_type="text/plain",
            sha256=hashlib.sha256(f"{row.id}\0{row.text}".encode("utf-8", "surrogatepass")).hexdigest(),
            bytes=len(row.text),
        )
        made = _cut(row) if cut else [_whole(row)]
        chunks = [replace(one, kb_id=kb_id, document_id=document.id) for one in made]
        await self._catalogue.publish(document.id, revision=1, chunks=chunks)
        return chunks

    async def _add(self, kb: KnowledgeBase, chunks: Sequence[Chunk], titles: Mapping[str, str]) -> None:
        searched = [one for one in chunks if is_searched(one)]
        entries: Sequence[IndexEntry] = await embedded(searched, titles, self._embedder)
        await self._store.vectors.add(kb.id, kb.embedding_model, entries)
        await self._store.keywords.add(kb.id, entries)

    def _stand_for(self, chunks: Sequence[Chunk], rows: list[str]) -> None:
        self._texts |= {one.id: one.text for one in chunks}
        self._by_chunk |= {one.id: rows for one in chunks}
        self._by_entry |= {one.indexed_as: rows for one in chunks}

    def _indexed(self, kb: KnowledgeBase) -> Indexed:
        return Indexed(
            kb=kb, faq=self._faq, texts=self._texts, by_chunk=self._by_chunk, by_entry=self._by_entry
        )


def _whole(row: CorpusRow) -> Chunk:
    return Chunk(
        id=_hash(row.id),
        revision=1,
        kb_id="",
        document_id="",
        kind="text",
        chunk_index=0,
        text=f"{row.title}\n{row.text}" if row.title else row.text,
    )


def _cut(row: CorpusRow) -> list[Chunk]:
    chunks = chunk(Parsed(blocks=[*blocks_of(row.text)]), kb_id="", document_id=_hash(row.id), revision=1)
    return [*chunks.parents, *chunks.children]


def _draft(row: FaqRow, owners: dict[str, list[str]]) -> FaqDraft | None:
    """The entry as a bank takes it, or nothing where its question is one of an entry before it.

    `owners` gets its questions. Other questions that are taken are left out.
    """
    try:
        draft = good_draft(
            FaqDraft(
                question=row.question,
                similar_questions=row.similar_questions,
                negative_questions=row.negative_questions,
                answers=row.answers,
            )
        )
    except BadRequest as error:
        raise BadTask(f"Entry {row.id!r}: {error.message}") from error
    standard, *others = signatures(draft)
    if standard in owners:
        owners[standard].append(row.id)
        return None
    similar = [
        question for question, key in zip(draft.similar_questions, others, strict=True) if key not in owners
    ]
    draft = replace(draft, similar_questions=similar)
    stands_for = [row.id]  # one list under every question, for those that come after it
    owners.update((key, stands_for) for key in signatures(draft))
    return draft


def _hash(id: str) -> str:
    return hashlib.sha256(id.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _batches(rows: Sequence[T]) -> Iterator[tuple[int, list[T]]]:
    remaining, done = iter(rows), 0
    while batch := [*islice(remaining, BATCH)]:
        yield done, batch
        done += len(batch)
