"""Sessions, messages, and the turns a later question may look back on."""

import sqlite3
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from headrace.checkpoints.journal import Journal, open_journal
from headrace.checkpoints.schema import RUN_TABLES, THREAD_TABLES
from headrace.checkpoints.sessions import Sessions, title_from
from headrace.errors import BadRequest, Conflict, NotFound

from .toys import Gate, a_stack

pytestmark = pytest.mark.anyio


@pytest.fixture
async def sessions(tmp_path: Path) -> AsyncGenerator[Sessions]:
    async with open_journal(tmp_path / "journal.sqlite") as journal:
        yield Sessions(journal)


async def test_a_session_comes_back_as_it_was_made(sessions: Sessions) -> None:
    made = await sessions.create(title=" 渠道 ", kb_ids=["a", "b"])
    assert await sessions.get(made.id) == made
    assert (made.title, made.kb_ids, made.tenant_id) == ("渠道", ["a", "b"], "default")
    assert made.created_at.endswith("Z")


async def test_a_foreign_session_is_not_found(sessions: Sessions) -> None:
    made = await sessions.create(tenant_id="a")
    assert (await sessions.get(made.id, tenant_id="a")).id == made.id
    for tenant_id, session_id in [("b", made.id), ("a", "no")]:
        with pytest.raises(NotFound) as error:
            await sessions.get(session_id, tenant_id=tenant_id)
        assert error.value.code == "session_not_found"


async def test_lists_pages_newest_first_and_searches_titles(sessions: Sessions) -> None:
    made = [await sessions.create(title=f"{'水' if n % 2 else 'Water 100%'} {n}") for n in range(5)]
    await sessions.create(title="water", tenant_id="elsewhere")

    page, total = await sessions.list(page=2, page_size=2)
    assert ([session.id for session in page], total) == ([made[2].id, made[1].id], 5)
    page, total = await sessions.list(search="水")
    assert ([session.id for session in page], total) == ([made[3].id, made[1].id], 2)
    assert (await sessions.list(search="WATER 100%"))[1] == 3
    assert (await sessions.list(search="100_"))[1] == 0


async def test_renames(sessions: Sessions) -> None:
    made = await sessions.create(title="旧")
    assert (await sessions.rename(made.id, "新")).title == "新"
    with pytest.raises(NotFound):
        await sessions.rename("no", "新")
    with pytest.raises(BadRequest):
        await sessions.rename(made.id, "  ")


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("水从哪里来？", "水从哪里来？"),
        ("\n  first line \nsecond", "first line"),
        ("长" * 60, "长" * 40),
        (" \n", ""),
    ],
)
def test_a_title_is_the_first_line_of_the_question(question: str, title: str) -> None:
    assert title_from(question) == title


async def test_a_given_title_stays(tmp_path: Path) -> None:
    async with a_stack(tmp_path) as stack:
        session = await stack.sessions.create(title="渠")
        asked = await stack.ask("水从哪里来？", session_id=session.id)
        await stack.runs.finished(asked["run_id"])
        after = await stack.sessions.get(session.id)
    assert after.title == "渠"
    assert after.updated_at >= session.updated_at


async def test_turns_are_complete_pairs_before_a_message(tmp_path: Path) -> None:
    gate = Gate()
    async with a_stack(tmp_path) as stack:
        first = await stack.ask("一")
        await stack.runs.finished(first["run_id"])
        session_id = first["session_id"]
        second = await stack.ask("two", session_id=session_id)
        await stack.runs.finished(second["run_id"])
        stack.hooks["looking"] = gate
        stopped = await stack.ask("停", session_id=session_id)
        await gate.reached.wait()
        await stack.runs.stop(session_id, stopped["message_id"])
        gate.opened.set()
        third = await stack.ask("三", session_id=session_id)

        async def users(before: str, limit: int = 20) -> list[str]:
            return [
                turn["user"] for turn in await stack.sessions.turns(session_id, before=before, limit=limit)
            ]

        assert await users(third["user_message_id"]) == ["一", "two"]
        assert await users(third["message_id"]) == ["一", "two"]
        assert await users(second["user_message_id"]) == ["一"]
        assert await users(first["user_message_id"]) == []
        # The latest five before it: the stopped pair, the second turn, and half of the first.
        assert await users(third["user_message_id"], 5) == ["two"]
        assert await stack.sessions.turns("no", before=third["message_id"], limit=9) == []


async def test_messages_are_paged_oldest_first(tmp_path: Path) -> None:
    async with a_stack(tmp_path) as stack:
        first = await stack.ask("一")
        await stack.runs.finished(first["run_id"])
        second = await stack.ask("two", session_id=first["session_id"])
        await stack.runs.finished(second["run_id"])
        page, total = await stack.sessions.messages(first["session_id"], page=2, page_size=3)
        with pytest.raises(NotFound):
            await stack.sessions.messages("no")

    assert ([message.id for message in page], total) == ([second["message_id"]], 4)


async def test_deleting_leaves_nothing_of_the_session_and_all_of_the_others(tmp_path: Path) -> None:
    async with a_stack(tmp_path) as stack:

        async def looking(_: object) -> None:
            await stack.texts.keep(["shared 共用", f"only {len(stack.ran)}"])

        stack.hooks["looking"] = looking
        gone, left = [await stack.ask(query) for query in ("走", "stay")]
        for asked in (gone, left):
            await stack.runs.finished(asked["run_id"])
        kept = await rows(stack.journal, left["run_id"])
        await stack.sessions.delete(gone["session_id"])

        assert set((await rows(stack.journal, gone["run_id"])).values()) == {0}
        assert await rows(stack.journal, left["run_id"]) == kept
        assert min(kept.values()) > 0
        assert await count(stack.journal, "select count(*) from passages") == 2
        with pytest.raises(NotFound):
            await stack.sessions.delete(gone["session_id"])


async def test_a_session_that_is_answering_is_not_deleted(tmp_path: Path) -> None:
    gate = Gate()
    async with a_stack(tmp_path, looking=gate) as stack:
        asked = await stack.ask()
        with pytest.raises(Conflict) as error:
            await stack.sessions.delete(asked["session_id"])
        assert error.value.code == "session_busy"
        gate.opened.set()
        assert (await stack.runs.finished(asked["run_id"])).status == "complete"


async def rows(journal: Journal, run_id: str) -> dict[str, int]:
    """How many rows each table holds for a run."""
    owners = {"runs": "id", "messages": "run_id"}
    owners |= {table: "run_id" for table in RUN_TABLES} | {table: "thread_id" for table in THREAD_TABLES}
    return {
        table: await count(journal, f"select count(*) from {table} where {column} = '{run_id}'")
        for table, column in owners.items()
    }


async def count(journal: Journal, query: str) -> int:
    def first(connection: sqlite3.Connection) -> int:
        return connection.execute(query).fetchone()[0]

    return await journal.read(first)
