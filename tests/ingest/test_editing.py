"""Chunks edited and disabled over the stores that are shipped."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from headrace.context import Chunk, KnowledgeBase
from headrace.errors import BadRequest, Conflict, DependencyFailed, NotFound, TooLarge
from headrace.ingest.faq import FaqDraft

from ..fakes import MODEL
from .fakes import Crash
from .places import Place, Steps, a_place

pytestmark = pytest.mark.anyio

TEXT = "# 引水渠\n\n## 闸门 Gate\n\n闸门每年刷漆。The gate is painted every year.\n".encode()


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    async with a_place(tmp_path) as place:
        yield place


async def a_document(place: Place) -> tuple[KnowledgeBase, Chunk]:
    """A document of one parent and one child; gives the child."""
    kb = await place.catalogue.create_kb(name="手册 Manual", embedding_model=MODEL)
    added = await place.ingestion.finished((await place.ingestion.add(kb, name="渠.md", content=TEXT)).id)
    assert added.status == "ready"
    (child,), _ = await place.catalogue.document_chunks(added.id, kind="text")
    return kb, child


async def parent_of(place: Place, child: Chunk) -> Chunk:
    return await place.catalogue.get_chunk(child.parent_chunk_id or "")


async def found(place: Place, kb: KnowledgeBase, query: str) -> list[str]:
    scored = await place.keywords.search([kb.id], query, limit=5)
    return [
        chunk.id
        for chunk in (await place.catalogue.indexed_chunks([one.chunk_id for one in scored])).values()
    ]


async def test_an_edited_chunk_is_found_by_its_new_text_under_its_old_id(place: Place) -> None:
    kb, child = await a_document(place)
    version = await place.version(kb.id)
    edited = await place.edits.change(child.id, text="涡轮 The turbine hums.")

    assert (edited.id, edited.revision, edited.text) == (
        child.id,
        child.revision + 1,
        "涡轮 The turbine hums.",
    )
    assert edited.indexed_as != child.indexed_as
    assert await place.in_step(kb.id) == {edited.indexed_as}
    assert await found(place, kb, "turbine") == [child.id]
    assert await found(place, kb, "painted") == []
    assert await found(place, kb, "引水渠") == [child.id]  # under the headings that it stands under
    assert (await parent_of(place, child)).text.endswith("The gate is painted every year.")
    assert await place.version(kb.id) == version + 1
    assert await place.catalogue.languages([kb.id]) == {kb.id: {"en": 1}}
    again = await place.edits.change(child.id, text="水轮机。")
    assert again.revision == child.revision + 2
    assert await place.in_step(kb.id) == {again.indexed_as}


async def test_the_same_text_again_changes_nothing(place: Place) -> None:
    kb, child = await a_document(place)
    version = await place.version(kb.id)
    assert await place.edits.change(child.id, text=f"\n{child.text}\n") == child
    assert await place.edits.change(child.id, enabled=True) == child
    assert await place.edits.change(child.id) == child
    assert await place.version(kb.id) == version


async def test_a_disabled_chunk_is_in_no_index_and_comes_back(place: Place) -> None:
    kb, child = await a_document(place)
    off = await place.edits.change(child.id, enabled=False)
    assert (off.enabled, off.revision, await place.in_step(kb.id)) == (False, child.revision, set())
    assert (await place.catalogue.get_document(child.document_id)).chunk_count == 0
    edited = await place.edits.change(child.id, text="涡轮 turbine")
    assert await place.in_step(kb.id) == set()
    on = await place.edits.change(child.id, enabled=True)
    assert on.indexed_as == edited.indexed_as
    assert await found(place, kb, "turbine") == [child.id]
    assert (await place.catalogue.get_document(child.document_id)).chunk_count == 1
    both = await place.edits.change(child.id, text="隧道 tunnel", enabled=False)
    assert (both.text, both.enabled, await place.in_step(kb.id)) == ("隧道 tunnel", False, set())


async def test_a_parent_is_edited_without_the_indexes_and_cannot_be_disabled(place: Place) -> None:
    kb, child = await a_document(place)
    parent = await parent_of(place, child)
    place.steps.taken.clear()
    edited = await place.edits.change(parent.id, text="整段新的 context")
    assert (edited.text, edited.revision) == ("整段新的 context", parent.revision + 1)
    assert place.steps.taken == ["catalogue"]
    assert await place.catalogue.get_chunk(child.id) == child
    with pytest.raises(BadRequest) as refused:
        await place.edits.change(parent.id, enabled=False)
    assert refused.value.code == "not_searched"
    assert len(await place.in_step(kb.id)) == 1


async def test_an_edit_lasts_until_the_document_is_replaced(place: Place) -> None:
    kb, child = await a_document(place)
    await place.edits.change(child.id, text="涡轮 turbine")
    same = await place.ingestion.add(kb, name="渠.md", content=TEXT)
    assert await place.ingestion.finished(same.id)
    assert await found(place, kb, "turbine") == [child.id]
    new = await place.ingestion.add(kb, name="渠.md", content=TEXT + "新的一段。".encode())
    await place.ingestion.finished(new.id)
    assert await found(place, kb, "turbine") == []
    assert len(await place.in_step(kb.id)) == 1
    with pytest.raises(NotFound) as gone:
        await place.edits.change(child.id, text="too late")
    assert gone.value.code == "chunk_not_found"


async def test_an_edit_outlives_the_loss_of_an_index(tmp_path: Path) -> None:
    async with a_place(tmp_path) as place:
        kb, child = await a_document(place)
        edited = await place.edits.change(child.id, text="涡轮 turbine")
        await place.vectors.drop(kb.id)
    async with a_place(tmp_path) as place:
        await place.tidied()
        assert await place.in_step(kb.id) == {edited.indexed_as}
        assert await found(place, kb, "turbine") == [child.id]


async def test_an_erasing_keeps_the_edits_of_other_documents(place: Place) -> None:
    kb, child = await a_document(place)
    await place.edits.change(child.id, text="涡轮 turbine")
    other = await place.ingestion.add(kb, name="b.txt", content="绝密 secret".encode())
    await place.ingestion.finished(other.id)
    await place.erased.erase(other.id, kb.id)
    assert await found(place, kb, "turbine") == [child.id]
    assert len(await place.in_step(kb.id)) == 1


@pytest.mark.parametrize("text", ["", " \n\t ", "\0", "\u200b\u200d\ufeff", "\u0301"])
async def test_a_chunk_cannot_be_emptied(place: Place, text: str) -> None:
    _, child = await a_document(place)
    with pytest.raises(BadRequest) as refused:
        await place.edits.change(child.id, text=text)
    assert refused.value.code == "empty_chunk"
    assert await place.catalogue.get_chunk(child.id) == child


@pytest.mark.parametrize("text", ["三", "🙂", "كم عدد الأيام", "长" * 100_000, "word " * 20_000, "？"])
async def test_texts_of_any_kind_and_length_can_be_written(place: Place, text: str) -> None:
    kb, child = await a_document(place)
    assert (await place.edits.change(child.id, text=text)).text == text.strip()
    assert len(await place.in_step(kb.id)) == 1


async def test_impossible_edits_are_refused(place: Place) -> None:
    _, child = await a_document(place)
    with pytest.raises(TooLarge):
        await place.edits.change(child.id, text="长" * 100_001)
    with pytest.raises(NotFound):
        await place.edits.change("none", text="x")
    faq_kb = await place.catalogue.create_kb(name="f", kind="faq", embedding_model=MODEL)
    entry = await place.faq.add(faq_kb.id, FaqDraft(question="谁？"))
    with pytest.raises(Conflict) as refused:
        await place.edits.change(entry.id, text="x")
    assert (refused.value.code, refused.value.details["id"]) == ("chunk_of_faq", entry.id)


async def test_what_no_store_takes_is_taken_out_of_a_text(place: Place) -> None:
    _, child = await a_document(place)
    assert (await place.edits.change(child.id, text="a\0b\r\n二\ud800")).text == "ab\n二?"


async def test_an_index_that_fails_leaves_the_old_text(place: Place) -> None:
    kb, child = await a_document(place)
    place.steps.fails = "keywords.add"
    with pytest.raises(DependencyFailed):
        await place.edits.change(child.id, text="涡轮")
    assert await place.catalogue.get_chunk(child.id) == child
    assert await place.in_step(kb.id) == {child.indexed_as}


Change = Callable[[Place, Chunk], Awaitable[object]]
CHANGES: dict[str, Change] = {
    "edit": lambda place, child: place.edits.change(child.id, text="涡轮 turbine"),
    "disable": lambda place, child: place.edits.change(child.id, enabled=False),
    "edit and disable": lambda place, child: place.edits.change(child.id, text="涡轮", enabled=False),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_a_crash_at_any_step_leaves_the_old_or_the_new(tmp_path: Path, change: str) -> None:
    async with a_place(tmp_path) as place:
        kb, child = await a_document(place)
        await place.tidied()
        old = await place.texts(kb.id), await place.version(kb.id)
    seen: list[bool] = []
    for number in range(9):
        try:
            async with a_place(tmp_path, steps=Steps()) as place:
                await place.tidied()
                place.steps.taken.clear()
                place.steps.ends_before = number
                await CHANGES[change](place, child)
        except* Crash:
            pass
        async with a_place(tmp_path) as place:
            await place.tidied()
            now = await place.texts(kb.id), await place.version(kb.id)
        seen.append(now != old)
        if now != old:
            break
    assert seen == sorted(seen)
    assert seen[-1]


async def test_a_crash_while_a_chunk_is_enabled_leaves_it_disabled_or_enabled(tmp_path: Path) -> None:
    async with a_place(tmp_path) as place:
        kb, child = await a_document(place)
        await place.edits.change(child.id, enabled=False)
    for number in range(3):
        try:
            async with a_place(tmp_path, steps=Steps()) as place:
                await place.tidied()
                place.steps.taken.clear()
                place.steps.ends_before = number
                await place.edits.change(child.id, enabled=True)
        except* Crash:
            pass
        async with a_place(tmp_path) as place:
            await place.tidied()
            assert await place.texts(kb.id) == set()
            assert not (await place.catalogue.get_chunk(child.id)).enabled
