"""Worlds that a search looks into: several stores, known questions, two languages."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from headrace.context import Context, FaqEntry, KeywordIndex, SearchStore, VectorIndex
from headrace.nodes.searching.hybrid import hybrid_search
from headrace.nodes.searching.search import Found, Search

from ...fakes import MODEL, FakeKeywords, FakeVectors, World, a_chunk, a_kb


async def searched(given: World | Context, query: str, **parts: Any) -> Found:
    """A search of kb1; `parts` are other fields of `Search`."""
    context = given.context() if isinstance(given, World) else given
    fields: dict[str, Any] = {"kb_ids": ["kb1"], **parts}
    return await hybrid_search(context, Search(query=query, **fields))


async def found(given: World | Context, query: str, **parts: Any) -> list[str]:
    return [hit["chunk_id"] for hit in (await searched(given, query, **parts)).hits]


async def add_entry(
    world: World,
    id: str,
    *questions: str,
    answer: str = "an answer",
    negative: Sequence[str] = (),
    enabled: bool = True,
    kb_id: str = "faq",
    model: str = MODEL,
) -> None:
    """An entry of an FAQ knowledge base as it lies in catalogue and indexes."""
    world.catalogue.all_kbs.setdefault(kb_id, dataclasses.replace(a_kb(kb_id, model=model), kind="faq"))
    world.catalogue.all_entries[id] = FaqEntry(
        id=id,
        kb_id=kb_id,
        question=questions[0],
        similar_questions=questions[1:],
        negative_questions=negative,
        answers=[answer],
        enabled=enabled,
    )
    parts: dict[str, Any] = {"kb_id": kb_id, "document_id": id, "enabled": enabled}
    whole = a_chunk(id, answer, kind="faq", entry_id=f"{id}-answers", **parts)
    asked = [
        a_chunk(f"{id}-{n}", text, kind="question", chunk_index=n, parent_chunk_id=id, **parts)
        for n, text in enumerate(questions)
    ]
    await world.add(whole, *asked, model=model)


def in_stores(world: World, **stores: Sequence[str]) -> Context:
    """The context of a world whose knowledge bases lie in these stores, by name."""
    made: dict[str, SearchStore] = {}
    for name, kb_ids in stores.items():
        vectors, keywords = FakeVectors(), FakeKeywords()
        vectors.failing, keywords.failing = world.vectors.failing, world.keywords.failing
        vectors.entries = {key: own for key, own in world.vectors.entries.items() if key[0] in kb_ids}
        keywords.entries = {key: own for key, own in world.keywords.entries.items() if key in kb_ids}
        made[name] = SearchStore(vectors=vectors, keywords=keywords)
        for kb_id in kb_ids:
            kb = world.catalogue.all_kbs[kb_id]
            world.catalogue.all_kbs[kb_id] = dataclasses.replace(kb, store=name)
    return dataclasses.replace(world.context(), stores=made)


def with_store(
    world: World, *, vectors: VectorIndex | None = None, keywords: KeywordIndex | None = None
) -> Context:
    """The context of a world with another index in the place of its own."""
    store = SearchStore(vectors=vectors or world.vectors, keywords=keywords or world.keywords)
    return dataclasses.replace(world.context(), stores={"embedded": store})
