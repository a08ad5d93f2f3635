"""Measure the real server: start-up, memory at rest, and how long the sample questions take.

`.venv/bin/python bench/start.py [--data FOLDER] [--starts 3] [--idle 5]`. The server works on a copy of the
folder, or on a new one, in which the samples are indexed first. Starts are warm: the operating system has the
files in its cache. The table goes to stderr, one JSON document to stdout.
"""

import argparse
import contextlib
import json
import math
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any, TypedDict

import httpx
from process import ALONE

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
PROGRAM = Path(sys.executable).with_name("headrace")
POLL_S = 0.02  # also the resolution of the start-up time
START_LIMIT_S = 120.0
INDEX_LIMIT_S = 900.0
ANSWER_LIMIT_S = 300.0
STOP_LIMIT_S = 30.0


class Answered(TypedDict):
    """One sample question; times from the request, `references_ms` null where the answer cites nothing."""

    id: str
    references_ms: float | None
    complete_ms: float
    outcome: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a data folder to copy; without it a new one is made")
    parser.add_argument("--starts", type=int, default=3, help="measured starts, after the first one")
    parser.add_argument("--idle", type=float, default=5.0, help="seconds of rest before memory is read")
    options = parser.parse_args()
    if options.starts < 1:
        parser.error("--starts must be at least 1")
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as scratch:
        folder = Path(scratch) / "data"
        if options.data is not None:
            shutil.copytree(options.data, folder, ignore=shutil.ignore_patterns("headrace.lock"))
        result = measure(folder, starts=options.starts, idle_s=options.idle)
    print(table(result), file=sys.stderr)
    print(json.dumps(result, ensure_ascii=False))


def measure(folder: Path, *, starts: int, idle_s: float) -> dict[str, Any]:
    with server(folder) as (_, client, first_ms):
        indexed_ms = wait_for_samples(client)
    ready_ms: list[float] = []
    for _ in range(starts - 1):
        with server(folder) as (_, _, ms):
            ready_ms.append(ms)
    with server(folder) as (pid, client, ms):
        ready_ms.append(ms)
        time.sleep(idle_s)
        memory = resident_mb(pid)
        answered = [ask(client, question) for question in sample_questions()]
        after = resident_mb(pid)
    cited = [row["references_ms"] for row in answered if row["references_ms"] is not None]
    return {
        "first_start_ms": first_ms,
        "samples_indexed_ms": indexed_ms,
        "ready_ms": spread(ready_ms),
        "idle_rss_mb": memory,
        "rss_after_questions_mb": after,
        "references_ms": spread(cited),
        "complete_ms": spread([row["complete_ms"] for row in answered]),
        "questions": answered,
    }


@contextlib.contextmanager
def server(folder: Path) -> Generator[tuple[int, httpx.Client, float]]:
    """A running server on the folder: its process id, a client, milliseconds from spawn to ready."""
    port = free_port()
    log_file = folder.with_suffix(".log")
    command = [PROGRAM, "--data", folder, "serve", "--samples", "--port", str(port)]
    address = f"http://127.0.0.1:{port}"
    # trust_env: a proxy that is set for the internet does not know this machine's loopback.
    with log_file.open("wb") as log, httpx.Client(base_url=address, trust_env=False) as client:
        began = time.perf_counter()
        environment = {**os.environ, **ALONE}
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment)
        try:
            wait_until_ready(process, client, log_file)
            yield process.pid, client, since(began)
        finally:
            stop(process)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def wait_until_ready(process: subprocess.Popen[bytes], client: httpx.Client, log_file: Path) -> None:
    limit = time.monotonic() + START_LIMIT_S
    while time.monotonic() < limit and process.poll() is None:
        with contextlib.suppress(httpx.TransportError):
            if client.get("/readyz").is_success:
                return
        time.sleep(POLL_S)
    raise SystemExit(f"The server did not become ready:\n{log_file.read_text(errors='replace')[-3000:]}")


def stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def wait_for_samples(client: httpx.Client) -> float:
    """Milliseconds until every sample document can be found."""
    wanted = sum(1 for path in (EXAMPLES / "documents").iterdir() if not path.name.startswith("."))
    began = time.perf_counter()
    while since(began) < INDEX_LIMIT_S * 1000:
        statuses = [document["status"] for document in documents(client)]
        if "failed" in statuses:
            raise SystemExit("A sample document could not be indexed.")
        if statuses.count("ready") >= wanted:
            return since(began)
        time.sleep(POLL_S * 10)
    raise SystemExit(f"The samples were not indexed within {INDEX_LIMIT_S:.0f} s.")


