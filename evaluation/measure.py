"""The pipeline's own search over a corpus, in a folder of its own that is gone afterwards."""

import dataclasses
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, cast

from ..api.questions import asked_for_search
from ..api.schemas import MAX_QUESTION, Search
from ..api.stack import Stack
from ..context import Context, Scored, SearchStore
from ..graph.quiet import PassingPassages, SilentEmitter
from ..nodes.searching.languages import UNPLACED
from ..nodes.understand_query import settled, understand
from ..server import open_stack
from ..settings import Settings
from ..state import Ask, Asked, Departure, Hit, RagState, Turn
from ..stores.caches import CachedEmbedder
from .embeddings import opened_vectors
from .files import Corpus, QueryRow, Said
from .indexing import Indexed, Progress, index
from .repeats import standing_for
from .report import QuestionResult, StageResult
from .sameness import Sameness

CANDIDATES = 500  # of a channel alone: as many as hybrid search looks at for that depth
DEPTH = 100  # hits that leave search_chunks while it is measured
# The channel that holds what each stage handed on, and the nodes whose work it is.
STAGES = {
    "expanded": ("hits", ("collect_results",)),
    "reranked": ("ranked", ("rerank", "boost_wiki")),
    "final": ("selected", ("merge_chunks", "filter_top_k")),
}


@asynccontextmanager
async def opened_bench(
    corpus: Corpus, settings: Settings, *, cache: Path, cut: bool = False, progress: Progress
) -> AsyncGenerator["Bench"]:
    """Index the corpus; with `cut` its texts are cut as at an ingestion.

    `cache` keeps vectors between runs. Raises what opening a data folder and indexing raise.
    """
    with TemporaryDirectory(prefix="headrace-eval-") as folder, opened_vectors(cache) as vectors:
        # Its own data, but the models that lie in the user's folder.
        own = {"data": Path(folder), "models": settings.models_folder}
        async with open_stack(settings.model_copy(update=own)) as stack:
            embedder = CachedEmbedder(stack.embedder, vectors)
            plain = stack.context(SilentEmitter())
            store = plain.stores["embedded"]
            # Otherwise what clears leftovers at the start would clear what has just been indexed.
            async with stack.ingestion.indexing:
                indexed = await index(corpus, stack, store, embedder, cut=cut, progress=progress)
            yield Bench(stack, store, embedder, indexed)


async def ask_all(
    bench: "Bench", queries: Sequence[QueryRow], *, understanding: bool, progress: Progress
) -> list[QuestionResult]:
    """One after the other, so that the times are those of a search alone."""
    results: list[QuestionResult] = []
    for number, query in enumerate(queries):
        progress("asking", number, len(queries))
        results.append(await bench.ask(query, understanding=understanding))
    return results


