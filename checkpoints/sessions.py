"""Sessions and their messages: what a person sees of their conversations."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from ..errors import BadRequest, Conflict, NotFound
from ..ids import new_id
from ..state import Hit, Turn
from .clock import now
from .journal import Journal
from .references import fill_contents, to_hits
from .schema import delete_runs

MessageStatus = Literal["running", "complete", "stopped", "failed", "waiting"]

TITLE_LENGTH = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A conversation. `title` is empty until it is given or the first question lends its first line."""

    id: str
    tenant_id: str
    title: str
    kb_ids: list[str]
    created_at: str
    updated_at: str
    pinned_at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One side of a turn. `references` are wire References with their `content`.

    `timing` is `{total_ms, stages_ms}`; `error` is `{code, status, message}` of a failed run; `feedback` is
    `{thumb, reason}`; `details` is what a page shows beside an answer, such as what its model thought.
    """

    id: str
    session_id: str
    request_id: str
    role: Literal["user", "assistant"]
    content: str
    status: MessageStatus
    references: list[dict[str, Any]]
    run_id: str
    created_at: str
    timing: dict[str, Any] | None
    outcome: str | None
    error: dict[str, Any] | None
    feedback: dict[str, Any] | None
    details: dict[str, Any]
    erased_at: str | None  # when it was emptied because a document that it had read was erased


# Named here because `list` means the method inside the class.
SessionPage = tuple[list[Session], int]
MessagePage = tuple[list[Message], int]
Turns = list[Turn]


class Sessions:
    """Also the `Messages` that a run reads its history from. A foreign tenant's ids are not found."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    async def create(
        self, *, title: str | None = None, kb_ids: Sequence[str] = (), tenant_id: str = "default"
    ) -> Session:
        moment = now()
        session = Session(
            id=new_id(),
            tenant_id=tenant_id,
            title=(title or "").strip(),
            kb_ids=list(kb_ids),
            created_at=moment,
            updated_at=moment,
        )
        await self._journal.write(partial(_insert_session, session=session))
        return session

    async def get(self, session_id: str, *, tenant_id: str | None = None) -> Session:
        """Raises NotFound (session_not_found)."""
        return await self._journal.read(partial(read_session, session_id=session_id, tenant_id=tenant_id))

    async def list(
        self, *, page: int = 1, page_size: int = 20, search: str | None = None, tenant_id: str = "default"
    ) -> SessionPage:
        """One page, pinned ones first, then the latest used, and how many there are.

        `search` is part of a title.
        """
        return await self._journal.read(
            partial(_list_sessions, page=page, page_size=page_size, search=search or "", tenant_id=tenant_id)
        )

    async def rename(self, session_id: str, title: str) -> Session:
        """Raises NotFound (session_not_found), BadRequest (empty_title)."""
        if not title.strip():
            raise BadRequest("A title needs at least one character.", code="empty_title")
        return await self._journal.write(partial(_rename, session_id=session_id, title=title.strip()))

    async def pin(self, session_id: str, *, pinned: bool) -> Session:
        """Pinned ones come first in lists. Raises NotFound (session_not_found)."""
        return await self._journal.write(partial(_pin, session_id=session_id, pinned=pinned))

    async def rate(self, message_id: str, feedback: Mapping[str, Any] | None) -> Message:
        """Keep `{thumb, reason}` with an answer, None takes it back.

        Raises NotFound (message_not_found), Conflict (not_an_answer).
        """
        return await self._journal.write(partial(_rate, message_id=message_id, feedback=feedback))

    async def last_turn(self, session_id: str) -> tuple[Message, Message] | None:
        """The newest question of a session and its answer, None where nothing was asked."""
        return await self._journal.read(partial(_last_turn, session_id=session_id))

    async def question_of(self, message: Message) -> Message:
        """What an answer answers. Raises NotFound (message_not_found)."""
        return await self._journal.read(partial(_question_of, message=message))

    async def delete(self, session_id: str) -> None:
        """Everything of it: messages, runs, events, checkpoints, passages kept for it alone.

        Raises NotFound (session_not_found), Conflict (session_busy) while a run of it goes on.
        """
        await self._journal.write(partial(_delete_session, session_id=session_id))

    async def messages(self, session_id: str, *, page: int = 1, page_size: int = 20) -> MessagePage:
        """One page, oldest first, and how many there are. Raises NotFound (session_not_found)."""
        return await self._journal.read(
            partial(_list_messages, session_id=session_id, page=page, page_size=page_size)
        )

    async def message(self, message_id: str) -> Message:
        """Raises NotFound (message_not_found)."""
        return await self._journal.read(partial(read_message, message_id=message_id))

    async def turns(self, session_id: str, *, before: str, limit: int) -> Turns:
        """Complete turns among the latest `limit` messages before message `before`, oldest first."""
        return await self._journal.read(
            partial(_read_turns, session_id=session_id, before=before, limit=limit)
        )


