"""Known questions: many ways to ask are one hit, and an entry says what it does not answer."""

from typing import Any

import pytest

from headrace.context import FaqEntry, Scored
from headrace.nodes.searching.negatives import not_meant
from headrace.nodes.searching.stores import rounds
from headrace.text.fusion import COVERAGE_WEIGHTS

from ...fakes import FakeEmbedder, FakeVectors, World, a_chunk
from .worlds import add_entry, found, searched, with_store

pytestmark = pytest.mark.anyio

KNOWN = next(iter(COVERAGE_WEIGHTS))
FAQ: dict[str, Any] = {"kb_ids": ["faq"]}


async def a_bank() -> World:
    world = World()
    await add_entry(
        world,
        "reset",
        "How do I reset my password?",
        "forgot password",
        "忘记密码怎么办",
        answer="Use the link",
    )
    await add_entry(world, "close", "How do I close my account?", "delete my account", answer="Write to us")
    return world


async def test_an_entry_is_one_hit_that_names_the_phrasing_it_was_found_by() -> None:
    hits = (await searched(await a_bank(), "forgot password", **FAQ)).hits
    reset = hits[0]
    assert (reset["chunk_id"], reset["kind"], reset["match_type"]) == ("reset", "faq", "faq")
    assert reset.get("question") == "reset-1"
    assert len({hit["chunk_id"] for hit in hits}) == len(hits)


async def test_an_entry_is_found_in_either_language() -> None:
    assert (await found(await a_bank(), "忘记密码", **FAQ))[0] == "reset"


async def test_answers_are_searched_only_on_request() -> None:
    world = await a_bank()
    assert await found(world, "link", **FAQ) == []
    hit = (await searched(world, "link", faq_answers=True, **FAQ)).hits[0]
    assert (hit["chunk_id"], hit["match_type"], hit.get("question")) == ("reset", "faq", None)


@pytest.mark.parametrize("asked", ["Close   my ACCOUNT", "ｃｌｏｓｅ my account!", "close my account"])
async def test_an_entry_that_does_not_mean_the_question_is_no_hit(asked: str) -> None:
    world = await a_bank()
    await add_entry(world, "bank", "How do I close my bank account?", negative=["close my account?"])
    result = await searched(world, asked, **FAQ)
    assert "bank" not in [hit["chunk_id"] for hit in result.hits]
    assert ("bank", "negative_question") in [(left["chunk_id"], left["reason"]) for left in result.departures]


async def test_what_was_typed_counts_as_well_as_its_rewrite() -> None:
    world = await a_bank()
    await add_entry(world, "bank", "How do I close my bank account?", negative=["那账户呢"])
    assert "bank" not in await found(world, "close my bank account", asked="那账户呢？", **FAQ)


async def test_no_question_means_nothing_and_nothing_is_not_meant_by_it() -> None:
    entry = FaqEntry(id="e", kb_id="faq", question="q", negative_questions=["…", ""])
    assert not_meant([entry], ["？！", "😀"]) == set()


async def test_an_entry_that_is_switched_off_is_never_found() -> None:
    world = await a_bank()
    await add_entry(world, "off", "How do I fly?", enabled=False)
    assert "off" not in await found(world, "How do I fly?", **FAQ)


async def test_documents_and_entries_are_ranked_together() -> None:
    world = World(embedder=FakeEmbedder(KNOWN))
    await add_entry(world, "reset", "reset my password", model=KNOWN)
    await world.add(
        a_chunk("same", "reset my password", document_id="d1"),
        a_chunk("less", "my password is long and old", document_id="d2"),
        model=KNOWN,
    )
    hits = (await searched(world, "reset my password", kb_ids=["kb1", "faq"])).hits
    assert [hit["chunk_id"] for hit in hits] == ["reset", "same", "less"]
    assert hits[0]["score"] == hits[1]["score"]


async def test_three_near_phrasings_outrank_one_that_is_a_little_nearer() -> None:
    world = World(embedder=FakeEmbedder(KNOWN))
    await add_entry(
        world, "one", "reset old password now", "unrelated words here", "other things", model=KNOWN
    )
    await add_entry(
        world,
        "three",
        "reset the password key",
        "reset her password key",
        "reset his password key",
        model=KNOWN,
    )
    assert (await found(world, "reset password now key", **FAQ))[0] == "three"


@pytest.mark.parametrize("fusion", ["coverage", "rrf"])
async def test_the_very_question_comes_first(fusion: str) -> None:
    world = World(embedder=FakeEmbedder(KNOWN))
    await add_entry(world, "exact", "lost card", "some other words", "and other ones", model=KNOWN)
    await add_entry(world, "near", "lost card abroad", "lost my card", "lost card today", model=KNOWN)
    assert (await found(world, "Lost card?", fusion=fusion, **FAQ))[0] == "exact"


async def test_ranks_are_among_entries_not_among_phrasings() -> None:
    world = World(embedder=FakeEmbedder(KNOWN))
    await add_entry(world, "many", *(f"lost card {n}" for n in range(9)), model=KNOWN)
    await add_entry(world, "other", "lost keys of my old car", model=KNOWN)
    hits = (await searched(world, "lost card", **FAQ)).hits
    assert [(hit["chunk_id"], hit["ranks"]["vector"]) for hit in hits] == [("many", 1), ("other", 2)]


class Counting(FakeVectors):
    """Notes how many it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.limits: list[int] = []

    async def search(self, *given: Any, **named: Any) -> list[Scored]:
        self.limits.append(named["limit"])
        return await super().search(*given, **named)


async def crowded(entries: int, phrasings: int) -> tuple[World, Counting]:
    """The first entries have so many phrasings that a round is full of them."""
    world = World()
    for number in range(entries):
        ways = [f"lost card {number} {way}" for way in range(phrasings)]
        await add_entry(world, f"e{number}", *ways)
    vectors = Counting()
    vectors.entries = world.vectors.entries
    return world, vectors


async def test_phrasings_that_crowd_out_entries_are_asked_past() -> None:
    world, vectors = await crowded(entries=3, phrasings=60)
    ids = await found(with_store(world, vectors=vectors), "lost card", match_count=3, **FAQ)
    assert set(ids) == {"e0", "e1", "e2"}
    assert vectors.limits[:2] == [50, 150]


async def test_a_round_that_was_not_full_is_the_last() -> None:
    world, vectors = await crowded(entries=2, phrasings=3)
    await found(with_store(world, vectors=vectors), "lost card", match_count=10, **FAQ)
    assert vectors.limits == [50]


async def test_enough_entries_are_enough() -> None:
    world, vectors = await crowded(entries=60, phrasings=1)
    await found(with_store(world, vectors=vectors), "lost card", match_count=5, **FAQ)
    assert vectors.limits == [50]


def test_rounds_widen_from_three_times_and_double_up_to_a_cap() -> None:
    assert rounds(50) == [50, 150, 300, 500]
    assert rounds(10) == [10, 30, 60, 120, 240]
    assert rounds(250) == [250, 500]
    assert rounds(500) == [500]