class Bench:
    """One knowledge base, and questions to it whose hits are told as rows of its corpus."""

    def __init__(self, stack: Stack, store: SearchStore, embedder: CachedEmbedder, indexed: Indexed) -> None:
        self._stack = stack
        self._store = store
        self._embedder = embedder
        self._indexed = indexed
        is_bank = indexed.kb.kind == "faq"
        self._kinds = ("question",) if is_bank else ()
        self._sameness = Sameness(indexed, store.vectors, embedder) if is_bank else None

    async def ask(self, query: QueryRow, *, understanding: bool = False) -> QuestionResult:
        context = self._context()
        asked = await self._asked(query.text)
        if understanding and query.history:
            turns = turns_of(query.history)
            understood, _, _ = await understand(asked, turns, context)
            asked["query"] = settled(understood, asked, turns, context.tokens).rewritten or query.text
        channels = await self._channels(asked["query"])
        state = cast(RagState, await self._stack.search.ainvoke(Ask(request=asked), context=context))
        found = first_recall(state)
        stages = {
            **channels,
            "unplaced": self._stage(unplaced(found), state, ()),
            "fused": self._stage(found, state, ("search_chunks",)),
            **self._later_stages(state),
        }
        result = QuestionResult(qid=query.id, query=asked["query"], stages=stages)
        return await self._judged(result, self._sameness) if self._sameness else result

    def _context(self) -> Context:
        plain = self._stack.context(SilentEmitter())
        passages = PassingPassages(plain.passages)
        # A question that is asked twice takes as long twice.
        return dataclasses.replace(plain, embedder=self._embedder, passages=passages, caches=None)

    async def _asked(self, query: str) -> Asked:
        body = Search(
            query=query[:MAX_QUESTION],
            knowledge_base_ids=[self._indexed.kb.id],
            top_k=None,
            trace=False,
            settings={"embedding_top_k": DEPTH},
        )
        return await asked_for_search(self._stack, body)

    async def _channels(self, query: str) -> dict[str, StageResult]:
        """Each channel alone, as its store ranks."""
        kb, limit, kinds = self._indexed.kb, CANDIDATES, self._kinds
        [vector] = await self._embedder.embed_queries([query])
        return {
            "vector": await self._channel(
                lambda: self._store.vectors.search(
                    [kb.id], kb.embedding_model, vector, limit=limit, kinds=kinds
                )
            ),
            "keyword": await self._channel(
                lambda: self._store.keywords.search([kb.id], query, limit=limit, kinds=kinds)
            ),
        }

    async def _channel(self, search: Callable[[], Awaitable[list[Scored]]]) -> StageResult:
        started = perf_counter()
        found = await search()
        ms = (perf_counter() - started) * 1000
        rows = _each_once(self._indexed.by_entry, [one.chunk_id for one in found])
        return StageResult(ranking=rows[:DEPTH], score=found[0].score if found else None, ms=ms)

    async def _judged(self, result: QuestionResult, sameness: Sameness) -> QuestionResult:
        near_miss = bool(sameness.unmeant(result.query))
        return dataclasses.replace(
            result, same_question=await sameness.score(result.query), near_miss=near_miss
        )

    def _later_stages(self, state: RagState) -> dict[str, StageResult]:
        """Each with what its hits were kept in place of, up to that stage."""
        results: dict[str, StageResult] = {}
        passed: set[str] = set()
        for stage, (channel, nodes) in STAGES.items():
            passed.update(nodes)
            hits = cast("list[Hit]", state.get(channel) or [])
            departures = [left for left in state.get("departures", []) if left["stage"] in passed]
            results[stage] = self._stage(hits, state, nodes, departures)
        return results

    def _stage(
        self, hits: Sequence[Hit], state: RagState, nodes: Sequence[str], departures: Sequence[Departure] = ()
    ) -> StageResult:
        timings = state.get("timings", {})
        chunk_ids = standing_for([hit["chunk_id"] for hit in hits], departures, self._indexed.texts)
        return StageResult(
            ranking=_each_once(self._indexed.by_chunk, chunk_ids),
            score=hits[0]["score"] if hits else None,
            ms=sum(timings.get(node, 0.0) for node in nodes),
        )


def measured_with(settings: Settings) -> dict[str, Any]:
    """The knobs that a measurement runs with."""
    return settings.knobs().model_dump(exclude_none=True) | {"embedding_top_k": DEPTH}


def first_recall(state: RagState) -> list[Hit]:
    """What leaves hybrid search, as it was before the question was asked again in other words."""
    hits = state.get("chunk_hits", [])
    ranked = [hit for hit in hits if "fused" in hit["ranks"]]
    return sorted(ranked, key=lambda hit: hit["ranks"]["fused"]) if ranked else hits


def unplaced(hits: Sequence[Hit]) -> list[Hit]:
    """In the order of their own scores: without the places that are kept for another language."""
    return sorted(hits, key=lambda hit: -(hit["scores"].get(UNPLACED) or hit["scores"]["fused"] or 0.0))


def turns_of(history: Sequence[Said]) -> list[Turn]:
    """What was said as turns; one side of a turn may be missing."""
    turns: list[Turn] = []
    for said in history:
        if said.role == "user" or not turns:
            turns.append(Turn(request_id=str(len(turns)), user="", assistant="", references=[]))
        turns[-1][said.role] = said.text
    return turns


def _each_once(rows: Mapping[str, Sequence[str]], ids: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(row for id in ids for row in rows[id]))
