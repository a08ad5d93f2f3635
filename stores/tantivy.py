"""`KeywordIndex` over tantivy in a folder of this machine."""

import json
import re
import shutil
import threading
from collections.abc import AsyncIterable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import anyio
import tantivy
from anyio.to_thread import run_sync
from tantivy import Occur, Query

from ..context import IndexEntry, QueryTerms, Scored
from ..errors import DependencyFailed, StartRefused
from ..text.rarity import idf, rarities
from ..text.tokens import Tokens

T = TypeVar("T")

# 2: kinds of entries, and single Han characters among the tokens.
SCHEMA_VERSION = 2

# The least that tantivy takes per thread; one thread, since embedding is what an ingest waits for.
WRITER_HEAP = 15_000_000
# A question has tens of tokens; what has more is a pasted text, and its first words will do.
MOST_QUERY_TOKENS = 256
# tantivy's BM25 has k1 fixed at 1.2 and keeps the factor k1 + 1. A text that has each token twice is scored
# as with k1 = 0.6, since 2f / (2f + 1.2) is f / (f + 0.6); the mean length is doubled with the lengths.
# With 0.6 fused rankings are better (docs/quality.md): that a passage has a word counts more than how often.
TIMES = 2
SATURATION = 2.2
DECIMALS = 5
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
# Beside an index that is written anew; no id of a knowledge base has a dot.
NEW, OLD = ".new", ".old"


