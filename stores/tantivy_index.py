"""One tantivy index: entries in, scored entries out. All of it takes a thread's time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import tantivy
from tantivy import Occur, Query

from ..context import Scored
from ..text.rarity import idf
from .tantivy_files import counted_entries

# The least that tantivy takes per thread; one thread, since embedding is what an ingest waits for.
WRITER_HEAP = 15_000_000
DECIMALS = 5
# Asked for beyond the limit, so that entries of equal score are cut off by their id, not by their place.
TIES = 16
TOKENS = "tokens"


class Unusable(Exception):
    """An index that has to be made again; says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What is searched at one moment.

    `counted` are the entries that tantivy reckons with: those that are deleted are among them until their
    files happen to be merged.
    """

    searcher: tantivy.Searcher
    schema: tantivy.Schema
    counted: int

    @property
    def entries(self) -> int:
        return self.searcher.num_docs

    def ids(self) -> set[str]:
        # Without a query the terms of deleted entries would be among them.
        terms = self.searcher.terms_with_prefix("chunk_id", "", filter_query=Query.all_query())
        return {term for term, _ in terms}

    def holding(self, term: str) -> int:
        """How many entries have this token."""
        if self.entries == self.counted:
            return self.searcher.doc_freq(TOKENS, term)
        found = self.searcher.search(self._term(term), limit=1, count=True)
        return found.count or 0  # pyright: ignore[reportUnknownVariableType, reportAttributeAccessIssue]  # missing in its types

    def best(
        self, rarity: Mapping[str, float], *, limit: int, within: Mapping[str, Sequence[str]]
    ) -> list[Scored]:
        """The entries with the highest BM25 for terms of this rarity, narrowed by field; a few more than
        `limit`, so that all are there that might belong to the first when ties are decided."""
        weights = self._weights(rarity)
        if not weights:
            return []
        return [
            Scored(chunk_id=self.searcher.doc(address)["chunk_id"][0], score=score)
            for score, address in self._first(self._query(weights, within), limit)
            if score > 0
        ]

    def _weights(self, rarity: Mapping[str, float]) -> dict[str, float]:
        """What makes of each term's rarity in this index, which tantivy takes, the one that is wanted."""
        own = {term: count for term in rarity if (count := self.searcher.doc_freq(TOKENS, term))}
        return {term: rarity[term] / idf(self.counted, count) for term, count in own.items()}

    def _query(self, weights: Mapping[str, float], within: Mapping[str, Sequence[str]]) -> Query:
        matching = Query.boolean_query(
            [(Occur.Should, Query.boost_query(self._term(term), weight)) for term, weight in weights.items()]
        )
        narrowed = [
            (Occur.Must, Query.const_score_query(Query.term_set_query(self.schema, field, [*among]), 0.0))
            for field, among in within.items()
            if among
        ]
        return Query.boolean_query([(Occur.Must, matching), *narrowed]) if narrowed else matching

    def _first(self, query: Query, limit: int) -> list[tuple[float, tantivy.DocAddress]]:
        asked = limit + TIES
        while True:
            hits = self.searcher.search(query, limit=asked, count=False).hits
            # Rounded to what 32 bits can say, so that equal scores of two indexes are a tie.
            rounded = [(round(score, DECIMALS), address) for score, address in hits]
            if len(hits) < asked or rounded[-1][0] < rounded[limit - 1][0]:
                least = rounded[min(limit, len(hits)) - 1][0] if hits else 0.0
                return [hit for hit in rounded if hit[0] >= least]
            asked *= 4

    def _term(self, term: str) -> Query:
        return Query.term_query(self.schema, TOKENS, term, index_option="freq")


class OpenIndex:
    """An index in a folder, made when there is none. One thread may write at a time; a search reads on in the
    snapshot that it has begun with."""

    def __init__(self, path: Path) -> None:
        """Raises Unusable for an index of another schema or a damaged one."""
        self._path = path
        try:
            self._index = tantivy.Index(_schema(), path=str(path))
            splitting = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
            self._index.register_tokenizer(TOKENS, splitting)
            # Readers see a change when `write` says so, not when a file watcher wakes up.
            self._index.config_reader("manual")
            self.now = self._snapshot()
        except (ValueError, KeyError, TypeError) as error:
            raise (Unusable(str(error)) if _is_damage(error) else error) from error

    def writer(self) -> tantivy.IndexWriter:
        """To be given to `commit`. It holds a lock file, threads and memory: none may outlive its change.

        The lock is the operating system's and ends with the process that holds it: a crash leaves nothing to
        clear.
        """
        return self._index.writer(heap_size=WRITER_HEAP, num_threads=1)

    def commit(self, writer: tantivy.IndexWriter) -> None:
        """What was written is on the disk and found when it returns."""
        writer.commit()
        writer.wait_merging_threads()
        self._index.reload()
        self.now = self._snapshot()

    def _snapshot(self) -> Snapshot:
        searcher = self._index.searcher()
        return Snapshot(searcher=searcher, schema=self._index.schema, counted=counted_entries(self._path))


def _schema() -> tantivy.Schema:
    schema = tantivy.SchemaBuilder()
    schema.add_text_field("chunk_id", stored=True, tokenizer_name="raw", index_option="basic")
    schema.add_text_field("document_id", tokenizer_name="raw", index_option="basic")
    schema.add_text_field("kind", tokenizer_name="raw", index_option="basic")
    schema.add_text_field(TOKENS, tokenizer_name=TOKENS, index_option="freq")
    return schema.build()


def _is_damage(error: Exception) -> bool:
    """Not so where the operating system refuses: too many open files, no permission, no room."""
    return "os error" not in str(error) and "Os {" not in str(error)
