from collections.abc import Iterable
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from headrace.context import KnowledgeBase
from headrace.errors import Conflict, DependencyFailed, NotFound, TooLarge, Unreadable, UnsupportedFormat
from headrace.ingest.pipeline import EMBED_BATCH

from .fakes import MODEL, Crash, LetterEmbedder, MemoryCatalogue, Place, unreadable

pytestmark = pytest.mark.anyio

LONG_ZH = "".join(f"第{n}句话说的是水轮机的引水渠道如何检修。" for n in range(1200)).encode()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def kb(place: Place) -> KnowledgeBase:
    return place.catalogue.create_kb("手册")


async def test_a_document_becomes_ready_and_is_found_in_both_indexes(place: Place, kb: KnowledgeBase) -> None:
    async with place.running() as ingestion:
        added = await ingestion.add(kb, name="引水.md", content="# 引水\n\n引水渠把水送到水轮机。".encode())
        document = await ingestion.finished(added.id)
    assert added.status == "pending"
    assert (document.status, document.title, document.revision) == ("ready", "引水.md", 1)
    assert document.chunk_count == len(place.indexed(kb)) == 1
    assert place.indexed(kb) == await place.catalogue.chunk_ids(kb.id)


async def test_title_and_section_are_searched_with_the_text(place: Place, kb: KnowledgeBase) -> None:
    text = "# 维护\n\n" + "每周检查一次闸门。" * 60 + "\n\n## 润滑\n\n" + "轴承每月加油。" * 80
    async with place.running() as ingestion:
        added = await ingestion.add(kb, name="turbine manual.md", content=text.encode())
        await ingestion.finished(added.id)
    texts = [entry.text for entry in place.keywords.entries[kb.id].values()]
    assert all(text.startswith("turbine manual\n") for text in texts)
    assert "维护 > 润滑" in texts[-1]


async def test_progress_is_told_stage_by_stage(place: Place, kb: KnowledgeBase) -> None:
    ingestion = place.ingestion()
    added = await ingestion.add(kb, name="a.txt", content=LONG_ZH)
    seen: list[tuple[str, int, int]] = []

    async def follow() -> None:
        async for document in ingestion.watch(added.id):
            seen.append((document.stage, document.done, document.total))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(follow)
        await anyio.lowlevel.checkpoint()
        await ingestion.start()
        await ingestion.finished(added.id)
    await ingestion.close()
    stages = [stage for stage, _, _ in seen]
    assert stages[0] == "queued"
    assert [*dict.fromkeys(stages)][-2:] == ["embed", "index"]
    assert max(done for stage, done, _ in seen if stage == "embed") >= EMBED_BATCH


async def test_embedding_goes_in_small_batches(place: Place, kb: KnowledgeBase) -> None:
    async with place.running() as ingestion:
        await ingestion.finished((await ingestion.add(kb, name="a.txt", content=LONG_ZH)).id)
    assert len(place.embedder.batches) > 2
    assert max(place.embedder.batches) <= EMBED_BATCH


async def test_the_same_bytes_give_the_document_that_is_there(place: Place, kb: KnowledgeBase) -> None:
    async with place.running() as ingestion:
        first = await ingestion.finished((await ingestion.add(kb, name="a.txt", content=b"One text.")).id)
        again = await ingestion.add(kb, name="b.txt", content=b"One text.")
    assert again == first
    assert again.status == "ready"


async def test_the_same_bytes_in_another_knowledge_base_are_another_document(
    place: Place, kb: KnowledgeBase
) -> None:
    other = place.catalogue.create_kb("other")
    async with place.running() as ingestion:
        first = await ingestion.finished((await ingestion.add(kb, name="a.txt", content=b"One text.")).id)
        second = await ingestion.finished((await ingestion.add(other, name="a.txt", content=b"One text.")).id)
        await ingestion.delete(first.id)
        assert place.files.path(second.sha256).exists()
        await ingestion.delete(second.id)
    assert not place.files.path(second.sha256).exists()


