"""What old runs keep, what a size limit takes first, and that the space goes back while others write."""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base.id import uuid6

from headrace.checkpoints import retention as subject
from headrace.checkpoints.events import RunEmitter
from headrace.checkpoints.journal import Journal, open_journal
from headrace.checkpoints.record import read_recorded_run
from headrace.checkpoints.retention import Collected, Limits, Retention, is_older
from headrace.checkpoints.run_rows import read_run
from headrace.checkpoints.saver import JournalSaver
from headrace.checkpoints.space import bytes_on_disk, give_back, live_bytes
from headrace.errors import Gone
from headrace.ids import new_id
from headrace.state import Asked

from .toys import PIECES, Gate, Stack, a_stack, types

pytestmark = pytest.mark.anyio

LONG_AGO = timedelta(days=31)
TEXT = "第三段：水从渠中来。 The water comes down the headrace."
ALL = ("checkpoints", "checkpoint_values", "checkpoint_writes", "events", "event_tasks", "passage_uses")


def retention(
    stack: Stack, *, later: timedelta = LONG_AGO, days: float = 30, megabytes: float | None = None
) -> Retention:
    """As it will collect `later` from now."""
    return Retention(
        stack.journal,
        JournalSaver(stack.journal),
        Limits(days=days, megabytes=megabytes),
        clock=lambda: datetime.now(UTC) + later,
    )


async def answered(stack: Stack, query: str = "水从哪里来？") -> Asked:
    asked = await stack.ask(query)
    await stack.runs.finished(asked["run_id"])
    return asked


async def kept_of(stack: Stack, asked: Asked) -> str:
    return (await stack.journal.read(partial(read_run, run_id=asked["run_id"]))).kept


async def count(stack: Stack, table: str) -> int:
    return await stack.journal.read(lambda db: db.execute(f"select count(*) from {table}").fetchone()[0])


async def stages(stack: Stack, asked: Asked) -> int:
    config: RunnableConfig = {"configurable": {"thread_id": asked["run_id"]}}
    return len([one async for one in JournalSaver(stack.journal).alist(config)])


async def dump(stack: Stack) -> list[tuple[object, ...]]:
    """Every row of what belongs to runs."""

    def read(db: sqlite3.Connection) -> list[tuple[object, ...]]:
        tables = ("runs", "messages", "passages", *ALL)
        return [(table, *row) for table in tables for row in db.execute(f"select * from {table}")]

    return await stack.journal.read(read)


@asynccontextmanager
async def a_stack_that_keeps(folder: Path, *texts: str) -> AsyncGenerator[Stack]:
    """Its runs keep these texts, and refer to none but the last of them."""
    open_stacks: list[Stack] = []

    async def keep(emit: RunEmitter) -> None:
        hashes = await open_stacks[0].texts.keep(texts)
        emit("references", knowledge_references=[{"id": "c1", "passage": hashes[-1]}])

    async with a_stack(folder, looking=keep) as stack:
        open_stacks.append(stack)
        yield stack


async def test_a_run_keeps_everything_until_its_days_are_over(tmp_path: Path) -> None:
    async with a_stack(tmp_path) as stack:
        asked = await answered(stack)
        before = await dump(stack)
        collected = await retention(stack, later=timedelta(days=29)).collect()
        assert (collected.runs_trimmed, await dump(stack)) == (0, before)
        assert await kept_of(stack, asked) == "all"


async def test_then_its_last_checkpoint_its_events_and_its_message(tmp_path: Path) -> None:
    async with a_stack(tmp_path) as stack:
        asked = await answered(stack)
        told, had = await stack.all_of(asked), await stages(stack, asked)
        collected = await retention(stack).collect()

        assert (collected.runs_trimmed, collected.checkpoints) == (1, had - 1)
        assert (await kept_of(stack, asked), await stages(stack, asked)) == ("last", 1)
        assert await stack.all_of(asked) == told
        assert (await stack.sessions.message(asked["message_id"])).content == "".join(PIECES)
        end = await JournalSaver(stack.journal).aget_tuple({"configurable": {"thread_id": asked["run_id"]}})
        assert end is not None
        assert end.checkpoint["channel_values"]["answer"] == "".join(PIECES)


async def test_collecting_again_finds_nothing(tmp_path: Path) -> None:
    async with a_stack(tmp_path) as stack:
        await answered(stack)
        await retention(stack).collect()
        before = await dump(stack)
        collected = await retention(stack).collect()
        assert (collected.runs_trimmed, collected.checkpoints, await dump(stack)) == (0, 0, before)