class TantivyKeywords:
    """One index per knowledge base in `<folder>/<kb id>`; BM25 with k1=0.6, b=0.75.

    Texts are indexed as the tokens of `text.tokens`, and queries are built from the same tokens:
    there is no query language that a question could speak by accident. A call that has returned is on
    the disk.
    """

    def __init__(self, folder: Path, tokens: Tokens) -> None:
        """Raises StartRefused when the folder was written by a newer version.

        Clears what a killed process has left of an index that was written anew, and indexes of an older
        make, which ingestion makes again from the catalogue.
        """
        self._folder = folder
        self._tokens = tokens
        self._indexes: dict[str, tantivy.Index] = {}
        self._locks: dict[str, anyio.Lock] = {}
        self._opening = threading.Lock()
        _check_version(folder)
        _settle(folder)
        _clear_older(folder)

    async def add(self, kb_id: str, entries: Sequence[IndexEntry]) -> None:
        if entries:
            newest = {entry.chunk_id: entry for entry in entries}
            await self._change(kb_id, lambda: self._write(kb_id, [*newest], [*newest.values()]))

    async def delete(self, kb_id: str, chunk_ids: Sequence[str]) -> None:
        if chunk_ids:
            await self._change(kb_id, lambda: self._write(kb_id, chunk_ids, []))

    async def drop(self, kb_id: str) -> None:
        await self._change(kb_id, lambda: self._drop(kb_id))

    async def rewrite(self, kb_id: str, batches: AsyncIterable[Sequence[IndexEntry]]) -> None:
        """The index anew, with these entries and nothing else; searches use the old one until it is whole.

        Deleting only marks entries: their terms stay in the files until segments happen to be merged.
        """
        new = self._path(kb_id).with_name(f"{kb_id}{NEW}")
        async with self._locks.setdefault(kb_id, anyio.Lock()):
            index = await run_sync(_translating, lambda: _made(new))
            writer = index.writer(heap_size=WRITER_HEAP, num_threads=1)
            async for batch in batches:
                await run_sync(_translating, lambda batch=batch: self._put(writer, batch))
            await run_sync(_translating, lambda: _commit(writer))
            await run_sync(_translating, lambda: self._replace(kb_id, new))

    async def keep_only(self, kb_ids: set[str]) -> None:
        for kb_id in await run_sync(_translating, self._kb_ids):
            if kb_id not in kb_ids:
                await self.drop(kb_id)

    async def ids(self, kb_id: str) -> set[str]:
        return await run_sync(_translating, lambda: self._ids(kb_id))

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

        def best() -> list[Scored]:
            found = self._matching(kb_ids, query, terms, limit=limit, within=within)
            return sorted(found, key=lambda hit: (-hit.score, hit.chunk_id))[: max(0, limit)]

        return await run_sync(_translating, best)

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
        found = await run_sync(
            _translating,
            lambda: self._matching(kb_ids, query, terms, limit=len(chunk_ids), within=within),
        )
        return {hit.chunk_id: hit.score for hit in found}

    async def terms(self, kb_ids: Sequence[str], query: str) -> QueryTerms:
        return await run_sync(_translating, lambda: self._terms(kb_ids, query))

    async def close(self) -> None:
        self._indexes.clear()

    async def _change(self, kb_id: str, work: Callable[[], None]) -> None:
        async with self._locks.setdefault(kb_id, anyio.Lock()):
            await run_sync(_translating, work)

    # --- in a worker thread ---

    def _write(self, kb_id: str, old_ids: Sequence[str], entries: Sequence[IndexEntry]) -> None:
        index = self._opened(kb_id, create=bool(entries))
        if index is None:
            return
        # A writer holds a lock file, threads and memory, so none outlives its change. The lock is the
        # operating system's and ends with the process that holds it: a crash leaves nothing to clear.
        writer = index.writer(heap_size=WRITER_HEAP, num_threads=1)
        for chunk_id in old_ids:
            writer.delete_documents_by_term("chunk_id", chunk_id)
        self._put(writer, entries)
        _commit(writer)
        index.reload()

    def _put(self, writer: tantivy.IndexWriter, entries: Sequence[IndexEntry]) -> None:
        for entry in entries:
            tokens = " ".join(self._tokens.index(entry.text) * TIMES)
            writer.add_document(
                tantivy.Document(
                    chunk_id=entry.chunk_id, document_id=entry.document_id, kind=entry.kind, tokens=tokens
                )
            )

    def _replace(self, kb_id: str, new: Path) -> None:
        path = self._path(kb_id)
        old = path.with_name(f"{kb_id}{OLD}")
        with self._opening:
            self._indexes.pop(kb_id, None)
            if path.exists():
                path.rename(old)
            new.rename(path)
        shutil.rmtree(old, ignore_errors=True)  # a search that has it open reads on

    def _drop(self, kb_id: str) -> None:
        self._indexes.pop(kb_id, None)
        path = self._path(kb_id)
        if path.exists():
            shutil.rmtree(path)

    def _kb_ids(self) -> list[str]:
        return [path.name for path in self._folder.glob("*") if path.is_dir() and _ID.fullmatch(path.name)]

    def _ids(self, kb_id: str) -> set[str]:
        index = self._opened(kb_id, create=False)
        if index is None:
            return set()
        # Without a query the terms of deleted entries would be among them.
        terms = index.searcher().terms_with_prefix("chunk_id", "", filter_query=Query.all_query())
        return {term for term, _ in terms}

    def _matching(
        self,
        kb_ids: Sequence[str],
        text: str,
        terms: QueryTerms | None,
        *,
        limit: int,
        within: Mapping[str, Sequence[str]],
    ) -> list[Scored]:
        """The best `limit` entries of each index that hold a term of `text`, narrowed by field."""
        terms = terms or self._terms(kb_ids, text)
        if not terms.frequencies or limit < 1:
            return []
        rarity = rarities(terms)
        return [hit for kb_id in kb_ids for hit in self._best(kb_id, rarity, limit, within)]

    def _best(
        self, kb_id: str, rarity: Mapping[str, float], limit: int, within: Mapping[str, Sequence[str]]
    ) -> list[Scored]:
        index = self._opened(kb_id, create=False)
        if index is None:
            return []
        searcher = index.searcher()
        weights = _weights(searcher, index.schema, rarity)
        if not weights:
            return []
        query = _query(index.schema, weights, within)
        return [
            # Rounded to what 32 bits can say, so that equal scores of two indexes are a tie.
            Scored(chunk_id=searcher.doc(address)["chunk_id"][0], score=round(score, DECIMALS))
            for score, address in searcher.search(query, limit=limit, count=False).hits
            if score > 0
        ]

    def _terms(self, kb_ids: Sequence[str], text: str) -> QueryTerms:
        frequencies = dict.fromkeys(self._query_tokens(text), 0)
        entries = 0
        for kb_id in kb_ids:
            index = self._opened(kb_id, create=False)
            if index is None:
                continue
            searcher = index.searcher()
            entries += searcher.num_docs
            for token in frequencies:
                # Until segments are merged, deleted entries count among those that hold a term.
                frequencies[token] += min(searcher.num_docs, searcher.doc_freq("tokens", token))
        return QueryTerms(entries=entries, frequencies=frequencies, saturation=SATURATION)

    def _query_tokens(self, text: str) -> list[str]:
        return self._tokens.search(text)[:MOST_QUERY_TOKENS]

    def _opened(self, kb_id: str, *, create: bool) -> tantivy.Index | None:
        path = self._path(kb_id)
        with self._opening:  # two objects for one index would not see each other's changes
            if kb_id not in self._indexes:
                if not create and not (path / "meta.json").exists():
                    return None
                path.mkdir(parents=True, exist_ok=True)
                _mark_version(self._folder)
                self._indexes[kb_id] = _open(path)
            return self._indexes[kb_id]

    def _path(self, kb_id: str) -> Path:
        if not _ID.fullmatch(kb_id):
            raise ValueError(f"not an id: {kb_id!r}")
        return self._folder / kb_id


