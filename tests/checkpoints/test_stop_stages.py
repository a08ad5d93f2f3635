"""A stop at every stage of the real graph: wherever its dependency holds it up, and between two stages."""

import asyncio
import inspect
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata
from langgraph.config import get_config

from headrace.checkpoints.events import Event, EventLog, RunEmitter
from headrace.checkpoints.journal import Journal, open_journal
from headrace.checkpoints.runs import Runs
from headrace.checkpoints.saver import JournalSaver
from headrace.checkpoints.sessions import Sessions
from headrace.context import ChatOptions, ChatPiece, ChatPrompt, Context, SearchStore
from headrace.graph.build import build
from headrace.state import Asked

from ..fakes import FakeReranker, World, a_chunk
from .toys import an_asked, live_answer, types

pytestmark = pytest.mark.anyio

STAGES = [
    "load_history",
    "match_ready_answer",
    "understand_query",
    "search_chunks",
    "collect_results",
    "rerank",
    "boost_wiki",
    "merge_chunks",
    "filter_top_k",
    "assemble_context",
    "emit_references",
    "generate_answer",
    "finalize",
]
TO_FALLBACK = [*STAGES[:5], "fallback", "finalize"]
PIECES = ["十五", "天。", " Fifteen", " days", " a year."]
REWRITTEN = '{"rewritten_query": "How many days of annual leave?", "intent": "kb_search"}'


class Obstacle:
    """Holds up one call of one stage until it is freed, in the event loop or in a thread of its own."""

    def __init__(self, stage: str, call: str, *, in_thread: bool = False) -> None:
        self.stage = stage
        self.call = call
        self.in_thread = in_thread
        self.reached = asyncio.Event()
        self.thread_ended = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._free = threading.Event()

    def stands_before(self, call: str) -> bool:
        return call == self.call and stage_now() == self.stage

    async def wait(self) -> None:
        if self.in_thread:
            await asyncio.to_thread(self.block)
            return
        self.reached.set()
        await asyncio.Event().wait()

    def block(self) -> None:
        self._loop.call_soon_threadsafe(self.reached.set)
        self._free.wait()
        self._loop.call_soon_threadsafe(self.thread_ended.set)

    def free(self) -> None:
        self._free.set()


def stage_now() -> str:
    return get_config().get("metadata", {}).get("langgraph_node", "")