async def test_passages_that_nothing_left_refers_to_go(tmp_path: Path) -> None:
    async with a_stack_that_keeps(tmp_path, "草稿 a draft", TEXT) as stack:
        asked = await answered(stack)
        collected = await retention(stack).collect()
        message = await stack.sessions.message(asked["message_id"])
        assert (collected.passages, await count(stack, "passages")) == (1, 1)
        assert [one["content"] for one in message.references] == [TEXT]


async def test_no_days_keep_everything_for_ever(tmp_path: Path) -> None:
    async with a_stack(tmp_path) as stack:
        asked = await answered(stack)
        await retention(stack, later=timedelta(days=36500), days=0).collect()
        assert await kept_of(stack, asked) == "all"


async def test_a_dry_run_counts_the_same_and_touches_nothing(tmp_path: Path) -> None:
    async with a_stack_that_keeps(tmp_path, "草稿 a draft", TEXT) as stack:
        for query in ("第一问", "second question"):
            await answered(stack, query)
        before = await dump(stack)
        for limit in (None, 0.001):
            tried = await retention(stack, megabytes=limit).collect(dry_run=True)
            assert await dump(stack) == before
            assert tried.dry_run
        done = await retention(stack, megabytes=0.001).collect()
        assert counts(tried) == counts(done)
        assert (tried.runs_trimmed, tried.runs_emptied) == (0, 2)


def counts(collected: Collected) -> dict[str, int]:
    left_out = ("dry_run", "bytes_before", "bytes_after", "passages")
    # The runs share a passage: it goes with the last of them, which a try of one at a time does not see.
    return {name: value for name, value in asdict(collected).items() if name not in left_out}


async def test_over_the_limit_the_oldest_run_loses_its_stages_first(tmp_path: Path) -> None:
    async with a_stack(tmp_path) as stack:
        runs = [await answered(stack, f"第{number}问") for number in range(8)]
        limit = (await stack.journal.read(live_bytes) - 1) / 1e6
        collected = await retention(stack, later=timedelta(), megabytes=limit).collect()
        trimmed = collected.runs_trimmed
        assert (0 < trimmed < 8, collected.runs_emptied) == (True, 0)
        assert [await kept_of(stack, run) for run in runs] == ["last"] * trimmed + ["all"] * (8 - trimmed)


