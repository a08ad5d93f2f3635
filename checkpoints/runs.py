"""The life of a run: started once, owned by one task, resumed after a crash, ended in one transaction."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, cast

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph

from ..context import Context
from ..errors import DependencyFailed, HeadraceError
from ..state import Ask, Asked, RagState
from .event_rows import Told, read_told
from .events import EventLog, RunEmitter
from .journal import Journal, JournalClosed
from .owned import OwnedRun, until_over
from .run_rows import (
    End,
    ask_to_stop,
    count_resume,
    end_run,
    forgive_resumes,
    insert_run,
    read_run,
    read_unfinished,
)
from .sessions import Message, Sessions
from .verdicts import check_answer, completion, failure, failure_of, unfinished_tasks

logger = logging.getLogger(__name__)

Graph = CompiledStateGraph[Any, Any, Any, Any]

# How long `stop` waits for the end that it has asked for, before it answers "stopping".
STOP_WAIT_S = 2.0
# How long a cancelled graph may take to let go. A node that swallows its cancellation must not keep the
# person waiting: after this the run ends without it, and what it still emits is refused.
CANCEL_PATIENCE_S = 3.0
DRAIN_GRACE_S = 4.0
# A run found unfinished this often at the same checkpoint has probably brought the process down itself.
MOST_RESUMES = 3
RESUMED_AT_ONCE = 4


class Runs:
    """Every run of this process. The graph must be compiled with a checkpointer over the same journal."""

    def __init__(
        self,
        journal: Journal,
        events: EventLog,
        sessions: Sessions,
        graph: Graph,
        make_context: Callable[[RunEmitter, Asked], Context],
        *,
        cancel_patience_s: float = CANCEL_PATIENCE_S,
        most_resumes: int = MOST_RESUMES,
    ) -> None:
        self._journal = journal
        self._events = events
        self._sessions = sessions
        self._graph = graph
        self._saver = _saver_of(graph)
        self._make_context = make_context
        self._patience_s = cancel_patience_s
        self._most_resumes = most_resumes
        self._owned: dict[str, OwnedRun] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._slots = asyncio.Semaphore(RESUMED_AT_ONCE)
        self._draining = False

    async def start(self, asked: Asked) -> str:
        """Store the question and start to answer it. Returns the id of the run to follow: that of the
        first try, if the same request comes again.

        Raises NotFound (session_not_found), Conflict (session_busy, details.message_id), DependencyFailed
        (shutting_down).
        """
        if self._draining:
            raise _shutting_down()
        # In a task of its own: a caller that goes away after the commit must not leave a run unowned.
        return await asyncio.shield(self._spawn(self._start(asked)))

    def adopt(self, asked: Asked) -> None:
        """Go on with a run that is stored with its first events and perhaps a checkpoint, such as a fork.

        Raises DependencyFailed (shutting_down): it goes on at the next start then.
        """
        if self._draining:
            raise _shutting_down()
        if asked["run_id"] in self._owned:
            return  # found unfinished between its storing and this call: at a start both happen at once
        run = self._owned[asked["run_id"]] = OwnedRun(asked)
        self._spawn(self._own(run, None))

    async def resume_unfinished(self) -> int:
        """Take over the runs that the last process left, a few at a time. Returns how many."""
        rows = await self._journal.read(read_unfinished)
        left = [row for row in rows if row.id not in self._owned]
        for row in left:
            run = self._owned[row.id] = OwnedRun(row.asked, waits=True)
            self._spawn(self._resume_in_turn(run))
        return len(left)

    async def stop(self, session_id: str, message_id: str) -> str:
        """Ask an answer to stop; waits a little for its end. Returns the status of the run then.

        Harmless when the run has ended. Raises NotFound (message_not_found).
        """
        row = await self._journal.write(partial(ask_to_stop, session_id=session_id, message_id=message_id))
        run = self._owned.get(row.id)
        if run is None or row.ended_at is not None:
            return row.status
        run.stop()
        self._spawn(self._resume(run))  # nothing, unless the run still waits for its turn
        await asyncio.wait({run.over}, timeout=STOP_WAIT_S)
        return (await self._journal.read(partial(read_run, run_id=row.id))).status

    async def drain(self, *, grace_s: float = DRAIN_GRACE_S) -> None:
        """For SIGTERM: runs stop at their next step and are left for the next start; streams end.

        Returns within `grace_s` + `cancel_patience_s` + 1 seconds and a little.
        """
        self._draining = True
        for run in self._owned.values():
            run.control.request_drain("shutdown")
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=grace_s)
        for run in list(self._owned.values()):
            run.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self._patience_s + 1)
        await self._journal.write(forgive_resumes)
        self._events.close()

    async def finished(self, run_id: str) -> Message:
        """Wait for the end and return the final message.

        Raises NotFound (run_not_found), DependencyFailed (shutting_down) when the run is left for the next
        start.
        """
        if run := self._owned.get(run_id):
            await asyncio.shield(run.over)
        row = await self._journal.read(partial(read_run, run_id=run_id))
        if row.ended_at is None:
            raise _shutting_down()
        return await self._sessions.message(row.message_id)

    async def get(self, run_id: str) -> dict[str, Any]:
        """`{id, session_id, message_id, status, created_at, ended_at, timing}`.

        Raises NotFound (run_not_found).
        """
        row = await self._journal.read(partial(read_run, run_id=run_id))
        return {
            "id": row.id,
            "session_id": row.session_id,
            "message_id": row.message_id,
            "status": row.status,
            "created_at": row.created_at,
            "ended_at": row.ended_at,
            "timing": row.timing,
            "forked_from": row.forked_from,
            "fork_stage": row.fork_stage,
            "kept": row.kept,
        }

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        # Not a task group: one run's failure must not cancel its neighbours.
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _start(self, asked: Asked) -> str:
        run_id = asked["run_id"]
        # Owned before it is stored: whoever sees it in the journal can stop it.
        run = self._owned[run_id] = OwnedRun(asked)
        try:
            stored = await self._journal.write(partial(insert_run, asked=asked))
        except BaseException:
            self._let_go(run)
            raise
        if stored != run_id:
            self._let_go(run)
            return stored
        self._spawn(self._own(run, Told(seq=1)))
        return run_id

    async def _resume_in_turn(self, run: OwnedRun) -> None:
        async with self._slots:
            await self._resume(run)

    async def _resume(self, run: OwnedRun) -> None:
        if run.waits:
            run.waits = False
            await self._own(run, None)

    async def _own(self, run: OwnedRun, told: Told | None) -> None:
        """From here to its end the run is ours; `told` is None when another process has begun it."""
        try:
            end = await self._answer(run, told)
            if end is not None:
                await self._end(run, end)
        except JournalClosed:
            logger.warning("run %s was cut off by the shutdown and resumes at the next start", run.id)
        except Exception:
            logger.exception("run %s could not be brought to its end; it resumes at the next start", run.id)
        finally:
            self._let_go(run)

    def _let_go(self, run: OwnedRun) -> None:
        self._owned.pop(run.id, None)
        if not run.over.done():
            run.over.set_result(None)

    async def _answer(self, run: OwnedRun, told: Told | None) -> End | None:
        """Run the graph. None: the run goes on in the next process."""
        if self._draining:
            return None
        if told is None:
            told = await self._journal.read(partial(read_told, run_id=run.id))
            if end := await self._take_over(run, told):
                return end
        else:
            run.emitter = RunEmitter(self._events, run.id, told)
        if run.stop_asked:
            return End(status="stopped", response_type="stop")
        run.graph = asyncio.create_task(self._invoke(run))
        await until_over(run, self._patience_s)
        return await self._verdict(run)

    async def _take_over(self, run: OwnedRun, told: Told) -> End | None:
        """Void what the last process had begun and not finished; an end if there is nothing to go on with."""
        run.emitter = RunEmitter(self._events, run.id, told)
        newest = await self._saver.aget_tuple(run.config)
        checkpoint_id = newest.checkpoint["id"] if newest else ""
        row = await self._journal.write(partial(count_resume, run_id=run.id, checkpoint_id=checkpoint_id))
        run.emitter.void(unfinished_tasks(told.tasks, newest))
        if row.status == "stopping":
            return End(status="stopped", response_type="stop")
        if row.resumes > self._most_resumes:
            logger.error("run %s: %d starts ended at the same step, so it is given up", run.id, row.resumes)
            return failure(run, "run_given_up", 500, times=row.resumes)
        logger.info("run %s resumes", run.id)
        return None

    async def _invoke(self, run: OwnedRun) -> RagState:
        # The same input with the same run id: LangGraph goes on from the newest checkpoint, if there is one.
        state = await self._graph.ainvoke(
            Ask(request=run.asked),
            run.config,
            context=self._make_context(run.emitter, run.asked),
            durability="sync",
            control=run.control,
        )
        return cast(RagState, state)

    async def _verdict(self, run: OwnedRun) -> End | None:
        """What the end of the graph means. A person who asked to stop gets a stop, whatever else happened."""
        if run.stop_asked:
            return End(status="stopped", response_type="stop", stages_ms=await self._stages(run))
        if run.over_limit:
            limit = run.asked["run_limit_s"]
            return failure(run, "run_limit", 504, stages=await self._stages(run), limit=limit)
        if self._draining and run.was_cut_off:
            return None
        if run.graph is None or not run.graph.done() or run.graph.cancelled():
            logger.error("run %s was cancelled, but not by its owner", run.id)
            return failure(run, "internal_error", 500)
        match run.graph.exception() or run.emitter.failure:
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

    async def _end(self, run: OwnedRun, end: End) -> None:
        run.emitter.close()
        ended = await self._journal.write(partial(end_run, run_id=run.id, end=end))
        self._events.wake(run.id)
        check_answer(run, ended.answer)
        logger.info(
            "run %s %s outcome=%s total_ms=%.0f stages_ms=%s",
            run.id,
            end.status,
            end.outcome,
            ended.timing["total_ms"],
            ended.timing["stages_ms"],
        )


def _saver_of(graph: Graph) -> BaseCheckpointSaver[Any]:
    if not isinstance(graph.checkpointer, BaseCheckpointSaver):
        raise TypeError("a run that is never lost needs a graph compiled with a checkpointer")
    return cast("BaseCheckpointSaver[Any]", graph.checkpointer)


def _shutting_down() -> DependencyFailed:
    return DependencyFailed(
        "headrace", "the server is shutting down; ask again in a moment", code="shutting_down"
    )
