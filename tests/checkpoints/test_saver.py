"""JournalSaver under LangGraph's own conformance suite, and what the suite does not ask."""

import operator
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from headrace.checkpoints.journal import Journal, open_journal
from headrace.checkpoints.saver import JournalSaver

pytestmark = pytest.mark.anyio

LONG = "水从渠中来。Water comes down. " * 400


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncGenerator[Journal]:
    async with open_journal(tmp_path / "journal.sqlite") as journal:
        yield journal


class State(TypedDict, total=False):
    text: str
    steps: Annotated[list[str], operator.add]


def a_graph(saver: BaseCheckpointSaver[Any]) -> CompiledStateGraph[State, None, State, State]:
    async def first(state: State) -> State:
        return {"steps": ["first"], "text": state.get("text", "")}

    async def second(state: State) -> State:
        return {"steps": ["second"]}

    graph = StateGraph(State).add_node("first", first).add_node("second", second)
    graph.add_edge(START, "first").add_edge("first", "second").add_edge("second", END)
    return graph.compile(checkpointer=saver)


def thread(id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": id}}


async def test_passes_the_official_conformance_suite_in_full(tmp_path: Path) -> None:
    async def a_saver() -> AsyncGenerator[JournalSaver]:
        async with open_journal(tmp_path / "journal.sqlite") as journal:
            yield JournalSaver(journal)

    report = await validate(checkpointer_test("JournalSaver")(a_saver))

    missed = {name: result.failures for name, result in report.results.items() if not result.passed}
    assert missed == {}
    assert len(report.results) == 8


async def test_remembers_what_the_saver_in_memory_remembers(journal: Journal) -> None:
    async def history(saver: BaseCheckpointSaver[Any]) -> list[Any]:
        graph = a_graph(saver)
        await graph.ainvoke({"text": LONG, "steps": ["零"]}, thread("t"))
        return [
            (snapshot.values, snapshot.next, [task.result for task in snapshot.tasks])
            async for snapshot in graph.aget_state_history(thread("t"))
        ]

    assert await history(JournalSaver(journal)) == await history(InMemorySaver())


async def test_a_value_is_stored_once_however_often_it_is_handed_over(journal: Journal) -> None:
    await a_graph(JournalSaver(journal)).ainvoke({"text": LONG}, thread("t"))
    (rows,) = await journal.read(lambda c: c.execute("select count(*) from checkpoint_values").fetchone())
    (size,) = await journal.read(
        lambda c: c.execute("select sum(length(body)) from checkpoint_values").fetchone()
    )
    # It was the input, the channel that the input set, what `first` wrote, and the channel again.
    assert rows == 1
    assert size < len(LONG.encode()) / 10


async def test_a_fork_does_not_move_what_it_came_from(journal: Journal) -> None:
    graph = a_graph(JournalSaver(journal))
    await graph.ainvoke({"text": LONG}, thread("t"))
    before = [snapshot async for snapshot in graph.aget_state_history(thread("t"))]
    start = next(snapshot for snapshot in before if snapshot.next == ("second",))

    forked = await graph.aupdate_state(start.config, {"text": "另一条 " * 200})
    await graph.ainvoke(None, forked)

    assert (await graph.aget_state(thread("t"))).values["text"] == "另一条 " * 200
    for snapshot in before:
        assert (await graph.aget_state(snapshot.config)).values == snapshot.values


def test_works_without_an_event_loop(tmp_path: Path) -> None:
    class Number(TypedDict):
        number: int

    def add(state: Number) -> Number:
        return {"number": state["number"] + 1}

    journal = Journal(tmp_path / "journal.sqlite")
    graph = StateGraph(Number).add_node("add", add).add_edge(START, "add").add_edge("add", END)
    compiled = graph.compile(checkpointer=JournalSaver(journal))
    assert compiled.invoke({"number": 1}, thread("t")) == {"number": 2}
    assert [snapshot.values.get("number") for snapshot in compiled.get_state_history(thread("t"))] == [
        2,
        1,
        None,
    ]
    journal.close()


async def test_its_blocking_methods_do_not_lock_up_an_event_loop(
    journal: Journal,
) -> None:
    saver = JournalSaver(journal)
    await a_graph(saver).ainvoke({"text": LONG}, thread("t"))
    found = saver.get_tuple(thread("t"))
    assert found is not None
    saver.put_writes(found.config, [("text", "水")], "task")
    saver.copy_thread("t", "copy")
    saver.prune(["t"])
    assert [len(list(saver.list(thread(id)))) for id in ("t", "copy")] == [1, 4]
    saver.delete_thread("t")
    assert saver.get_tuple(thread("t")) is None
    assert saver.get_tuple(thread("copy")) is not None


async def test_works_under_strict_msgpack(journal: Journal, caplog: pytest.LogCaptureFixture) -> None:
    strict = JsonPlusSerializer(allowed_msgpack_modules=None)
    graph = a_graph(JournalSaver(journal, serde=strict))
    await graph.ainvoke({"text": LONG, "steps": ["零"]}, thread("t"))
    state = await graph.aget_state(thread("t"))
    assert state.values == {"text": LONG, "steps": ["零", "first", "second"]}
    assert "Blocked" not in caplog.text


async def test_pruning_keeps_the_newest_whole_and_gives_up_the_values_of_the_others(journal: Journal) -> None:
    saver = JournalSaver(journal)
    graph = a_graph(saver)
    await graph.ainvoke({"text": LONG}, thread("t"))
    await graph.ainvoke({"text": "新的 new " * 100}, thread("t"))
    newest = await graph.aget_state(thread("t"))
    await saver.aprune(["t"])

    (rows,) = await journal.read(lambda c: c.execute("select count(*) from checkpoint_values").fetchone())
    assert rows == 1
    assert (await graph.aget_state(thread("t"))).values == newest.values
    # The thread goes on from what is left.
    result = await graph.ainvoke({"steps": ["三"]}, thread("t"))
    assert result["text"] == "新的 new " * 100


async def test_a_pruned_threads_parent_is_read_back_not_remembered(journal: Journal) -> None:
    await a_graph(JournalSaver(journal)).ainvoke({"text": LONG}, thread("t"))
    # Another saver knows nothing of what the first has written.
    graph = a_graph(JournalSaver(journal))
    await graph.aupdate_state(thread("t"), {"steps": ["四"]}, as_node="second")
    assert (await graph.aget_state(thread("t"))).values["text"] == LONG


async def test_an_unknown_strategy_is_refused(journal: Journal) -> None:
    with pytest.raises(ValueError, match="keep_some"):
        await JournalSaver(journal).aprune(["t"], strategy="keep_some")


async def test_writes_of_parallel_tasks_come_back_in_the_order_of_their_paths(journal: Journal) -> None:
    saver = JournalSaver(journal)
    await a_graph(saver).ainvoke({"text": "水"}, thread("t"))
    found = await saver.aget_tuple(thread("t"))
    assert found is not None
    for task_id, path in [("a", "~3"), ("b", "~1"), ("c", "~2")]:
        await saver.aput_writes(found.config, [("text", task_id), ("steps", [task_id])], task_id, path)
    again = await saver.aget_tuple(thread("t"))
    assert again is not None
    assert [write[0] for write in again.pending_writes or []] == ["b", "b", "c", "c", "a", "a"]
