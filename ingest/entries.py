"""What the indexes hold of chunks, the same however a chunk came to be."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Protocol

from ..context import Chunk, Document, Embedder, IndexEntry
from ..text.language import language_of
from .chunking import search_text
from .formats import stem_of

EMBED_BATCH = 16  # a question asked meanwhile waits for one batch at most
KEYWORD_BATCH = 500


class ChunkSource(Protocol):
    """What of a catalogue is needed to make entries again."""

    async def indexed_chunks(self, entry_ids: Sequence[str]) -> Mapping[str, Chunk]: ...

    async def documents(self, ids: Sequence[str]) -> Mapping[str, Document]: ...


def is_searched(chunk: Chunk) -> bool:
    """Whether the indexes should hold it."""
    return chunk.enabled and chunk.kind != "parent"


def entry_text(chunk: Chunk, title: str) -> str:
    """What is embedded and searched for words, of a chunk whose document has this title.

    A question stands for itself. An FAQ entry is its answers, since its questions have entries of their own;
    one without answers is its question.
    """
    if chunk.kind == "question":
        return chunk.text
    if chunk.kind == "faq":
        question, _, answers = chunk.text.partition("\n\n")
        return answers or question
    return search_text(chunk, stem_of(title))


async def embedded(
    chunks: Sequence[Chunk], titles: Mapping[str, str], embedder: Embedder
) -> list[IndexEntry]:
    """The entries of these chunks for both indexes; `titles` by document.

    Known questions are embedded as passages too, though they are searched with questions: that finds the
    right entry more often than embedding them as questions (docs/quality.md).
    """
    entries: list[IndexEntry] = []
    for start in range(0, len(chunks), EMBED_BATCH):
        batch = chunks[start : start + EMBED_BATCH]
        texts = [entry_text(chunk, titles[chunk.document_id]) for chunk in batch]
        entries += map(_entry, batch, texts, await embedder.embed_passages(texts))
    return entries


async def unembedded(catalogue: ChunkSource, ids: Sequence[str]) -> AsyncIterator[Sequence[IndexEntry]]:
    """Those of these entries that the catalogue has, as a keyword index takes them, in batches."""
    for start in range(0, len(ids), KEYWORD_BATCH):
        chunks = (await catalogue.indexed_chunks(ids[start : start + KEYWORD_BATCH])).values()
        documents = await catalogue.documents([*{chunk.document_id for chunk in chunks}])
        yield [
            _entry(chunk, entry_text(chunk, documents[chunk.document_id].title), ())
            for chunk in chunks
            if chunk.document_id in documents
        ]


def _entry(chunk: Chunk, text: str, vector: Sequence[float]) -> IndexEntry:
    return IndexEntry(
        chunk_id=chunk.indexed_as,
        document_id=chunk.document_id,
        text=text,
        vector=vector,
        kind=chunk.kind,
        language=language_of(chunk.text),  # as the catalogue has it: a title may be in another one
    )
