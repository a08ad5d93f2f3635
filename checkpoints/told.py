"""What one run left in the journal beside its checkpoints: in one read, so that it fits together."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict

from ..errors import NotFound
from ..state import Asked
from .event_rows import read_told
from .record import read_recorded_run
from .run_rows import RunRow, read_run
from .summaries import RunSummary, read_summary

# Forks of forks: nobody looks further back.
MOST_ORIGINS = 50


class LoggedEvent(TypedDict):
    """An event with its time, and the task that told it with the checkpoint which that began from."""

    seq: int
    at: int  # milliseconds of Unix time
    response_type: str
    content: str
    data: dict[str, Any]
    knowledge_references: NotRequired[list[dict[str, Any]]]
    task: int | None
    checkpoint_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldRun:
    """`origins` are the runs it branches off, the nearest first, as far as they are still there.

    `answer` is what has been told so far; `resumes` counts the starts that found it at `resumed_from`.
    """

    summary: RunSummary
    asked: Asked
    answer: str
    error: dict[str, Any] | None
    events: list[LoggedEvent]
    origins: list[RunRow]
    resumes: int
    resumed_from: str | None


def read_told_run(connection: sqlite3.Connection, *, run_id: str) -> ToldRun:
    """Raises NotFound (run_not_found), Gone (run_trimmed, run_erased)."""
    row = read_recorded_run(connection, run_id=run_id)
    resumed_from, content, error = connection.execute(
        "select resumed_from, content, error from runs left join messages on messages.id = message_id "
        "where runs.id = ?",
        (run_id,),
    ).fetchone()
    return ToldRun(
        summary=read_summary(connection, run_id=run_id),
        asked=row.asked,
        answer=content or "" if row.ended_at else read_told(connection, run_id=run_id).answer_text,
        error=json.loads(error) if error else None,
        events=_read_log(connection, run_id),
        origins=_read_origins(connection, row),
        resumes=row.resumes,
        resumed_from=resumed_from,
    )


def _read_log(connection: sqlite3.Connection, run_id: str) -> list[LoggedEvent]:
    rows = connection.execute(
        "select seq, at, response_type, body, task, checkpoint_id from events left join event_tasks "
        "on event_tasks.run_id = events.run_id and number = task where events.run_id = ? order by seq",
        (run_id,),
    )
    return [_to_event(row) for row in rows]


def _to_event(row: Sequence[Any]) -> LoggedEvent:
    seq, at, response_type, body, task, checkpoint_id = row
    told: dict[str, Any] = json.loads(body)
    event = LoggedEvent(
        seq=seq,
        at=at,
        response_type=response_type,
        content=told.get("content", ""),
        data=told.get("data", {}),
        task=task,
        checkpoint_id=checkpoint_id,
    )
    if references := told.get("knowledge_references"):
        event["knowledge_references"] = references
    return event


def _read_origins(connection: sqlite3.Connection, row: RunRow) -> list[RunRow]:
    origins: list[RunRow] = []
    while row.forked_from and len(origins) < MOST_ORIGINS:
        try:
            row = read_run(connection, run_id=row.forked_from)
        except NotFound:
            break
        origins.append(row)
    return origins
