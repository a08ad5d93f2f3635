"""Making a session or a document disappear for good: no text of it stays in the data folder."""

import asyncio
import json
import logging
import re
import sqlite3
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Protocol, cast

from langchain_core.runnables import RunnableConfig

from ..errors import Conflict, NotFound
from .clock import now
from .journal import Journal
from .record import WITH_RECORD, texts_of_record
from .retention import empty_run, threads_without_record
from .run_rows import read_run
from .runs import Runs
from .saver import JournalSaver
from .schema import delete_runs, delete_threads
from .sessions import read_session
from .space import rewrite

logger = logging.getLogger(__name__)

Kind = Literal["session", "document"]
IDS = re.compile("[0-9a-f]{32}")
COUNTED = ("sessions", "documents", "chunks", "messages", "runs", "events", "checkpoints", "passages")


class Documents(Protocol):
    """What holds documents beside the journal: catalogue, indexes, originals."""

    async def erase(self, document_id: str, kb_id: str) -> int:
        """Remove it so that no file holds a text of it. Returns how many chunks it had.

        A document that is gone already leaves what an erasure cut short has left: that is finished.
        """
        ...

    async def clear_unused(self) -> None:
        """Free files of what a store has written into them beside what it holds."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """What an erasure needs to know of a run."""

    id: str
    session_id: str
    message_id: str
    request_id: str
    status: str
    ended: bool
    kept: str
    erased_at: str | None
    forked_from: str | None
    kb_ids: list[str]
    reads_history: bool


class Erasure:
    """An erasure is written down before it begins and crossed out when all is done: one that was cut short
    is finished by the same call again, or by `finish` at the next start.

    Writing the journal anew at the end makes everything that is written meanwhile wait (`space.rewrite`).
    """

    def __init__(self, journal: Journal, saver: JournalSaver, runs: Runs, documents: Documents) -> None:
        self._journal = journal
        self._saver = saver
        self._runs = runs
        self._documents = documents
        self._one_at_a_time = asyncio.Lock()

    async def session(self, session_id: str) -> dict[str, int]:
        """Stop what it is answering, then remove all of it. Returns how much of what was removed.

        Raises NotFound (session_not_found), Conflict (folder_in_use).
        """
        async with self._one_at_a_time:
            if not await self._noted("session", session_id):
                await self._journal.read(partial(read_session, session_id=session_id))
            await self._journal.write(partial(_note, kind="session", id=session_id, place="", since=now()))
            counts: Counter[str] = Counter()
            while (rest := await self._delete_session(session_id)) is None:
                await self._stop_all(await self._journal.read(partial(_runs_of, session_id=session_id)))
            return await self._finish("session", session_id, counts + rest)

    async def document(self, document_id: str, kb_id: str | None) -> dict[str, int]:
        """Remove the document, and the record of every run that has read it: a hit of it in any channel, or
        an earlier answer in its history that had read it. Their messages stay, empty; so do the questions,
        which are the user's. Answers in progress that have read it, or may yet, are stopped.

        `kb_id` is None where there is no such document any more: of one that was deleted, runs may have left.
        Returns how much of what was removed. Raises NotFound (document_not_found), Conflict (folder_in_use).
        """
        async with self._one_at_a_time:
            noted = await self._noted("document", document_id)
            home = kb_id or (noted[0] if noted else await self._home_of(document_id))
            if home is None:
                raise NotFound(
                    f"There is no document {document_id[:40]!r}: it may have been deleted.",
                    code="document_not_found",
                    details={"knowledge_id": document_id},
                )
            place, since = noted or (home, now())
            note = partial(_note, kind="document", id=document_id, place=place, since=since)
            await self._journal.write(note)
            search = _Search(self._journal, self._saver, document_id, since)
            # From here on no search can find it, also not of a question that waits for the end of one that is
            # stopped below: what is found then is all there will be.
            chunks = await self._documents.erase(document_id, place)
            counts = Counter(documents=int(kb_id is not None), chunks=chunks)
            await self._stop_all(await self._may_yet_read(place))
            while readers := [run async for run in search.readers()]:
                await self._stop_all(readers)
                for run in readers:
                    counts += await self._journal.write(partial(_erase_record, run_id=run.id))
            counts += await self._journal.write(partial(_delete_loose_threads, id=document_id.encode()))
            return await self._finish("document", document_id, counts)

    async def _home_of(self, document_id: str) -> str | None:
        """The knowledge base of a deleted document, from the record of a run that had found it."""
        if not IDS.fullmatch(document_id):
            return None  # anything may mention a shorter word
        for session_id in await self._journal.read(_sessions_with_runs):
            for run in await self._journal.read(partial(_runs_of, session_id=session_id)):
                mentioned = partial(_mentions, run_id=run.id, id=document_id.encode())
                if await self._journal.read(mentioned):
                    found: list[Any] = await self._journal.read(partial(_references_of, run_id=run.id))
                    with suppress(zlib.error):  # damaged
                        found.append(await _values(self._saver, run))
                    if home := next(_homes(found, document_id), None):
                        return home
        return None

    async def finish(self) -> None:
        """Do what erasures that were cut short have left to do."""
        for kind, id, place, _ in await self._journal.read(_all_noted):
            logger.info("an erasure that was cut short is finished: %s %s", kind, id)
            if kind == "session":
                await self.session(id)
            else:
                await self.document(id, place)

    async def _noted(self, kind: Kind, id: str) -> tuple[str, str] | None:
        """Of an erasure that was begun: the knowledge base, and since when."""
        for found_kind, found_id, place, since in await self._journal.read(_all_noted):
            if (found_kind, found_id) == (kind, id):
                return place, since
        return None

    async def _delete_session(self, session_id: str) -> Counter[str] | None:
        return await self._journal.write(partial(_delete_session, session_id=session_id))

    async def _stop_all(self, runs: Iterable[_Run]) -> None:
        for run in runs:
            if not run.ended:
                await self._stop(run)

    async def _stop(self, run: _Run) -> None:
        try:
            await self._runs.stop(run.session_id, run.message_id)
            await self._runs.finished(run.id)
        except NotFound:  # deleted meanwhile
            return

    async def _may_yet_read(self, kb_id: str) -> list[_Run]:
        """Answers in progress over the knowledge base of which no search is in the journal yet."""
        begun = [
            run
            for run in await self._journal.read(_unfinished_runs)
            if kb_id in run.kb_ids and run.status != "queued"
        ]
        return [run for run in begun if "chunk_hits" not in await _values(self._saver, run)]

    async def _finish(self, kind: Kind, id: str, counts: Counter[str]) -> dict[str, int]:
        _delete_copies(self._journal)
        await self._documents.clear_unused()
        if not await rewrite(self._journal):
            raise Conflict(
                "Everything was removed, but another program is reading journal.sqlite, so its log could not "
                "be emptied: close it (a notebook?) and send the same request again.",
                code="folder_in_use",
            )
        await self._journal.write(partial(_cross_out, kind=kind, id=id))
        return {name: counts[name] for name in COUNTED}


class _Search:
    """Finds the runs that have read a document, session by session in the order of their questions."""

    def __init__(self, journal: Journal, saver: JournalSaver, document_id: str, since: str) -> None:
        self._journal = journal
        self._saver = saver
        self._document_id = document_id
        self._since = since  # what was erased from then on was erased for this document
        self._without: set[str] = set()  # ended runs that have not read it: they never will

    async def readers(self) -> AsyncIterator[_Run]:
        """Those that still have something to erase."""
        for session_id in await self._journal.read(_sessions_with_runs):
            readers: list[_Run] = []
            for run in await self._journal.read(partial(_runs_of, session_id=session_id)):
                if run.kept == "erased":
                    if run.erased_at is None or run.erased_at >= self._since:
                        readers.append(run)
                elif run.id not in self._without:
                    if await self._has_read(run, readers):
                        readers.append(run)
                        yield run
                    elif run.ended:
                        self._without.add(run.id)

    async def _has_read(self, run: _Run, earlier: list[_Run]) -> bool:
        mentioned = partial(_mentions, run_id=run.id, id=self._document_id.encode())
        if await self._journal.read(mentioned):
            return True
        if not earlier:
            return False
        if run.kept not in WITH_RECORD:
            # Nothing tells what it has read: what it may have read counts.
            return run.reads_history or run.forked_from in {one.id for one in earlier}
        history = (await _values(self._saver, run)).get("history", [])
        return not {turn["request_id"] for turn in history}.isdisjoint(one.request_id for one in earlier)


async def _values(saver: JournalSaver, run: _Run) -> Mapping[str, Any]:
    config: RunnableConfig = {"configurable": {"thread_id": run.id}}
    newest = await saver.aget_tuple(config)
    return newest.checkpoint["channel_values"] if newest else {}


def _homes(value: Any, document_id: str) -> Iterator[str]:
    """The knowledge bases that hits and references of a document name, however deep they stand."""
    match value:
        case {"document_id": str(id), "kb_id": str(kb_id)} if id == document_id:
            yield kb_id
        case {"knowledge_id": str(id), "knowledge_base_id": str(kb_id)} if id == document_id:
            yield kb_id
        case dict():
            yield from _homes([*cast("dict[str, Any]", value).values()], document_id)
        case list():
            for part in cast("list[Any]", value):
                yield from _homes(part, document_id)
        case _:
            return


def _delete_copies(journal: Journal) -> None:
    """What a change of version has laid aside holds the texts too."""
    for copy in journal.path.parent.glob(f"{journal.path.name}.v*"):
        copy.unlink()


# --- on the writer's thread ---


def _note(connection: sqlite3.Connection, *, kind: Kind, id: str, place: str, since: str) -> None:
    connection.execute(_ERASURES)
    connection.execute("insert or ignore into erasures values (?, ?, ?, ?)", (kind, id, place, since))


def _cross_out(connection: sqlite3.Connection, *, kind: Kind, id: str) -> None:
    connection.execute("delete from erasures where kind = ? and id = ?", (kind, id))


def _delete_session(connection: sqlite3.Connection, *, session_id: str) -> Counter[str] | None:
    """None while a run of it goes on."""
    runs = _runs_of(connection, session_id=session_id)
    if not all(run.ended for run in runs):
        return None
    counts = Counter(
        sessions=_count(connection, "sessions where id = ?", session_id),
        messages=_count(connection, "messages where session_id = ?", session_id),
        runs=len(runs),
    )
    passages = _count(connection, "passages")
    for run in runs:
        counts["events"] += _count(connection, "events where run_id = ?", run.id)
        counts["checkpoints"] += _count(connection, _CHECKPOINTS, run.id)
    delete_runs(connection, [run.id for run in runs])
    connection.execute("delete from sessions where id = ?", (session_id,))
    counts["passages"] = passages - _count(connection, "passages")
    return counts


def _erase_record(connection: sqlite3.Connection, *, run_id: str) -> Counter[str]:
    try:
        row = read_run(connection, run_id=run_id)
    except NotFound:  # deleted with its session meanwhile
        return Counter()
    if row.ended_at is None:
        return Counter()  # it went on after it was stopped; it is found again
    counts = empty_run(connection, run_id=run_id, kept="erased")
    # The question is the user's. What they quoted with it is a passage of what they read, and a changed
    # prompt may hold one; neither is of use once the record is gone.
    asked = json.dumps({**row.asked, "quoted_context": None, "prompts": {}}, ensure_ascii=False)
    connection.execute("update runs set kept = 'erased', asked = ? where id = ?", (asked, run_id))
    counts["runs"] = 1
    counts["messages"] = connection.execute(
        "update messages set content = '', refs = '[]', details = '{}', erased_at = ? where id = ?",
        (now(), row.message_id),
    ).rowcount
    return counts


def _delete_loose_threads(connection: sqlite3.Connection, *, id: bytes) -> Counter[str]:
    """Threads that no run has, as a fork leaves that was cut short, where they mention it."""
    loose = list(threads_without_record(connection))
    found = [thread_id for thread_id in loose if _mentions(connection, run_id=thread_id, id=id)]
    counts = Counter(checkpoints=sum(_count(connection, _CHECKPOINTS, thread_id) for thread_id in found))
    delete_threads(connection, found)
    return counts


# --- also on a reader's ---


def _all_noted(connection: sqlite3.Connection) -> list[tuple[Kind, str, str, str]]:
    if not connection.execute("select 1 from sqlite_master where name = 'erasures'").fetchone():
        return []
    return connection.execute("select kind, id, place, since from erasures order by rowid").fetchall()


def _mentions(connection: sqlite3.Connection, *, run_id: str, id: bytes) -> bool:
    # Ids of documents are long and made by us: nothing else looks like one.
    try:
        return any(id in text for text in texts_of_record(connection, run_id))
    except zlib.error:
        logger.warning("the record of %s is damaged: what it may have read counts as read", run_id)
        return True


def _references_of(connection: sqlite3.Connection, *, run_id: str) -> list[Any]:
    rows = connection.execute("select refs from messages where run_id = ? and role = 'assistant'", (run_id,))
    return [json.loads(references) for (references,) in rows]


def _sessions_with_runs(connection: sqlite3.Connection) -> list[str]:
    return [id for (id,) in connection.execute("select distinct session_id from runs order by session_id")]


def _runs_of(connection: sqlite3.Connection, *, session_id: str) -> list[_Run]:
    return _read_runs(connection, "session_id = ?", session_id)


def _unfinished_runs(connection: sqlite3.Connection) -> list[_Run]:
    return _read_runs(connection, "ended_at is null")


def _read_runs(connection: sqlite3.Connection, where: str, *values: str) -> list[_Run]:
    rows = connection.execute(
        "select id, session_id, message_id, request_id, status, ended_at, kept, "
        "(select erased_at from messages where id = runs.message_id), forked_from, asked "
        f"from runs where {where} order by created_at, id",
        values,
    )
    return [_to_run(*row) for row in rows]


def _to_run(
    id: str,
    session_id: str,
    message_id: str,
    request_id: str,
    status: str,
    ended_at: str | None,
    kept: str,
    erased_at: str | None,
    forked_from: str | None,
    asked: str,
) -> _Run:
    request = json.loads(asked)
    return _Run(
        id=id,
        session_id=session_id,
        message_id=message_id,
        request_id=request_id,
        status=status,
        ended=ended_at is not None,
        kept=kept,
        erased_at=erased_at,
        forked_from=forked_from,
        kb_ids=request["kb_ids"],
        reads_history=request["max_rounds"] > 0,
    )


def _count(connection: sqlite3.Connection, where: str, *values: str) -> int:
    return connection.execute(f"select count(*) from {where}", values).fetchone()[0]


_CHECKPOINTS = "checkpoints where thread_id = ?"
# Only ids: once nothing is left of a thing, its row goes too.
_ERASURES = """
create table if not exists erasures (
    kind text not null,
    id text not null,
    place text not null, -- the knowledge base of a document
    since text not null,
    primary key (kind, id)
)
"""
