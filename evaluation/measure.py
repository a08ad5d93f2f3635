"""The pipeline's own search over a task, in a folder of its own that is gone afterwards."""

import dataclasses
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from ..api.questions import asked_for_search
from ..api.schemas import MAX_QUESTION, Search
from ..api.stack import Stack
from ..context import Chunk, Context, IndexEntry
from ..graph.quiet import PassingPassages, SilentEmitter
from ..nodes.understand_query import settled, understand
from ..server import open_stack
from ..settings import Settings
from ..state import Ask, Asked, Hit, RagState, Turn
from .embeddings import CachedEmbedder, opened_cache
from .files import QueryRow, Said, Task, Unit
from .recording import Noted, NotedKeywords, NotedVectors
from .report import QuestionResult, StageResult

Progress = Callable[[str, int, int], object]  # what is done, how many of it, of how many

DEPTH = 100  # hits that leave search_chunks while it is measured
INDEX_BATCH = 256
# The channel that holds what each stage handed on, and the nodes whose time it is.
STAGES = {
    "fused": ("chunk_hits", ("search_chunks",)),
    "expanded": ("hits", ("collect_results",)),
    "reranked": ("ranked", ("rerank",)),
    "final": ("selected", ("merge_chunks", "filter_top_k")),
}


async def measure(
    task: Task, settings: Settings, *, cache: Path, understanding: bool, progress: Progress
) -> list[QuestionResult]:
    """Index the task's units, ask its questions one after the other, and rank its units by stage.

    `cache` keeps vectors between runs. Raises what opening a data folder and searching raise.
    """
    with TemporaryDirectory(prefix="headrace-eval-") as folder:
        async with open_stack(settings.model_copy(update={"data": Path(folder)})) as stack:
            with opened_cache(cache) as connection:
                bench = _Bench(stack, CachedEmbedder(stack.embedder, connection))
                # Otherwise what clears leftovers at the start would clear what has just been indexed.
                async with stack.ingestion.indexing:
                    await bench.index(task.units, progress)
                results: list[QuestionResult] = []
                for number, query in enumerate(task.queries):
                    progress("asking", number, len(task.queries))
                    results.append(await bench.ask(query, understanding=understanding))
                return results


class _Bench:
    """One knowledge base with the units of a task, each a document of its own."""

    def __init__(self, stack: Stack, embedder: CachedEmbedder) -> None:
        self._stack = stack
        self._embedder = embedder
        self._vector, self._keyword = Noted(), Noted()
        self._kb_id = ""
        self._unit_of_document: dict[str, str] = {}
        self._unit_of_chunk: dict[str, str] = {}

    async def index(self, units: Sequence[Unit], progress: Progress) -> None:
        catalogue, model = self._stack.catalogue, self._stack.embedder.model
        self._kb_id = (await catalogue.create_kb(name="evaluation", embedding_model=model)).id
        for start in range(0, len(units), INDEX_BATCH):
            progress("indexing", start, len(units))
            chunks = [
                chunk for unit in units[start : start + INDEX_BATCH] for chunk in await self._stored(unit)
            ]
            vectors = await self._embedder.embed_passages([chunk.text for chunk in chunks])
            entries = [
                IndexEntry(chunk_id=chunk.id, document_id=chunk.document_id, text=chunk.text, vector=vector)
                for chunk, vector in zip(chunks, vectors, strict=True)
            ]
            await self._context.vectors.add(self._kb_id, model, entries)
            await self._context.keywords.add(self._kb_id, entries)

    async def ask(self, query: QueryRow, *, understanding: bool) -> QuestionResult:
        context = self._searching()
        asked = await self._asked(query.text)
        if understanding and query.history:
            turns = turns_of(query.history)
            understood, _, _ = await understand(asked, turns, context)
            asked["query"] = settled(understood, asked, turns, context.tokens).rewritten or query.text
        state = cast(RagState, await self._stack.search.ainvoke(Ask(request=asked), context=context))
        stages = {
            "vector": self._channel(self._vector),
            "keyword": self._channel(self._keyword),
            **{stage: self._handed_on(state, *where) for stage, where in STAGES.items()},
        }
        return QuestionResult(qid=query.id, query=asked["query"], stages=stages)

    @property
    def _context(self) -> Context:
        return self._stack.context(SilentEmitter())

    def _searching(self) -> Context:
        plain = self._context
        return dataclasses.replace(
            plain,
            embedder=self._embedder,
            vectors=cast(Any, NotedVectors(plain.vectors, self._vector)),
            keywords=cast(Any, NotedKeywords(plain.keywords, self._keyword)),
            passages=PassingPassages(plain.passages),
        )

    async def _asked(self, query: str) -> Asked:
        body = Search(
            query=query[:MAX_QUESTION],
            knowledge_base_ids=[self._kb_id],
            top_k=None,
            trace=False,
            settings={"embedding_top_k": DEPTH},
        )
        return await asked_for_search(self._stack, body)

    async def _stored(self, unit: Unit) -> list[Chunk]:
        """The unit as a document whose chunks are its texts, whole."""
        size = sum(len(text) for text in unit.texts)
        hash = hashlib.sha256("\0".join([unit.id, *unit.texts]).encode("utf-8", "surrogatepass")).hexdigest()
        document = await self._stack.catalogue.create_document(
            kb_id=self._kb_id, title=unit.id, media_type="text/plain", sha256=hash, bytes=size
        )
        chunks = [
            Chunk(
                # Not by the document's random id: places that are decided by ids are the same every time.
                id=hashlib.sha256(f"{unit.id}\0{place}".encode()).hexdigest()[:32],
                revision=1,
                kb_id=self._kb_id,
                document_id=document.id,
                kind="text",
                # Apart, or merging would take the phrasings of one question for a text in pieces.
                chunk_index=place * 2,
                text=text,
            )
            for place, text in enumerate(unit.texts)
        ]
        await self._stack.catalogue.publish(document.id, revision=1, chunks=chunks)
        self._unit_of_document[document.id] = unit.id
        self._unit_of_chunk |= {chunk.id: unit.id for chunk in chunks}
        return chunks

    def _channel(self, noted: Noted) -> StageResult:
        units = [self._unit_of_chunk[one.chunk_id] for one in noted.found]
        score = noted.found[0].score if noted.found else None
        return StageResult(ranking=list(dict.fromkeys(units))[:DEPTH], score=score, ms=noted.ms)

    def _handed_on(self, state: RagState, channel: str, nodes: Sequence[str]) -> StageResult:
        hits = cast("list[Hit]", state.get(channel) or [])
        units = [self._unit_of_document[hit["document_id"]] for hit in hits]
        timings = state.get("timings", {})
        return StageResult(
            ranking=list(dict.fromkeys(units)),
            score=hits[0]["score"] if hits else None,
            ms=sum(timings.get(node, 0.0) for node in nodes),
        )


def turns_of(history: Sequence[Said]) -> list[Turn]:
    """What was said as turns; one side of a turn may be missing."""
    turns: list[Turn] = []
    for said in history:
        if said.role == "user" or not turns:
            turns.append(Turn(request_id=str(len(turns)), user="", assistant="", references=[]))
        turns[-1][said.role] = said.text
    return turns