async def test_other_bytes_under_the_same_name_replace(place: Place, kb: KnowledgeBase) -> None:
    async with place.running() as ingestion:
        first = await ingestion.finished(
            (await ingestion.add(kb, name="价格.txt", content="票价十元。".encode())).id
        )
        added = await ingestion.add(kb, name="价格.txt", content="票价十二元。".encode())
        second = await ingestion.finished(added.id)
        await ingestion.add(kb, name="later.txt", content=b"So that the old original is gone.")
        await ingestion.finished((await ingestion.add(kb, name="later.txt", content=b"Later.")).id)
    assert (second.id, second.revision) == (first.id, 2)
    assert "十二元" in place.text_of(kb)
    assert "票价十元" not in place.text_of(kb)
    assert place.indexed(kb) == await place.catalogue.chunk_ids(kb.id)
    assert first.sha256 not in await place.files.hashes()


async def test_a_failed_replacement_keeps_the_old_version_searchable(place: Place, kb: KnowledgeBase) -> None:
    async with place.running() as ingestion:
        first = await ingestion.finished((await ingestion.add(kb, name="a.txt", content=b"Old text.")).id)
        place.parser.breaks["a.txt"] = unreadable()
        second = await ingestion.finished((await ingestion.add(kb, name="a.txt", content=b"New text.")).id)
    assert (second.id, second.status) == (first.id, "failed")
    assert "still searched" in (second.error or "")
    assert place.text_of(kb) == "Old text."
    assert place.indexed(kb) == await place.catalogue.chunk_ids(kb.id)


async def test_a_failed_document_can_be_added_again(place: Place, kb: KnowledgeBase) -> None:
    place.parser.breaks["a.txt"] = unreadable()
    async with place.running() as ingestion:
        failed = await ingestion.finished((await ingestion.add(kb, name="a.txt", content=b"Text.")).id)
        place.parser.breaks.clear()
        again = await ingestion.finished((await ingestion.add(kb, name="a.txt", content=b"Text.")).id)
    assert (failed.status, failed.error) == ("failed", "the parser crashed on this file")
    assert (again.id, again.status, again.error) == (failed.id, "ready", None)


@pytest.mark.parametrize("error", [unreadable(), RuntimeError("a bug"), DependencyFailed("vectors", "down")])
async def test_one_failure_does_not_stop_the_queue(place: Place, kb: KnowledgeBase, error: Exception) -> None:
    place.parser.breaks["bad.txt"] = error
    async with place.running() as ingestion:
        bad = await ingestion.add(kb, name="bad.txt", content=b"Bad text.")
        good = await ingestion.add(kb, name="good.txt", content=b"Good text.")
        assert (await ingestion.finished(good.id)).status == "ready"
        assert (await ingestion.finished(bad.id)).status == "failed"


async def test_what_a_failing_store_took_is_taken_back(place: Place, kb: KnowledgeBase) -> None:
    class FailingKeywords(type(place.keywords)):
        async def add(self, kb_id: str, entries: object) -> None:
            raise DependencyFailed("keywords", "the keyword index did not answer")

    working, place.keywords = place.keywords, FailingKeywords()
    async with place.running() as ingestion:
        document = await ingestion.finished((await ingestion.add(kb, name="a.txt", content=b"Text.")).id)
    assert document.error == "the keyword index did not answer"
    place.keywords = working
    assert place.indexed(kb) == set()


async def test_a_text_without_words_is_failed_not_ready(place: Place, kb: KnowledgeBase) -> None:
    async with place.running() as ingestion:
        document = await ingestion.finished((await ingestion.add(kb, name="a.txt", content=b" \n\t \n")).id)
    assert (document.status, document.chunk_count) == ("failed", 0)
    assert "no text" in (document.error or "")


