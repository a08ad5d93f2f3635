"""The rows of a run: how it begins, is counted when resumed, waits, and ends."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from ..errors import NotFound
from ..state import Asked
from .clock import milliseconds_between, now
from .event_rows import insert_event, interrupted, read_told, to_body
from .sessions import MessageStatus, read_session, title_from

FinalStatus = Literal["complete", "stopped", "failed"]
RunStatus = MessageStatus | Literal["stopping", "queued"]
Kept = Literal["all", "last", "nothing", "erased"]


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How a run ends: its last event, and what its message and row say from then on."""

    status: FinalStatus
    response_type: Literal["complete", "stop", "error"]
    content: str = ""
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])
    outcome: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])
    stages_ms: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """What was stored with the end. `next` is the run of the session whose turn has come by it."""

    answer: str
    timing: dict[str, Any]
    next: "RunRow | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One run. `resumes` counts the starts in a row that found it at the same checkpoint.

    `started_at` is when its turn came, if it had to wait for one. `kept` is what is left of its record: all
    of it, the last checkpoint, nothing but the message, or (`erased`) not even what that said.
    """

    id: str
    session_id: str
    message_id: str
    status: RunStatus
    asked: Asked
    resumes: int
    created_at: str
    started_at: str | None
    ended_at: str | None
    timing: dict[str, Any] | None
    forked_from: str | None
    fork_stage: str | None
    kept: Kept


def insert_run(
    connection: sqlite3.Connection, *, asked: Asked, status: Literal["running", "queued"] = "running"
) -> str:
    """Both messages, the run and its first event. Returns the id of the run.

    Raises NotFound (session_not_found).
    """
    session_id = asked["session_id"]
    session = read_session(connection, session_id=session_id, tenant_id=asked["tenant_id"])
    moment = now()
    _insert_row(connection, asked, status, moment)
    _insert_message(connection, asked, asked["user_message_id"], "user", asked["query"], "complete", moment)
    shown: MessageStatus = "waiting" if status == "queued" else "running"
    _insert_message(connection, asked, asked["message_id"], "assistant", "", shown, moment)
    insert_event(
        connection,
        run_id=asked["run_id"],
        seq=1,
        response_type="agent_query",
        body=first_body(asked),
    )
    connection.execute(
        "update sessions set title = ?, updated_at = ? where id = ?",
        (session.title or title_from(asked["query"]), moment, session_id),
    )
    return asked["run_id"]


def insert_fork(connection: sqlite3.Connection, *, asked: Asked, forked_from: str, fork_stage: str) -> None:
    """The run, and the message of its answer, which is no part of the conversation. No event yet."""
    moment = now()
    _insert_row(connection, asked, "running", moment, forked_from, fork_stage)
    _insert_message(connection, asked, asked["message_id"], "assistant", "", "running", moment, forked=True)


def first_body(asked: Asked, **more: str) -> str:
    """Of the event that every log begins with; `more` is what only some runs tell there."""
    return to_body(
        asked["query"],
        {"user_message_id": asked["user_message_id"], **more},
        {"session_id": asked["session_id"], "assistant_message_id": asked["message_id"]},
    )


def read_run(connection: sqlite3.Connection, *, run_id: str) -> RunRow:
    """Raises NotFound (run_not_found)."""
    row = connection.execute(f"select {_COLUMNS} from runs where id = ?", (run_id,)).fetchone()
    if row is None:
        raise NotFound(
            f"There is no run {run_id[:40]!r}: it may have been deleted with its session.",
            code="run_not_found",
        )
    return _to_row(row)


def read_unfinished(connection: sqlite3.Connection, *, session_id: str | None = None) -> list[RunRow]:
    """In the order in which they were asked; of one session, or of all."""
    rows = connection.execute(
        f"select {_COLUMNS} from runs where ended_at is null and (?1 is null or session_id = ?1) "
        "order by (select position from messages where messages.id = runs.message_id)",
        (session_id,),
    )
    return [_to_row(row) for row in rows]


def start_next(connection: sqlite3.Connection, *, session_id: str) -> RunRow | None:
    """The turn of the first in line, if none of the session goes on. Forks take no turns."""
    unfinished = [row for row in read_unfinished(connection, session_id=session_id) if not row.forked_from]
    if not unfinished or any(row.status != "queued" for row in unfinished):
        return None
    first = unfinished[0]
    connection.execute("update runs set status = 'running', started_at = ? where id = ?", (now(), first.id))
    connection.execute("update messages set status = 'running' where id = ?", (first.message_id,))
    return read_run(connection, run_id=first.id)


def set_waiting(connection: sqlite3.Connection, *, run_id: str) -> RunRow:
    """The run waits for a person, and its message says so; not if it has been asked to stop."""
    connection.execute("update runs set status = 'waiting' where id = ? and status = 'running'", (run_id,))
    row = read_run(connection, run_id=run_id)
    if row.status == "waiting":
        connection.execute("update messages set status = 'waiting' where id = ?", (row.message_id,))
    return row


def count_resume(connection: sqlite3.Connection, *, run_id: str, checkpoint_id: str) -> RunRow:
    """Count a start that found the run unfinished; from a new checkpoint the count begins anew."""
    connection.execute(
        "update runs set resumes = case when resumed_from = ?1 then resumes + 1 else 1 end, "
        "resumed_from = ?1 where id = ?2",
        (checkpoint_id, run_id),
    )
    return read_run(connection, run_id=run_id)


def forgive_resumes(connection: sqlite3.Connection) -> None:
    """An orderly shutdown is not the runs' fault."""
    connection.execute("update runs set resumes = 0, resumed_from = null where ended_at is null")


