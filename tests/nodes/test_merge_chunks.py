"""The steps together, with the reads between them."""

from typing import Any

import pytest
from langgraph.runtime import Runtime

from headrace.nodes.merge_chunks import merge_chunks, merge_input
from headrace.state import Update

from ..fakes import World, a_chunk, a_hit, a_turn, asked

pytestmark = pytest.mark.anyio

PARENT = "差旅费用应在十个工作日内报销。" * 30


async def merged(world: World, *hits: Any, **state: Any) -> Update:
    given: Any = {"request": state.pop("request", asked("差旅报销")), "ranked": list(hits), **state}
    return await merge_chunks(given, Runtime(context=world.context()))


def test_what_the_reranker_rejected_is_never_merged() -> None:
    state: Any = {"request": asked(), "hits": [a_hit()], "ranked": [], "rerank_verdict": "rejected"}
    assert merge_input(state) == []


async def test_the_text_a_hit_stands_for_is_kept_under_its_hash() -> None:
    world = World()
    await world.add(a_chunk("p", PARENT, kind="parent"), a_chunk("a", "差旅费用", parent_chunk_id="p"))
    [hit] = (await merged(world, a_hit("a"))).get("merged", [])
    assert await world.passages.read([hit]) == [PARENT]


async def test_a_later_edit_does_not_change_what_was_merged() -> None:
    world = World()
    await world.add(a_chunk("a", "text " * 100))
    [hit] = (await merged(world, a_hit("a"))).get("merged", [])
    await world.add(a_chunk("a", "edited"))
    assert await world.passages.read([hit]) == ["text " * 100]


async def test_a_short_hit_is_extended_over_several_reads() -> None:
    world = World()
    chain = [
        a_chunk(
            f"c{n}",
            f"Sentence {n} of a story in little pieces, each of about sixty letters.",
            chunk_index=n,
            pre_chunk_id=f"c{n - 1}" if n else None,
            next_chunk_id=f"c{n + 1}",
        )
        for n in range(12)
    ]
    await world.add(*chain)
    [hit] = (await merged(world, a_hit("c5", chunk_index=5))).get("merged", [])
    [text] = await world.passages.read([hit])
    assert text is not None
    assert 350 <= len(text) <= 850
    assert "Sentence 5" in text


async def test_only_texts_that_can_be_shown_are_kept() -> None:
    world = World()
    await world.add(*(a_chunk(f"c{n}", f"{n} " + chr(97 + n) * 400, document_id=f"d{n}") for n in range(5)))
    hits = [a_hit(f"c{n}", score=n / 10, document_id=f"d{n}") for n in range(5)]
    update = await merged(world, *hits, request=asked(rerank_top_k=2))
    assert ["passage" in hit for hit in update.get("merged", [])] == [True, True, False, False, False]
    assert len(world.passages.texts) == 2


async def test_earlier_references_come_in_when_the_question_is_about_them() -> None:
    world = World()
    await world.add(a_chunk("a", "差旅报销标准" * 60), a_chunk("b", "annual leave " * 40, document_id="d2"))
    history = [a_turn("之前的问题", references=[a_hit("b", document_id="d2"), a_hit("a")])]
    update = await merged(world, a_hit("b", document_id="d2"), history=history)
    assert [(hit["chunk_id"], hit["match_type"]) for hit in update.get("merged", [])] == [
        ("b", "both"),
        ("a", "history"),
    ]


async def test_reads_that_fail_cost_the_enrichment_and_a_warning() -> None:
    world = World()
    await world.add(a_chunk("p", PARENT, kind="parent"), a_chunk("a", "差旅费用", parent_chunk_id="p"))
    world.catalogue.failing = True
    update = await merged(world, a_hit("a"))
    assert await world.passages.read(update.get("merged", [])) == ["差旅费用"]
    assert [warning["stage"] for warning in update.get("warnings", [])] == ["merge_chunks"]


async def test_a_hit_whose_text_is_gone_leaves() -> None:
    update = await merged(World(), a_hit("gone"))
    assert update.get("merged") == []
    assert update.get("departures", [])[0]["reason"] == "gone"
