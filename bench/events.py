"""Measure how long an event takes from the node that tells it to the client that follows its run.

`.venv/bin/python bench/events.py [--runs 16] [--rate 50] [--seconds 10]`. Every run tells so many tokens a
second; one reader follows each, which sees an event only after its commit. The same again with readers that
poll the log every 100 ms. Producers, writer and readers share this one process, as in the server.
The table goes to stderr, one JSON document to stdout.
"""

import argparse
import asyncio
import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

from headrace.checkpoints.event_rows import Event, Told
from headrace.checkpoints.events import EventLog, RunEmitter
from headrace.checkpoints.journal import Journal, open_journal
from headrace.checkpoints.run_rows import End, end_run, insert_run
from headrace.checkpoints.sessions import Sessions
from headrace.ids import new_id
from headrace.state import Asked

POLL_S = 0.1
Reader = Callable[[EventLog, str, list[float]], Awaitable[None]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=16)
    parser.add_argument("--rate", type=float, default=50, help="tokens a second of each run")
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()
    tokens = round(options.rate * options.seconds)
    readers = {"woken after the commit": follow, "polling every 100 ms": poll}
    measured = {
        name: asyncio.run(measure(reader, options.runs, options.rate, tokens))
        for name, reader in readers.items()
    }
    load_average = [round(load, 2) for load in os.getloadavg()]
    print(table(measured), file=sys.stderr)
    print(f"load average {load_average}, {os.cpu_count()} processors", file=sys.stderr)
    print(json.dumps({**vars(options), "latency_ms": measured, "load_average": load_average}))


async def measure(reader: Reader, runs: int, rate: float, tokens: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as folder:
        async with open_journal(Path(folder) / "journal.sqlite") as journal:
            log, seconds = EventLog(journal), list[float]()
            run_ids = [await a_run(journal) for _ in range(runs)]
            async with asyncio.TaskGroup() as tasks:
                for number, run_id in enumerate(run_ids):
                    tasks.create_task(cast("Any", reader(log, run_id, seconds)))
                    # Models do not speak in step.
                    tasks.create_task(speak(journal, log, run_id, rate, tokens, number / runs / rate))
    if len(seconds) != runs * tokens:
        raise SystemExit(f"{len(seconds)} of {runs * tokens} events were seen")
    return spread([1000 * one for one in seconds])


async def a_run(journal: Journal) -> str:
    session = await Sessions(journal).create()
    asked = {"query": "水从哪里来？", "session_id": session.id, "tenant_id": "default"}
    ids = {name: new_id() for name in ("run_id", "message_id", "user_message_id", "request_id")}
    return await journal.write(partial(insert_run, asked=cast(Asked, {**asked, **ids})))


async def speak(
    journal: Journal, log: EventLog, run_id: str, rate: float, tokens: int, offset: float
) -> None:
    emit = RunEmitter(log, run_id, Told(seq=1))
    segment, began = emit.new_segment(), time.perf_counter() + offset
    for number in range(tokens):
        await asyncio.sleep(began + number / rate - time.perf_counter())
        emit("answer", "水渠 ", data={"segment": segment, "told_at": time.perf_counter()})
    emit.close()
    await journal.write(partial(end_run, run_id=run_id, end=End(status="complete", response_type="complete")))
    log.wake(run_id)


async def follow(log: EventLog, run_id: str, seconds: list[float]) -> None:
    async for event in log.follow(run_id):
        take(event, seconds)


async def poll(log: EventLog, run_id: str, seconds: list[float]) -> None:
    last, done = 0, False
    while not done:
        await asyncio.sleep(POLL_S)
        for event in await log.read(run_id, after=last):
            take(event, seconds)
            last, done = event["seq"], event["done"]


def take(event: Event, seconds: list[float]) -> None:
    if event["response_type"] == "answer":
        seconds.append(time.perf_counter() - event["data"]["told_at"])


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median and 99th percentile (nearest rank)."""
    ranked = sorted(values)
    p99 = ranked[math.ceil(0.99 * len(ranked)) - 1]
    return {"n": len(ranked), "p50": round(statistics.median(ranked), 3), "p99": round(p99, 3)}


def table(measured: dict[str, dict[str, float]]) -> str:
    lines = [f"{'append to reader, ms':26}{'p50':>10}{'p99':>10}{'n':>8}"]
    for name, row in measured.items():
        lines.append(f"{name:26}{row['p50']:>10.3f}{row['p99']:>10.3f}{row['n']:>8}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
