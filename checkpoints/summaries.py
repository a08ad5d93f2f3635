"""Runs as a list shows them: how each stands, what was asked, and which runs branch off it."""

import json
import sqlite3
from collections.abc import Sequence
from typing import Any, TypedDict

from .run_rows import read_run
from .sessions import read_session


class RunSummary(TypedDict):
    """One run. `forks` are the ids of the runs that branch off it, oldest first."""

    id: str
    session_id: str
    message_id: str
    status: str
    created_at: str
    ended_at: str | None
    timing: dict[str, Any] | None
    forked_from: str | None
    fork_stage: str | None
    kept: str
    question: str
    outcome: str | None
    forks: list[str]


def read_summary(connection: sqlite3.Connection, *, run_id: str) -> RunSummary:
    """Raises NotFound (run_not_found)."""
    read_run(connection, run_id=run_id)
    row = connection.execute(f"{_RUNS} where runs.id = ?", (run_id,)).fetchone()
    return _to_summaries(connection, [row])[0]


class RunWithAnswer(RunSummary):
    answer: str  # with its tags; empty until the run has ended


def read_with_answer(connection: sqlite3.Connection, *, run_id: str) -> RunWithAnswer:
    """Raises NotFound (run_not_found)."""
    summary = read_summary(connection, run_id=run_id)
    found = connection.execute(
        "select content from messages where id = ?", (summary["message_id"],)
    ).fetchone()
    return RunWithAnswer(**summary, answer=found[0] if found else "")


def list_runs(
    connection: sqlite3.Connection, *, session_id: str | None, page: int, page_size: int
) -> tuple[list[RunSummary], int]:
    """Runs, newest first, forks among them, of one session or of all; and how many there are.

    Raises NotFound (session_not_found).
    """
    if session_id is not None:
        read_session(connection, session_id=session_id)
    where, given = ("where runs.session_id = ?", (session_id,)) if session_id else ("", ())
    (total,) = connection.execute(f"select count(*) from runs {where}", given).fetchone()
    rows = connection.execute(
        f"{_RUNS} {where} order by runs.created_at desc, runs.id desc limit ? offset ?",
        (*given, page_size, (page - 1) * page_size),
    ).fetchall()
    return _to_summaries(connection, rows), total


# What was asked is read as it was stored: erasing it leaves nothing to read.
_RUNS = """
select runs.id, runs.session_id, runs.message_id, runs.status, runs.created_at, runs.ended_at, runs.timing,
    runs.forked_from, runs.fork_stage, runs.kept, json_extract(runs.asked, '$.query'), messages.outcome
from runs left join messages on messages.id = runs.message_id
"""


def _to_summaries(connection: sqlite3.Connection, rows: Sequence[Sequence[Any]]) -> list[RunSummary]:
    summaries = [_to_summary(row) for row in rows]
    by_id = {summary["id"]: summary for summary in summaries}
    # A fork is of the session of its origin, and runs are found by session without reading all of them.
    sessions = json.dumps(sorted({summary["session_id"] for summary in summaries}))
    for origin, fork in connection.execute(
        "select forked_from, id from runs where session_id in (select value from json_each(?)) "
        "and forked_from is not null order by created_at, id",
        (sessions,),
    ):
        if origin in by_id:
            by_id[origin]["forks"].append(fork)
    return summaries


def _to_summary(row: Sequence[Any]) -> RunSummary:
    id, session_id, message_id, status, created_at, ended_at, timing, *rest = row
    forked_from, fork_stage, kept, question, outcome = rest
    return RunSummary(
        id=id,
        session_id=session_id,
        message_id=message_id,
        status=status,
        created_at=created_at,
        ended_at=ended_at,
        timing=json.loads(timing) if timing else None,
        forked_from=forked_from,
        fork_stage=fork_stage,
        kept=kept,
        question=question or "",
        outcome=outcome,
        forks=[],
    )
