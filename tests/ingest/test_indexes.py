"""Indexes that are behind the catalogue, ahead of it, or lost; several stores."""

import logging
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from headrace.context import IndexEntry, KnowledgeBase, SearchStore
from headrace.errors import DependencyFailed
from headrace.ingest.indexes import Indexes
from headrace.ingest.pipeline import Ingestion

from .fakes import MODEL, LetterEmbedder, MemoryKeywords, MemoryVectors, Place

pytestmark = pytest.mark.anyio


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def kb(place: Place) -> KnowledgeBase:
    return place.catalogue.create_kb("手册")


async def filled(place: Place, kb: KnowledgeBase, *texts: str) -> list[str]:
    """A document with a chunk of each of these texts. Returns the ids of the chunks, in order."""
    async with place.running() as ingestion:
        added = [
            await ingestion.add(kb, name=f"{n}.txt", content=text.encode()) for n, text in enumerate(texts)
        ]
        for document in added:
            await ingestion.finished(document.id)
    chunks = {
        chunk.document_id: chunk.id for chunk in place.catalogue.stored.values() if chunk.kind == "text"
    }
    return [chunks[document.id] for document in added]


@dataclass(slots=True)
class Healing:
    """Indexes with the background task that heals them, held up while `indexing` is held."""

    place: Place
    indexing: anyio.Lock = field(default_factory=anyio.Lock)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[Indexes]:
        place = self.place
        indexes = Indexes(
            catalogue=place.catalogue,
            stores={"embedded": SearchStore(vectors=place.vectors, keywords=place.keywords)},
            embedder=place.embedder,
            indexing=self.indexing,
        )
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(indexes.heal)
            yield indexes
            await a_while()
            tasks.cancel_scope.cancel()


async def a_while() -> None:
    """Long enough for whoever can go on."""
    for _ in range(50):
        await anyio.lowlevel.checkpoint()


async def until(holds: Callable[[], bool]) -> None:
    with anyio.fail_after(5):
        while not holds():
            await anyio.lowlevel.checkpoint()


async def caught_up(ingestion: Ingestion, kb: KnowledgeBase) -> None:
    """Wait for the work at the start: a document that comes after it is done after it."""
    added = await ingestion.add(kb, name="last.txt", content=b"Last.")
    await ingestion.finished(added.id)
    await ingestion.delete(added.id)


# --- what a search meets ---


async def test_stale_entries_are_removed_from_both_indexes_and_told_once(
    place: Place, kb: KnowledgeBase, caplog: pytest.LogCaptureFixture
) -> None:
    gone, disabled, kept = await filled(place, kb, "年假十天。", "Sick leave.", "Kept.")
    chunks = place.catalogue.stored
    del chunks[gone]
    chunks[disabled] = replace(chunks[disabled], enabled=False)
    healing = Healing(place)
    with caplog.at_level(logging.WARNING):
        async with healing.running() as indexes:
            async with healing.indexing:
                for _ in range(3):  # as many searches
                    indexes.report(kb.id, [gone, disabled, kept])
                    await a_while()
                assert place.indexed(kb) == {gone, disabled, kept}
    assert place.indexed(kb) == {kept}
    (told,) = [record.getMessage() for record in caplog.records]
    assert f"2 index entries of knowledge base {kb.id}" in told
    assert gone in told


async def test_a_search_over_several_cannot_tell_in_which_it_met_an_entry(
    place: Place, kb: KnowledgeBase, caplog: pytest.LogCaptureFixture
) -> None:
    gone, kept = await filled(place, kb, "年假十天。", "Kept.")
    del place.catalogue.stored[gone]
    other = place.catalogue.create_kb("other")
    with caplog.at_level(logging.WARNING):
        async with Healing(place).running() as indexes:
            for kb_id in (other.id, kb.id):
                indexes.report(kb_id, [gone])
    assert place.indexed(kb) == {kept}
    (told,) = [record.getMessage() for record in caplog.records]
    assert f"1 index entries of knowledge base {kb.id}" in told


async def test_what_is_published_meanwhile_is_not_stale(place: Place, kb: KnowledgeBase) -> None:
    (chunk_id,) = await filled(place, kb, "年假十天。")
    chunk = place.catalogue.stored.pop(chunk_id)  # indexed, not yet published
    healing = Healing(place)
    async with healing.running() as indexes:
        async with healing.indexing:
            indexes.report(kb.id, [chunk_id])
            await a_while()
            place.catalogue.stored[chunk_id] = chunk
    assert place.indexed(kb) == {chunk_id}


