"""What the end of a graph means for its run: the last event, and what its message says from then on."""

import logging
from collections.abc import Iterable, Iterator
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.serde.types import ERROR, INTERRUPT, RESUME
from langgraph.types import StateSnapshot

from ..errors import HeadraceError, StorageFull
from ..state import RagState
from .event_rows import TaskTag
from .owned import OwnedRun
from .run_rows import End

logger = logging.getLogger(__name__)

SENTENCES = {
    "internal_error": {
        "en": "Something went wrong inside the server; its log has the details.",
        "zh": "服务器内部出错，详情见服务器日志。",
    },
    "run_limit": {
        "en": "The answer took longer than {limit:g} seconds and was ended.",
        "zh": "回答用时超过 {limit:g} 秒，已被终止。",
    },
    "run_given_up": {
        "en": "The server went down {times} times at the same step of this answer, so it was given up.",
        "zh": "服务器在回答的同一步骤中断了 {times} 次，已放弃该回答。",
    },
}


def unfinished_tasks(tasks: Iterable[TaskTag], newest: CheckpointTuple | None) -> list[TaskTag]:
    """Tasks that have told something and will run again: nothing they wrote is stored."""
    if newest is None:
        return list(tasks)
    writes = newest.pending_writes or []
    finished = {task_id for task_id, channel, _ in writes if channel not in (ERROR, INTERRUPT, RESUME)}
    started_from = newest.checkpoint["id"]
    return [t for t in tasks if t["checkpoint_id"] >= started_from and t["task_id"] not in finished]


def awaits_person(snapshot: StateSnapshot) -> bool:
    """Whether nothing is left to do before somebody answers an interrupt."""
    open_tasks = [task for task in snapshot.tasks if task.result is None]
    return any(task.interrupts for task in open_tasks) and all(task.interrupts for task in open_tasks)


def has_interrupt(newest: CheckpointTuple | None) -> bool:
    return any(channel == INTERRUPT for _, channel, _ in (newest.pending_writes or [] if newest else []))


def lacks_room(run: OwnedRun) -> bool:
    """Whether anything of the run could not be stored for want of room, whatever its nodes made of that."""
    if isinstance(run.emitter.failure, StorageFull):
        return True
    if run.graph is None or not run.graph.done() or run.graph.cancelled():
        return False
    return any(isinstance(error, StorageFull) for error in chain_of(run.graph.exception()))


def chain_of(error: BaseException | None) -> Iterator[BaseException]:
    """An error and what it came from, each once: who raises one again may close the chain to a ring."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


STOPPED = End(status="stopped", response_type="stop")


def completion(state: RagState) -> End:
    outcome = state.get("outcome")
    return End(
        status="complete",
        response_type="complete",
        data={"outcome": outcome, "usage": state.get("usage", {}), "model": state.get("model")},
        outcome=outcome,
        details=_details(state),
        stages_ms=state.get("timings", {}),
    )


def _details(state: RagState) -> dict[str, Any]:
    """What a page shows beside an answer when it is loaded again."""
    shown = {name: state.get(name) for name in ("model", "usage", "thinking")}
    shown["knowledge_bases"] = state.get("kb_choice")
    return {name: value for name, value in shown.items() if value}


def failure_of(error: HeadraceError, stages: dict[str, float]) -> End:
    """One of our errors: its message is meant for the person."""
    return End(
        status="failed",
        response_type="error",
        content=error.message,
        data={"code": error.code, "status": error.status},
        stages_ms=stages,
    )


def failure(
    run: OwnedRun, code: str, status: int, *, stages: dict[str, float] | None = None, **values: float
) -> End:
    sentences = SENTENCES[code]
    sentence = sentences.get(run.asked["language"], sentences["en"])
    return End(
        status="failed",
        response_type="error",
        content=sentence.format(**values),
        data={"code": code, "status": status},
        stages_ms=stages or {},
    )


def check_answer(run: OwnedRun, told: str) -> None:
    """Readers have seen what the log says, so that is what is stored; a difference is a node's bug."""
    if run.stop_asked or run.graph is None or not run.graph.done() or run.graph.cancelled():
        return
    if run.graph.exception() is None and (answer := run.graph.result().get("answer", "")) != told:
        logger.warning(
            "run %s: the state holds an answer of %d characters, its events one of %d: the events win",
            run.id,
            len(answer),
            len(told),
        )
