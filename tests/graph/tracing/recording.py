"""Runs of the real graph over fakes, and what they leave, as a trace takes it."""

from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import StateSnapshot

from headrace.context import Context
from headrace.errors import HeadraceError
from headrace.graph.build import build
from headrace.graph.tracing.recorded import LoggedEvent, Recorded
from headrace.graph.tracing.shapes import Candidate, Run, Stage, Trace
from headrace.graph.tracing.trace import build_trace
from headrace.state import Ask, Hit

from ...fakes import PROMPTS, MemoryPassages, World, asked


class Forgetful(MemoryPassages):
    """Loses the texts of some chunks: `lost` says from which reading on, counted from 1."""

    def __init__(self, world: World, **lost: int) -> None:
        super().__init__(world.catalogue)
        self.lost = lost
        self.readings = 0

    async def read(self, hits: Sequence[Hit]) -> list[str | None]:
        self.readings += 1
        texts = await super().read(hits)
        return [
            None if self.lost.get(hit["chunk_id"], 99) <= self.readings else text
            for hit, text in zip(hits, texts, strict=True)
        ]


def a_run(**parts: Any) -> Run:
    """A finished run; `parts` are other fields."""
    run = Run(
        id="run1",
        session_id="s1",
        message_id="m2",
        status="complete",
        created_at="2026-01-01T00:00:00.000Z",
        ended_at="2026-01-01T00:00:09.000Z",
        timing=None,
        forked_from=None,
        fork_stage=None,
        kept="all",
        question="question",
        outcome=None,
        forks=[],
    )
    run.update(parts)  # pyright: ignore[reportArgumentType, reportCallIssue]  # named fields of a TypedDict
    return run


async def recorded(context: Context, query: str, *, steps: int = 50, **request: Any) -> Recorded:
    """Answer a question and keep what is left of it; after `steps` stages the run is still on its way."""
    graph = build().compile(checkpointer=InMemorySaver())
    config: RunnableConfig = {"configurable": {"thread_id": "run1"}, "recursion_limit": 50}
    given = asked(query, **request)
    stream = graph.astream(Ask(request=given), config, context=context, durability="sync")
    error: dict[str, Any] | None = None
    try:
        async for _ in stream:
            steps -= 1
            if not steps:
                break
    except HeadraceError as failure:
        error = {"code": failure.code, "message": failure.message}
    await cast("AsyncGenerator[Any]", stream).aclose()
    snapshots = [snapshot async for snapshot in graph.aget_state_history(config)][::-1]
    return await read(context, given, snapshots, error=error)


async def read(
    context: Context, given: Any, snapshots: Sequence[StateSnapshot], *, error: dict[str, Any] | None = None
) -> Recorded:
    values, catalogue = snapshots[-1].values, context.catalogue
    left = [one["chunk_id"] for one in values.get("departures", [])]
    chunks = await catalogue.chunks([*left, *(hit["chunk_id"] for hit in values.get("chunk_hits", []))])
    hits: list[Hit] = [hit for name in ("chunk_hits", "merged", "selected") for hit in values.get(name, [])]
    documents = [*(hit["document_id"] for hit in hits), *(chunk.document_id for chunk in chunks.values())]
    status = "failed" if error else "running" if snapshots[-1].next else "complete"
    return Recorded(
        run=a_run(status=status, question=given["query"], outcome=values.get("outcome")),
        asked=given,
        answer=values.get("answer", ""),
        error=error,
        prompts=PROMPTS,
        hide=str,
        snapshots=snapshots,
        chunks=chunks,
        texts=getattr(context.passages, "texts", {}),
        documents=await catalogue.documents(documents),
    )


async def traced(context: Context, query: str, **request: Any) -> Trace:
    return build_trace(await recorded(context, query, **request))


def candidate(trace: Trace, chunk_id: str) -> Candidate:
    [found] = [one for one in trace["candidates"] if one["chunk_id"] == chunk_id]
    return found


def stage(trace: Trace, name: str) -> Stage:
    [found] = [one for one in trace["stages"] if one["stage"] == name]
    return found


def names(trace: Trace) -> list[str]:
    return [one["stage"] for one in trace["stages"]]


def an_event(seq: int, response_type: str = "answer", *, task: int | None = None, **data: Any) -> LoggedEvent:
    """An event of `task`, which began from checkpoint `cp<task>`; `data` is its data."""
    return LoggedEvent(
        seq=seq,
        at=1_767_225_600_000 + seq * 1000,
        response_type=response_type,
        content="",
        data=data,
        task=task,
        checkpoint_id=None if task is None else f"cp{task}",
    )


def hides(*secrets: str) -> Callable[[str], str]:
    def hide(text: str) -> str:
        for secret in secrets:
            text = text.replace(secret, "…")
        return text

    return hide