async def test_a_chunk_of_another_knowledge_base_is_no_reason_to_keep_an_entry(
    place: Place, kb: KnowledgeBase
) -> None:
    (chunk_id,) = await filled(place, kb, "年假十天。")
    other = place.catalogue.create_kb("other")
    for index in (place.vectors, place.keywords):
        index.entries[other.id] = dict(index.entries[kb.id])
    async with Healing(place).running() as indexes:
        indexes.report(other.id, [chunk_id])
    assert (place.indexed(other), place.indexed(kb)) == (set(), {chunk_id})


async def test_indexes_of_a_knowledge_base_that_is_gone_are_dropped_when_met(
    place: Place, kb: KnowledgeBase
) -> None:
    (chunk_id,) = await filled(place, kb, "年假十天。")
    await place.catalogue.delete_kb(kb.id)
    async with Healing(place).running() as indexes:
        indexes.report(kb.id, [chunk_id])
    assert kb.id not in {*place.vectors.entries, *place.keywords.entries}


async def test_a_store_that_fails_while_healing_is_healed_at_the_next_report(
    place: Place, kb: KnowledgeBase, caplog: pytest.LogCaptureFixture
) -> None:
    gone, kept = await filled(place, kb, "年假十天。", "Kept.")
    del place.catalogue.stored[gone]
    place.vectors.fails = DependencyFailed("vector store", "down")
    async with Healing(place).running() as indexes:
        indexes.report(kb.id, [gone])
        await until(lambda: place.vectors.fails is None)
        await a_while()
        assert "could not be removed" in caplog.text
        indexes.report(kb.id, [gone])
    assert place.indexed(kb) == {kept}


# --- what a start finds ---


async def test_lost_keywords_are_made_again_without_embedding(place: Place, kb: KnowledgeBase) -> None:
    ids = await filled(place, kb, "年假十天。", "Sick leave.", "Kept.")
    before = place.keywords.entries[kb.id]
    embedded = len(place.embedder.batches)
    for left in ([], ids[:1]):  # all gone, some gone
        place.keywords.entries[kb.id] = {id: before[id] for id in left}
        async with place.running() as ingestion:
            await caught_up(ingestion, kb)
        assert place.keywords.entries[kb.id].keys() == before.keys()
        texts = {id: entry.text for id, entry in place.keywords.entries[kb.id].items()}
        assert texts == {id: entry.text for id, entry in before.items()}
    assert len(place.embedder.batches) == embedded + 2  # the two that were waited for


async def test_lost_vectors_are_embedded_again_and_named_until_then(place: Place, kb: KnowledgeBase) -> None:
    ids = await filled(place, kb, "年假十天。", "Sick leave.", "Kept.")
    for id in ids[1:]:
        del place.vectors.entries[kb.id][id]
    place.embedder.gate, place.embedder.reached = anyio.Event(), anyio.Event()
    async with place.running() as ingestion:
        await place.embedder.reached.wait()
        assert ingestion.reindexing() == {kb.id}
        place.embedder.gate.set()
        await until(lambda: not ingestion.reindexing())
    assert place.indexed(kb) == {*ids}


async def test_an_outdated_keyword_index_is_written_anew(place: Place, kb: KnowledgeBase) -> None:
    (chunk_id,) = await filled(place, kb, "年假十天。")
    entry = place.keywords.entries[kb.id][chunk_id]
    place.keywords.entries[kb.id] = {chunk_id: replace(entry, text="other tokens")}
    place.keywords.old.add(kb.id)
    async with place.running() as ingestion:
        await caught_up(ingestion, kb)
    assert place.keywords.old == set()
    assert place.keywords.entries[kb.id][chunk_id].text == entry.text


async def test_keywords_of_a_knowledge_base_of_another_model_are_made_again_too(
    place: Place, kb: KnowledgeBase
) -> None:
    (chunk_id,) = await filled(place, kb, "年假十天。")
    place.catalogue.kbs[kb.id] = replace(kb, embedding_model="another")
    place.keywords.entries.clear()
    place.vectors.entries.clear()
    async with place.running() as ingestion:
        await caught_up(ingestion, place.catalogue.create_kb("new"))
    assert {*place.keywords.entries[kb.id]} == {chunk_id}
    assert kb.id not in place.vectors.entries


