"""Searches over indexes that hold too much or too little, with the stores that are shipped."""

import logging
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from headrace.context import Context, SearchStore
from headrace.errors import DependencyFailed
from headrace.nodes.searching.hybrid import hybrid_search
from headrace.nodes.searching.search import Found, Search

from ..fakes import MODEL, World
from .fakes import MemoryVectors
from .fakes import Place as MemoryPlace
from .places import Place, a_place

pytestmark = pytest.mark.anyio

TEXTS = {
    "leave.txt": "员工每年享受年假十天。 Annual leave is ten days.",
    "sick.txt": "病假要交证明。 Sick leave.",
}


def context_of(place: Place) -> Context:
    stores = {"embedded": SearchStore(vectors=place.vectors, keywords=place.keywords)}
    return replace(
        World().context(),
        catalogue=place.catalogue,
        stores=stores,
        stale=place.ingestion.heal,
        reindexing=place.ingestion.reindexing,
    )


async def filled(place: Place, name: str = "手册") -> tuple[str, list[str]]:
    """A knowledge base with a document of each text: its id and theirs."""
    kb = await place.catalogue.create_kb(name=name, embedding_model=MODEL)
    added = [
        await place.ingestion.add(kb, name=title, content=text.encode()) for title, text in TEXTS.items()
    ]
    for document in added:
        await place.ingestion.finished(document.id)
    return kb.id, [document.id for document in added]


async def searched(place: Place, *kb_ids: str) -> Found:
    return await hybrid_search(context_of(place), Search(query="年假 sick leave", kb_ids=kb_ids))


async def documents_found(place: Place, *kb_ids: str) -> set[str]:
    return {hit["document_id"] for hit in (await searched(place, *kb_ids)).hits}


async def test_a_deleted_document_that_is_still_indexed_is_not_shown_and_is_healed_and_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with a_place(tmp_path) as place:
        kb_id, (leave, sick) = await filled(place)
        # As if the process had ended before its entries were out of the indexes.
        gone = await place.catalogue.remove(leave)
        with caplog.at_level(logging.WARNING, logger="headrace"):
            assert await documents_found(place, kb_id) == {sick}
            with anyio.fail_after(10):
                while await place.keywords.ids(kb_id) & {*gone} or await place.vectors.ids(kb_id, MODEL) & {
                    *gone
                }:
                    pass
            assert await documents_found(place, kb_id) == {sick}
        assert len(await place.in_step(kb_id)) == 1
    told = [record.getMessage() for record in caplog.records if "met by a search" in record.getMessage()]
    assert len(told) == 1


def damaged(folder: Path, kb_id: str) -> None:
    (folder / "keywords" / kb_id / "meta.json").write_text("{", encoding="utf-8")


def lost(folder: Path, kb_id: str) -> None:
    shutil.rmtree(folder / "keywords" / kb_id)


def of_another_make(folder: Path, kb_id: str) -> None:
    (folder / "keywords" / kb_id / "made_with").write_text("1\n", encoding="utf-8")


def all_lost(folder: Path, kb_id: str) -> None:
    shutil.rmtree(folder / "keywords")


def no_database(folder: Path, kb_id: str) -> None:
    (folder / "chroma" / "chroma.sqlite3").write_bytes(b"not a database" * 500)


def no_vectors(folder: Path, kb_id: str) -> None:
    shutil.rmtree(folder / "chroma")


@pytest.mark.parametrize("harm", [damaged, lost, of_another_make, all_lost, no_database, no_vectors])
async def test_a_folder_of_an_index_that_is_of_no_use_is_made_again_at_start(
    tmp_path: Path, harm: Callable[[Path, str], None]
) -> None:
    async with a_place(tmp_path) as place:
        kb_id, documents = await filled(place)
        other_id, others = await filled(place, "other")
        before = await place.in_step(kb_id)
        terms = await place.keywords.terms([kb_id, other_id], "年假 leave")
    harm(tmp_path, kb_id)
    async with a_place(tmp_path) as place:
        await place.tidied()
        with anyio.fail_after(10):
            while place.ingestion.reindexing():
                await place.catalogue.chunk_ids(kb_id)
        assert await place.in_step(kb_id) == before
        assert len(await place.in_step(other_id)) == 2
        assert await place.keywords.terms([kb_id, other_id], "年假 leave") == terms
        assert await place.keywords.outdated() == set()
        assert await documents_found(place, kb_id, other_id) == {*documents, *others}


async def test_while_an_index_is_made_again_a_search_finds_by_vectors_and_says_so(tmp_path: Path) -> None:
    async with a_place(tmp_path) as place:
        kb_id, documents = await filled(place)
        other_id, others = await filled(place, "other")
    damaged(tmp_path, kb_id)
    async with a_place(tmp_path) as place:
        async with place.ingestion.indexing:  # the work at the start waits for it
            found = await searched(place, kb_id, other_id)
            assert {hit["document_id"] for hit in found.hits} == {*documents, *others}
            assert {hit["document_id"] for hit in found.hits if "keyword" in hit["ranks"]} == {*others}
            assert [failure.code for failure in found.failures] == ["reindexing"]
            assert "'手册'" in found.failures[0].message
            assert (await searched(place, other_id)).failures == []
            with pytest.raises(DependencyFailed, match="being made again"):
                await place.keywords.search([kb_id], "年假", limit=1)
        await place.tidied()
        found = await searched(place, kb_id, other_id)
        assert (len(found.hits), found.failures) == (4, [])
        assert all("keyword" in hit["ranks"] for hit in found.hits)


async def test_shutdown_with_entries_still_to_be_healed_is_clean_and_the_next_start_removes_them(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with a_place(tmp_path) as place:
        kb_id, (leave, sick) = await filled(place)
        await place.catalogue.remove(leave)
        async with place.ingestion.indexing:
            assert await documents_found(place, kb_id) == {sick}  # reported, and it waits for its turn
            with anyio.fail_after(5), caplog.at_level(logging.WARNING):
                await place.ingestion.close()
        place.ingestion.heal(kb_id, ["too late"])
    assert caplog.records == []
    async with a_place(tmp_path) as place:
        await place.tidied()
        assert len(await place.in_step(kb_id)) == 1


class OneUnreadable(MemoryVectors):
    async def ids(self, kb_id: str, model: str) -> set[str]:
        if kb_id == "kb1":
            raise DependencyFailed("vector store", "Its file is damaged.")
        return await super().ids(kb_id, model)


async def test_vectors_that_cannot_be_read_keep_no_others_from_being_made_again_and_are_told(
    tmp_path: Path,
) -> None:
    place = MemoryPlace(tmp_path)
    kbs = [place.catalogue.create_kb(name) for name in ("手册", "other")]
    async with place.running() as ingestion:
        for kb in kbs:
            added = await ingestion.add(kb, name="a.txt", content=f"Text of {kb.name}.".encode())
            await ingestion.finished(added.id)
    place.vectors = OneUnreadable()
    async with place.running() as ingestion:
        with anyio.fail_after(5):
            while kbs[1].id not in place.vectors.entries:
                await anyio.lowlevel.checkpoint()
        assert ingestion.reindexing() == {kbs[0].id}
