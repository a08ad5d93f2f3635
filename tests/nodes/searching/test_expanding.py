"""Asked again in other words: what that finds stands below, and nothing above it moves."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.context import Scored
from headrace.errors import DependencyFailed
from headrace.nodes.searching.expanding import below
from headrace.nodes.searching.fusing import Ranked
from headrace.text.fusion import COVERAGE_WEIGHTS

from ...fakes import FakeEmbedder, FakeKeywords, World, a_chunk, a_hit
from .worlds import add_entry, searched, with_store

pytestmark = pytest.mark.anyio

KNOWN = next(iter(COVERAGE_WEIGHTS))
# Under these thresholds only the first of them is found at once.
STRICT: dict[str, Any] = {"vector_threshold": 0.9, "keyword_threshold": 4.0, "match_count": 10}
QUESTION = "the refund of travel costs abroad"


async def a_world() -> World:
    world = World(embedder=FakeEmbedder(KNOWN))
    await world.add(
        a_chunk("all", "the refund of travel costs abroad", document_id="d1"),
        a_chunk("most", "refund travel costs abroad and other words that do not matter", document_id="d2"),
        a_chunk("some", "travel by train", document_id="d3"),
        a_chunk("zh", "差旅报销", document_id="d4"),
        model=KNOWN,
    )
    return world


async def test_a_lower_threshold_lets_in_what_was_a_little_too_weak() -> None:
    world = await a_world()
    strict = {**STRICT, "keyword_threshold": 5.0}
    plain = await searched(world, QUESTION, **strict)
    assert [hit["chunk_id"] for hit in plain.hits] == ["all"]
    assert "most" in [left["chunk_id"] for left in plain.departures]
    more = await searched(world, QUESTION, expand=True, **strict)
    assert [hit["chunk_id"] for hit in more.hits] == ["all", "most"]
    assert "most" not in [left["chunk_id"] for left in more.departures]
    assert more.variants


async def test_what_other_words_found_is_marked_and_scored_below() -> None:
    more = (
        await searched(await a_world(), QUESTION, expand=True, **STRICT | {"keyword_threshold": 5.0})
    ).hits
    first, second = more
    assert (first["marks"], first["ranks"]["fused"]) == ([], 1)
    assert (second["marks"], second["match_type"]) == (["expanded"], "keyword")
    assert "fused" not in second["ranks"]
    assert second["ranks"]["expanded"] == 1
    assert 0 < second["score"] < first["score"]


async def test_the_question_as_it_was_typed_finds_what_its_rewrite_does_not() -> None:
    hits = (
        await searched(
            await a_world(), QUESTION, asked="差旅报销", expand=True, **STRICT | {"keyword_threshold": 4.5}
        )
    ).hits
    assert "zh" in [hit["chunk_id"] for hit in hits]


async def test_a_first_recall_that_lists_everything_is_not_asked_again() -> None:
    world = await a_world()
    found = await searched(world, "travel refund costs abroad by 差旅", expand=True)
    assert found.variants == []
    assert world.keywords.asked == ["travel refund costs abroad by 差旅"]


async def test_a_first_recall_that_is_large_enough_is_not_asked_again() -> None:
    found = await searched(await a_world(), QUESTION, expand=True, **STRICT | {"match_count": 1})
    assert found.variants == []


async def test_words_are_asked_again_where_vectors_are_missing() -> None:
    world = await a_world()
    world.vectors.entries.clear()
    found = await searched(world, "refund of costs", asked="what about the train", expand=True)
    assert [hit["chunk_id"] for hit in found.hits if hit["marks"]] == ["some"]


class TiredKeywords(FakeKeywords):
    """Fails from the second search on."""

    async def search(self, *given: Any, **named: Any) -> list[Scored]:
        if self.asked:
            raise DependencyFailed("keyword index", "The keyword index is tired.")
        return await super().search(*given, **named)


@pytest.mark.parametrize("partial_ok", [True, False])
async def test_a_store_that_fails_only_then_fails_nothing(partial_ok: bool) -> None:
    world = await a_world()
    tired = TiredKeywords()
    tired.entries = world.keywords.entries
    context = with_store(world, keywords=tired)
    found = await searched(context, QUESTION, expand=True, partial_ok=partial_ok, **STRICT)
    assert [hit["chunk_id"] for hit in found.hits] == ["all", "most"]
    assert [failure.message for failure in found.failures] == [
        "Store 'embedded': The keyword index is tired."
    ]


async def test_an_entry_that_does_not_mean_the_question_is_not_brought_back() -> None:
    world = World(embedder=FakeEmbedder(KNOWN))
    await add_entry(world, "e1", "lost card abroad", negative=["lost card"], model=KNOWN)
    found = await searched(world, "lost card", kb_ids=["faq"], expand=True, vector_threshold=0.1)
    assert found.hits == []


scores = st.lists(st.floats(0, 1), max_size=5)


@given(scores, scores)
def test_none_is_above_a_hit_of_the_first_recall(first: list[float], further: list[float]) -> None:
    hits = [a_hit(f"a{n}", score=score) for n, score in enumerate(first)]
    placed = [
        (Ranked(id=f"b{n}", score=score, scores={"keyword": 1.0}, ranks={}), a_chunk(f"b{n}"))
        for n, score in enumerate(further)
    ]
    joined = below(hits, placed)
    assert [hit["chunk_id"] for hit in joined] == [f"b{n}" for n in range(len(further))]
    assert all(0 <= hit["score"] <= min(first, default=1.0) for hit in joined)


vocabulary = ["travel", "refund", "the", "costs", "差旅", "报销", "leave", "days", "abroad"]
texts = st.lists(st.lists(st.sampled_from(vocabulary), min_size=1, max_size=6).map(" ".join), max_size=12)


@given(texts, st.lists(st.sampled_from(vocabulary), min_size=1, max_size=5).map(" ".join), st.floats(0, 3))
def test_the_order_of_the_first_recall_is_unchanged(given_texts: list[str], query: str, limit: float) -> None:
    async def both() -> None:
        world = World(embedder=FakeEmbedder(KNOWN))
        await world.add(a_chunk("none", "nothing"), model=KNOWN)
        for number, text in enumerate(given_texts):
            await world.add(a_chunk(f"c{number}", text, document_id=f"d{number}"), model=KNOWN)
        parts: dict[str, Any] = {"keyword_threshold": limit, "vector_threshold": 0.8, "asked": "leave days"}
        plain = await searched(world, query, **parts)
        more = await searched(world, query, expand=True, **parts)
        assert more.hits[: len(plain.hits)] == plain.hits
        assert all("expanded" in hit["marks"] for hit in more.hits[len(plain.hits) :])

    asyncio.run(both())
