"""The real graph over a real journal, with a small library whose every use is counted."""

import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
from langchain_core.runnables import RunnableConfig
from langgraph.graph import StateGraph

from headrace.checkpoints.events import EventLog, RunEmitter
from headrace.checkpoints.forks import Forks
from headrace.checkpoints.journal import Journal, open_journal
from headrace.checkpoints.runs import Graph, Runs
from headrace.checkpoints.saver import JournalSaver
from headrace.checkpoints.sessions import Message, Sessions
from headrace.checkpoints.texts import KeptTexts
from headrace.context import ChatOptions, ChatPiece, ChatPrompt, Context, Scored
from headrace.graph.build import build
from headrace.state import Ask, Asked, RagState
from headrace.stores.passages import RunPassages

from ..fakes import PROMPTS, FakeEmbedder, FakeReranker, FakeVectors, ScriptedChat, World, a_chunk
from .toys import an_asked

ZH, EN = "差旅报销什么时候提交？", "When are travel expenses refunded?"
CHUNKS = (
    a_chunk("r1", "Travel expenses are refunded within ten working days.", document_id="rules"),
    a_chunk("r2", "Hotel expenses of travel are refunded up to 450 a night.", document_id="hotels"),
    a_chunk("r3", "差旅报销应在出差结束后十个工作日内提交。", document_id="规定"),
    a_chunk("r4", "出差住宿标准为每晚四百五十元。", document_id="标准"),
)
ANSWER = ("十个工作日内 ", "within ten days", '<ref id="c1"/>', "。")


class Embedder(FakeEmbedder):
    def __init__(self, used: list[str]) -> None:
        super().__init__()
        self.used = used

    async def embed_queries(self, texts: Sequence[str]) -> list[list[float]]:
        self.used.append("embedder")
        return await super().embed_queries(texts)


class Vectors(FakeVectors):
    def __init__(self, used: list[str]) -> None:
        super().__init__()
        self.used = used

    async def search(self, *given: Any, **named: Any) -> list[Scored]:
        self.used.append("store")
        return await super().search(*given, **named)


class Reranker(FakeReranker):
    def __init__(self, used: list[str]) -> None:
        super().__init__({"expenses": 0.9, "报销": 0.8}, rest=0.4)
        self.used = used

    async def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        self.used.append("reranker")
        return await super().scores(query, passages)


class Chat(ScriptedChat):
    def __init__(self, used: list[str]) -> None:
        super().__init__(ANSWER)
        self.used = used
        self.before: Callable[[], None] = lambda: None

    async def stream(self, prompt: ChatPrompt, options: ChatOptions) -> AsyncIterator[ChatPiece]:
        self.before()
        self.used.append("chat")
        async for piece in super().stream(prompt, options):
            yield piece


@dataclass
class Library:
    """One process. `used` says what was called, in order; empty it to count anew."""

    journal: Journal
    events: EventLog
    sessions: Sessions
    graph: Graph
    runs: Runs
    forks: Forks
    used: list[str]
    chat: Chat

    async def ask(self, query: str = ZH, **given: Any) -> Asked:
        """Ask, and wait for the end; `used` is empty then."""
        session_id = given.pop("session_id", None) or (await self.sessions.create()).id
        asked = an_asked(session_id, query, **{"kb_ids": ["kb1"], **given})
        await self.runs.start(asked)
        await self.runs.finished(asked["run_id"])
        self.used.clear()
        return asked

    async def state(self, run_id: str) -> dict[str, Any]:
        return (await self.graph.aget_state(thread(run_id))).values

    async def answer(self, run_id: str) -> Message:
        return await self.runs.finished(run_id)


def thread(run_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": run_id}}


@asynccontextmanager
async def a_library(
    folder: Path,
    *,
    runs_type: type[Runs] = Runs,
    forks_type: type[Forks] = Forks,
    graph: StateGraph[RagState, Context, Ask, RagState] | None = None,
) -> AsyncGenerator[Library]:
    await anyio.Path(folder).mkdir(exist_ok=True)
    used: list[str] = []
    world = World(embedder=Embedder(used), vectors=Vectors(used))
    await world.add(*CHUNKS)
    chat, reranker = Chat(used), Reranker(used)
    async with open_journal(folder / "journal.sqlite") as journal:
        events, sessions = EventLog(journal), Sessions(journal)
        passages = RunPassages(world.catalogue, KeptTexts(journal))

        def make_context(emit: RunEmitter, asked: Asked) -> Context:
            own = PROMPTS.changed(asked.get("prompts") or {})
            given = world.context(chat=chat, reranker=reranker)
            return replace(given, emit=emit, messages=sessions, passages=passages, prompts=own)

        compiled = (graph or build()).compile(checkpointer=JournalSaver(journal))
        runs = runs_type(journal, events, sessions, compiled, make_context)
        forks = forks_type(journal, compiled, runs)
        yield Library(
            journal=journal,
            events=events,
            sessions=sessions,
            graph=compiled,
            runs=runs,
            forks=forks,
            used=used,
            chat=chat,
        )
        await runs.drain(grace_s=0.05)


def belongings(connection: sqlite3.Connection, run_id: str) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table that belongs to a run or its session, byte for byte."""
    tables = [name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")]
    return {
        table: connection.execute(
            f"select * from {table} where {_owner(connection, table)}", {"run": run_id}
        ).fetchall()
        for table in tables
    }


def _owner(connection: sqlite3.Connection, table: str) -> str:
    columns = {row[1] for row in connection.execute(f"pragma table_info({table})")}
    match table:
        case "runs":
            return "id = :run"
        case "sessions":
            return "id = (select session_id from runs where id = :run)"
        case "passages":
            return "hash in (select hash from passage_uses where run_id = :run)"
        case _:
            own = columns & {"run_id", "thread_id"}
            return " or ".join(f"{column} = :run" for column in sorted(own)) or ":run = ''"
