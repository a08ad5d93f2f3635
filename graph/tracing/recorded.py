"""What a trace is put together from: everything that a run left, as values."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NotRequired, TypedDict, cast

from langgraph.types import StateSnapshot

from ...context import Chunk, Document, Prompts
from ...state import Asked, RagState
from .shapes import Run


class LoggedEvent(TypedDict):
    """One event of a run's log, with the task that told it and the checkpoint that task began from."""

    seq: int
    at: int  # milliseconds of Unix time
    response_type: str
    content: str
    data: dict[str, Any]
    knowledge_references: NotRequired[list[dict[str, Any]]]
    task: int | None
    checkpoint_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """A run that this one branches off, or that one of those does: what is kept of it, and its own branch."""

    kept: str
    fork_stage: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One run. `snapshots` are the states of its thread, oldest first, as LangGraph gives them.

    `chunks`, `documents` and `texts` (by sha256) are as they are now: what is gone is left out.
    `hide` takes secrets out of a text. `resumes` counts the starts that found the run at the checkpoint
    `resumed_from`. `origins` are the runs it comes from, the nearest first, as far as they are there.
    """

    run: Run
    asked: Asked
    answer: str
    error: dict[str, Any] | None
    prompts: Prompts
    hide: Callable[[str], str]
    snapshots: Sequence[StateSnapshot] = ()
    events: Sequence[LoggedEvent] = ()
    chunks: Mapping[str, Chunk] = field(default_factory=dict[str, Chunk])
    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    documents: Mapping[str, Document] = field(default_factory=dict[str, Document])
    origins: Sequence[Origin] = ()
    resumes: int = 0
    resumed_from: str | None = None

    @property
    def state(self) -> RagState:
        """The newest state; of a run that has not begun, what it was asked."""
        return state_of(self.snapshots[-1], self.asked) if self.snapshots else RagState(request=self.asked)


def state_of(snapshot: StateSnapshot, asked: Asked) -> RagState:
    # Before the first step the request stands only in the input, which is no channel.
    return cast(RagState, {"request": asked, **snapshot.values})
