"""`KeywordIndex` over tantivy in a folder of this machine."""

import logging
import threading
from collections.abc import AsyncIterable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import anyio
import tantivy
from anyio.to_thread import run_sync

from ..context import IndexEntry, QueryTerms, Scored
from ..errors import DependencyFailed
from ..text.rarity import rarities
from ..text.tokens import Tokens
from . import tantivy_files as files
from .tantivy_index import OpenIndex, Unusable

T = TypeVar("T")

# A question has tens of tokens; what has more is a pasted text, and its first words will do.
MOST_QUERY_TOKENS = 256
# tantivy's BM25 has k1 fixed at 1.2 and keeps the factor k1 + 1. A text that has each token twice is scored
# as with k1 = 0.6, since 2f / (2f + 1.2) is f / (f + 0.6); the mean length is doubled with the lengths.
# With 0.6 fused rankings are better (docs/quality.md): that a passage has a word counts more than how often.
TIMES = 2
SATURATION = 2.2
NAME, REBUILDING = "keyword index", "index_rebuilding"

log = logging.getLogger(__name__)


class TantivyKeywords:
    """One index per knowledge base in `<folder>/<kb id>`; BM25 with k1=0.6, b=0.75.

    Texts are indexed as the tokens of `text.tokens`, and queries are built from the same tokens:
    there is no query language that a question could speak by accident. Lengths are compared with the mean of
    the entry's own knowledge base.
    """

    def __init__(self, folder: Path, tokens: Tokens) -> None:
        """Raises StartRefused when the folder was written by a newer version.

        Clears what a killed process has left of an index that was written anew.
        """
        self._folder = folder
        self._tokens = tokens
        self._made_with = f"{files.LAYOUT} {tokens.version}"
        self._indexes: dict[str, OpenIndex] = {}
        self._locks: dict[str, anyio.Lock] = {}
        self._opening = threading.Lock()
        files.check_version(folder)
        files.settle(folder)

    async def add(self, kb_id: str, entries: Sequence[IndexEntry]) -> None:
        if entries:
            newest = {entry.chunk_id: entry for entry in entries}
            await self._change(kb_id, lambda: self._write(kb_id, [*newest], [*newest.values()]))

    async def delete(self, kb_id: str, chunk_ids: Sequence[str]) -> None:
        if chunk_ids:
            await self._change(kb_id, lambda: self._write(kb_id, chunk_ids, []))

    async def drop(self, kb_id: str) -> None:
        await self._change(kb_id, lambda: self._drop(kb_id))

    async def keep_only(self, kb_ids: set[str]) -> None:
        for kb_id in await _run(lambda: files.kb_ids(self._folder)) - kb_ids:
            await self.drop(kb_id)

    async def ids(self, kb_id: str) -> set[str]:
        return await _run(lambda: self._ids(kb_id))

    async def outdated(self) -> set[str]:
        """Of another make, or set aside because it could not be used."""
        found: set[str] = set()
        for kb_id in await _run(lambda: files.kb_ids(self._folder)):
            if await self._change(kb_id, lambda kb_id=kb_id: self._is_outdated(kb_id)):
                found.add(kb_id)
        return found

    async def rewrite(self, kb_id: str, batches: AsyncIterable[Sequence[IndexEntry]]) -> None:
        """Deleting only marks entries: their terms stay in the files until segments happen to be merged, or
        until this."""
        async with self._lock(kb_id):
            index = await _run(lambda: self._begun(kb_id))
            writer = index.writer()
            async for batch in batches:
                await _run(lambda batch=batch: self._rewritten(kb_id, writer, batch))
            await _run(lambda: index.commit(writer))
            await _run(lambda: self._replace(kb_id))

    async def search(
        self,
        kb_ids: Sequence[str],
        query: str,
        *,
        limit: int,
        document_ids: Sequence[str] = (),
        kinds: Sequence[str] = (),
        terms: QueryTerms | None = None,
    ) -> list[Scored]:
        within = {"document_id": document_ids, "kind": kinds}
        found = await _run(lambda: self._matching(kb_ids, query, terms, limit, within))
        return sorted(found, key=lambda hit: (-hit.score, hit.chunk_id))[: max(0, limit)]

    async def scores(
        self,
        kb_ids: Sequence[str],
        query: str,
        chunk_ids: Sequence[str],
        *,
        terms: QueryTerms | None = None,
    ) -> dict[str, float]:
        if not chunk_ids:
            return {}
        within = {"chunk_id": chunk_ids}
        found = await _run(lambda: self._matching(kb_ids, query, terms, len(chunk_ids), within))
        return {hit.chunk_id: hit.score for hit in found}

    async def terms(self, kb_ids: Sequence[str], query: str) -> QueryTerms:
        return await _run(lambda: self._terms(kb_ids, query))

    async def close(self) -> None:
        self._indexes.clear()

    async def _change(self, kb_id: str, work: Callable[[], T]) -> T:
        async with self._lock(kb_id):
            return await _run(work)

    def _lock(self, kb_id: str) -> anyio.Lock:
        return self._locks.setdefault(kb_id, anyio.Lock())

    # --- in a worker thread ---

    def _write(self, kb_id: str, old_ids: Sequence[str], entries: Sequence[IndexEntry]) -> None:
        index = self._opened(kb_id, create=bool(entries))
        if index is None:
            return
        writer = index.writer()
        for chunk_id in old_ids:
            writer.delete_documents_by_term("chunk_id", chunk_id)
        self._put(writer, entries)
        index.commit(writer)

    def _put(self, writer: tantivy.IndexWriter, entries: Sequence[IndexEntry]) -> None:
        for entry in entries:
            tokens = " ".join(self._tokens.index(entry.text) * TIMES)
            writer.add_document(
                tantivy.Document(
                    chunk_id=entry.chunk_id, document_id=entry.document_id, kind=entry.kind, tokens=tokens
                )
            )

    def _begun(self, kb_id: str) -> OpenIndex:
        new = files.beside(files.path_of(self._folder, kb_id), files.NEW)
        files.make(new, self._made_with)
        return OpenIndex(new)

    def _rewritten(self, kb_id: str, writer: tantivy.IndexWriter, batch: Sequence[IndexEntry]) -> None:
        path = files.path_of(self._folder, kb_id)
        if batch and not files.has_index(path) and not files.is_aside(path):
            files.set_aside(path)  # its folder was lost: no search may take it for empty
        self._put(writer, batch)

    def _replace(self, kb_id: str) -> None:
        with self._opening:
            self._indexes.pop(kb_id, None)
            files.replace(files.path_of(self._folder, kb_id))

    def _drop(self, kb_id: str) -> None:
        path = files.path_of(self._folder, kb_id)
        with self._opening:
            self._indexes.pop(kb_id, None)
            for gone in (path, files.beside(path, files.ASIDE)):
                files.remove(gone)

    def _ids(self, kb_id: str) -> set[str]:
        index = self._opened(kb_id, create=False)
        return index.now.ids() if index else set()

    def _is_outdated(self, kb_id: str) -> bool:
        path = files.path_of(self._folder, kb_id)
        if not files.has_index(path):
            return files.is_aside(path)
        try:
            self._opened(kb_id, create=False)
        except DependencyFailed as failed:
            if failed.code != REBUILDING:
                raise
            return True
        if broken := files.broken_file(path):
            self._set_aside(kb_id, f"{broken} is damaged")
            return True
        return not files.is_made_with(path, self._made_with)

    def _set_aside(self, kb_id: str, why: str) -> None:
        log.warning("the keyword index of knowledge base %s is made again from the catalogue: %s", kb_id, why)
        self._indexes.pop(kb_id, None)
        files.set_aside(files.path_of(self._folder, kb_id))

    def _matching(
        self,
        kb_ids: Sequence[str],
        text: str,
        terms: QueryTerms | None,
        limit: int,
        within: Mapping[str, Sequence[str]],
    ) -> list[Scored]:
        """The best of each index that hold a term of `text`, narrowed by field."""
        terms = terms or self._terms(kb_ids, text)
        if not terms.frequencies or limit < 1:
            return []
        rarity = rarities(terms)
        opened = [self._opened(kb_id, create=False) for kb_id in dict.fromkeys(kb_ids)]
        return [hit for one in opened if one for hit in one.now.best(rarity, limit=limit, within=within)]

    def _terms(self, kb_ids: Sequence[str], text: str) -> QueryTerms:
        frequencies = dict.fromkeys(self._tokens.search(text)[:MOST_QUERY_TOKENS], 0)
        entries = 0
        for kb_id in dict.fromkeys(kb_ids):
            if index := self._opened(kb_id, create=False):
                now = index.now
                entries += now.entries
                for token in frequencies:
                    frequencies[token] += now.holding(token)
        return QueryTerms(entries=entries, frequencies=frequencies, saturation=SATURATION)

    def _opened(self, kb_id: str, *, create: bool) -> OpenIndex | None:
        path = files.path_of(self._folder, kb_id)
        with self._opening:  # two objects for one index would not see each other's changes
            if kb_id not in self._indexes:
                if files.is_aside(path):
                    raise _rebuilding(kb_id)
                if not files.has_index(path):
                    if not create:
                        return None
                    files.make(path, self._made_with)
                try:
                    self._indexes[kb_id] = OpenIndex(path)
                except Unusable as error:
                    self._set_aside(kb_id, str(error))
                    raise _rebuilding(kb_id) from error
            return self._indexes[kb_id]


def _rebuilding(kb_id: str) -> DependencyFailed:
    failed = DependencyFailed(
        NAME,
        "The keyword index of a knowledge base is being made again from its texts: ask again in a moment. If "
        "this goes on, the server's log says why.",
        code=REBUILDING,
    )
    failed.details["knowledge_base_id"] = kb_id
    return failed


async def _run(work: Callable[[], T]) -> T:
    return await run_sync(_translating, work)


def _translating(work: Callable[[], T]) -> T:
    try:
        return work()
    except (ValueError, OSError, Unusable) as error:  # tantivy raises ValueError for everything
        raise DependencyFailed(NAME, f"The keyword index (tantivy) did not answer: {error}") from error
    except BaseException as error:
        # No module has this class, and it is no Exception: no run would be told of its end.
        if type(error).__name__ != "PanicException":
            raise
        raise DependencyFailed(
            NAME,
            "The keyword index (tantivy) cannot be read, a file of it must be damaged. The next start of the "
            f"server makes it again. ({error})",
            code="index_damaged",
        ) from error
