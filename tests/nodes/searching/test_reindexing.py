"""A search while indexes are being made again: it answers with what is there, and says so."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from headrace.context import Context, QueryTerms, Scored, SearchStore
from headrace.errors import DependencyFailed
from headrace.text.fusion import COVERAGE_WEIGHTS

from ...fakes import FakeEmbedder, FakeKeywords, World, a_chunk
from .worlds import found, searched

pytestmark = pytest.mark.anyio

KNOWN = next(iter(COVERAGE_WEIGHTS))  # cosines and coverage are added for it, so scores are completed
BOTH = {"kb_ids": ["kb1", "kb2"]}


class Rebuilding(FakeKeywords):
    """Refuses whatever is asked over a knowledge base whose index is just being made again."""

    def __init__(self, entries: Any, kb_ids: Sequence[str], code: str) -> None:
        super().__init__()
        self.entries = entries
        self.broken = kb_ids
        self.code = code

    async def search(self, kb_ids: Sequence[str], query: str, **given: Any) -> list[Scored]:
        self._refuse(kb_ids)
        return await super().search(kb_ids, query, **given)

    async def scores(
        self, kb_ids: Sequence[str], query: str, chunk_ids: Sequence[str], **given: Any
    ) -> dict[str, float]:
        self._refuse(kb_ids)
        return await super().scores(kb_ids, query, chunk_ids, **given)

    async def terms(self, kb_ids: Sequence[str], query: str) -> QueryTerms:
        self._refuse(kb_ids)
        return await super().terms(kb_ids, query)

    def _refuse(self, kb_ids: Sequence[str]) -> None:
        for kb_id in kb_ids:
            if kb_id in self.broken:
                failed = DependencyFailed("keyword index", "not now", code=self.code)
                failed.details["knowledge_base_id"] = kb_id
                raise failed


async def a_world() -> World:
    world = World(embedder=FakeEmbedder(KNOWN))
    chunks = a_chunk("c1", "travel 差旅报销 one"), a_chunk("c2", "年假 leave", kb_id="kb2")
    await world.add(*chunks, model=KNOWN)
    return world


def rebuilding(world: World, *kb_ids: str, code: str = "index_rebuilding") -> Context:
    keywords = Rebuilding(world.keywords.entries, kb_ids, code)
    stores = {"embedded": SearchStore(vectors=world.vectors, keywords=keywords)}
    return replace(world.context(), stores=stores)


@pytest.mark.parametrize("expand", [True, False])
async def test_one_whose_keyword_index_is_made_again_is_found_by_vectors_and_others_by_both(
    expand: bool,
) -> None:
    result = await searched(rebuilding(await a_world(), "kb2"), "leave travel", expand=expand, **BOTH)
    by_id = {hit["chunk_id"]: hit for hit in result.hits}
    assert {id: {*hit["ranks"]} & {"vector", "keyword"} for id, hit in by_id.items()} == {
        "c1": {"vector", "keyword"},
        "c2": {"vector"},
    }
    [warning] = result.failures
    assert (warning.code, "'kb2'" in warning.message) == ("reindexing", True)


async def test_without_any_keyword_index_vectors_answer() -> None:
    result = await searched(rebuilding(await a_world(), "kb1", "kb2"), "leave travel", **BOTH)
    assert {hit["chunk_id"] for hit in result.hits} == {"c1", "c2"}
    assert [warning.code for warning in result.failures] == ["reindexing"] * 2


async def test_known_gaps_are_told_for_knowledge_bases_in_scope_alone() -> None:
    context = replace((await a_world()).context(), reindexing=lambda: {"kb2", "elsewhere"})
    assert [warning.code for warning in (await searched(context, "leave", **BOTH)).failures] == ["reindexing"]
    assert (await searched(context, "travel")).failures == []


async def test_one_that_is_known_and_met_is_told_once() -> None:
    context = replace(rebuilding(await a_world(), "kb2"), reindexing=lambda: {"kb2"})
    assert len((await searched(context, "leave travel", **BOTH)).failures) == 1


async def test_any_other_failure_of_a_keyword_index_is_one() -> None:
    context = rebuilding(await a_world(), "kb2", code="dependency_failed")
    with pytest.raises(DependencyFailed, match="not now"):
        await found(context, "leave", **BOTH)
