"""The emitter and the log: order, segments, windows, and who is woken."""

import asyncio
import operator
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Annotated, Any, TypedDict, cast

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.types import RetryPolicy

from headrace.checkpoints.event_rows import Told, read_told
from headrace.checkpoints.events import EmitterClosed, Event, EventLog, RunEmitter
from headrace.checkpoints.journal import Journal, open_journal
from headrace.checkpoints.run_rows import insert_run
from headrace.checkpoints.saver import JournalSaver
from headrace.checkpoints.sessions import Sessions

from .toys import an_asked, live_answer, types

pytestmark = pytest.mark.anyio


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncGenerator[Journal]:
    async with open_journal(tmp_path / "journal.sqlite") as journal:
        yield journal


async def a_run(journal: Journal) -> str:
    """A run that nobody owns, so that a test can write its log."""
    asked = an_asked((await Sessions(journal).create()).id)
    return await journal.write(lambda c: insert_run(c, asked=asked))


class State(TypedDict, total=False):
    answer: Annotated[list[str], operator.add]


def a_config(run_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": run_id}, "metadata": {"run_id": run_id}}


async def test_threads_of_a_node_speak_for_it_in_one_order(journal: Journal) -> None:
    run_id, log = await a_run(journal), EventLog(journal)
    emit = RunEmitter(log, run_id, Told(seq=1))

    def speak(name: str) -> None:
        for number in range(20):
            emit("warning", f"{name} {number}")

    async def node(state: State) -> State:
        await asyncio.gather(*(asyncio.to_thread(speak, name) for name in "甲乙丙"))
        return {"answer": ["done"]}

    graph = StateGraph(State).add_node("node", node).add_edge(START, "node").add_edge("node", END)
    await graph.compile(checkpointer=JournalSaver(journal)).ainvoke({}, a_config(run_id), durability="sync")
    events = await log.read(run_id)
    told = await journal.read(lambda c: read_told(c, run_id=run_id))

    assert [event["seq"] for event in events] == list(range(1, 62))
    for name in "甲乙丙":
        heard = [event["content"] for event in events if event["content"].startswith(name)]
        assert heard == [f"{name} {number}" for number in range(20)]
    assert len(told.tasks) == 1


async def test_a_tasks_events_are_stored_with_its_task_and_before_its_result(journal: Journal) -> None:
    run_id, log = await a_run(journal), EventLog(journal)
    emit = RunEmitter(log, run_id, Told(seq=1))

    async def left(state: State) -> State:
        emit("answer", "左", data={"segment": emit.new_segment()})
        return {"answer": ["左"]}

    async def right(state: State) -> State:
        emit("answer", "right", data={"segment": emit.new_segment()})
        return {"answer": ["right"]}

    graph = StateGraph(State).add_node("left", left).add_node("right", right)
    graph.add_edge(START, "left").add_edge(START, "right")
    saver = JournalSaver(journal)
    await graph.compile(checkpointer=saver).ainvoke({}, a_config(run_id), durability="sync")
    told = await journal.read(lambda c: read_told(c, run_id=run_id))

    checkpoints = [found async for found in saver.alist(a_config(run_id))]
    stepped = [found for found in checkpoints if len(found.pending_writes or []) == 2]
    writers = {task_id for found in stepped for task_id, _, _ in found.pending_writes or []}
    assert {task["task_id"] for task in told.tasks} <= writers
    assert {task["checkpoint_id"] for task in told.tasks} <= {found.checkpoint["id"] for found in stepped}
    assert len(set(told.segments.values())) == 2


async def test_what_a_failed_attempt_has_shown_is_reset_when_the_next_one_speaks(journal: Journal) -> None:
    run_id, log = await a_run(journal), EventLog(journal)
    emit = RunEmitter(log, run_id, Told(seq=1))
    attempts: list[int] = []

    async def node(state: State) -> State:
        attempts.append(1)
        segment = emit.new_segment()
        emit("answer", f"try {len(attempts)}", data={"segment": segment})
        emit.open_call("knowledge_search", {})
        if len(attempts) == 1:
            raise ConnectionError
        emit.close_call("knowledge_search", {"hits": 1})
        return {"answer": ["done"]}

    graph = StateGraph(State).add_edge(START, "node")
    graph.add_node("node", node, retry_policy=RetryPolicy(initial_interval=0.01, jitter=False))
    await graph.compile(checkpointer=JournalSaver(journal)).ainvoke({}, a_config(run_id))
    events = await log.read(run_id)

    assert live_answer(events) == "try 2"
    assert types(events)[3:5] == ["reset", "tool_result"]
    assert events[4]["data"]["interrupted"] is True


async def test_segments_never_repeat_also_after_a_reset(journal: Journal) -> None:
    run_id, log = await a_run(journal), EventLog(journal)
    emit = RunEmitter(log, run_id, Told(seq=1))
    for text in ("水", "渠"):
        emit("thinking", text, data={"segment": emit.new_segment()})
    emit("reset", data={"segments": [1, 2]})
    emit.close()
    told = await told_after(journal, run_id)

    assert RunEmitter(log, run_id, told).new_segment() == 3
    assert told.segments == {}


async def told_after(journal: Journal, run_id: str) -> Told:
    await journal.write(lambda c: None)
    return await journal.read(lambda c: read_told(c, run_id=run_id))


async def test_closing_a_window_that_is_not_open_says_nothing(journal: Journal) -> None:
    run_id, log = await a_run(journal), EventLog(journal)
    emit = RunEmitter(log, run_id, Told(seq=1))
    emit.close_call("knowledge_search", {})
    emit.open_call("query_understand", {"query": "水"})
    emit.close_call("knowledge_search", {})
    emit.close_call("query_understand", {"intent": "kb_search"})
    emit.close_call("query_understand", {"intent": "again"})
    await journal.write(lambda c: None)

    assert types(await log.read(run_id)) == ["agent_query", "tool_call", "tool_result"]


async def test_a_window_tells_how_long_it_was_open(journal: Journal) -> None:
    run_id, log = await a_run(journal), EventLog(journal)
    emit = RunEmitter(log, run_id, Told(seq=1))
    emit.open_call("knowledge_search", {"query": "水"})
    emit.close_call("knowledge_search", {"hits": 1})
    await journal.write(lambda c: None)
    *_, result = await log.read(run_id)
    assert result["data"]["duration_ms"] >= 0


async def test_a_closed_emitter_takes_nothing(journal: Journal) -> None:
    run_id, log = await a_run(journal), EventLog(journal)
    emit = RunEmitter(log, run_id, Told(seq=1))
    emit.close()
    with pytest.raises(EmitterClosed):
        emit("answer", "late")
    await journal.write(lambda c: None)
    assert len(await log.read(run_id)) == 1


async def test_half_a_surrogate_pair_does_not_fail_a_run(journal: Journal) -> None:
    run_id, log = await a_run(journal), EventLog(journal)
    emit = RunEmitter(log, run_id, Told(seq=1))
    emit("answer", "水\ud83d", data={"segment": 1})
    emit("answer", "渠", data={"segment": 1})
    await journal.write(lambda c: None)
    assert [event["content"] for event in await log.read(run_id, after=1)] == ["水?", "渠"]


async def test_numbers_json_does_not_know_are_refused_where_they_are_emitted(journal: Journal) -> None:
    emit = RunEmitter(EventLog(journal), await a_run(journal), Told(seq=1))
    with pytest.raises(ValueError, match="JSON compliant"):
        emit("warning", data={"score": float("nan")})


async def test_following_ends_when_the_log_is_closed(journal: Journal) -> None:
    run_id, log = await a_run(journal), EventLog(journal)
    emit = RunEmitter(log, run_id, Told(seq=1))
    following = [asyncio.create_task(collect(log, run_id)) for _ in range(3)]
    emit("warning", "渠")
    await journal.write(lambda c: None)
    log.close()

    for events in await asyncio.gather(*following):
        assert types(events) == ["agent_query", "warning"]


async def test_a_long_log_is_followed_in_pieces(journal: Journal) -> None:
    run_id, log = await a_run(journal), EventLog(journal)
    emit = RunEmitter(log, run_id, Told(seq=1))
    for number in range(2500):
        emit("warning", str(number))
    await journal.write(lambda c: None)
    log.close()
    events = await collect(log, run_id)
    assert [event["seq"] for event in events] == list(range(1, 2502))


async def collect(log: EventLog, run_id: str) -> list[Event]:
    return [event async for event in log.follow(run_id)]


async def test_followers_leave_nothing_behind(journal: Journal) -> None:
    run_id, log = await a_run(journal), EventLog(journal)
    following = asyncio.create_task(collect(log, run_id))
    await journal.write(lambda c: None)
    await journal.read(lambda c: None)
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    waiting = cast(dict[str, Any], vars(log)["_more"])
    assert waiting == {}


class CountingJournal(Journal):
    reads = 0

    async def read(self, query: Any) -> Any:
        self.reads += 1
        return await super().read(query)


async def test_many_who_wait_for_the_same_event_read_it_once(tmp_path: Path) -> None:
    journal = CountingJournal(tmp_path / "journal.sqlite")
    try:
        run_id, log = await a_run(journal), EventLog(journal)
        emit = RunEmitter(log, run_id, Told(seq=1))
        readers = [log.follow(run_id) for _ in range(100)]
        firsts = await asyncio.gather(*(anext(reader) for reader in readers))
        upcoming = [asyncio.ensure_future(anext(reader)) for reader in readers]
        for _ in range(5):  # until all of them wait
            await journal.write(lambda c: None)
        journal.reads = 0
        # Some leave: the others do not look again for it.
        for left in upcoming[90:]:
            left.cancel()
        await asyncio.gather(*upcoming[90:], return_exceptions=True)
        assert journal.reads == 0
        emit("answer", "水", data={"segment": emit.new_segment()})
        heard = await asyncio.gather(*upcoming[:90])
        assert [event["seq"] for event in [*firsts, *heard]] == [1] * 100 + [2] * 90
        assert journal.reads == 1
        log.close()
        assert await asyncio.gather(*(collect_rest(reader) for reader in readers)) == [[]] * 100
        assert cast(dict[str, Any], vars(log)["_more"]) == {}
    finally:
        journal.close()


async def collect_rest(reader: AsyncIterator[Event]) -> list[Event]:
    return [event async for event in reader]