def end_run(connection: sqlite3.Connection, *, run_id: str, end: End) -> Ended:
    """Close what is open, tell the end, store the final message, and give the turn to the next in line of the
    session: all of it or nothing."""
    row = read_run(connection, run_id=run_id)
    if row.ended_at is not None:
        raise RuntimeError(f"run {run_id} has ended before")
    told = read_told(connection, run_id=run_id)
    moment = now()
    timing = {
        "total_ms": round(milliseconds_between(row.started_at or row.created_at, moment), 1),
        "stages_ms": {node: round(ms, 1) for node, ms in end.stages_ms.items()},
    }
    bodies = [("tool_result", to_body("", interrupted(call), {})) for call in told.open_calls]
    data = {**end.data, "timing": timing} if end.response_type == "complete" else end.data
    bodies.append((end.response_type, to_body(end.content, data, {})))
    for seq, (response_type, body) in enumerate(bodies, start=told.seq + 1):
        insert_event(connection, run_id=run_id, seq=seq, response_type=response_type, body=body)
    error = {**end.data, "message": end.content} if end.response_type == "error" else None
    connection.execute(
        "update messages set content = ?, status = ?, refs = ?, timing = ?, outcome = ?, error = ?, "
        "details = ? where id = ?",
        (
            told.answer_text,
            end.status,
            json.dumps(told.references, ensure_ascii=False),
            json.dumps(timing),
            end.outcome,
            json.dumps(error, ensure_ascii=False) if error else None,
            json.dumps(dict(end.details), ensure_ascii=False),
            row.message_id,
        ),
    )
    connection.execute(
        "update runs set status = ?, ended_at = ?, timing = ? where id = ?",
        (end.status, moment, json.dumps(timing), run_id),
    )
    if row.forked_from is None:  # a fork is no part of the conversation
        connection.execute("update sessions set updated_at = ? where id = ?", (moment, row.session_id))
    next = start_next(connection, session_id=row.session_id)
    return Ended(answer=told.answer_text, timing=timing, next=next)


_COLUMNS = (
    "id, session_id, message_id, status, asked, resumes, created_at, started_at, ended_at, timing, "
    "forked_from, fork_stage, kept"
)


def _to_row(row: tuple[Any, ...]) -> RunRow:
    id, session_id, message_id, status, asked, resumes, created_at, started_at, ended_at, *rest = row
    timing, forked_from, fork_stage, kept = rest
    return RunRow(
        id=id,
        session_id=session_id,
        message_id=message_id,
        status=status,
        asked=cast(Asked, json.loads(asked)),
        resumes=resumes,
        created_at=created_at,
        started_at=started_at,
        ended_at=ended_at,
        timing=json.loads(timing) if timing else None,
        forked_from=forked_from,
        fork_stage=fork_stage,
        kept=kept,
    )


def _insert_row(
    connection: sqlite3.Connection,
    asked: Asked,
    status: RunStatus,
    moment: str,
    forked_from: str | None = None,
    fork_stage: str | None = None,
) -> None:
    connection.execute(
        "insert into runs (id, session_id, message_id, user_message_id, request_id, status, asked, "
        "created_at, forked_from, fork_stage) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            asked["run_id"],
            asked["session_id"],
            asked["message_id"],
            asked["user_message_id"],
            asked["request_id"],
            status,
            json.dumps(asked, ensure_ascii=False),
            moment,
            forked_from,
            fork_stage,
        ),
    )


def _insert_message(
    connection: sqlite3.Connection,
    asked: Asked,
    message_id: str,
    role: str,
    content: str,
    status: MessageStatus,
    moment: str,
    *,
    forked: bool = False,
) -> None:
    connection.execute(
        "insert into messages (id, session_id, request_id, role, content, status, run_id, created_at, "
        "forked) values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            message_id,
            asked["session_id"],
            asked["request_id"],
            role,
            content,
            status,
            asked["run_id"],
            moment,
            forked,
        ),
    )
