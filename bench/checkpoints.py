"""Measure our checkpointer beside the stock AsyncSqliteSaver: runs a second, and bytes a run.

`.venv/bin/python bench/checkpoints.py [--rounds 3] [--runs 64]`. A run is a graph of 12 trivial nodes, with
50 KB in one channel and a counter that every node writes; once the 50 KB are set at input only, once every
node rewrites them. Both savers work as they come, in turn, each round on new files, `durability="sync"`.
Bytes are those of the file after a truncating checkpoint of its write-ahead log; the text does not compress.
The table goes to stderr, one JSON document to stdout.
"""

import argparse
import asyncio
import base64
import json
import os
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TypedDict, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from headrace.checkpoints.journal import open_journal
from headrace.checkpoints.saver import JournalSaver

NODES = 12
TEXT_BYTES = 50_000
AT_ONCE = (1, 16, 64)
Saver = BaseCheckpointSaver[Any]
Open = Callable[[Path], AbstractAsyncContextManager[Saver]]


class State(TypedDict):
    text: str
    counter: int


class Measured(TypedDict):
    """One saver, one load."""

    runs_per_s: float
    bytes_per_run: float


@asynccontextmanager
async def ours(path: Path) -> AsyncGenerator[Saver]:
    async with open_journal(path) as journal:
        yield JournalSaver(journal)


@asynccontextmanager
async def stock(path: Path) -> AsyncGenerator[Saver]:
    async with AsyncSqliteSaver.from_conn_string(str(path)) as saver:
        await saver.setup()
        yield saver


SAVERS: dict[str, Open] = {"ours": ours, "stock": stock}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=64, help="runs measured each time")
    options = parser.parse_args()
    loads: list[dict[str, Any]] = []
    for rewritten in (False, True):
        for at_once in AT_ONCE:
            loads.append(measure(at_once, rewritten, runs=options.runs, rounds=options.rounds))
            print(line(loads[-1]) if len(loads) > 1 else f"{HEADER}\n{line(loads[-1])}", file=sys.stderr)
    load_average = [round(load, 2) for load in os.getloadavg()]
    print(f"load average {load_average}, {os.cpu_count()} processors", file=sys.stderr)
    print(json.dumps({"loads": loads, "load_average": load_average, "processors": os.cpu_count()}))


def measure(at_once: int, rewritten: bool, *, runs: int, rounds: int) -> dict[str, Any]:
    measured: dict[str, list[Measured]] = {name: [] for name in SAVERS}
    for number in range(rounds):
        # Who begins changes, so that neither has the quieter moment each time.
        for name in sorted(SAVERS, reverse=number % 2 == 1):
            with tempfile.TemporaryDirectory(prefix="headrace-bench-") as folder:
                path = Path(folder) / "bench.sqlite"
                measured[name].append(
                    asyncio.run(run_all(SAVERS[name], path, at_once, rewritten=rewritten, runs=runs))
                )
    faster = [
        one["runs_per_s"] / other["runs_per_s"]
        for one, other in zip(measured["ours"], measured["stock"], strict=True)
    ]
    medians = {name: median(each) for name, each in measured.items()}
    return {
        "at_once": at_once,
        "rewritten_by_every_node": rewritten,
        "runs": runs,
        **medians,
        "times_the_runs_per_s": round(statistics.median(faster), 2),
        "part_of_the_bytes": round(medians["ours"]["bytes_per_run"] / medians["stock"]["bytes_per_run"], 4),
    }


async def run_all(open_saver: Open, path: Path, at_once: int, *, rewritten: bool, runs: int) -> Measured:
    texts = [a_text(number) for number in range(runs)]
    async with open_saver(path) as saver:
        graph = a_graph(saver, rewritten=rewritten)
        await one_run(graph, "warm-up", a_text(-1))
        numbers = iter(range(runs))

        async def worker() -> None:
            for number in numbers:
                await one_run(graph, str(number), texts[number])

        began = time.perf_counter()
        await asyncio.gather(*(worker() for _ in range(at_once)))
        seconds = time.perf_counter() - began
    return {"runs_per_s": runs / seconds, "bytes_per_run": file_bytes(path) / (runs + 1)}


def a_graph(saver: Saver, *, rewritten: bool) -> CompiledStateGraph[State, None, State, State]:
    async def count(state: State) -> dict[str, Any]:
        return {"counter": state["counter"] + 1}

    async def rewrite(state: State) -> dict[str, Any]:
        counter = state["counter"] + 1
        return {"counter": counter, "text": f"{counter:04}{state['text'][4:]}"}

    graph = StateGraph(State)
    names = [f"n{number}" for number in range(NODES)]
    for name in names:
        graph.add_node(name, rewrite if rewritten else count)
    for before, after in zip([START, *names], names, strict=False):
        graph.add_edge(before, after)
    return graph.compile(checkpointer=saver)


async def one_run(graph: CompiledStateGraph[State, None, State, State], thread_id: str, text: str) -> None:
    config: RunnableConfig = {"configurable": {"thread_id": thread_id}}
    end = cast(State, await graph.ainvoke({"text": text, "counter": 0}, config, durability="sync"))
    assert (end["counter"], len(end["text"])) == (NODES, TEXT_BYTES)


def a_text(seed: int) -> str:
    return base64.b64encode(random.Random(seed).randbytes(TEXT_BYTES)).decode()[:TEXT_BYTES]


def file_bytes(path: Path) -> int:
    connection = sqlite3.connect(path)
    connection.execute("pragma wal_checkpoint(truncate)")
    connection.close()
    return path.stat().st_size


def median(measured: Sequence[Measured]) -> Measured:
    return {
        "runs_per_s": round(statistics.median(one["runs_per_s"] for one in measured), 1),
        "bytes_per_run": round(statistics.median(one["bytes_per_run"] for one in measured)),
    }


HEADER = (
    f"{'50 KB set':14}{'at once':>8}{'ours runs/s':>13}{'stock runs/s':>14}{'ratio':>8}"
    f"{'ours B/run':>12}{'stock B/run':>13}{'part':>8}"
)


def line(load: dict[str, Any]) -> str:
    where = "by every node" if load["rewritten_by_every_node"] else "at input"
    ours, stock = load["ours"], load["stock"]
    return (
        f"{where:14}{load['at_once']:>8}{ours['runs_per_s']:>13.1f}{stock['runs_per_s']:>14.1f}"
        f"{load['times_the_runs_per_s']:>8.2f}{ours['bytes_per_run']:>12,.0f}"
        f"{stock['bytes_per_run']:>13,.0f}{'1/' + format(1 / load['part_of_the_bytes'], '.1f'):>8}"
    )


if __name__ == "__main__":
    main()