async def test_what_cannot_be_taken_is_refused_at_once(place: Place, kb: KnowledgeBase) -> None:
    ingestion = place.ingestion()
    with pytest.raises(Unreadable, match=r"空\.txt is empty"):
        await ingestion.add(kb, name="空.txt", content=b"")
    with pytest.raises(UnsupportedFormat, match=r"song\.mp3: .*Supported are txt, md"):
        await ingestion.add(kb, name="song.mp3", content=b"ID3")
    with pytest.raises(TooLarge):
        await ingestion.add(kb, name="a.txt", content=b"x" * (1024 * 1024 + 1))
    assert place.catalogue.rows == {}
    assert await place.files.hashes() == set()


async def test_another_embedding_model_is_a_conflict_that_says_what_to_do(place: Place) -> None:
    kb = place.catalogue.create_kb("old", embedding_model="another@http://10.0.0.7/v1")
    with pytest.raises(Conflict, match="into a new knowledge base") as caught:
        await place.ingestion().add(kb, name="a.txt", content=b"Text.")
    assert caught.value.code == "embedding_model_mismatch"
    assert "10.0.0.7" not in f"{caught.value.message} {caught.value.details}"


async def test_a_slash_in_the_title_of_a_text_is_no_folder(place: Place, kb: KnowledgeBase) -> None:
    added = await place.ingestion().add_text(kb, title="输入/输出 A/B test", text="Two of them.")
    assert added.title == "输入/输出 A/B test"


async def test_text_is_added_under_its_title(place: Place, kb: KnowledgeBase) -> None:
    async with place.running() as ingestion:
        added = await ingestion.add_text(kb, title="Opening hours", text="# Summer\n\nOpen from 8 to 20.\n")
        document = await ingestion.finished(added.id)
    assert (document.title, document.media_type) == ("Opening hours", "text/markdown")
    (chunk,) = [chunk for chunk in place.catalogue.stored.values() if chunk.kind == "text"]
    assert (chunk.section, chunk.text) == ("Summer", "Summer\nOpen from 8 to 20.")


