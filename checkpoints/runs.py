"""The life of a run: started once, owned by one task, resumed after a crash, ended in one transaction."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from ..context import Context
from ..errors import DependencyFailed, StorageFull
from ..state import Asked
from .beside import Beside
from .driver import Driver, Graph
from .event_rows import Told
from .events import EventLog, RunEmitter
from .journal import Journal, JournalClosed
from .line import OnBusy, ask_to_stop, enter, stop_session
from .owned import OwnedRun, WaitsFor
from .places import Places
from .room import until_room
from .run_rows import End, RunRow, end_run, forgive_resumes, read_run, read_unfinished, start_next
from .saver import CheckpointTooNew
from .sessions import Message, Sessions
from .verdicts import check_answer

logger = logging.getLogger(__name__)

# How long `stop` waits for the end that it has asked for, before it answers "stopping".
STOP_WAIT_S = 2.0
# How long a cancelled graph may take to let go. A node that swallows its cancellation must not keep the
# person waiting: after this the run ends without it, and what it still emits is refused.
CANCEL_PATIENCE_S = 3.0
DRAIN_GRACE_S = 4.0
# A run found unfinished this often at the same checkpoint has probably brought the process down itself.
MOST_RESUMES = 3
RESUMED_AT_ONCE = 8
# A thousand at once would wait for their model until its time is over, and questions with them.
FORKS_AT_ONCE = 32
# So many are taken over before the loop is given to others.
TAKEN_AT_ONCE = 100
# How soon after a write without room it is tried again, and how long at most between two tries.
ROOM_FIRST_S = 0.5
ROOM_LONGEST_S = 10.0


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
        room_first_s: float = ROOM_FIRST_S,
        beside: Beside | None = None,
    ) -> None:
        self._journal = journal
        self._events = events
        self._sessions = sessions
        self._patience_s = cancel_patience_s
        self._driver = Driver(
            journal, events, graph, make_context, patience_s=cancel_patience_s, most_resumes=most_resumes
        )
        self._room_first_s = room_first_s
        self._beside = beside
        self._owned: dict[str, OwnedRun] = {}
        self._too_new: dict[str, CheckpointTooNew] = {}  # runs that only a newer program can go on with
        self._tasks: set[asyncio.Task[Any]] = set()
        self._accompanying: set[asyncio.Task[None]] = set()
        go_on = partial(self._own, told=None)
        self._places = Places(RESUMED_AT_ONCE, go_on, self._spawn)
        self._forks = Places(FORKS_AT_ONCE, go_on, self._spawn)
        self._watch: asyncio.Task[None] | None = None  # for room, while runs wait for some

    async def start(self, asked: Asked, *, on_busy: OnBusy = "reject", replaces: str | None = None) -> str:
        """Store the question and start to answer it. Returns the id of the run to follow: that of the
        first try, if the same request comes again.

        `replaces` is the request_id of a turn that leaves the conversation for this one, in the same moment.

        While the session answers another one, `queue` lets it wait for its turn, and `stop` stops that one
        and all that wait.

        Raises NotFound (session_not_found), Conflict (session_busy, details.message_id; queue_full;
        request_id_taken), DependencyFailed (shutting_down), StorageFull.
        """
        if self._driver.draining:
            raise _shutting_down()
        # In a task of its own: a caller that goes away after the commit must not leave a run unowned.
        return await asyncio.shield(self._spawn(self._start(asked, on_busy, replaces)))

    def adopt(self, asked: Asked) -> None:
        """Go on with a run that is stored with its first events and perhaps a checkpoint, such as a fork:
        now, or when one of as many as may go on at once has ended.

        Raises DependencyFailed (shutting_down): it goes on at the next start then.
        """
        if self._driver.draining:
            raise _shutting_down()
        if asked["run_id"] in self._owned:
            return  # found unfinished between its storing and this call: at a start both happen at once
        run = self._take(asked)
        run.adopted = True
        self._forks.wait_for_one(run)

    async def resume_unfinished(self) -> int:
        """Take over the runs that the last process left, a few at a time; those that wait for their turn or
        for a person go on waiting. Returns how many."""
        rows = await self._journal.read(read_unfinished)
        left = [row for row in rows if row.id not in self._owned]
        for number, row in enumerate(left, start=1):
            if row.id in self._owned:
                continue  # stopped, or given its turn, while others were taken
            waits = _waits_for(row)
            run = self._take(row.asked, waits)
            if waits == "place":
                self._places.wait_for_one(run)
            if number % TAKEN_AT_ONCE == 0:
                await asyncio.sleep(0)
        await self._look_again(left)
        return len(left)

    async def stop(self, session_id: str, message_id: str) -> str:
        """Ask an answer to stop; waits a little for its end. Returns the status of the run then.

        Harmless when the run has ended. Raises NotFound (message_not_found), StorageFull: it is stopped all
        the same then, unless the process ends before there is room.
        """
        asking = partial(ask_to_stop, session_id=session_id, message_id=message_id)
        try:
            row = await self._journal.write(asking)
        except StorageFull:
            for run in list(self._owned.values()):
                if run.asked["message_id"] == message_id:
                    run.stop()
                    if run.waits == "person":
                        self._wake(run)
            raise
        if run := self._carry_out_stop(row):
            await asyncio.wait({run.over}, timeout=STOP_WAIT_S)
        return (await self._journal.read(partial(read_run, run_id=row.id))).status

    async def stop_session(self, session_id: str) -> None:
        """Stop all that goes on or waits in a session, forks too, and wait a little for their ends.

        Raises StorageFull.
        """
        rows = await self._journal.write(partial(stop_session, session_id=session_id))
        runs = [run for row in rows if (run := self._carry_out_stop(row))]
        if runs:
            await asyncio.wait({run.over for run in runs}, timeout=STOP_WAIT_S + self._patience_s)

    async def drain(self, *, grace_s: float = DRAIN_GRACE_S) -> None:
        """For SIGTERM: runs stop at their next step and are left for the next start; streams end.

        Returns within `grace_s` + `cancel_patience_s` + 1 seconds and a little.
        """
        self._driver.draining = True
        if self._watch is not None:
            self._watch.cancel()
        for beside in self._accompanying:
            beside.cancel()
        for run in self._owned.values():
            run.control.request_drain("shutdown")
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=grace_s)
        for run in list(self._owned.values()):
            run.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self._patience_s + 1)
        for run in list(self._owned.values()):
            self._let_go(run)
        try:
            await self._journal.write(forgive_resumes)
        except StorageFull:
            logger.warning("no room to store that this shutdown was an orderly one")
        self._events.close()

    async def finished(self, run_id: str) -> Message:
        """Wait for the end and return the final message.

        Raises NotFound (run_not_found), DependencyFailed (shutting_down) when the run is left for the next
        start, CheckpointTooNew when it is left for a newer program.
        """
        if run := self._owned.get(run_id):
            await asyncio.shield(run.over)
        try:
            row = await self._journal.read(partial(read_run, run_id=run_id))
        except JournalClosed as closed:
            raise _shutting_down() from closed
        if row.ended_at is None:
            self.require_ours(run_id)
            raise _shutting_down()
        return await self._sessions.message(row.message_id)

    def require_ours(self, run_id: str) -> None:
        """Raises CheckpointTooNew for a run that nothing more will come from before a newer program runs."""
        if error := self._too_new.get(run_id):
            raise CheckpointTooNew(error.message, details=error.details)

    def waits_for(self, run_id: str) -> WaitsFor | None:
        """What a run of this process waits for, if it is not at work."""
        run = self._owned.get(run_id)
        return run.waits if run else None

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

    def _take(self, asked: Asked, waits: WaitsFor | None = None) -> OwnedRun:
        run = self._owned[asked["run_id"]] = OwnedRun(asked, waits=waits)
        return run

    def _let_go(self, run: OwnedRun) -> None:
        if self._owned.get(run.id) is run:
            del self._owned[run.id]
        if not run.over.done():
            run.over.set_result(None)

    def _wake(self, run: OwnedRun) -> None:
        """Whatever it waits for has come, or nobody waits for that any more."""
        if run.waits is not None:
            # In line nothing but the question was told; everywhere else the log has to be read.
            told = Told(seq=1) if run.waits == "turn" else None
            run.waits = None
            self._spawn(self._own(run, told))

    def _carry_out_stop(self, row: RunRow) -> OwnedRun | None:
        """What has been asked of the rows; gives the run whose end is to come."""
        run = self._owned.get(row.id)
        if row.ended_at is not None:
            if run is not None and run.waits == "turn":  # it has ended in line
                self._events.wake(row.id)
                self._let_go(run)
            return None
        # Nobody owns it: only a newer program can go on with it, or this one has not got to it yet.
        run = run or self._take(row.asked, "place")
        run.stop()
        self._wake(run)
        return run

    async def _start(self, asked: Asked, on_busy: OnBusy, replaces: str | None) -> str:
        # Owned before it is stored: whoever sees it in the journal can stop it, or give it its turn.
        run = self._take(asked, "turn")
        try:
            entered = await self._journal.write(
                partial(enter, asked=asked, on_busy=on_busy, replaces=replaces)
            )
        except BaseException:
            self._let_go(run)
            raise
        for row in entered.stopped:
            self._carry_out_stop(row)
        if not entered.new:
            self._let_go(run)
        elif not entered.queued:
            self._wake(run)
        return entered.run_id

    async def _look_again(self, taken: list[RunRow]) -> None:
        """Those that were stopped before they were taken are let go; a line that stands still goes on."""
        rows = await self._journal.read(read_unfinished)
        unfinished = {row.id for row in rows}
        for row in taken:
            run = self._owned.get(row.id)
            if run is not None and run.waits in ("turn", "person") and row.id not in unfinished:
                self._let_go(run)
        lines = {row.session_id for row in rows if row.status == "queued"}
        for session_id in lines - {row.session_id for row in rows if row.status != "queued"}:
            self._begin(await self._journal.write(partial(start_next, session_id=session_id)))

    def _begin(self, row: RunRow | None) -> None:
        """The turn of a run has come."""
        if row is not None:
            self._wake(self._owned.get(row.id) or self._take(row.asked, "turn"))

    async def _own(self, run: OwnedRun, told: Told | None) -> None:
        """From here to its end, or until it has to wait, the run is ours; `told` is None when it was begun
        before."""
        if self._beside is not None and not run.accompanied and not run.adopted:
            run.accompanied = True
            self._events.linger(run.id)
            beside = asyncio.create_task(self._beside.accompany(run.asked, run.over))
            self._accompanying.add(beside)
            beside.add_done_callback(self._accompanying.discard)
        try:
            end = await self._driver.drive(run, told)
            if end is not None:
                await self._end(run, end)
        except StorageFull:
            await self._pause(run)
        except CheckpointTooNew as error:
            logger.error("%s", error.message)
            self._too_new[run.id] = error
            self._events.abandon(run.id)
        except JournalClosed:
            logger.warning("run %s was cut off by the shutdown and resumes at the next start", run.id)
        except Exception:
            logger.exception("run %s could not be brought to its end; it resumes at the next start", run.id)
        finally:
            if run.waits is None:
                self._let_go(run)

    async def _pause(self, run: OwnedRun) -> None:
        """Something of the run could not be stored: it goes on from what is, once there is room."""
        if self._driver.draining:
            return
        logger.warning("run %s pauses: there is no room to store its events", run.id)
        if run.graph is not None and not run.graph.done():
            # Two at work on one thread would spoil it, so this takes as long as it takes.
            run.cancel()
            await asyncio.wait({run.graph})
        run.renew()
        run.lost_something = True
        run.waits = "room"
        if self._watch is None or self._watch.done():
            self._watch = self._spawn(self._watch_for_room())

    async def _watch_for_room(self) -> None:
        await until_room(self._journal, first_s=self._room_first_s, longest_s=ROOM_LONGEST_S)
        for run in [run for run in self._owned.values() if run.waits == "room"]:
            self._places.wait_for_one(run)

    async def _end(self, run: OwnedRun, end: End) -> None:
        run.emitter.close()
        ended = await self._journal.write(partial(end_run, run_id=run.id, end=end))
        self._events.wake(run.id)
        self._too_new.pop(run.id, None)
        self._begin(ended.next)
        check_answer(run, ended.answer)
        logger.info(
            "run %s %s outcome=%s total_ms=%.0f stages_ms=%s",
            run.id,
            end.status,
            end.outcome,
            ended.timing["total_ms"],
            ended.timing["stages_ms"],
        )


def _shutting_down() -> DependencyFailed:
    return DependencyFailed(
        "headrace", "the server is shutting down; ask again in a moment", code="shutting_down"
    )


def _waits_for(row: RunRow) -> WaitsFor:
    """What an unfinished run waits for at a start."""
    match row.status:
        case "queued":
            return "turn"
        case "waiting":
            return "person"
        case _:
            return "place"