async def test_far_over_the_limit_only_messages_are_left(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with a_stack_that_keeps(tmp_path, TEXT) as stack:
        asked = await answered(stack)
        collected = await retention(stack, later=timedelta(), megabytes=0.001).collect()
        assert (collected.runs_trimmed, collected.runs_emptied) == (0, 1)
        assert [await count(stack, table) for table in (*ALL, "passages")] == [0] * 7
        message = await stack.sessions.message(asked["message_id"])
        assert (message.content, message.references[0]["content"]) == ("".join(PIECES), "")
        assert "nothing left to trim" in caplog.text
        with pytest.raises(Gone, match="journal_limit_mb") as gone:
            await stack.journal.read(partial(read_recorded_run, run_id=asked["run_id"]))
        assert (gone.value.code, gone.value.status) == ("run_trimmed", 410)


async def test_an_unfinished_run_is_never_touched(tmp_path: Path) -> None:
    gate = Gate()
    async with a_stack(tmp_path, signing=gate) as stack:
        asked = await stack.ask()
        await gate.reached.wait()
        before = await dump(stack)
        await retention(stack, megabytes=0.001).collect()
        assert await dump(stack) == before
        gate.opened.set()
        events = await stack.all_of(asked)
        assert (types(events)[-1], await kept_of(stack, asked)) == ("complete", "all")


async def test_a_queued_run_is_never_touched(tmp_path: Path) -> None:
    async with a_stack(tmp_path) as stack:
        asked = await answered(stack)
        await set_run(stack, asked, "status = 'queued', ended_at = null")
        await retention(stack, megabytes=0.001).collect()
        assert await kept_of(stack, asked) == "all"


async def test_a_fork_keeps_what_it_shares_with_its_origin(tmp_path: Path) -> None:
    async with a_stack_that_keeps(tmp_path, TEXT) as stack:
        origin = await answered(stack)
        fork = await answered(stack)  # the same passage, as a fork has it
        await set_run(stack, fork, f"forked_from = '{origin['run_id']}', ended_at = '9998'")
        keeper = retention(stack)
        await keeper.collect()
        await stack.journal.write(partial(subject.empty_run, run_id=origin["run_id"], kept="nothing"))
        message = await stack.sessions.message(fork["message_id"])
        assert [one["content"] for one in message.references] == [TEXT]


async def set_run(stack: Stack, asked: Asked, change: str) -> None:
    def update(db: sqlite3.Connection) -> None:
        db.execute(f"update runs set {change} where id = ?", (asked["run_id"],))

    await stack.journal.write(update)


async def test_a_thread_without_a_run_goes_after_an_hour(tmp_path: Path) -> None:
    async with a_stack(tmp_path) as stack:
        asked = await answered(stack)
        saver = JournalSaver(stack.journal)
        await saver.acopy_thread(asked["run_id"], "a fork that was killed")
        assert (await retention(stack, later=timedelta(minutes=59)).collect()).threads == 0
        collected = await retention(stack, later=timedelta(minutes=61)).collect()
        assert collected.threads == 1
        assert await saver.aget_tuple({"configurable": {"thread_id": "a fork that was killed"}}) is None
        assert await saver.aget_tuple({"configurable": {"thread_id": asked["run_id"]}}) is not None


async def test_passages_of_a_run_that_is_gone_go_and_those_of_no_run_stay(tmp_path: Path) -> None:
    async with a_stack(tmp_path) as stack:
        late, own = await stack.texts.keep(["太晚 too late", TEXT])
        await stack.journal.write(
            lambda db: db.execute("insert into passage_uses values (?, ?)", (late, new_id())) and None
        )
        collected = await retention(stack).collect()
        assert collected.passages == 1
        assert await stack.texts.read([late, own]) == {own: TEXT}


@pytest.mark.parametrize("id", ["", "1", "不是", "018f4e3a-7b5c-7000-8000-000000000000"])
def test_an_id_that_tells_no_time_is_not_old(id: str) -> None:
    assert not is_older(id, datetime.now(UTC) + timedelta(days=1))


def test_the_time_of_a_checkpoint_is_read_from_its_id() -> None:
    id, now = str(uuid6()), datetime.now(UTC)
    assert is_older(id, now + timedelta(seconds=5))
    assert not is_older(id, now - timedelta(seconds=5))


async def test_events_are_stored_between_the_steps_that_give_space_back(tmp_path: Path) -> None:
    async with open_journal(tmp_path / "journal.sqlite") as journal:
        await fill_and_free(journal, megabytes=8)
        free = await journal.read(free_pages)
        size = bytes_on_disk(journal.path)
        giving = asyncio.ensure_future(give_back(journal))
        left: list[int] = []
        while not giving.done():
            left.append(await journal.write(store_event))
        await giving

        assert len([pages for pages in left if 0 < pages < free]) >= 3
        assert await journal.read(free_pages) == 0
        assert bytes_on_disk(journal.path) < size / 10


async def test_a_question_is_answered_while_space_is_given_back(tmp_path: Path) -> None:
    async with a_stack(tmp_path) as stack:
        await fill_and_free(stack.journal, megabytes=8)
        giving = asyncio.ensure_future(retention(stack).collect())
        asked = await answered(stack)
        assert (await stack.sessions.message(asked["message_id"])).status == "complete"
        assert (await giving).freed_bytes > 4_000_000


async def test_a_reader_of_the_file_does_not_hold_the_collection_up(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with a_stack(tmp_path) as stack:
        await answered(stack)
        notebook = sqlite3.connect(stack.journal.path)
        notebook.execute("begin")
        notebook.execute("select count(*) from runs").fetchone()
        await retention(stack).collect()
        notebook.close()
    assert "is being read" in caplog.text


def store_event(db: sqlite3.Connection) -> int:
    db.execute(
        "insert into events (run_id, seq, response_type, body, at) "
        "select 'r', coalesce(max(seq), 0) + 1, 'answer', '{}', 0 from events where run_id = 'r'"
    )
    return free_pages(db)


def free_pages(db: sqlite3.Connection) -> int:
    return db.execute("pragma freelist_count").fetchone()[0]


async def fill_and_free(journal: Journal, *, megabytes: int) -> None:
    def fill(db: sqlite3.Connection) -> None:
        for number in range(megabytes):
            db.execute("insert into passages values (?, zeroblob(1000000))", (f"free {number}",))

    await journal.write(fill)
    await journal.write(lambda db: db.execute("delete from passages where hash like 'free %'") and None)
