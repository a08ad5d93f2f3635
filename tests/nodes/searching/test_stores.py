"""Stores side by side: how often each is asked, and what becomes of one that does not answer."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from headrace.context import QueryTerms, Scored, SearchStore
from headrace.errors import DependencyFailed, DependencyRefused
from headrace.text.fusion import COVERAGE_WEIGHTS

from ...fakes import FakeEmbedder, FakeKeywords, FakeVectors, World, a_chunk
from .worlds import add_entry, found, in_stores, searched, with_store

pytestmark = pytest.mark.anyio

KNOWN = next(iter(COVERAGE_WEIGHTS))
BOTH: dict[str, Any] = {"kb_ids": ["kb1", "kb2"]}


async def a_world() -> World:
    world = World(embedder=FakeEmbedder(KNOWN))
    await world.add(
        a_chunk("c1", "travel expenses are refunded", document_id="rules"),
        a_chunk("c3", "差旅报销标准 travel", document_id="zh", kb_id="kb2"),
        model=KNOWN,
    )
    return world


class Diary(FakeKeywords):
    """Notes what it was asked, of which knowledge bases, and with whose count of terms."""

    def __init__(self, entries: dict[str, Any]) -> None:
        super().__init__()
        self.entries = entries
        self.lines: list[tuple[str, list[str]]] = []
        self.counted: list[int | None] = []

    async def search(self, kb_ids: Any, *given: Any, **named: Any) -> list[Scored]:
        self.lines.append(("search", [*kb_ids]))
        terms: QueryTerms | None = named["terms"]
        self.counted.append(terms.entries if terms else None)
        return await super().search(kb_ids, *given, **named)

    async def scores(self, kb_ids: Any, *given: Any, **named: Any) -> dict[str, float]:
        self.lines.append(("scores", [*kb_ids]))
        return await super().scores(kb_ids, *given, **named)

    async def terms(self, kb_ids: Any, query: str) -> QueryTerms:
        self.lines.append(("terms", [*kb_ids]))
        return await super().terms(kb_ids, query)


async def test_knowledge_bases_of_a_store_share_three_rounds() -> None:
    world = await a_world()
    diary = Diary(world.keywords.entries)
    assert set(await found(with_store(world, keywords=diary), "travel", **BOTH)) == {"c1", "c3"}
    assert diary.lines == [(asked, ["kb1", "kb2"]) for asked in ("terms", "search", "scores")]


async def test_narrowed_ones_are_searched_by_themselves() -> None:
    world = await a_world()
    diary = Diary(world.keywords.entries)
    await found(with_store(world, keywords=diary), "travel", document_ids=["rules", "zh"], **BOTH)
    assert [line for line in diary.lines if line[0] == "search"] == [("search", ["kb1"]), ("search", ["kb2"])]


async def test_known_questions_are_searched_by_themselves() -> None:
    world = await a_world()
    await add_entry(world, "e1", "travel when", model=KNOWN)
    diary = Diary(world.keywords.entries)
    await found(with_store(world, keywords=diary), "travel", kb_ids=["kb1", "faq", "kb2"])
    assert [kb_ids for asked, kb_ids in diary.lines if asked == "search"] == [["kb1", "kb2"], ["faq"]]


async def test_what_is_rare_counts_over_all_stores() -> None:
    world = await a_world()
    await world.add(*(a_chunk(f"d{n}", "报销", kb_id="kb2") for n in range(20)), model=KNOWN)
    context = in_stores(world, here=["kb1"], there=["kb2"])
    here, there = (Diary(store.keywords.entries) for store in context.stores.values())  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
    stores = {
        name: SearchStore(vectors=store.vectors, keywords=diary)
        for (name, store), diary in zip(context.stores.items(), (here, there), strict=True)
    }
    apart = await searched(replace(context, stores=stores), "travel 报销", **BOTH)
    assert here.counted == there.counted == [22]
    together = await searched(in_stores(world, here=["kb1", "kb2"]), "travel 报销", **BOTH)
    assert apart.hits == together.hits


@pytest.mark.parametrize("part", ["vectors", "keywords"])
async def test_one_failed_store_fails_the_search_and_is_named(part: str) -> None:
    world = await a_world()
    getattr(world, part).failing.add("kb2")
    with pytest.raises(DependencyFailed, match="Store 'there'"):
        await found(in_stores(world, here=["kb1"], there=["kb2"]), "travel", **BOTH)


@pytest.mark.parametrize("part", ["vectors", "keywords"])
async def test_partial_results_are_possible_on_request(part: str) -> None:
    world = await a_world()
    getattr(world, part).failing.add("kb2")
    context = in_stores(world, here=["kb1"], there=["kb2"])
    result = await searched(context, "travel", partial_ok=True, **BOTH)
    assert [hit["chunk_id"] for hit in result.hits] == ["c1"]
    assert [failure.message for failure in result.failures] == [
        f"Store 'there': The {'vector store' if part == 'vectors' else 'keyword index'} is down."
    ]


async def test_within_one_store_it_is_all_or_nothing() -> None:
    world = await a_world()
    world.vectors.failing.add("kb2")
    with pytest.raises(DependencyFailed):
        await found(world, "travel", partial_ok=True, **BOTH)


async def test_when_every_store_fails_partial_results_are_an_error_too() -> None:
    world = await a_world()
    world.vectors.failing |= {"kb1", "kb2"}
    with pytest.raises(DependencyFailed):
        await found(in_stores(world, here=["kb1"], there=["kb2"]), "travel", partial_ok=True, **BOTH)


async def test_a_store_that_is_not_configured_is_named_with_what_it_holds() -> None:
    world = await a_world()
    context = in_stores(world, here=["kb1"], there=["kb2"])
    here = replace(context, stores={"here": context.stores["here"]})
    with pytest.raises(DependencyFailed, match="Store 'there', which holds 'kb2'") as failed:
        await found(here, "travel", **BOTH)
    assert failed.value.code == "store_not_configured"
    assert await found(here, "travel", partial_ok=True, **BOTH) == ["c1"]


async def test_a_refusal_stays_one() -> None:
    world = await a_world()
    with pytest.raises(DependencyRefused, match="Store 'embedded': 384 numbers") as refused:
        await found(with_store(world, vectors=OfAnotherSize()), "travel")
    assert refused.value.code == "dimension_mismatch"


class OfAnotherSize(FakeVectors):
    async def search(self, *given: Any, **named: Any) -> list[Scored]:
        raise DependencyRefused("vector store", "384 numbers, not 64", code="dimension_mismatch")


@pytest.mark.parametrize("when", ["terms", "search", "scores"])
async def test_a_store_that_hangs_is_given_up_and_named(when: str) -> None:
    context = with_store(await a_world(), keywords=Hanging(when))
    with pytest.raises(
        DependencyFailed, match="Store 'embedded': the keyword index did not answer"
    ) as failed:
        await found(context, "travel", store_timeout_s=0.02)
    assert failed.value.code == "store_timeout"


class Hanging(FakeKeywords):
    """Answers until it is asked for `when`, then never."""

    def __init__(self, when: str) -> None:
        super().__init__()
        self.when = when

    async def search(self, *given: Any, **named: Any) -> list[Scored]:
        return await self._unless("search", super().search(*given, **named))

    async def scores(self, *given: Any, **named: Any) -> dict[str, float]:
        return await self._unless("scores", super().scores(*given, **named))

    async def terms(self, *given: Any, **named: Any) -> QueryTerms:
        return await self._unless("terms", super().terms(*given, **named))

    async def _unless(self, asked: str, answering: Any) -> Any:
        if asked == self.when:
            answering.close()
            await asyncio.Event().wait()
        return await answering


async def test_no_more_than_four_stores_are_asked_at_a_time() -> None:
    world, busy, most = World(), set[str](), 0
    names = [f"s{n}" for n in range(7)]
    for name in names:
        await world.add(a_chunk(name, "travel", kb_id=f"kb-{name}"))

    class Busy(FakeKeywords):
        async def terms(self, kb_ids: Any, query: str) -> QueryTerms:
            nonlocal most
            busy.add(kb_ids[0])
            most = max(most, len(busy))
            await asyncio.sleep(0)
            busy.discard(kb_ids[0])
            return await super().terms(kb_ids, query)

    context = in_stores(world, **{name: [f"kb-{name}"] for name in names})
    stores = {name: SearchStore(vectors=one.vectors, keywords=Busy()) for name, one in context.stores.items()}
    hits = await found(replace(context, stores=stores), "travel", kb_ids=[f"kb-{name}" for name in names])
    assert set(hits) == {*names}
    assert most == 4