def _made(path: Path) -> tantivy.Index:
    if path.exists():
        shutil.rmtree(path)
    path.mkdir(parents=True)
    return _open(path)


def _commit(writer: tantivy.IndexWriter) -> None:
    writer.commit()
    writer.wait_merging_threads()


def _settle(folder: Path) -> None:
    """One index under each name: after a kill between the two renames the new one, which is whole then."""
    for old in folder.glob(f"*{OLD}"):
        path, new = old.with_suffix(""), old.with_suffix(NEW)
        if new.exists() and not path.exists():
            new.rename(path)
        shutil.rmtree(old)
    for new in folder.glob(f"*{NEW}"):
        shutil.rmtree(new)


def _open(path: Path) -> tantivy.Index:
    index = tantivy.Index(_schema(), path=str(path))
    splitting = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
    index.register_tokenizer("tokens", splitting)
    # Readers see a change when `_write` says so, not when a file watcher wakes up.
    index.config_reader("manual")
    return index


def _schema() -> tantivy.Schema:
    schema = tantivy.SchemaBuilder()
    schema.add_text_field("chunk_id", stored=True, tokenizer_name="raw", index_option="basic")
    schema.add_text_field("document_id", tokenizer_name="raw", index_option="basic")
    schema.add_text_field("kind", tokenizer_name="raw", index_option="basic")
    schema.add_text_field("tokens", tokenizer_name="tokens", index_option="freq")
    return schema.build()


def _weights(
    searcher: tantivy.Searcher, schema: tantivy.Schema, rarity: Mapping[str, float]
) -> dict[str, float]:
    """What makes of each term's rarity in this index, which tantivy takes, the one that is wanted."""
    frequencies = {term: count for term in rarity if (count := searcher.doc_freq("tokens", term))}
    if not frequencies:
        return {}
    entries = _counted_entries(searcher, schema, next(iter(frequencies)))
    return {term: rarity[term] / idf(entries, count) for term, count in frequencies.items()}


def _counted_entries(searcher: tantivy.Searcher, schema: tantivy.Schema, term: str) -> int:
    """How many entries tantivy reckons with: those of its files, deleted ones among them.

    Only the explanation of a score tells. A term that deleted entries alone hold has no score to explain:
    then it does not matter either.
    """
    query = Query.term_query(schema, "tokens", term, index_option="freq")
    hits = searcher.search(query, limit=1, count=False).hits
    if not hits:
        return searcher.num_docs
    explained = json.loads(query.explain(searcher, hits[0][1]).to_json())
    [part] = [part for part in explained["details"] if part["description"].startswith("idf")]
    [counted] = [one for one in part["details"] if one["description"].startswith("N,")]
    return int(counted["value"])


def _query(
    schema: tantivy.Schema, weights: Mapping[str, float], within: Mapping[str, Sequence[str]]
) -> Query:
    terms = [
        (
            Occur.Should,
            Query.boost_query(Query.term_query(schema, "tokens", term, index_option="freq"), weight),
        )
        for term, weight in weights.items()
    ]
    matching = Query.boolean_query(terms)
    narrowed = [
        (Occur.Must, Query.const_score_query(Query.term_set_query(schema, field, [*among]), 0.0))
        for field, among in within.items()
        if among
    ]
    return Query.boolean_query([(Occur.Must, matching), *narrowed]) if narrowed else matching


def _check_version(folder: Path) -> None:
    # Empty: a crash came between making the file and writing into it.
    found = _marked_version(folder) or str(SCHEMA_VERSION)
    if not found.isdecimal() or int(found) > SCHEMA_VERSION:
        raise StartRefused(
            f"{folder} was written by a newer headrace (schema {found}, this one knows {SCHEMA_VERSION}): "
            "install that version, or use another data folder"
        )


def _clear_older(folder: Path) -> None:
    if (_marked_version(folder) or str(SCHEMA_VERSION)) == str(SCHEMA_VERSION):
        return
    for path in folder.glob("*"):
        if path.is_dir() and _ID.fullmatch(path.name):
            shutil.rmtree(path)
    # Last: a process killed before it clears once more.
    (folder / "schema_version").unlink()


def _mark_version(folder: Path) -> None:
    if not _marked_version(folder):
        (folder / "schema_version").write_text(f"{SCHEMA_VERSION}\n", encoding="utf-8")


def _marked_version(folder: Path) -> str:
    file = folder / "schema_version"
    return file.read_text(encoding="utf-8").strip() if file.exists() else ""


def _translating(work: Callable[[], T]) -> T:
    with _translated():
        return work()


@contextmanager
def _translated() -> Generator[None]:
    try:
        yield
    except (ValueError, OSError) as error:  # tantivy raises ValueError for everything
        raise DependencyFailed("keywords", f"the keyword index did not answer: {error}") from error
