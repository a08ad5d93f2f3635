"""Events as rows: how one is stored, read back, and what a run's log says in sum."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NotRequired, TypedDict

from ..errors import NotFound
from .clock import unix_ms
from .references import fill_contents

END_TYPES = frozenset({"complete", "stop", "error"})
TEXT_TYPES = frozenset({"answer", "thinking", "reflection"})

# A reader that comes late gets a long log in pieces, so that it holds neither memory nor a reader's thread:
# a thousand readers that stopped reading hold a thousand pieces.
MOST_PER_READ = 1000
MOST_CHARACTERS_PER_READ = 64 * 1024  # and one event more, however large


class Event(TypedDict):
    """One event as it goes on the wire. Some types have more fields at the top."""

    id: str  # of the request
    seq: int  # from 1, contiguous in a run
    run_id: str
    response_type: str
    content: str
    done: bool
    data: dict[str, Any]
    session_id: NotRequired[str]  # agent_query
    assistant_message_id: NotRequired[str]  # agent_query
    knowledge_references: NotRequired[list[dict[str, Any]]]  # references


class TaskTag(TypedDict):
    """The LangGraph task that emitted an event; `number` stands for it in the log of this run."""

    number: int
    task_id: str
    checkpoint_id: str  # the checkpoint the task started from


class OpenCall(TypedDict):
    """A progress window without its result, and the number of the task that opened it."""

    id: str
    tool_name: str
    task: int | None


@dataclass(slots=True)
class Told:
    """What a run's log says so far: enough to go on writing it, or to end it."""

    seq: int = 0
    next_segment: int = 1
    segments: dict[int, int | None] = field(default_factory=dict[int, int | None])  # live ones: task number
    tasks: list[TaskTag] = field(default_factory=list[TaskTag])
    open_calls: list[OpenCall] = field(default_factory=list[OpenCall])
    answer: list[tuple[int | None, str]] = field(default_factory=list[tuple[int | None, str]])
    references: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    ended: bool = False

    @property
    def answer_text(self) -> str:
        """The pieces of the live answer segments, joined in the order they were told."""
        return "".join(piece for _, piece in self.answer)


class Piece(NamedTuple):
    """Events of a run; `over`: its end is among them or before. `cut`: there may be more stored."""

    events: list[Event]
    over: bool
    cut: bool


def to_body(content: str, data: Mapping[str, Any], top: Mapping[str, Any]) -> str:
    """The JSON of an event without its columns. Raises TypeError, ValueError for what JSON cannot say."""
    body: dict[str, Any] = dict(top)
    if content:
        body["content"] = content
    if data:
        body["data"] = data
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # Providers sometimes cut a stream inside a surrogate pair; half of one cannot be stored as text.
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def insert_event(
    connection: sqlite3.Connection,
    *,
    run_id: str,
    seq: int,
    response_type: str,
    body: str,
    task: int | None = None,
) -> None:
    """A plain insert: the same (run, seq) twice must fail, because two owners write one log then.

    Its time is that of its storing: readers get it right after.
    """
    connection.execute(
        "insert into events (run_id, seq, response_type, task, body, at) values (?, ?, ?, ?, ?, ?)",
        (run_id, seq, response_type, task, body, unix_ms()),
    )


def insert_task(connection: sqlite3.Connection, *, run_id: str, task: TaskTag) -> None:
    connection.execute(
        "insert or ignore into event_tasks values (?, ?, ?, ?)",
        (run_id, task["number"], task["task_id"], task["checkpoint_id"]),
    )


def read_events(
    connection: sqlite3.Connection, *, run_id: str, after: int, limit: int = -1
) -> tuple[list[Event], bool]:
    """Events after `after` as they go on the wire, and whether the run's end is among them or before.

    With a limit there may be fewer, where they are large. Raises NotFound (run_not_found).
    """
    piece = read_piece(connection, run_id=run_id, after=after, limit=limit)
    return piece.events, piece.over