def title_from(question: str) -> str:
    """The first line of a question, cut to what fits a list."""
    lines = question.strip().splitlines()
    return lines[0].strip()[:TITLE_LENGTH] if lines else ""


def read_session(connection: sqlite3.Connection, *, session_id: str, tenant_id: str | None = None) -> Session:
    row = connection.execute(f"select {_SESSION} from sessions where id = ?", (session_id,)).fetchone()
    if row is None or (tenant_id is not None and row[1] != tenant_id):
        raise NotFound(
            f"There is no session {session_id[:40]!r}: it may have been deleted. Begin a new one.",
            code="session_not_found",
        )
    return _to_session(row)


def read_message(connection: sqlite3.Connection, *, message_id: str) -> Message:
    row = connection.execute(f"select {_MESSAGE} from messages where id = ?", (message_id,)).fetchone()
    if row is None:
        raise NotFound(
            f"There is no message {message_id[:40]!r}: it may have been deleted.", code="message_not_found"
        )
    return _to_messages(connection, [row])[0]


def busy(message_id: str) -> Conflict:
    """The session answers one question at a time; `details.message_id` is the answer in the making."""
    return Conflict(
        "This session is still answering: wait for it, or stop it first.",
        code="session_busy",
        details={"message_id": message_id},
    )


_SESSION = "id, tenant_id, title, kb_ids, created_at, updated_at, pinned_at"
_MESSAGE = (
    "id, session_id, request_id, role, content, status, refs, run_id, created_at, "
    "timing, outcome, error, feedback, details, erased_at"
)


def _insert_session(connection: sqlite3.Connection, *, session: Session) -> None:
    connection.execute(
        f"insert into sessions ({_SESSION}) values (?, ?, ?, ?, ?, ?, ?)",
        (
            session.id,
            session.tenant_id,
            session.title,
            json.dumps(session.kb_ids),
            session.created_at,
            session.updated_at,
            session.pinned_at,
        ),
    )


def _list_sessions(
    connection: sqlite3.Connection, *, page: int, page_size: int, search: str, tenant_id: str
) -> tuple[list[Session], int]:
    where = "tenant_id = ? and (? = '' or instr(lower(title), lower(?)))"
    given = (tenant_id, search, search)
    (total,) = connection.execute(f"select count(*) from sessions where {where}", given).fetchone()
    rows = connection.execute(
        f"select {_SESSION} from sessions where {where} "
        "order by pinned_at is null, updated_at desc, id desc limit ? offset ?",
        (*given, page_size, (page - 1) * page_size),
    )
    return [_to_session(row) for row in rows], total


def _rename(connection: sqlite3.Connection, *, session_id: str, title: str) -> Session:
    connection.execute("update sessions set title = ? where id = ?", (title, session_id))
    return read_session(connection, session_id=session_id)


def _pin(connection: sqlite3.Connection, *, session_id: str, pinned: bool) -> Session:
    connection.execute(
        "update sessions set pinned_at = case when ?1 then coalesce(pinned_at, ?2) end where id = ?3",
        (pinned, now(), session_id),
    )
    return read_session(connection, session_id=session_id)


def _rate(connection: sqlite3.Connection, *, message_id: str, feedback: Mapping[str, Any] | None) -> Message:
    if read_message(connection, message_id=message_id).role != "assistant":
        raise Conflict("This is a question: only answers are rated.", code="not_an_answer")
    stored = json.dumps(dict(feedback), ensure_ascii=False) if feedback else None
    connection.execute("update messages set feedback = ? where id = ?", (stored, message_id))
    return read_message(connection, message_id=message_id)