async def test_a_file_on_disk_is_copied_not_moved(place: Place, kb: KnowledgeBase, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("A note.")
    async with place.running() as ingestion:
        document = await ingestion.finished(
            (await ingestion.add(kb, name="../../notes.txt", content=path)).id
        )
    assert (document.title, document.status) == ("notes.txt", "ready")
    assert path.exists()


async def test_delete_takes_everything(place: Place, kb: KnowledgeBase) -> None:
    async with place.running() as ingestion:
        document = await ingestion.finished((await ingestion.add(kb, name="a.txt", content=b"Text.")).id)
        await ingestion.delete(document.id)
    assert place.indexed(kb) == set()
    assert (place.catalogue.rows, place.catalogue.stored) == ({}, {})
    assert await place.files.hashes() == set()
    with pytest.raises(NotFound):
        await place.ingestion().delete(document.id)


async def test_delete_in_the_middle_of_the_work(place: Place, kb: KnowledgeBase) -> None:
    place.embedder.gate = anyio.Event()
    async with place.running() as ingestion:
        added = await ingestion.add(kb, name="a.txt", content=b"Text.")
        await place.embedder.reached.wait()
        await ingestion.delete(added.id)
        place.embedder.gate.set()
        after = await ingestion.finished((await ingestion.add(kb, name="b.txt", content=b"Other.")).id)
    assert [*place.catalogue.rows] == [after.id]
    assert place.text_of(kb) == "Other."


async def test_replacing_in_the_middle_of_the_work_ends_with_the_newer(
    place: Place, kb: KnowledgeBase
) -> None:
    place.embedder.gate = anyio.Event()
    async with place.running() as ingestion:
        added = await ingestion.add(kb, name="a.txt", content=b"Older.")
        await place.embedder.reached.wait()
        await ingestion.add(kb, name="a.txt", content=b"Newer.")
        place.embedder.gate.set()
        await ingestion.finished(added.id)
    assert place.text_of(kb) == "Newer."
    assert place.indexed(kb) == await place.catalogue.chunk_ids(kb.id)


async def test_those_who_watch_a_deleted_document_are_let_go(place: Place, kb: KnowledgeBase) -> None:
    place.embedder.gate = anyio.Event()
    async with place.running() as ingestion:
        added = await ingestion.add(kb, name="a.txt", content=b"Text.")
        async with anyio.create_task_group() as tasks:

            async def wait() -> None:
                with pytest.raises(NotFound):
                    await ingestion.finished(added.id)

            tasks.start_soon(wait)
            await place.embedder.reached.wait()
            await ingestion.delete(added.id)


async def test_delete_kb_takes_its_documents_and_leaves_others(place: Place, kb: KnowledgeBase) -> None:
    other = place.catalogue.create_kb("other")
    async with place.running() as ingestion:
        for target in (kb, other):
            await ingestion.finished((await ingestion.add(target, name="a.txt", content=b"Text.")).id)
        await ingestion.delete_kb(kb.id)
    assert [*place.catalogue.kbs] == [other.id]
    assert place.indexed(kb) == set()
    assert len(place.indexed(other)) == 1
    assert len(await place.files.hashes()) == 1


async def test_a_knowledge_base_is_deleted_when_the_change_of_an_entry_in_it_is_over(
    place: Place, kb: KnowledgeBase
) -> None:
    async with place.running() as ingestion, anyio.create_task_group() as tasks:
        async with ingestion.indexing:
            tasks.start_soon(ingestion.delete_kb, kb.id)
            await anyio.wait_all_tasks_blocked()
            assert kb.id in place.catalogue.kbs
    assert kb.id not in place.catalogue.kbs


async def test_unfinished_work_is_taken_up_at_the_next_start(place: Place, kb: KnowledgeBase) -> None:
    added = await place.ingestion().add(kb, name="a.txt", content=b"Text.")
    async with place.running() as ingestion:
        assert (await ingestion.finished(added.id)).status == "ready"


async def test_a_crash_before_publishing_leaves_the_old_version(place: Place, kb: KnowledgeBase) -> None:
    async with place.running() as ingestion:
        first = await ingestion.finished((await ingestion.add(kb, name="a.txt", content=b"Old text.")).id)
    place.catalogue.crash_in_publish = True
    crashing = place.ingestion()
    await crashing.add(kb, name="a.txt", content=LONG_ZH)
    with pytest.raises(Crash):
        await crashing.run_queue()
    assert place.text_of(kb) == "Old text."
    assert len(place.indexed(kb)) > 1  # entries that nobody is shown

    place.catalogue.crash_in_publish = False
    async with place.running() as ingestion:
        second = await ingestion.finished(first.id)
    assert (second.status, second.revision) == ("ready", 2)
    assert place.indexed(kb) == await place.catalogue.chunk_ids(kb.id)


async def test_a_crash_after_publishing_leaves_the_new_version(place: Place, kb: KnowledgeBase) -> None:
    async with place.running() as ingestion:
        await ingestion.finished((await ingestion.add(kb, name="a.txt", content=b"Old text.")).id)

    class CrashingVectors(type(place.vectors)):
        async def delete(self, kb_id: str, model: str, chunk_ids: object) -> None:
            raise Crash

    working = place.vectors
    place.vectors = CrashingVectors(entries=working.entries)
    crashing = place.ingestion()
    await crashing.add(kb, name="a.txt", content=b"New text.")
    with pytest.raises(Crash):
        await crashing.run_queue()
    assert place.text_of(kb) == "New text."

    place.vectors = working
    async with place.running() as ingestion:
        await ingestion.finished((await ingestion.add(kb, name="b.txt", content=b"Other.")).id)
    assert place.indexed(kb) == await place.catalogue.chunk_ids(kb.id)


async def test_a_crash_while_deleting_is_finished_at_the_next_start(place: Place, kb: KnowledgeBase) -> None:
    async with place.running() as ingestion:
        document = await ingestion.finished((await ingestion.add(kb, name="a.txt", content=b"Text.")).id)
    await place.catalogue.set_progress(document.id, status="deleting", stage="delete", done=0, total=0)
    async with place.running() as ingestion:
        await ingestion.finished((await ingestion.add(kb, name="b.txt", content=b"Other.")).id)
    assert document.id not in place.catalogue.rows
    assert place.text_of(kb) == "Other."
    assert document.sha256 not in await place.files.hashes()


async def test_a_crash_while_a_knowledge_base_is_deleted_leaves_no_part_of_it(
    place: Place, kb: KnowledgeBase
) -> None:
    async with place.running() as ingestion:
        for name in ("a.txt", "b.txt"):
            await ingestion.finished((await ingestion.add(kb, name=name, content=name.encode())).id)

    class CrashingVectors(type(place.vectors)):
        async def drop(self, kb_id: str) -> None:
            raise Crash

    working = place.vectors
    place.vectors = CrashingVectors(entries=working.entries)
    with pytest.raises(Crash):
        await place.ingestion().delete_kb(kb.id)
    place.vectors = working
    other = place.catalogue.create_kb("other")
    async with place.running() as ingestion:
        await ingestion.finished((await ingestion.add(other, name="c.txt", content=b"Other.")).id)

    assert [*place.catalogue.kbs] == [other.id]
    assert place.indexed(kb) == set()
    assert len(place.indexed(other)) == 1
    assert len(await place.files.hashes()) == 1


async def test_originals_without_a_document_are_cleared_at_start(place: Place, kb: KnowledgeBase) -> None:
    orphan = await place.files.save(b"A crash came before its row.")
    async with place.running() as ingestion:
        await ingestion.finished((await ingestion.add(kb, name="a.txt", content=b"Text.")).id)
    assert orphan not in await place.files.hashes()


async def test_documents_that_an_index_lost_are_worked_through_again(place: Place, kb: KnowledgeBase) -> None:
    async with place.running() as ingestion:
        await ingestion.finished((await ingestion.add(kb, name="a.txt", content=b"Text.")).id)
    place.keywords.entries.clear()
    async with place.running() as ingestion:
        await ingestion.finished((await ingestion.add(kb, name="b.txt", content=b"Other.")).id)
        await ingestion.finished((await ingestion.add(kb, name="c.txt", content=b"Third.")).id)
    assert len(place.indexed(kb)) == 3


async def test_closing_ends_the_parser_and_leaves_the_work_for_later(place: Place, kb: KnowledgeBase) -> None:
    place.embedder.gate = anyio.Event()
    async with place.running() as ingestion:
        added = await ingestion.add(kb, name="a.txt", content=b"Text.")
        await place.embedder.reached.wait()
    assert place.parser.closed
    place.embedder = LetterEmbedder()
    async with place.running() as ingestion:
        assert (await ingestion.finished(added.id)).status == "ready"


class Watched(MemoryCatalogue):
    """Says when what a crash left is being looked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = anyio.Event()

    async def files_in_use(self, hashes: Iterable[str]) -> set[str]:
        self.asked.set()
        return await super().files_in_use(hashes)


async def test_what_is_being_indexed_is_not_taken_for_a_leftover(tmp_path: Path) -> None:
    catalogue = Watched()
    place = Place(tmp_path, catalogue=catalogue)
    async with place.running() as ingestion:
        async with ingestion.indexing:
            kb = catalogue.create_kb("新")
            await place.vectors.add("not in the catalogue", MODEL, [])
            await catalogue.asked.wait()
            for _ in range(20):
                await anyio.lowlevel.checkpoint()
            assert [*place.vectors.entries] == ["not in the catalogue"]
        await ingestion.finished((await ingestion.add(kb, name="a.txt", content=b"One text.")).id)
    assert [*place.vectors.entries] == [kb.id]
