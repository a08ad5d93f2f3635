"""Wiki passages count more where there is a wiki, and nothing else changes."""

from dataclasses import replace
from typing import Any

import pytest
from langgraph.runtime import Runtime

from headrace.nodes.boost_wiki import boost_wiki, by_score, preferred
from headrace.state import Hit, Update

from ..fakes import World, a_chunk, a_hit, asked

pytestmark = pytest.mark.anyio


async def boosted(world: World, hits: list[Hit], **request: Any) -> Update:
    state: Any = {"request": asked("什么是冷凝器？", **request), "ranked": hits}
    return await boost_wiki(state, Runtime(context=world.context()))


async def a_world(**settings: Any) -> World:
    world = World()
    await world.add(a_chunk("w", "冷凝器 condenser", kind="wiki"), a_chunk("t", "condenser"))
    world.catalogue.all_kbs["kb1"] = replace(world.catalogue.all_kbs["kb1"], settings=settings)
    return world


def ids(update: Update) -> list[tuple[str, float]]:
    return [(hit["chunk_id"], hit["score"]) for hit in update.get("ranked", [])]


async def test_a_wiki_hit_rises_where_its_knowledge_base_has_a_wiki() -> None:
    update = await boosted(await a_world(wiki_enabled=True), [a_hit("t", score=0.6), wiki(score=0.5)])
    assert ids(update) == [("w", 0.65), ("t", 0.6)]
    assert update.get("wiki_boosted") == 1
    assert update.get("ranked", [])[0]["marks"] == ["wiki_boost"]
    assert update.get("ranked", [])[0]["scores"]["fused"] == 0.5


async def test_the_request_may_ask_for_it_too() -> None:
    assert (await boosted(await a_world(), [wiki()], wiki_enabled=True)).get("wiki_boosted") == 1


async def test_without_a_wiki_nothing_is_written_but_that() -> None:
    update = await boosted(await a_world(), [a_hit("t"), wiki()])
    assert (update.get("wiki_boosted"), "ranked" in update) == (0, False)


async def test_without_a_wiki_hit_no_knowledge_base_is_read() -> None:
    class Unreadable(dict[str, Any]):
        def __contains__(self, key: object) -> bool:
            raise AssertionError("read")

    world = await a_world(wiki_enabled=True)
    world.catalogue.all_kbs = Unreadable()
    assert (await boosted(world, [a_hit("t")])).get("wiki_boosted") == 0


async def test_a_run_from_before_there_were_wikis_goes_through() -> None:
    request: Any = asked()
    del request["wiki_enabled"]
    state: Any = {"request": request, "ranked": [wiki()]}
    update = await boost_wiki(state, Runtime(context=(await a_world()).context()))
    assert update.get("wiki_boosted") == 0


def test_no_score_rises_above_one() -> None:
    assert preferred(wiki(score=0.9))["score"] == 1.0


def test_equal_scores_keep_the_order_they_came_in() -> None:
    hits = [a_hit("z", score=0.5), a_hit("a", score=0.5), a_hit("m", score=0.7)]
    assert [hit["chunk_id"] for hit in by_score(hits)] == ["m", "z", "a"]


def wiki(*, score: float = 0.5) -> Hit:
    return a_hit("w", score=score, kind="wiki")
