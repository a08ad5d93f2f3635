"""Drives the graph of a run: from where it stands to what its end means."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, cast

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.types import INTERRUPT
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from ..context import Context
from ..errors import HeadraceError
from ..state import Asked, RagState
from .event_rows import Told, read_told
from .events import EventLog, RunEmitter
from .journal import Journal, JournalClosed
from .owned import OwnedRun, until_over
from .room import storage_full
from .run_rows import End, count_resume, read_run, set_waiting
from .saver import CheckpointTooNew
from .verdicts import (
    STOPPED,
    awaits_person,
    completion,
    failure,
    failure_of,
    has_interrupt,
    lacks_room,
    unfinished_tasks,
)

logger = logging.getLogger(__name__)

Graph = CompiledStateGraph[Any, Any, Any, Any]


class Driver:
    """One for all runs of a process. The graph must be compiled with a checkpointer over the same journal."""

    def __init__(
        self,
        journal: Journal,
        events: EventLog,
        graph: Graph,
        make_context: Callable[[RunEmitter, Asked], Context],
        *,
        patience_s: float,
        most_resumes: int,
    ) -> None:
        self._journal = journal
        self._events = events
        self._graph = graph
        self._saver = saver_of(graph)
        self._make_context = make_context
        self._patience_s = patience_s
        self._most_resumes = most_resumes
        self.draining = False  # runs are cut off, and go on in the next process

    async def drive(self, run: OwnedRun, told: Told | None) -> End | None:
        """Run the graph. None: the run waits, or goes on in the next process."""
        if self.draining:
            return None
        if told is not None:
            run.emitter = RunEmitter(self._events, run.id, told)
        else:
            row = await self._journal.read(partial(read_run, run_id=run.id))
            if row.ended_at is not None:
                return None
            run.stop_asked = run.stop_asked or row.status == "stopping"
            end = await self._take_over(run)
            if end is not None or run.waits is not None:
                return end
        if run.stop_asked:
            return STOPPED
        run.graph = asyncio.create_task(self._invoke(run))
        await until_over(run, self._patience_s)
        return await self._verdict(run)

    async def _take_over(self, run: OwnedRun) -> End | None:
        """Void what was begun and is not finished; an end if there is nothing to go on with."""
        told = await self._journal.read(partial(read_told, run_id=run.id))
        run.emitter = RunEmitter(self._events, run.id, told)
        if run.stop_asked:
            return STOPPED
        try:
            newest = await self._saver.aget_tuple(run.config)
        except CheckpointTooNew:
            if not run.stop_asked:  # meanwhile
                raise
            return STOPPED
        unanswered = has_interrupt(newest) and not isinstance(run.given, Command)
        if unanswered and awaits_person(await self._graph.aget_state(run.config)):
            return await self._wait_for_person(run)
        if run.lost_something:
            await self._journal.mend(run.id)
            run.lost_something = False
        elif run.adopted:
            run.adopted = False  # its first start is none of the tries after a crash
            return None
        elif end := await self._count(run, newest.checkpoint["id"] if newest else ""):
            return end
        run.emitter.void(unfinished_tasks(told.tasks, newest))
        logger.info("run %s resumes", run.id)
        return None

    async def _count(self, run: OwnedRun, checkpoint_id: str) -> End | None:
        row = await self._journal.write(partial(count_resume, run_id=run.id, checkpoint_id=checkpoint_id))
        if row.status == "stopping":
            return STOPPED
        if row.resumes > self._most_resumes:
            logger.error("run %s: %d starts ended at the same step, so it is given up", run.id, row.resumes)
            return failure(run, "run_given_up", 500, times=row.resumes)
        return None

    async def _wait_for_person(self, run: OwnedRun) -> End | None:
        """The graph has interrupted itself. Who answers puts a Command into `run.given` and wakes the run."""
        row = await self._journal.write(partial(set_waiting, run_id=run.id))
        if run.stop_asked or row.status == "stopping":
            return STOPPED
        run.renew()
        run.waits = "person"
        return None

    async def _invoke(self, run: OwnedRun) -> RagState:
        # The same input with the same run id: LangGraph goes on from the newest checkpoint, if there is one.
        state = await self._graph.ainvoke(
            run.given,
            run.config,
            context=self._make_context(run.emitter, run.asked),
            durability="sync",
            control=run.control,
        )
        return cast(RagState, state)

    async def _verdict(self, run: OwnedRun) -> End | None:
        """What the end of the graph means. A person who asked to stop gets a stop, whatever else happened."""
        if run.stop_asked:
            return replace(STOPPED, stages_ms=await self._stages(run))
        if run.over_limit:
            limit = run.asked["run_limit_s"]
            return failure(run, "run_limit", 504, stages=await self._stages(run), limit=limit)
        if self.draining and run.was_cut_off:
            return None
        if run.graph is None or not run.graph.done() or run.graph.cancelled():
            logger.error("run %s was cancelled, but not by its owner", run.id)
            return failure(run, "internal_error", 500)
        if lacks_room(run):
            raise storage_full()
        match run.graph.exception() or run.emitter.failure:
            case None if INTERRUPT in run.graph.result():
                return await self._wait_for_person(run)
            case None:
                return completion(run.graph.result())
            case JournalClosed() as error:
                raise error
            case HeadraceError() as error:
                return failure_of(error, await self._stages(run))
            case error:
                logger.error("run %s failed", run.id, exc_info=error)
                return failure(run, "internal_error", 500, stages=await self._stages(run))

    async def _stages(self, run: OwnedRun) -> dict[str, float]:
        newest = await self._saver.aget_tuple(run.config)
        return newest.checkpoint["channel_values"].get("timings", {}) if newest else {}


def saver_of(graph: Graph) -> BaseCheckpointSaver[Any]:
    """Raises TypeError for a graph that was compiled without one."""
    if not isinstance(graph.checkpointer, BaseCheckpointSaver):
        raise TypeError("a run that is never lost needs a graph compiled with a checkpointer")
    return cast("BaseCheckpointSaver[Any]", graph.checkpointer)
