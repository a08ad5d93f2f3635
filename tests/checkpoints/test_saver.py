"""JournalSaver under LangGraph's own conformance suite, and what the suite does not ask."""

import operator
from collections.abc import AsyncGenerator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointMetadata, empty_checkpoint
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from headrace.checkpoints.journal import Journal, open_journal
from headrace.checkpoints.saver import JournalSaver

pytestmark = pytest.mark.anyio

CAPABILITIES = {
    "put",
    "put_writes",
    "get_tuple",
    "list",
    "delete_thread",
    "delete_for_runs",
    "copy_thread",
    "prune",
}
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


STRICT = None  # an allow list with nothing of ours on it: what LANGGRAPH_STRICT_MSGPACK=true stands for


async def test_passes_the_official_conformance_suite_in_full_under_strict_msgpack(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def a_saver() -> AsyncGenerator[JournalSaver]:
        async with open_journal(tmp_path / "journal.sqlite") as journal:
            yield JournalSaver(journal, serde=JsonPlusSerializer(allowed_msgpack_modules=STRICT))

    report = await validate(checkpointer_test("JournalSaver")(a_saver))

    # Not passed_all(): that is also true of a saver that lacks some.
    assert {name for name, result in report.results.items() if result.detected} == CAPABILITIES
    for name, result in report.results.items():
        assert (result.passed, result.tests_failed, result.tests_skipped) == (True, 0, 0), (name, result)
        assert result.tests_passed > 0
    assert "Blocked" not in caplog.text


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
    strict = JsonPlusSerializer(allowed_msgpack_modules=STRICT)
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


def extend(state: list[str], writes: Sequence[list[str]]) -> list[str]:
    return [*state, *(line for write in writes for line in write)]


class Told(TypedDict, total=False):
    lines: Annotated[list[str], DeltaChannel(extend, snapshot_frequency=4)]
    count: int


def a_telling_graph(saver: BaseCheckpointSaver[Any]) -> CompiledStateGraph[Told, None, Told, Told]:
    """Seven steps that each add a line to a channel of which only every fourth value is stored whole."""

    async def tell(state: Told) -> Told:
        count = state.get("count", 0) + 1
        return {"lines": [f"第 {count} 行 line {count}"], "count": count}

    graph = StateGraph(Told)
    names = [f"tell{number}" for number in range(7)]
    for name in names:
        graph.add_node(name, tell)
    for before, after in pairwise([START, *names, END]):
        graph.add_edge(before, after)
    return graph.compile(checkpointer=saver)


async def lines_of(saver: BaseCheckpointSaver[Any], thread_id: str) -> list[list[str]]:
    """The channel at each checkpoint of a thread, newest first."""
    graph = a_telling_graph(saver)
    return [snapshot.values["lines"] async for snapshot in graph.aget_state_history(thread(thread_id))]


async def test_a_delta_channel_reads_back_whole_at_every_checkpoint(journal: Journal) -> None:
    savers: list[BaseCheckpointSaver[Any]] = [JournalSaver(journal), InMemorySaver()]
    histories: list[list[list[str]]] = []
    for saver in savers:
        graph = a_telling_graph(saver)
        await graph.ainvoke({"lines": ["零"]}, thread("t"))
        await graph.ainvoke({"lines": ["again"]}, thread("t"))
        histories.append(await lines_of(saver, "t"))
    assert histories[0] == histories[1]
    assert len(histories[0][0]) == 16
    # Another process knows nothing of what this one remembers.
    assert await lines_of(JournalSaver(journal), "t") == histories[0]


async def test_a_delta_channel_outlives_a_copy_a_fork_and_a_prune(journal: Journal) -> None:
    saver = JournalSaver(journal)
    graph = a_telling_graph(saver)
    await graph.ainvoke({"lines": ["零"]}, thread("t"))
    before = await lines_of(saver, "t")

    await saver.acopy_thread("t", "copy")
    assert await lines_of(saver, "copy") == before

    history = [snapshot async for snapshot in graph.aget_state_history(thread("copy"))]
    middle = next(snapshot for snapshot in history if snapshot.next == ("tell4",))
    forked = await graph.aupdate_state(middle.config, {"lines": ["另一条 another"]})
    end = await graph.ainvoke(None, forked)
    assert end["lines"] == [*middle.values["lines"], "另一条 another", *before[0][5:]]
    assert await lines_of(saver, "t") == before

    forked_history = await lines_of(saver, "copy")
    await saver.aprune(["t", "copy"])
    # The newest checkpoint of one thread holds its eight writes whole; that of the other needs its ancestors.
    assert await lines_of(saver, "t") == before[:1]
    assert await lines_of(saver, "copy") == forked_history
    await saver.adelete_thread("t")
    assert await lines_of(saver, "t") == []


def test_a_delta_channel_works_without_an_event_loop(tmp_path: Path) -> None:
    def tell(state: Told) -> Told:
        return {"lines": [f"第 {len(state.get('lines', []))} 行"]}

    journal = Journal(tmp_path / "journal.sqlite")
    graph = StateGraph(Told).add_node("tell", tell).add_edge(START, "tell").add_edge("tell", END)
    compiled = graph.compile(checkpointer=JournalSaver(journal))
    for _ in range(6):
        compiled.invoke({"lines": ["line"]}, thread("t"))
    again = graph.compile(checkpointer=JournalSaver(journal))
    assert again.get_state(thread("t")).values["lines"] == [
        line for number in range(6) for line in ("line", f"第 {2 * number + 1} 行")
    ]
    journal.close()


def test_every_blocking_method_does_what_its_async_twin_does(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.sqlite")
    saver = JournalSaver(journal)

    def checkpoint(number: int) -> RunnableConfig:
        new = empty_checkpoint()
        new["id"] = f"{number:08}"
        new["channel_values"] = {"text": f"{number} {LONG}"}
        new["channel_versions"] = {"text": number}
        config: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
        metadata: CheckpointMetadata = {"source": "loop", "step": number, "run_id": f"run {number}"}
        return saver.put(config, new, metadata, {"text": number})

    configs = [checkpoint(number) for number in (1, 2, 3)]
    saver.put_writes(configs[1], [("text", "水")], "task", "~1")

    def stored(id: str) -> list[str]:
        return [found.checkpoint["channel_values"]["text"][0] for found in saver.list(thread(id))]

    middle = saver.get_tuple(configs[1])
    assert middle is not None
    assert middle.pending_writes == [("task", "text", "水")]
    assert stored("t") == ["3", "2", "1"]
    assert [found.metadata.get("step") for found in saver.list(None, filter={"step": 2})] == [2]
    assert [found.config for found in saver.list(thread("t"), before=configs[2], limit=1)] == [configs[1]]
    saver.copy_thread("t", "copy")
    saver.delete_for_runs(["run 1"])
    assert (stored("t"), stored("copy")) == (["3", "2"], ["3", "2"])
    saver.prune(["t"])
    assert (stored("t"), stored("copy")) == (["3"], ["3", "2"])
    saver.prune(["t"], strategy="delete")
    saver.delete_thread("copy")
    assert (stored("t"), stored("copy")) == ([], [])
    assert journal.read_now(lambda c: c.execute("select count(*) from checkpoint_values").fetchone()) == (0,)
    journal.close()
