"""A small graph over a real journal: it looks, it answers piece by piece, it signs off."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from headrace.checkpoints.events import Event, EventLog, RunEmitter
from headrace.checkpoints.forks import Forks
from headrace.checkpoints.journal import Journal, open_journal
from headrace.checkpoints.line import OnBusy
from headrace.checkpoints.runs import Runs
from headrace.checkpoints.saver import JournalSaver
from headrace.checkpoints.sessions import Sessions
from headrace.checkpoints.texts import KeptTexts
from headrace.context import Context
from headrace.ids import new_id
from headrace.state import Ask, Asked, RagState, Update

from ..fakes import asked as any_asked

PIECES = ("水", "从渠", "中来。", " Water ", "comes ", "down.")

Hook = Callable[[RunEmitter], Awaitable[None]]


async def nothing(emit: RunEmitter) -> None:
    return None


@dataclass
class Toy:
    """What the nodes of one toy graph have at hand; `ran` and `told` count what they did.

    The hooks wait, fail or watch: `between(emit, n)` comes before piece n (from 0) of the answer.
    """

    emit: RunEmitter
    ran: list[str]
    told: list[str]
    looking: Hook = nothing
    between: Callable[[RunEmitter, int], Awaitable[None]] = field(default=lambda emit, n: nothing(emit))
    signing: Hook = nothing


def as_toy(runtime: Runtime[Context]) -> Toy:
    return cast(Toy, runtime.context)


async def look(state: RagState, runtime: Runtime[Context]) -> Update:
    toy = as_toy(runtime)
    toy.ran.append("look")
    toy.emit.open_call("knowledge_search", {"query": state["request"]["query"]})
    await toy.looking(toy.emit)
    return {"timings": {"look": 1.0}}


async def write(state: RagState, runtime: Runtime[Context]) -> Update:
    toy = as_toy(runtime)
    toy.ran.append("write")
    toy.emit.close_call("knowledge_search", {"hits": 3})
    segment = toy.emit.new_segment()
    for number, piece in enumerate(PIECES):
        await toy.between(toy.emit, number)
        toy.emit("answer", piece, data={"segment": segment})
        toy.told.append(piece)
    return {"answer": "".join(PIECES), "model": "toy", "timings": {"write": 2.0}}


async def sign(state: RagState, runtime: Runtime[Context]) -> Update:
    toy = as_toy(runtime)
    toy.ran.append("sign")
    await toy.signing(toy.emit)
    return {"outcome": "answered", "timings": {"sign": 0.5}}


def toy_graph() -> StateGraph[RagState, Context, Ask, RagState]:
    graph = StateGraph(RagState, context_schema=Context, input_schema=Ask)

    graph.add_node("look", look)
    graph.add_node("write", write)
    graph.add_node("sign", sign)

    graph.add_edge(START, "look")
    graph.add_edge("look", "write")
    graph.add_edge("write", "sign")
    graph.add_edge("sign", END)

    return graph


@dataclass
class Stack:
    """Everything of one process over one journal. Hooks count for runs started after they are set."""

    journal: Journal
    events: EventLog
    sessions: Sessions
    texts: KeptTexts
    runs: Runs
    forks: Forks
    ran: list[str]
    told: list[str]
    hooks: dict[str, Any]

    async def ask(self, query: str = "水从哪里来？", *, on_busy: OnBusy = "reject", **given: Any) -> Asked:
        session_id = given.pop("session_id", None) or (await self.sessions.create()).id
        asked = an_asked(session_id, query, **given)
        await self.runs.start(asked, on_busy=on_busy)
        return asked

    async def stop(self, asked: Asked) -> str:
        return await self.runs.stop(asked["session_id"], asked["message_id"])

    async def status(self, asked: Asked) -> tuple[str, str]:
        """Of the run and of its message."""
        run = await self.runs.get(asked["run_id"])
        return run["status"], (await self.sessions.message(asked["message_id"])).status

    async def all_of(self, asked: Asked, *, after: int = 0) -> list[Event]:
        return [event async for event in self.events.follow(asked["run_id"], after=after)]


@asynccontextmanager
async def a_stack(
    folder: Path,
    *,
    patience_s: float = 0.2,
    graph: Callable[[], StateGraph[RagState, Context, Ask, RagState]] = toy_graph,
    kind: type[Runs] = Runs,
    **hooks: Any,
) -> AsyncGenerator[Stack]:
    """A process: opened over the journal in `folder`, drained at the end."""
    ran: list[str] = []
    told: list[str] = []
    async with open_journal(folder / "journal.sqlite") as journal:
        events = EventLog(journal)
        sessions = Sessions(journal)

        def make_context(emit: RunEmitter, asked: Asked) -> Context:
            return cast(Context, Toy(emit=emit, ran=ran, told=told, **hooks))

        compiled = graph().compile(checkpointer=JournalSaver(journal))
        runs = kind(
            journal, events, sessions, compiled, make_context, cancel_patience_s=patience_s, room_first_s=0.01
        )
        yield Stack(
            journal=journal,
            events=events,
            sessions=sessions,
            texts=KeptTexts(journal),
            runs=runs,
            forks=Forks(journal, compiled, runs),
            ran=ran,
            told=told,
            hooks=hooks,
        )
        await runs.drain(grace_s=0.05)


def an_asked(session_id: str, query: str = "水从哪里来？", **given: Any) -> Asked:
    """A request with ids of its own, for a graph that searches nothing."""
    ids = {name: new_id() for name in ("message_id", "user_message_id", "request_id", "run_id")}
    return any_asked(query, **{"session_id": session_id, "language": "zh", "kb_ids": [], **ids, **given})


def types(events: list[Event]) -> list[str]:
    return [event["response_type"] for event in events]


def live_answer(events: list[Event]) -> str:
    """What a client shows: it adds pieces and drops the segments that a reset names."""
    shown: dict[int, str] = {}
    for event in events:
        if event["response_type"] == "answer":
            segment = event["data"]["segment"]
            shown[segment] = shown.get(segment, "") + event["content"]
        elif event["response_type"] == "reset":
            for segment in event["data"]["segments"]:
                shown.pop(segment, None)
    return "".join(shown.values())


class Gate:
    """A place where a node waits until the test lets it on. Also a hook."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.opened = asyncio.Event()

    async def wait(self) -> None:
        self.reached.set()
        await self.opened.wait()

    async def __call__(self, emit: RunEmitter) -> None:
        await self.wait()