def read_piece(
    connection: sqlite3.Connection, *, run_id: str, after: int, limit: int = MOST_PER_READ
) -> Piece:
    """As much of a log as one reader may hold. Raises NotFound (run_not_found)."""
    run = connection.execute("select request_id, ended_at from runs where id = ?", (run_id,)).fetchone()
    if run is None:
        raise NotFound(
            f"There is no run {run_id[:40]!r}: it may have been deleted with its session.",
            code="run_not_found",
        )
    rows = connection.execute(
        "select seq, response_type, body from events where run_id = ? and seq > ? order by seq limit ?",
        (run_id, after, limit),
    )
    events: list[Event] = []
    characters = 0
    cut = False
    for row in rows:
        events.append(_to_event(run_id, run[0], *row))
        characters += len(row[2])
        if len(events) == limit or (limit > 0 and characters > MOST_CHARACTERS_PER_READ):
            cut = True
            break
    fill_contents(connection, [event.get("knowledge_references", []) for event in events])
    return Piece(events, over=run[1] is not None and not cut, cut=cut)


def read_last(connection: sqlite3.Connection, *, run_id: str) -> int:
    (last,) = connection.execute("select max(seq) from events where run_id = ?", (run_id,)).fetchone()
    return last or 0


def read_told(connection: sqlite3.Connection, *, run_id: str) -> Told:
    told = Told()
    for number, task_id, checkpoint_id in connection.execute(
        "select number, task_id, checkpoint_id from event_tasks where run_id = ? order by number", (run_id,)
    ):
        told.tasks.append(TaskTag(number=number, task_id=task_id, checkpoint_id=checkpoint_id))
    for seq, response_type, task, body in connection.execute(
        "select seq, response_type, task, body from events where run_id = ? order by seq", (run_id,)
    ):
        told.seq = seq
        _take_in(told, response_type, task, json.loads(body))
    return told


def interrupted(call: OpenCall) -> dict[str, Any]:
    """The `data` of the result that a call gets when nothing better will come."""
    return {"tool_call_id": call["id"], "tool_name": call["tool_name"], "interrupted": True}


def read_voided(connection: sqlite3.Connection, *, run_id: str) -> set[int]:
    """The segments that a `reset` has voided so far."""
    rows = connection.execute(
        "select body from events where run_id = ? and response_type = 'reset'", (run_id,)
    )
    return {segment for (body,) in rows for segment in json.loads(body)["data"]["segments"]}


def without_voided(events: Sequence[Event], *, after: int = 0) -> list[Event]:
    """What is left of the events after `after` once every `reset` among them has been obeyed."""
    resets = [event for event in events if event["response_type"] == "reset"]
    voided = {segment for event in resets for segment in event["data"]["segments"]}
    return [event for event in events if not is_void(event, voided, after=after)]


def is_void(event: Event, voided: AbstractSet[int], *, after: int = 0) -> bool:
    """`?compact=1` leaves this out: a piece of a voided segment, or a reset that voids nothing else.

    Resets stay for a reader that has seen events up to `after`: it may have shown what they void.
    """
    if event["response_type"] == "reset":
        return after == 0 and voided >= set(event["data"]["segments"])
    return event["response_type"] in TEXT_TYPES and event["data"].get("segment") in voided


def _to_event(run_id: str, request_id: str, seq: int, response_type: str, body: str) -> Event:
    rest: dict[str, Any] = json.loads(body)
    event: dict[str, Any] = {
        "id": request_id,
        "seq": seq,
        "run_id": run_id,
        "response_type": response_type,
        "content": rest.pop("content", ""),
        "done": response_type in END_TYPES,
        "data": rest.pop("data", {}),
        **rest,
    }
    return Event(**event)


def _take_in(told: Told, response_type: str, task: int | None, body: dict[str, Any]) -> None:
    data: dict[str, Any] = body.get("data", {})
    match response_type:
        case "answer" | "thinking" | "reflection":
            segment: int | None = data.get("segment")
            if segment is not None:
                told.segments[segment] = task
                told.next_segment = max(told.next_segment, segment + 1)
            if response_type == "answer":
                told.answer.append((segment, body.get("content", "")))
        case "reset":
            voided: set[int] = set(data["segments"])
            told.segments = {s: number for s, number in told.segments.items() if s not in voided}
            told.answer = [(s, piece) for s, piece in told.answer if s not in voided]
        case "tool_call":
            call = OpenCall(id=data["tool_call_id"], tool_name=data["tool_name"], task=task)
            told.open_calls.append(call)
        case "tool_result":
            told.open_calls = [c for c in told.open_calls if c["id"] != data["tool_call_id"]]
        case "references":
            told.references = body.get("knowledge_references", [])
        case _:
            told.ended = told.ended or response_type in END_TYPES
