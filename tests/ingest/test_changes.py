"""The order of a change, and what becomes of one that nobody waits for any more."""

import anyio
import pytest

from headrace.context import IndexEntry, SearchStore
from headrace.errors import HeadraceError, NotFound
from headrace.ingest.changes import IndexChanges

from ..fakes import MODEL, FakeKeywords, FakeVectors, a_kb
from .fakes import MemoryCatalogue

pytestmark = pytest.mark.anyio

KB = a_kb()


class Stores:
    def __init__(self) -> None:
        self.vectors = FakeVectors()
        self.keywords = FakeKeywords()
        self.indexing = anyio.Lock()
        stores = {"embedded": SearchStore(vectors=self.vectors, keywords=self.keywords)}
        self.catalogue = MemoryCatalogue(kbs={KB.id: KB})
        self.changes = IndexChanges(self.catalogue, stores, self.indexing)

    async def ids(self) -> set[str]:
        found = await self.vectors.ids(KB.id, MODEL)
        assert await self.keywords.ids(KB.id) == found
        return found


def an_entry(id: str) -> IndexEntry:
    return IndexEntry(chunk_id=id, document_id="d", text="旧 old", vector=[1.0])


async def test_old_and_new_are_there_at_the_moment_of_change() -> None:
    stores = Stores()
    async with stores.changes.around(KB, [an_entry("old")]):
        pass
    async with stores.changes.around(KB, [an_entry("new")]) as gone:
        assert await stores.ids() == {"old", "new"}
        assert stores.indexing.locked()
        gone.append("old")
    assert await stores.ids() == {"new"}


async def test_a_transaction_that_is_refused_leaves_the_indexes_as_they_were() -> None:
    stores = Stores()
    with pytest.raises(HeadraceError, match="无"):
        async with stores.changes.around(KB, [an_entry("new")]):
            raise HeadraceError("无 no")
    assert await stores.ids() == set()
    assert not stores.indexing.locked()


async def test_a_change_in_a_knowledge_base_that_was_deleted_makes_no_index_for_it() -> None:
    stores = Stores()
    await stores.catalogue.delete_kb(KB.id)
    with pytest.raises(NotFound):
        async with stores.changes.around(KB, [an_entry("new")]):
            pass
    assert KB.id not in stores.keywords.entries


async def test_a_change_that_has_begun_is_brought_to_its_end_though_nobody_waits() -> None:
    stores = Stores()
    begun, go_on, written = anyio.Event(), anyio.Event(), anyio.Event()

    async def change() -> None:
        async with stores.changes.around(KB, [an_entry("new")]) as gone:
            begun.set()
            await go_on.wait()
            gone.append("old")
            written.set()

    async with stores.changes.around(KB, [an_entry("old")]):
        pass
    async with anyio.create_task_group() as group:
        group.start_soon(change)
        await begun.wait()
        group.cancel_scope.cancel()
        go_on.set()
    assert written.is_set()
    assert await stores.ids() == {"new"}


async def test_a_change_that_is_cancelled_before_its_transaction_leaves_nothing() -> None:
    stores = Stores()
    entered = False
    with anyio.CancelScope() as scope:
        async with stores.indexing:
            scope.cancel()
        async with stores.changes.around(KB, [an_entry("new")]):
            entered = True
    assert not entered
    assert await stores.ids() == set()