def _last_turn(connection: sqlite3.Connection, *, session_id: str) -> tuple[Message, Message] | None:
    read_session(connection, session_id=session_id)
    answer = connection.execute(
        f"select {_MESSAGE} from messages where session_id = ? and forked = 0 and role = 'assistant' "
        "order by position desc limit 1",
        (session_id,),
    ).fetchone()
    if answer is None:
        return None
    (message,) = _to_messages(connection, [answer])
    return _question_of(connection, message=message), message


def _question_of(connection: sqlite3.Connection, *, message: Message) -> Message:
    row = connection.execute(
        f"select {_MESSAGE} from messages where session_id = ? and request_id = ? and role = 'user'",
        (message.session_id, message.request_id),
    ).fetchone()
    if row is None:
        raise NotFound("The question of this answer is gone.", code="message_not_found")
    return _to_messages(connection, [row])[0]


def leave_conversation(connection: sqlite3.Connection, *, session_id: str, request_id: str) -> None:
    """The turn is listed no more and no part of the history; its run stays what it was."""
    connection.execute(
        "update messages set forked = 1 where session_id = ? and request_id = ?", (session_id, request_id)
    )


def _delete_session(connection: sqlite3.Connection, *, session_id: str) -> None:
    read_session(connection, session_id=session_id)
    runs = connection.execute(
        "select id, message_id, ended_at from runs where session_id = ?", (session_id,)
    ).fetchall()
    for _, message_id, ended_at in runs:
        if ended_at is None:
            raise busy(message_id)
    delete_runs(connection, [run_id for run_id, _, _ in runs])
    connection.execute("delete from sessions where id = ?", (session_id,))


def _list_messages(
    connection: sqlite3.Connection, *, session_id: str, page: int, page_size: int
) -> tuple[list[Message], int]:
    read_session(connection, session_id=session_id)
    (total,) = connection.execute(
        "select count(*) from messages where session_id = ? and forked = 0", (session_id,)
    ).fetchone()
    rows = connection.execute(
        f"select {_MESSAGE} from messages where session_id = ? and forked = 0 "
        "order by position limit ? offset ?",
        (session_id, page_size, (page - 1) * page_size),
    ).fetchall()
    return _to_messages(connection, rows), total


def _read_turns(connection: sqlite3.Connection, *, session_id: str, before: str, limit: int) -> list[Turn]:
    rows = connection.execute(
        "select request_id, role, content, status, refs from messages where session_id = ?1 and forked = 0 "
        # An answer that was erased says nothing any more.
        "and erased_at is null and position < "
        "coalesce((select position from messages where id = ?2 and session_id = ?1), 9e15) "
        "order by position desc limit ?3",
        (session_id, before, limit),
    ).fetchall()
    questions: dict[str, str] = {}
    turns: list[Turn] = []
    for request_id, role, content, status, refs in reversed(rows):
        if role == "user":
            questions[request_id] = content
        elif status == "complete" and request_id in questions:
            turns.append(
                Turn(
                    request_id=request_id,
                    user=questions[request_id],
                    assistant=content,
                    references=_hits(refs),
                )
            )
    return turns


def _hits(refs: str) -> list[Hit]:
    return to_hits(json.loads(refs))


def _to_session(row: Sequence[Any]) -> Session:
    id, tenant_id, title, kb_ids, created_at, updated_at, pinned_at = row
    return Session(
        id=id,
        tenant_id=tenant_id,
        title=title,
        kb_ids=json.loads(kb_ids),
        created_at=created_at,
        updated_at=updated_at,
        pinned_at=pinned_at,
    )


def _to_messages(connection: sqlite3.Connection, rows: Sequence[Sequence[Any]]) -> list[Message]:
    messages = [_to_message(row) for row in rows]
    fill_contents(connection, [message.references for message in messages])
    return messages


def _to_message(row: Sequence[Any]) -> Message:
    id, session_id, request_id, role, content, status, refs, run_id, created_at, *rest = row
    timing, outcome, error, feedback, details, erased_at = rest
    return Message(
        id=id,
        session_id=session_id,
        request_id=request_id,
        role=role,
        content=content,
        status=status,
        references=json.loads(refs),
        run_id=run_id,
        created_at=created_at,
        timing=_parsed(timing),
        outcome=outcome,
        error=_parsed(error),
        feedback=_parsed(feedback),
        details=json.loads(details),
        erased_at=erased_at,
    )


def _parsed(text: str | None) -> dict[str, Any] | None:
    return json.loads(text) if text else None