class Behind:
    """A dependency behind the obstacle; notes which stage calls what."""

    def __init__(
        self, name: str, inner: Any, obstacle: Obstacle | None, calls: list[tuple[str, str]]
    ) -> None:
        self._name, self._inner, self._obstacle, self._calls = name, inner, obstacle, calls

    def __getattr__(self, method: str) -> Any:
        found = getattr(self._inner, method)
        if not callable(found):
            return found
        call = f"{self._name}.{method}"
        if inspect.iscoroutinefunction(found):
            return partial(self._awaited, call, found)
        return partial(self._called, call, found)

    async def _awaited(self, call: str, found: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        self._calls.append((stage_now(), call))
        if self._obstacle and self._obstacle.stands_before(call):
            await self._obstacle.wait()
        return await found(*args, **kwargs)

    def _called(self, call: str, found: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        self._calls.append((stage_now(), call))
        if self._obstacle and self._obstacle.stands_before(call):
            self._obstacle.block()
        return found(*args, **kwargs)


@dataclass
class CountedChat:
    """Says the pieces; the obstacle `name.N` stands before piece N. Counts what is pulled."""

    name: str
    pieces: list[str]
    obstacle: Obstacle | None
    pulled: int = 0
    context_tokens: int = 8192
    generates: bool = True

    async def stream(self, prompt: ChatPrompt, options: ChatOptions) -> AsyncIterator[ChatPiece]:
        for number, piece in enumerate(self.pieces):
            if self.obstacle and self.obstacle.stands_before(f"{self.name}.{number}"):
                await self.obstacle.wait()
            self.pulled += 1
            yield ChatPiece(kind="answer", text=piece)


class HoldingSaver(JournalSaver):
    """Holds the checkpoint back in which a stage's result is stored for the first time."""

    def __init__(self, journal: Journal, stage: str) -> None:
        super().__init__(journal)
        self.stage = stage
        self.reached, self.free = asyncio.Event(), asyncio.Event()

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        if self.stage in checkpoint["channel_values"].get("timings", {}) and not self.reached.is_set():
            self.reached.set()
            await self.free.wait()
        return await super().aput(config, checkpoint, metadata, new_versions)


@dataclass
class Trial:
    """One run of the real graph with everything that can hold it up."""

    journal: Journal
    runs: Runs
    events: EventLog
    sessions: Sessions
    chat: CountedChat
    understand: CountedChat
    asked: Asked
    calls: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    async def stop(self) -> str:
        return await self.runs.stop(self.asked["session_id"], self.asked["message_id"])

    async def log(self) -> list[Event]:
        await self.journal.write(lambda c: None)
        return await self.events.read(self.asked["run_id"])


@asynccontextmanager
async def a_trial(
    folder: Path, obstacle: Obstacle | None = None, *, finds: bool = True, holding: str = ""
) -> AsyncGenerator[tuple[Trial, HoldingSaver]]:
    world = World()
    await world.add(
        a_chunk(
            "c1", "Annual leave is fifteen days a year. 年休假每年十五天。", kb_id="kb1" if finds else "kb2"
        ),
        a_chunk(
            "c2", "Travel is refunded within ten days.", kb_id="kb1" if finds else "kb2", document_id="d2"
        ),
    )
    if not finds:
        await world.add(a_chunk("empty", "…", kb_id="kb1"))
    calls: list[tuple[str, str]] = []
    chat = CountedChat("chat", PIECES, obstacle)
    understand = CountedChat("understand", [REWRITTEN], obstacle)

    def make_context(emit: RunEmitter, asked: Asked) -> Context:
        context = world.context(reranker=FakeReranker({"leave": 0.9}, rest=0.4))
        names = ("catalogue", "passages", "messages", "embedder", "tokens", "reranker")
        behind: Mapping[str, Any] = {
            name: Behind(name, getattr(context, name), obstacle, calls) for name in names
        }
        vectors: Any = Behind("vectors", world.vectors, obstacle, calls)
        keywords: Any = Behind("keywords", world.keywords, obstacle, calls)
        stores = {"embedded": SearchStore(vectors=vectors, keywords=keywords)}
        return replace(context, emit=emit, chat=chat, understand=understand, stores=stores, **behind)

    async with open_journal(folder / "journal.sqlite") as journal:
        events, sessions, saver = EventLog(journal), Sessions(journal), HoldingSaver(journal, holding)
        runs = Runs(journal, events, sessions, build().compile(checkpointer=saver), make_context)
        asked = an_asked(
            (await sessions.create()).id,
            "How many days of annual leave? 年休假几天？",
            language="en",
            kb_ids=["kb1"],
            fallback_strategy="model",
        )
        trial = Trial(journal, runs, events, sessions, chat, understand, asked, calls)
        await runs.start(asked)
        try:
            # A stage that never asks for what the obstacle stands before would wait for ever.
            async with asyncio.timeout(60):
                yield trial, saver
        finally:
            if obstacle:
                obstacle.free()
            saver.free.set()
            await runs.drain(grace_s=0.05)


async def check_stopped(trial: Trial, finished: list[str], *, last: str) -> None:
    """Stopped after `finished`; nothing of a later stage than `last` has begun."""
    events = await trial.log()
    user, answer = (await trial.sessions.messages(trial.asked["session_id"]))[0]
    assert (user.role, user.status, user.content) == ("user", "complete", trial.asked["query"])
    assert (answer.role, answer.status, answer.content) == ("assistant", "stopped", live_answer(events))
    assert types(events)[-1] == "stop"
    assert types(events).count("tool_call") == types(events).count("tool_result")
    assert answer.timing is not None
    assert sorted(answer.timing["stages_ms"]) == sorted(finished)
    assert {stage for stage, _ in trial.calls} <= {*finished, last}


HELD_UP = [
    ("load_history", "messages.turns"),
    ("understand_query", "understand.0"),
    ("search_chunks", "catalogue.kbs"),
    ("search_chunks", "embedder.embed_queries"),
    ("search_chunks", "vectors.search"),
    ("search_chunks", "keywords.terms"),
    ("search_chunks", "keywords.search"),
    ("search_chunks", "catalogue.indexed_chunks"),
    ("collect_results", "passages.read"),
    ("rerank", "passages.read"),
    ("rerank", "reranker.scores"),
    ("merge_chunks", "passages.read"),
    ("merge_chunks", "catalogue.chunks"),
    ("merge_chunks", "passages.keep"),
    ("assemble_context", "passages.read"),
    ("assemble_context", "catalogue.documents"),
    ("emit_references", "catalogue.documents"),
    ("generate_answer", "passages.read"),
    *(("generate_answer", f"chat.{number}") for number in (0, 1, 4)),
]


@pytest.mark.parametrize("in_thread", [False, True], ids=["waiting", "in a thread"])
@pytest.mark.parametrize(("stage", "call"), HELD_UP, ids=[" ".join(one) for one in HELD_UP])
async def test_a_stage_that_is_held_up_by_what_it_asks_is_stopped(
    tmp_path: Path, stage: str, call: str, in_thread: bool
) -> None:
    obstacle = Obstacle(stage, call, in_thread=in_thread)
    async with a_trial(tmp_path, obstacle) as (trial, _):
        await obstacle.reached.wait()
        pulled = trial.chat.pulled, trial.understand.pulled
        assert await trial.stop() == "stopped"
        events, calls = await trial.log(), list(trial.calls)

        obstacle.free()
        if in_thread:
            # What it comes back with is for nobody.
            await obstacle.thread_ended.wait()
        assert await trial.stop() == "stopped"
        assert await trial.log() == events
        assert trial.calls == calls
        assert (trial.chat.pulled, trial.understand.pulled) == pulled
        await check_stopped(trial, STAGES[: STAGES.index(stage)], last=stage)
        number = int(call.removeprefix("chat.")) if call.startswith("chat.") else 0
        assert live_answer(events) == "".join(PIECES[:number])


async def test_arithmetic_in_a_thread_is_left_behind(tmp_path: Path) -> None:
    obstacle = Obstacle("rerank", "tokens.content", in_thread=True)
    async with a_trial(tmp_path, obstacle) as (trial, _):
        await obstacle.reached.wait()
        assert await trial.stop() == "stopped"
        events = await trial.log()
        obstacle.free()
        await obstacle.thread_ended.wait()
        assert await trial.log() == events
        await check_stopped(trial, STAGES[:5], last="rerank")


@pytest.mark.parametrize("in_thread", [False, True], ids=["waiting", "in a thread"])
@pytest.mark.parametrize("number", [0, 3])
async def test_a_fallback_in_the_model_s_words_is_stopped(
    tmp_path: Path, number: int, in_thread: bool
) -> None:
    obstacle = Obstacle("fallback", f"chat.{number}", in_thread=in_thread)
    async with a_trial(tmp_path, obstacle, finds=False) as (trial, _):
        await obstacle.reached.wait()
        assert await trial.stop() == "stopped"
        obstacle.free()
        events = await trial.log()
        assert trial.chat.pulled == number
        assert live_answer(events) == "".join(PIECES[:number])
        await check_stopped(trial, TO_FALLBACK[:5], last="fallback")


@pytest.mark.parametrize("stage", STAGES)
async def test_a_stop_between_two_stages_begins_no_other(tmp_path: Path, stage: str) -> None:
    async with a_trial(tmp_path, holding=stage) as (trial, saver):
        await saver.reached.wait()
        calls, events = list(trial.calls), await trial.log()
        stopping = asyncio.create_task(trial.stop())
        await asyncio.sleep(0)
        await trial.journal.write(lambda c: None)  # woken after the stop has been stored
        saver.free.set()
        assert await stopping == "stopped"
        after = await trial.log()
        assert trial.calls == calls
        assert [e for e in after if e["response_type"] not in ("tool_result", "stop")] == [
            e for e in events if e["response_type"] != "tool_result"
        ]
        done = STAGES[: STAGES.index(stage) + 1]
        await check_stopped(trial, done, last=stage)
        assert live_answer(after) == ("".join(PIECES) if "generate_answer" in done else "")


async def test_left_alone_all_stages_run(tmp_path: Path) -> None:
    async with a_trial(tmp_path) as (trial, _):
        message = await trial.runs.finished(trial.asked["run_id"])
        assert await trial.stop() == "complete"
    assert message.timing is not None
    assert list(message.timing["stages_ms"]) == STAGES
    assert message.content == "".join(PIECES)
    assert trial.chat.pulled == len(PIECES)
