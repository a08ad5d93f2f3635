"""A run that this process owns: its one graph task, what it waits for, how it is asked to end."""

import asyncio
import logging
from typing import Any, Literal

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphDrained
from langgraph.runtime import RunControl
from langgraph.types import Command

from ..state import Ask, Asked, RagState
from .events import RunEmitter

logger = logging.getLogger(__name__)

RECURSION_LIMIT = 50
# Time to reach the next step, then time for the last words of a cancelled node (a citation held back):
# together what may still be told after a stop.
STOP_GRACE_S = 0.15
LAST_WORDS_S = 0.05


# One of the places of those that are resumed; the end of the runs before it in its session; a person, whose
# answer an interrupted node needs; room on the disk.
WaitsFor = Literal["place", "turn", "person", "room"]


class OwnedRun:
    """A run that this process owns. While it waits for something it has no task."""

    emitter: RunEmitter

    def __init__(self, asked: Asked, *, waits: WaitsFor | None = None) -> None:
        self.id = asked["run_id"]
        self.asked = asked
        self.config = RunnableConfig(
            configurable={"thread_id": self.id},
            metadata={"run_id": self.id},
            recursion_limit=RECURSION_LIMIT,
        )
        # What the graph is called with. An answer to an interrupt goes in here, as Command(resume=...).
        self.given: Ask | Command[Any] = Ask(request=asked)
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waits: WaitsFor | None = waits
        self.stop_asked = False
        self.adopted = False  # begun by this process, from a checkpoint that is there: no resuming
        self.accompanied = False  # further questions and a title are made beside it
        self.lost_something = False  # for want of room: what is stored is where it goes on from
        self.renew()

    def renew(self) -> None:
        """As before its graph was called."""
        self.control = RunControl()
        self.graph: asyncio.Task[RagState] | None = None
        self.cancelled = asyncio.Event()
        self.over_limit = False

    @property
    def was_cut_off(self) -> bool:
        """The graph did not come to an end of its own."""
        if self.graph is None or not self.graph.done() or self.graph.cancelled():
            return True
        error = self.graph.exception()
        return isinstance(error, GraphDrained) or (error is not None and self.cancelled.is_set())

    def stop(self) -> None:
        if not self.stop_asked:
            self.stop_asked = True
            self.control.request_drain("stop")
            asyncio.get_running_loop().call_later(STOP_GRACE_S, self.cancel)

    def cancel(self) -> None:
        # Exactly once: LangGraph leaves node tasks orphaned when it is cancelled while it cleans up
        # (https://github.com/langchain-ai/langgraph/issues/5682).
        if self.graph is not None and not self.graph.done() and not self.cancelled.is_set():
            self.cancelled.set()
            self.graph.cancel()


async def until_over(run: OwnedRun, patience_s: float) -> None:
    """The graph has returned, or was cancelled and had its time to let go."""
    graph = run.graph
    assert graph is not None
    cancelled = asyncio.create_task(run.cancelled.wait())
    limit = run.asked["run_limit_s"]
    await asyncio.wait({graph, cancelled}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
    if not graph.done() and not run.cancelled.is_set():
        run.over_limit = True
        run.cancel()
    cancelled.cancel()
    await asyncio.wait({graph}, timeout=LAST_WORDS_S)
    # A node that has swallowed its cancellation fails at its next word.
    run.emitter.close()
    await asyncio.wait({graph}, timeout=patience_s)
    if not graph.done():
        logger.error("run %s: a node swallowed its cancellation; the run ends without it", run.id)
    # What it raised may not matter any more; asyncio complains unless somebody looks.
    graph.add_done_callback(lambda task: task.cancelled() or task.exception())
