"""A run that branches off another one: from any stage it reached, in a thread and with a log of its own."""

import asyncio
import json
import sqlite3
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.constants import START
from langgraph.types import StateSnapshot

from ..errors import BadRequest, Conflict, DependencyFailed
from ..ids import new_id
from ..state import Asked
from .driver import Graph, saver_of
from .event_rows import TEXT_TYPES, insert_event, to_body
from .journal import Journal
from .record import read_recorded_run, unmentioned
from .run_rows import RunRow, first_body, insert_fork, read_run
from .runs import Runs
from .schema import passages_of

# So many are read and stored at once: each takes a few hundredths of a second of the loop.
STORED_AT_ONCE = 4
# Channels whose content a reader was told by an event of that type, which stands in the fork's log too.
TOLD_BY = {"selected": "references", "aliases": "references", "answer": "answer", "thinking": "thinking"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """Where to branch off and what is different there. All of it has been checked against its types.

    `settings` are knobs of the request, `prompts` texts by `kind` or `kind.id`, `state` values by channel.
    """

    stage: str
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    prompts: Mapping[str, str] = field(default_factory=dict[str, str])
    state: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Forked:
    """The new run, and the message that its answer is told by."""

    run_id: str
    session_id: str
    message_id: str
    forked_from: str
    fork_stage: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Point:
    """A checkpoint right before a stage: whose it is, what led there, and the state then."""

    run_id: str
    checkpoint_id: str
    led_by: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """An event of the origin that still holds at the fork point."""

    response_type: str
    body: str


class Forks:
    """Nothing of the origin is written, whether it goes on or has ended."""

    def __init__(self, journal: Journal, graph: Graph, runs: Runs) -> None:
        self._journal = journal
        self._graph = graph
        self._saver = saver_of(graph)
        self._runs = runs
        self._stages = list(graph.builder.nodes)
        self._first = {end for start, end in graph.builder.edges if start == START}
        self._tasks: set[asyncio.Task[Forked]] = set()
        self._places = asyncio.Semaphore(STORED_AT_ONCE)

    async def origin(self, run_id: str) -> Asked:
        """What was asked of a run that may be forked. Raises NotFound (run_not_found), Gone."""
        return (await self._row(run_id)).asked

    def require_stage(self, stage: str) -> None:
        """Raises BadRequest (bad_stage) that lists the stages."""
        if stage not in self._stages:
            raise BadRequest(
                f"There is no stage {stage[:60]!r}: the stages are {', '.join(self._stages)}.",
                code="bad_stage",
                details={"stages": self._stages},
            )

    async def fork(self, run_id: str, fork: Fork) -> Forked:
        """Store the new run and begin it. Which stage comes first is asked again of the changed state.

        Raises NotFound (run_not_found), Gone, BadRequest (bad_stage, bad_state), Conflict (stage_not_reached
        with `reached`, checkpoint_gone with `kept`).
        """
        # In a task of its own: a caller that goes away after the commit must not leave a run unowned.
        task = asyncio.create_task(self._in_turn(run_id, fork))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    async def _in_turn(self, run_id: str, fork: Fork) -> Forked:
        async with self._places:
            return await self._fork(run_id, fork)

    async def _fork(self, run_id: str, fork: Fork) -> Forked:
        self.require_stage(fork.stage)
        origin = await self._row(run_id)
        asked = _changed(origin.asked, fork)
        told: list[_Told] = []
        if fork.stage in self._first:
            _require_no_state(fork)
            source = origin.id
        else:
            point = await self._point(origin, fork.stage)
            source = point.run_id
            told = await self._journal.read(partial(_still_told, point=point))
            _require_untold(fork, told)
            await self._require_read(origin.id, fork, point)
            await self._write_checkpoint(asked, point, fork.state)
        # A crash from here to the commit leaves a thread that no run has: nothing that anybody sees.
        forked = Forked(
            run_id=asked["run_id"],
            session_id=asked["session_id"],
            message_id=asked["message_id"],
            forked_from=origin.id,
            fork_stage=fork.stage,
        )
        try:
            work = partial(_insert_fork, asked=asked, forked=forked, source=source, told=told)
            await self._journal.write(work)
        except BaseException:
            await self._saver.adelete_thread(asked["run_id"])
            raise
        with suppress(DependencyFailed):  # shutting down: it is stored, and begins at the next start
            self._runs.adopt(asked)
        return forked

    async def _row(self, run_id: str) -> RunRow:
        return await self._journal.read(partial(read_recorded_run, run_id=run_id))

    async def _write_checkpoint(self, asked: Asked, point: _Point, state: Mapping[str, Any]) -> None:
        config = _thread(asked["run_id"])
        # Without the run's id in it, a crash before the first step would begin from the input again.
        config["metadata"] = {"run_id": asked["run_id"]}
        values = {**point.values, "timings": dict[str, float](), **state, "request": asked}
        # As the stage before: its way on is chosen again, by what the state says now.
        await self._graph.aupdate_state(config, values, as_node=point.led_by)

    async def _require_read(self, run_id: str, fork: Fork, point: _Point) -> None:
        """A kept text that is given with a hit is one that the origin has read, of the same document.

        Raises BadRequest (bad_state).
        """
        given = {channel: _texts_by_hit(value) for channel, value in fork.state.items()}
        if any(given.values()):
            newest = await self._graph.aget_state(_thread(run_id))
            read = _texts_by_hit([point.values, newest.values])
            for channel, texts in given.items():
                if texts - read:
                    raise _bad_state(channel, "a hit has a passage that this run has not read with it")

    # --- finding the checkpoint ---

    async def _point(self, row: RunRow, stage: str) -> _Point:
        """The checkpoint before a stage; what a fork did not run itself is looked for where it comes from."""
        run, history = row, await self._history(row.id)
        reached = _reached(run, history)
        while (found := _before(history, stage)) is None and run.forked_from and run.fork_stage:
            after, run = run.fork_stage, await self._journal.read(partial(read_run, run_id=run.forked_from))
            whole = await self._history(run.id)
            history = _up_to(whole, after)
            inherited = _reached(run, whole)
            reached = [*inherited[: inherited.index(after)], *reached] if after in inherited else reached
        if found is None:
            raise _gone(stage, reached, run.kept) if stage in reached else _not_reached(stage, reached)
        return await self._to_point(run.id, found)

    async def _history(self, run_id: str) -> list[StateSnapshot]:
        """Oldest first."""
        return [one async for one in self._graph.aget_state_history(_thread(run_id))][::-1]

    async def _to_point(self, run_id: str, found: StateSnapshot) -> _Point:
        stored = await self._saver.aget_tuple(found.config)
        assert stored is not None
        return _Point(
            run_id=run_id,
            checkpoint_id=stored.checkpoint["id"],
            led_by=self._ran_last(stored.checkpoint["versions_seen"]),
            values=found.values,
        )

    def _ran_last(self, versions_seen: Mapping[str, Mapping[str, Any]]) -> str:
        """The node whose result is the newest: each has seen a higher version than those before it."""
        # LangGraph keeps what it has interrupted among them.
        nodes = [node for node in versions_seen if node in self._graph.nodes]
        return max(nodes, key=lambda node: max(versions_seen[node].values(), default=0))


def _thread(run_id: str) -> RunnableConfig:
    return RunnableConfig(configurable={"thread_id": run_id})


def _changed(asked: Asked, fork: Fork) -> Asked:
    changed: Any = {
        **asked,
        "answer_cache_enabled": False,  # it is there to be run
        **fork.settings,
        "prompts": {**(asked.get("prompts") or {}), **fork.prompts},
        # `user_message_id` stays: it says which turns of the session came before the question.
        **{name: new_id() for name in ("run_id", "message_id", "request_id")},
    }
    return cast(Asked, changed)


def _require_no_state(fork: Fork) -> None:
    for channel in fork.state:
        raise _bad_state(
            channel,
            f"nothing has been written before {fork.stage}, it begins from the question: change settings or "
            f"prompts, or fork from a later stage",
        )


def _require_untold(fork: Fork, told: list[_Told]) -> None:
    types = {event.response_type for event in told}
    for channel in fork.state:
        if TOLD_BY.get(channel) in types:
            raise _bad_state(channel, f"readers were told it before {fork.stage}: fork from an earlier stage")


def _texts_by_hit(value: Any) -> set[tuple[str, str, str]]:
    """Chunk, document and kept text of every hit in a part of the state, however deep."""
    match value:
        case {"passage": str(passage), "chunk_id": str(chunk_id), "document_id": str(document_id)}:
            return {(chunk_id, document_id, passage)}
        case dict():
            return _texts_by_hit([*cast("dict[str, Any]", value).values()])
        case list():
            return {text for part in cast("list[Any]", value) for text in _texts_by_hit(part)}
        case _:
            return set()


def _bad_state(channel: str, why: str) -> BadRequest:
    return BadRequest(f"state {channel!r}: {why}.", code="bad_state", details={"channel": channel})


def _reached(run: RunRow, history: list[StateSnapshot]) -> list[str]:
    """The stages that a run came to; where checkpoints were removed, those whose time is still known."""
    timed = (run.timing or {}).get("stages_ms", {})
    return list(dict.fromkeys([*timed, *(s for one in history for s in one.next if s != START)]))


def _before(history: list[StateSnapshot], stage: str) -> StateSnapshot | None:
    return next((snapshot for snapshot in reversed(history) if stage in snapshot.next), None)


def _up_to(history: list[StateSnapshot], stage: str) -> list[StateSnapshot]:
    """What came before a stage; nothing where the checkpoint before it is not kept any more."""
    places = [place for place, snapshot in enumerate(history) if stage in snapshot.next]
    return history[: places[0]] if places else []


def _not_reached(stage: str, reached: list[str]) -> Conflict:
    listed = ", ".join(reached) or "none yet"
    return Conflict(
        f"This run did not reach {stage}: fork it from a stage that it reached ({listed}).",
        code="stage_not_reached",
        details={"reached": reached},
    )


def _gone(stage: str, reached: list[str], kept: str) -> Conflict:
    return Conflict(
        f"The checkpoint before {stage} is not kept any more: of old runs only the last one is. "
        "Fork from the first stage, or ask the question again.",
        code="checkpoint_gone",
        details={"kept": kept, "reached": reached},
    )


# --- on the journal's threads ---


def _still_told(connection: sqlite3.Connection, *, point: _Point) -> list[_Told]:
    """What readers of a run were told before a checkpoint and what was not void or over then: warnings,
    open windows, the last references, the pieces of each live segment in one.
    """
    standing: dict[tuple[str, Any], tuple[str, dict[str, Any]]] = {}
    rows = connection.execute(
        "select response_type, task, body from events left join event_tasks "
        "on event_tasks.run_id = events.run_id and number = task "
        # Without a task it is what a fork was told when it began, or what its owner says: resets.
        "where events.run_id = ? and (task is null or checkpoint_id < ?) order by seq",
        (point.run_id, point.checkpoint_id),
    )
    for response_type, task, body in rows:
        _take_in(standing, response_type, task, json.loads(body))
    return [
        _Told(response_type=response_type, body=to_body(body.pop("content", ""), body.pop("data", {}), body))
        for response_type, body in standing.values()
    ]


def _take_in(
    standing: dict[tuple[str, Any], tuple[str, dict[str, Any]]],
    response_type: str,
    task: int | None,
    body: dict[str, Any],
) -> None:
    data: dict[str, Any] = body.get("data", {})
    match response_type:
        case "warning":
            standing["warning", str(body)] = (response_type, body)
        case "references" | "images":
            standing.pop((response_type, None), None)
            standing[response_type, None] = (response_type, body)
        case "reset":
            for segment in data["segments"]:
                standing.pop(("segment", segment), None)
        case "tool_call":
            # One window of a name is open at a time: an interrupted one has its successor.
            standing["window", data["tool_name"]] = (response_type, body)
        # Its owner closes windows too, at the end of a run, which comes after the fork point.
        case "tool_result" if task is not None:
            standing.pop(("window", data["tool_name"]), None)
        case _ if response_type in TEXT_TYPES and "segment" in data:
            before = standing.get(("segment", data["segment"]), ("", {}))[1].get("content", "")
            whole = {**body, "content": before + body.get("content", "")}
            standing["segment", data["segment"]] = (response_type, whole)
        case _:
            pass


def _insert_fork(
    connection: sqlite3.Connection, *, asked: Asked, forked: Forked, source: str, told: list[_Told]
) -> None:
    """The run, its answer's message, what its readers are told first, and its hold on the texts it shows.

    Raises NotFound, Gone when the origin, or `source`, the run that ran what came before, has been deleted,
    trimmed or erased meanwhile: what was read of it must not come back with the fork.
    """
    for run_id in (forked.forked_from, source):
        read_recorded_run(connection, run_id=run_id)
    branch = {"forked_from": forked.forked_from, "fork_stage": forked.fork_stage}
    insert_fork(connection, asked=asked, **branch)
    first = _Told(response_type="agent_query", body=first_body(asked, **branch))
    for seq, event in enumerate([first, *told], start=1):
        insert_event(
            connection,
            run_id=asked["run_id"],
            seq=seq,
            response_type=event.response_type,
            body=event.body,
        )
    # Only of what it shows: a text that nothing of it refers to would outlive the erasing of its document.
    hashes = {*passages_of(connection, source), *passages_of(connection, forked.forked_from)}
    shown = hashes - unmentioned(connection, asked["run_id"], hashes)
    connection.executemany(
        "insert into passage_uses values (?, ?)", [(hash, asked["run_id"]) for hash in sorted(shown)]
    )
