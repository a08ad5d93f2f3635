"""What is erased is in no file of the data folder, in no form; what has nothing to do with it stays."""

import json
import os
import sqlite3
import zlib
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import tantivy
from anyio.to_thread import run_sync

from headrace.api.questions import asked_in_session
from headrace.api.schemas import KnowledgeQa
from headrace.api.stack import Stack
from headrace.checkpoints.erasure import Erasure
from headrace.checkpoints.forks import Fork
from headrace.checkpoints.record import read_recorded_run
from headrace.checkpoints.retention import empty_run
from headrace.checkpoints.run_rows import read_run
from headrace.checkpoints.saver import JournalSaver
from headrace.checkpoints.sessions import Message
from headrace.errors import Conflict, Gone, NotFound
from headrace.server import open_stack
from headrace.settings import load_settings
from headrace.state import Asked
from headrace.text.tokens import Tokens

from ..running import serving
from ..stub_model import a_model_server

pytestmark = pytest.mark.anyio

# Each phrase stands in one document only, and so does each of its terms.
PHRASES = ("琥珀蝾螈计划的代号是紫藤", "The codename of the salamander venture is wisteria")
SECRET = f"# 绝密\n\n{PHRASES[0]}，预算为三百万元。\n\n{PHRASES[1]}, its budget is three million.\n"
PUBLIC = "# 手册\n\n员工每年有十二天年休假。\n\nEmployees have twelve days of annual leave.\n"
ZH = "琥珀蝾螈计划的代号是什么？"
EN = "What is the codename of the salamander venture?"
LEAVE = "员工每年有几天年休假？"


@dataclass
class Filled:
    """A folder with a secret document and a public one, each in a knowledge base of its own."""

    stack: Stack
    secret: str  # the document
    kbs: tuple[str, str]  # of the secret, of the public one

    async def a_session(self, *kbs: str) -> str:
        return (await self.stack.sessions.create(kb_ids=kbs or self.kbs)).id

    async def start(self, session: str, query: str, **body: Any) -> Asked:
        question = KnowledgeQa(query=query, **body)
        asked = await asked_in_session(self.stack, session, question)
        await self.stack.runs.start(asked, on_busy=question.on_busy)
        return asked

    async def ask(self, session: str, query: str, **body: Any) -> Asked:
        asked = await self.start(session, query, **body)
        await self.stack.runs.finished(asked["run_id"])
        return asked

    async def answer(self, asked: Asked) -> Message:
        return await self.stack.sessions.message(asked["message_id"])

    async def kept(self, asked: Asked) -> str:
        return (await self.stack.journal.read(partial(read_run, run_id=asked["run_id"]))).kept

    async def erase(self) -> dict[str, int]:
        return await self.stack.erasure.document(self.secret, self.kbs[0])


@asynccontextmanager
async def filled(folder: Path, **settings: Any) -> AsyncGenerator[Filled]:
    async with open_stack(load_settings(data=folder, **settings)) as stack:
        secret = await add(stack, "秘密 Secrets", "绝密.md", SECRET)
        public = await add(stack, "公开 Public", "手册.md", PUBLIC)
        yield Filled(stack, secret[1], (secret[0], public[0]))


async def add(stack: Stack, kb_name: str, title: str, text: str) -> tuple[str, str]:
    kb = await stack.catalogue.create_kb(name=kb_name, embedding_model=stack.embedder.model)
    document = await stack.ingestion.add(kb, name=title, content=text.encode())
    assert (await stack.ingestion.finished(document.id)).status == "ready"
    return kb.id, document.id


async def found_in(folder: Path, *phrases: str) -> set[str]:
    """The files that hold one of the phrases, or a term of one as the keyword index makes them."""
    return await run_sync(lambda: {where for where, _ in finds(folder, phrases or PHRASES)})


