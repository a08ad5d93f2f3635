"""The steps together, with the reads between them."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from langgraph.runtime import Runtime

from headrace.context import FaqEntry
from headrace.errors import DependencyFailed
from headrace.nodes.merge.input import merge_input
from headrace.nodes.merge_chunks import merge_chunks
from headrace.state import Update

from ..fakes import MemoryCatalogue, World, a_chunk, a_hit, a_turn, asked

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
    assert update.get("skipped") == {"chunks": 1}


async def test_a_hit_whose_text_is_gone_leaves() -> None:
    update = await merged(World(), a_hit("gone"))
    assert update.get("merged") == []
    assert update.get("departures", [])[0]["reason"] == "gone"


async def test_answers_that_cannot_be_read_are_counted_and_what_was_indexed_is_shown() -> None:
    world = World()
    await world.add(a_chunk("f", "年假几天？\n\n十五天。", kind="faq", document_id="f"))
    world.catalogue.all_entries["f"] = FaqEntry(
        id="f", kb_id="kb1", question="年假几天？", answers=["二十天。"]
    )
    hit = a_hit("f", kind="faq", document_id="f")
    assert await texts_of(world, await merged(world, hit)) == ["年假几天？\n\n二十天。"]

    class Broken(MemoryCatalogue):
        async def faq_entries(self, ids: Sequence[str]) -> Mapping[str, FaqEntry]:
            raise DependencyFailed("catalogue", "The catalogue is down.")

    broken = Broken()
    broken.all_chunks = world.catalogue.all_chunks
    world.catalogue = broken
    update = await merged(world, hit)
    assert await texts_of(world, update) == ["年假几天？\n\n十五天。"]
    assert update.get("skipped") == {"answers": 1}


async def test_a_reference_without_the_tag_that_is_asked_for_stays_out() -> None:
    world = World()
    await world.add(a_chunk("a", "差旅报销标准" * 60), a_chunk("b", "差旅报销的说明" * 60, document_id="d2"))
    world.catalogue.tags = {"t1": ["d2"]}
    history = [a_turn("之前", references=[a_hit("a"), a_hit("b", document_id="d2")])]
    update = await merged(world, history=history, request=asked("差旅报销", tag_ids=["t1"]))
    assert [hit["chunk_id"] for hit in update.get("merged", [])] == ["b"]


async def test_a_hit_names_the_images_that_it_shows() -> None:
    world = World()
    await world.add(
        a_chunk("p", PARENT, kind="parent", images=[{"url": "/1.png"}, {"url": "/2.png"}]),
        a_chunk("a", "差旅费用", parent_chunk_id="p", images=[{"url": "/2.png"}]),
    )
    [hit] = (await merged(world, a_hit("a"))).get("merged", [])
    assert hit.get("images") == ["/2.png"]


async def texts_of(world: World, update: Update) -> list[str | None]:
    return await world.passages.read(update.get("merged", []))
