"""One answer at a time in a session: who goes on, who waits in line, and who has to make way."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..errors import Conflict, NotFound
from ..state import Asked
from .run_rows import End, RunRow, end_run, insert_run, read_run, read_unfinished
from .sessions import busy, leave_conversation, read_session

OnBusy = Literal["reject", "queue", "stop"]

LONGEST_LINE = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Entered:
    """What became of a question: the run to follow, and those that were asked to stop for it.

    `new` is false when the same request had started that run before; `queued` when others come first.
    """

    run_id: str
    new: bool
    queued: bool = False
    stopped: Sequence[RunRow] = ()


def enter(
    connection: sqlite3.Connection, *, asked: Asked, on_busy: OnBusy, replaces: str | None = None
) -> Entered:
    """Store a question, to be answered now or when those before it have ended.

    `replaces` is the request of the turn that it takes the place of, which leaves the conversation with it.

    Raises NotFound (session_not_found), Conflict (session_busy; queue_full; request_id_taken by another
    question).
    """
    session_id = asked["session_id"]
    read_session(connection, session_id=session_id, tenant_id=asked["tenant_id"])
    if earlier := _run_of_request(connection, asked):
        return Entered(run_id=earlier, new=False)
    before = [row for row in read_unfinished(connection, session_id=session_id) if not row.forked_from]
    stopped: list[RunRow] = []
    if before and on_busy == "reject":
        raise busy(before[0].message_id)
    if on_busy == "queue" and sum(row.status == "queued" for row in before) >= LONGEST_LINE:
        raise Conflict(
            f"{LONGEST_LINE} questions wait in this session already: wait for an answer, or stop some.",
            code="queue_full",
            details={"limit": LONGEST_LINE, "message_id": before[0].message_id},
        )
    if on_busy == "stop":
        stopped = [_stop(connection, row) for row in before]
        before = [row for row in stopped if row.ended_at is None]
    if replaces is not None:
        leave_conversation(connection, session_id=session_id, request_id=replaces)
    insert_run(connection, asked=asked, status="queued" if before else "running")
    return Entered(run_id=asked["run_id"], new=True, queued=bool(before), stopped=stopped)


def ask_to_stop(connection: sqlite3.Connection, *, session_id: str, message_id: str) -> RunRow:
    """The run as it stands after asking: one that has ended stays as it is, one in line ends at once.

    Raises NotFound (message_not_found).
    """
    found = connection.execute(
        "select id from runs where session_id = ? and message_id = ?", (session_id, message_id)
    ).fetchone()
    if found is None:
        raise NotFound(f"There is no answer {message_id[:40]!r} in this session.", code="message_not_found")
    return _stop(connection, read_run(connection, run_id=found[0]))


def stop_session(connection: sqlite3.Connection, *, session_id: str) -> list[RunRow]:
    """As above for all that goes on or waits in a session, forks too."""
    return [_stop(connection, row) for row in read_unfinished(connection, session_id=session_id)]


def _stop(connection: sqlite3.Connection, row: RunRow) -> RunRow:
    if row.ended_at is None and row.status == "queued":
        end_run(connection, run_id=row.id, end=End(status="stopped", response_type="stop"))
    elif row.ended_at is None:
        connection.execute("update runs set status = 'stopping' where id = ?", (row.id,))
    return read_run(connection, run_id=row.id)


def _run_of_request(connection: sqlite3.Connection, asked: Asked) -> str | None:
    """The run that the same request has started. Raises Conflict (request_id_taken)."""
    earlier = connection.execute(
        "select id, json_extract(asked, '$.query') from runs where session_id = ? and request_id = ?",
        (asked["session_id"], asked["request_id"]),
    ).fetchone()
    if earlier is None:
        return None
    run_id, query = earlier
    if query != asked["query"]:
        raise Conflict(
            "Another question of this session has this request_id: leave it out, or make a new one.",
            code="request_id_taken",
        )
    return run_id