class Slow(MemoryKeywords):
    """Waits in the middle of being written anew."""

    def __init__(self) -> None:
        super().__init__()
        self.reached, self.gate = anyio.Event(), anyio.Event()

    async def rewrite(self, kb_id: str, batches: AsyncIterable[Sequence[IndexEntry]]) -> None:
        self.reached.set()
        await self.gate.wait()
        await super().rewrite(kb_id, batches)


async def test_a_knowledge_base_whose_keywords_are_written_anew_is_named_meanwhile(
    place: Place, kb: KnowledgeBase
) -> None:
    (chunk_id,) = await filled(place, kb, "年假十天。")
    place.keywords = slow = Slow()
    async with place.running() as ingestion:
        await slow.reached.wait()
        assert ingestion.reindexing() == {kb.id}
        slow.gate.set()
        await until(lambda: not ingestion.reindexing())
    assert place.indexed(kb) == {chunk_id}


class ModelDown(LetterEmbedder):
    async def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        self.reached.set()
        raise DependencyFailed("embedding", "down")


async def test_one_that_could_not_be_made_again_is_named_until_a_start_has_done_it(
    place: Place, kb: KnowledgeBase
) -> None:
    ids = await filled(place, kb, "年假十天。", "Sick leave.")
    del place.vectors.entries[kb.id][ids[0]]
    working, place.embedder = place.embedder, ModelDown()
    async with place.running() as ingestion:
        await place.embedder.reached.wait()
        await a_while()
        assert ingestion.reindexing() == {kb.id}
    place.embedder = working
    async with place.running() as ingestion:
        await until(lambda: len(place.vectors.entries[kb.id]) == 2)
        await until(lambda: not ingestion.reindexing())
    assert place.indexed(kb) == {*ids}


class Unreachable(MemoryKeywords):
    async def keep_only(self, kb_ids: set[str]) -> None:
        raise DependencyFailed("keyword index", "Nobody answers.")


class Refusing(MemoryKeywords):
    """Of one knowledge base nothing can be read."""

    async def ids(self, kb_id: str) -> set[str]:
        if kb_id == "kb1":
            raise DependencyFailed("keyword index", "Nobody answers.")
        return await super().ids(kb_id)


async def test_one_knowledge_base_that_fails_keeps_no_other_from_being_made_whole(
    place: Place, kb: KnowledgeBase, caplog: pytest.LogCaptureFixture
) -> None:
    other = place.catalogue.create_kb("other")
    await filled(place, kb, "年假十天。")
    (chunk_id,) = await filled(place, other, "Sick leave.")
    place.keywords = Refusing()
    async with place.running() as ingestion:
        await caught_up(ingestion, other)
    assert {*place.keywords.entries[other.id]} == {chunk_id}
    assert "kb1 could not be made whole" in caplog.text


# --- several stores ---


async def test_each_knowledge_base_is_indexed_in_its_own_store(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    far = SearchStore(vectors=MemoryVectors(), keywords=Unreachable())
    near = SearchStore(vectors=place.vectors, keywords=place.keywords)
    here, there, nowhere = (place.catalogue.create_kb(name) for name in ("here", "there", "nowhere"))
    there, nowhere = replace(there, store="far"), replace(nowhere, store="none")
    place.catalogue.kbs |= {there.id: there, nowhere.id: nowhere}
    near.vectors.entries["old"] = {}  # pyright: ignore[reportAttributeAccessIssue]
    ingestion = Ingestion(
        catalogue=place.catalogue,
        stores={"far": far, "embedded": near},
        embedder=place.embedder,
        files=place.files,
        parser=place.parser,
        settings=place.settings,
    )
    await ingestion.start()
    documents = [
        await ingestion.add(kb, name="a.txt", content=f"Text of {kb.name}.".encode())
        for kb in (here, there, nowhere)
    ]
    ended = [await ingestion.finished(document.id) for document in documents]
    assert [document.status for document in ended] == ["ready", "ready", "failed"]
    assert "Store 'none', which holds 'nowhere', is not configured" in (ended[2].error or "")
    assert {*place.vectors.entries} == {*place.keywords.entries} == {here.id}
    assert await far.keywords.ids(there.id) == await far.vectors.ids(there.id, MODEL) != set()
    assert "in store far could not be cleared" in caplog.text

    await ingestion.delete(documents[1].id)
    assert await far.keywords.ids(there.id) == await far.vectors.ids(there.id, MODEL) == set()
    await ingestion.close()