def documents(client: httpx.Client) -> Iterator[dict[str, Any]]:
    for kb in knowledge_bases(client):
        listed = client.get(f"/api/v1/knowledge-bases/{kb}/documents", params={"page_size": 1000})
        yield from listed.raise_for_status().json()["data"]


def knowledge_bases(client: httpx.Client) -> list[str]:
    listed = client.get("/api/v1/knowledge-bases", params={"page_size": 1000}).raise_for_status()
    return [kb["id"] for kb in listed.json()["data"]]


def sample_questions() -> list[dict[str, Any]]:
    lines = (EXAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def ask(client: httpx.Client, sample: dict[str, Any]) -> Answered:
    """Ask in a session of its own; a follow-up asks the earlier questions first, which is not measured."""
    scope = {"knowledge_base_ids": knowledge_bases(client)}
    session_id: str = client.post("/api/v1/sessions", json=scope).raise_for_status().json()["data"]["id"]
    for turn in sample.get("history", []):
        if turn["role"] == "user":
            for _ in events(client, session_id, turn["text"]):
                pass
    references_ms: float | None = None
    began = time.perf_counter()
    for event in events(client, session_id, sample["question"]):
        if event["response_type"] == "references" and references_ms is None:
            references_ms = since(began)
        if event["done"]:
            if event["response_type"] != "complete":
                raise SystemExit(f"{sample['id']} ended with {event['response_type']}: {event['content']}")
            return {
                "id": sample["id"],
                "references_ms": references_ms,
                "complete_ms": since(began),
                "outcome": event["data"]["outcome"],
            }
    raise SystemExit(f"The events of {sample['id']} ended without an end of the run.")


def events(client: httpx.Client, session_id: str, query: str) -> Iterator[dict[str, Any]]:
    path = f"/api/v1/sessions/{session_id}/knowledge-qa"
    headers = {"Accept": "text/event-stream"}
    with client.stream(
        "POST", path, json={"query": query}, headers=headers, timeout=ANSWER_LIMIT_S
    ) as stream:
        if stream.is_error:
            stream.read()
            raise SystemExit(f"{path} answered {stream.status_code}: {stream.text}")
        for line in stream.iter_lines():
            if line.startswith("data:"):
                yield json.loads(line.removeprefix("data:"))


def resident_mb(pid: int) -> float:
    """Resident memory of the process and all below it, in MiB; pages they share count once for each."""
    listing = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid=,rss="], capture_output=True, text=True, check=True
    ).stdout
    rows = [tuple(map(int, line.split())) for line in listing.splitlines()]
    family = {pid}
    while grown := {child for child, parent, _ in rows if parent in family} - family:
        family |= grown
    return round(sum(kib for process, _, kib in rows if process in family) / 1024, 1)


def since(began: float) -> float:
    return round((time.perf_counter() - began) * 1000, 1)


def spread(values: Sequence[float]) -> dict[str, float | int | None]:
    """Median and 95th percentile (nearest rank)."""
    if not values:
        return {"n": 0, "median": None, "p95": None}
    ranked = sorted(values)
    p95 = ranked[math.ceil(0.95 * len(ranked)) - 1]
    return {"n": len(ranked), "median": round(statistics.median(ranked), 1), "p95": p95}


def table(result: dict[str, Any]) -> str:
    lines = [f"{'':28}{'median':>10}{'p95':>10}{'n':>5}"]
    for name, title in {
        "ready_ms": "ready after start, ms",
        "references_ms": "first references, ms",
        "complete_ms": "complete, ms",
    }.items():
        row = result[name]
        median, p95 = ("-" if row[key] is None else f"{row[key]:,.1f}" for key in ("median", "p95"))
        lines.append(f"{title:28}{median:>10}{p95:>10}{row['n']:>5}")
    for name, title in {
        "first_start_ms": "first start, ms",
        "samples_indexed_ms": "samples indexed, ms",
        "idle_rss_mb": "memory at rest, MiB",
        "rss_after_questions_mb": "memory after questions, MiB",
    }.items():
        lines.append(f"{title:28}{result[name]:>10,.1f}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