def finds(folder: Path, phrases: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = str(path.relative_to(folder)).split(os.sep)[0]
        stored = [path.read_bytes()]
        if path.name.endswith(".sqlite") or path.suffix == ".sqlite3":
            stored += rows_of(path)
        for phrase in phrases:
            # As text, and as JSON that was made to be ASCII.
            forms = (phrase.encode(), json.dumps(phrase)[1:-1].encode())
            if any(form in text for form in forms for text in stored):
                yield name, phrase
    if phrases == PHRASES:
        yield from segments_with_terms(folder)


def segments_with_terms(folder: Path) -> Iterator[tuple[str, str]]:
    for path in (folder / "keywords").glob("*/meta.json"):
        searcher = tantivy.Index.open(str(path.parent)).searcher()
        terms = set(Tokens().index(SECRET)) - set(Tokens().index(PUBLIC))
        if any(searcher.doc_freq("tokens", term) for term in terms):
            yield "keywords", path.parent.name


def rows_of(path: Path) -> Iterator[bytes]:
    with closing(sqlite3.connect(path)) as db:
        for (table,) in db.execute("select name from sqlite_master where type = 'table'").fetchall():
            for row in db.execute(f'select * from "{table}"'):
                for value in row:
                    if isinstance(value, bytes):
                        yield unpacked(value)
                    elif isinstance(value, str):
                        yield value.encode()


def unpacked(value: bytes) -> bytes:
    try:
        return zlib.decompress(value)
    except zlib.error:
        return value


async def rows_of_run(stack: Stack, asked: Asked) -> list[Any]:
    """Everything in the journal that belongs to it."""

    def read(db: sqlite3.Connection) -> list[Any]:
        columns = {
            "runs": "id", "messages": "run_id", "events": "run_id", "passage_uses": "run_id",
            "checkpoints": "thread_id", "checkpoint_values": "thread_id", "checkpoint_writes": "thread_id",
        }  # fmt: skip
        key = (asked["run_id"],)
        return [
            row
            for table, column in columns.items()
            for row in db.execute(f"select * from {table} where {column} = ?", key)
        ]

    return await stack.journal.read(read)


async def test_no_file_holds_a_text_of_an_erased_document(tmp_path: Path) -> None:
    async with filled(tmp_path) as world:
        for query in (ZH, EN):
            assert (await world.answer(await world.ask(await world.a_session(), query))).references
        before = await found_in(tmp_path)
        assert before >= {"journal.sqlite", "catalogue.sqlite", "files", "keywords"}

        removed = await world.erase()
        assert await found_in(tmp_path) == set()
        assert (removed["documents"], removed["runs"], removed["messages"]) == (1, 2, 2)
        assert min(removed[name] for name in ("chunks", "events", "checkpoints", "passages")) > 0
    assert await found_in(tmp_path) == set()


async def test_of_an_answer_from_it_the_question_stays_and_nothing_else(tmp_path: Path) -> None:
    async with filled(tmp_path) as world:
        asked = await world.ask(await world.a_session(), ZH, quoted_context=PHRASES[1])
        await world.erase()
        (question, answer), _ = await world.stack.sessions.messages(asked["session_id"])
        row = await world.stack.journal.read(partial(read_run, run_id=asked["run_id"]))

        assert (question.content, question.erased_at) == (ZH, None)
        assert (answer.content, answer.references, answer.status) == ("", [], "complete")
        assert answer.erased_at is not None
        assert (row.asked["query"], row.asked["quoted_context"], row.asked["prompts"]) == (ZH, None, {})
        with pytest.raises(Gone, match="erased") as gone:
            await world.stack.journal.read(partial(read_recorded_run, run_id=asked["run_id"]))
        assert (gone.value.code, gone.value.status) == ("run_erased", 410)


async def test_what_has_nothing_to_do_with_it_stays_as_it_is(tmp_path: Path) -> None:
    async with filled(tmp_path) as world:
        asked = await world.ask(await world.a_session(world.kbs[1]), LEAVE)
        await world.ask(await world.a_session(), ZH)
        before = await rows_of_run(world.stack, asked)
        await world.erase()
        assert await rows_of_run(world.stack, asked) == before
        again = await world.answer(await world.ask(await world.a_session(), LEAVE))
        assert "十二天" in again.content
        assert again.references[0]["scores"]["keyword"] > 0


async def test_later_turns_that_read_such_an_answer_lose_their_record_too(tmp_path: Path) -> None:
    async with filled(tmp_path) as world:
        session, public = await world.a_session(), world.kbs[1:]
        turns = [await world.ask(session, ZH)]
        # The second reads the first, the third only the second: what it knows may come from the first.
        turns.append(await world.ask(session, LEAVE, knowledge_base_ids=list(public)))
        turns.append(
            await world.ask(session, EN, knowledge_base_ids=list(public), settings={"max_rounds": 1})
        )
        alone = await world.ask(session, LEAVE, knowledge_base_ids=list(public), settings={"max_rounds": 0})
        assert (await world.erase())["runs"] == 3
        assert [await world.kept(turn) for turn in (*turns, alone)] == ["erased"] * 3 + ["all"]

        after = await world.ask(session, LEAVE, knowledge_base_ids=list(public))
        end = await JournalSaver(world.stack.journal).aget_tuple(
            {"configurable": {"thread_id": after["run_id"]}}
        )
        assert end is not None
        history = end.checkpoint["channel_values"]["history"]
        assert [turn["request_id"] for turn in history] == [alone["request_id"]]


async def test_a_trimmed_answer_is_emptied_where_its_references_name_the_document(tmp_path: Path) -> None:
    async with filled(tmp_path, journal_limit_mb=0.001) as world:
        session = await world.a_session()
        asked = await world.ask(session, ZH)
        later = await world.ask(session, LEAVE, knowledge_base_ids=[world.kbs[1]])
        await world.stack.retention.collect()
        assert await world.kept(asked) == "nothing"
        await world.erase()
        assert ((await world.answer(asked)).content, await world.kept(asked)) == ("", "erased")
        # Nothing tells what it has read any more, so it may have read the answer before it.
        assert await world.kept(later) == "erased"


async def test_a_fork_goes_with_its_origin(tmp_path: Path) -> None:
    async with filled(tmp_path) as world:
        asked = await world.ask(await world.a_session(), ZH)
        fork = await world.stack.forks.fork(asked["run_id"], Fork(stage="rerank"))
        await world.stack.runs.finished(fork.run_id)
        assert (await world.erase())["runs"] == 2
        row = await world.stack.journal.read(partial(read_run, run_id=fork.run_id))
        assert (row.kept, await found_in(tmp_path)) == ("erased", set())


@pytest.mark.parametrize("query", [ZH, EN])
async def test_a_fork_that_found_nothing_keeps_no_text_of_what_its_origin_had_read(
    tmp_path: Path, query: str
) -> None:
    async with filled(tmp_path) as world:
        asked = await world.ask(await world.a_session(), query)
        strict = {"vector_threshold": 1.0, "keyword_threshold": 1000.0}
        fork = await world.stack.forks.fork(asked["run_id"], Fork(stage="load_history", settings=strict))
        assert (await world.stack.runs.finished(fork.run_id)).outcome == "fallback"
        await world.erase()
        row = await world.stack.journal.read(partial(read_run, run_id=fork.run_id))
        assert (row.kept, await found_in(tmp_path)) == ("all", set())


async def test_a_thread_that_a_killed_fork_has_left_goes_too(tmp_path: Path) -> None:
    async with filled(tmp_path) as world:
        asked = await world.ask(await world.a_session(), ZH)
        saver = JournalSaver(world.stack.journal)
        await saver.acopy_thread(asked["run_id"], "loose")
        await world.erase()
        assert await saver.aget_tuple({"configurable": {"thread_id": "loose"}}) is None


async def test_an_answer_in_progress_that_has_read_it_is_stopped_and_emptied(tmp_path: Path) -> None:
    with serving(a_model_server()) as model:
        async with filled(
            tmp_path,
            chat_base_url=f"{model}/v1",
            chat_model="stub",
            enable_rewrite=False,
            suggestions_enabled=False,
        ) as world:
            asked = await world.start(await world.a_session(), f"{ZH} wait: 紫藤 wisteria")
            other = await world.start(await world.a_session(world.kbs[1]), f"{LEAVE} wait: 十二 twelve")
            for run in (asked, other):
                await told(world.stack, run, "answer")
            await world.erase()
            answer = await world.answer(asked)
            assert (answer.status, answer.content, await world.kept(asked)) == ("stopped", "", "erased")
            assert (await world.answer(other)).status == "running"
            assert await found_in(tmp_path) == set()


async def test_a_question_that_waits_in_line_is_answered_without_it(tmp_path: Path) -> None:
    with serving(a_model_server()) as model:
        async with filled(
            tmp_path,
            chat_base_url=f"{model}/v1",
            chat_model="stub",
            enable_rewrite=False,
            suggestions_enabled=False,
        ) as world:
            session = await world.a_session()
            first = await world.start(session, f"{ZH} wait: 紫藤 wisteria")
            await told(world.stack, first, "answer")
            second = await world.start(session, f"{LEAVE} say: 十二天 twelve days", on_busy="queue")
            await world.erase()
            answer = await world.stack.runs.finished(second["run_id"])
            assert (answer.content, await world.kept(second)) == ("十二天 twelve days", "all")
            assert (await world.kept(first), await found_in(tmp_path)) == ("erased", set())


async def told(stack: Stack, asked: Asked, response_type: str) -> None:
    async for event in stack.events.follow(asked["run_id"]):
        if event["response_type"] == response_type:
            return


async def test_an_erased_session_leaves_nothing_of_itself(tmp_path: Path) -> None:
    asked_for = "秘密花园的园丁 the gardener of the secret garden"
    with serving(a_model_server()) as model:
        async with filled(
            tmp_path,
            chat_base_url=f"{model}/v1",
            chat_model="stub",
            enable_rewrite=False,
            suggestions_enabled=False,
        ) as world:
            session, other = await world.a_session(), await world.a_session()
            ended = await world.ask(session, f"{asked_for} say: 紫藤 wisteria")
            fork = await world.stack.forks.fork(ended["run_id"], Fork(stage="rerank"))
            await world.start(session, f"{asked_for} wait: 紫藤 wisteria")
            await world.start(session, f"{asked_for} say: 紫藤 again", on_busy="queue")
            kept = await world.ask(other, f"{ZH} say: 留下 stays")
            removed = await world.stack.erasure.session(session)

            assert (removed["sessions"], removed["runs"], removed["messages"]) == (1, 4, 7)
            assert await found_in(tmp_path, asked_for, fork.run_id) == set()
            assert (await world.answer(kept)).content == "留下 stays"
            with pytest.raises(NotFound) as gone:
                await world.stack.erasure.session(session)
            assert gone.value.code == "session_not_found"


class Crash(BaseException):
    """The process ends here."""


class Dying:
    """The documents of a stack, in a process that is killed at one of these moments."""

    def __init__(self, stack: Stack, moment: str) -> None:
        self._documents: Any = stack.erasure._documents  # pyright: ignore[reportPrivateUsage]
        self._moment = moment

    async def erase(self, document_id: str, kb_id: str) -> int:
        if self._moment == "before the document":
            raise Crash
        chunks = await self._documents.erase(document_id, kb_id)
        if self._moment == "before the records":
            raise Crash
        return chunks

    async def clear_unused(self) -> None:
        raise Crash


@pytest.mark.parametrize("moment", ["before the document", "before the records", "before the rest"])
@pytest.mark.parametrize("again", ["the same call", "the next start"])
async def test_an_erasure_that_was_killed_is_finished(tmp_path: Path, moment: str, again: str) -> None:
    async with filled(tmp_path) as world:
        stack = world.stack
        asked = await world.ask(await world.a_session(), ZH)
        dying = Erasure(stack.journal, JournalSaver(stack.journal), stack.runs, Dying(stack, moment))
        with pytest.raises(Crash):
            await dying.document(world.secret, world.kbs[0])
        assert moment == "before the rest" or await found_in(tmp_path) >= {"journal.sqlite"}

    async with open_stack(load_settings(data=tmp_path)) as stack:
        if again == "the same call":
            there = world.secret in await stack.catalogue.documents([world.secret])
            assert there == (moment == "before the document")
            await stack.erasure.document(world.secret, world.kbs[0] if there else None)
        else:
            await stack.erasure.finish()
        assert await found_in(tmp_path) == set()
        assert (await stack.sessions.message(asked["message_id"])).erased_at is not None
        with pytest.raises(NotFound):
            await stack.erasure.document(world.secret, None)


async def test_while_another_program_reads_the_file_it_says_so_and_can_be_finished(tmp_path: Path) -> None:
    async with filled(tmp_path) as world:
        await world.ask(await world.a_session(), ZH)
        with closing(sqlite3.connect(tmp_path / "journal.sqlite")) as notebook:
            notebook.execute("begin")
            notebook.execute("select count(*) from runs").fetchone()
            with pytest.raises(Conflict, match=r"journal\.sqlite") as refused:
                await world.erase()
            assert refused.value.code == "folder_in_use"
        await world.stack.erasure.document(world.secret, None)
        assert await found_in(tmp_path) == set()


async def test_copies_of_an_older_version_go_too(tmp_path: Path) -> None:
    async with filled(tmp_path) as world:
        for name in ("journal.sqlite.v1", "catalogue.sqlite.v1"):
            await run_sync((tmp_path / name).write_text, SECRET)
        await world.erase()
        assert await found_in(tmp_path) == set()


@pytest.mark.parametrize("kept", ["all", "nothing"])
async def test_what_runs_have_left_of_a_deleted_document_is_erased(tmp_path: Path, kept: str) -> None:
    async with filled(tmp_path) as world:
        asked = await world.ask(await world.a_session(), ZH)
        await world.ask(await world.a_session(), EN)
        await world.stack.ingestion.delete(world.secret)
        if kept == "nothing":
            empty = partial(empty_run, run_id=asked["run_id"], kept="nothing")
            await world.stack.journal.write(empty)
        assert "journal.sqlite" in await found_in(tmp_path)
        removed = await world.stack.erasure.document(world.secret, None)
        assert (removed["documents"], removed["runs"]) == (0, 2)
        assert await found_in(tmp_path) == set()


async def test_a_run_with_a_damaged_record_does_not_keep_a_document_from_being_erased(tmp_path: Path) -> None:
    async with filled(tmp_path) as world:
        await world.ask(await world.a_session(), ZH)
        damaged = await world.ask(await world.a_session(world.kbs[1]), LEAVE)
        await world.stack.journal.write(partial(damage, run_id=damaged["run_id"]))
        await world.stack.ingestion.delete(world.secret)  # also one that only the records of runs tell of
        assert (await world.stack.erasure.document(world.secret, None))["runs"] == 2
        assert (await world.kept(damaged), await found_in(tmp_path)) == ("erased", set())


def damage(connection: sqlite3.Connection, *, run_id: str) -> None:
    changed = connection.execute(
        "update checkpoint_values set body = x'00ff' where thread_id = ? and type like 'z%'", (run_id,)
    )
    assert changed.rowcount


async def test_a_part_of_an_id_erases_nothing(tmp_path: Path) -> None:
    async with filled(tmp_path) as world:
        asked = await world.ask(await world.a_session(), ZH)
        for part in (world.secret[:-1], world.secret[:2], "a", world.secret.replace("0", "1")):
            with pytest.raises(NotFound):
                await world.stack.erasure.document(part, None)
        assert await world.kept(asked) == "all"


async def test_an_unknown_document_is_not_found(tmp_path: Path) -> None:
    async with filled(tmp_path) as world:
        with pytest.raises(NotFound) as unknown:
            await world.stack.erasure.document("不存在 none", None)
        assert unknown.value.code == "document_not_found"


def test_the_search_for_texts_finds_them_in_every_form(tmp_path: Path) -> None:
    write: dict[str, Callable[[Path], object]] = {
        "plain": lambda path: path.write_text(PHRASES[0], "utf-8"),
        "escaped": lambda path: path.write_text(json.dumps(PHRASES[0])),
        "english": lambda path: path.write_text(PHRASES[1]),
    }
    for name, put in write.items():
        put(tmp_path / name)
    with closing(sqlite3.connect(tmp_path / "x.sqlite")) as db:
        db.execute("create table t (body)")
        db.execute("insert into t values (?)", (zlib.compress(PHRASES[0].encode() * 9),))
        db.commit()
    assert {where for where, _ in finds(tmp_path, PHRASES)} == {*write, "x.sqlite"}
