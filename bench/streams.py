"""Hold many idle streams of one running answer open, and measure what they cost.

`.venv/bin/python bench/streams.py [--streams 1000] [--silence 70]`. A model that says nothing keeps the
answer open. Three servers in turn: with as many connections that ask for nothing (the baseline), with a
tenth of the streams, with all of them; the last is left in silence, then one word reaches all readers, and
the end. The table goes to stderr, one JSON document to stdout.
"""

import argparse
import asyncio
import contextlib
import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

from process import API, Server, a_server, allow_files, beside
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

WORD = "水 water"
KEEP_ALIVE_S = 10.0
LIMIT_S = 60.0


class SilentModel:
    """Begins an answer and says nothing until it is told to say its one word."""

    def __init__(self) -> None:
        self.app = Starlette(routes=[Route("/v1/chat/completions", self._complete, methods=["POST"])])
        self.asked = asyncio.Event()
        self.may_speak = asyncio.Event()
        self.spoke_at = 0.0

    async def _complete(self, request: Request[Any]) -> Response:
        await request.body()
        return StreamingResponse(self._answer(), media_type="text/event-stream")

    async def _answer(self) -> AsyncGenerator[bytes]:
        self.asked.set()
        await self.may_speak.wait()
        self.spoke_at = time.perf_counter()
        yield _chunk(WORD)
        await asyncio.Event().wait()


class Reader:
    """One stream: when its word came, how many comments it heard, and its longest silence."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.heard_at: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self.comments = 0
        self.longest_s = 0.0
        self.ended = False

    async def read(self, server: Server, path: str) -> None:
        reader, writer = await _connect(server)
        try:
            writer.write(f"GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n".encode())
            last = time.perf_counter()
            async for line in reader:
                now = time.perf_counter()
                self.longest_s, last = max(self.longest_s, now - last), now
                self._take(line, now)
        finally:
            writer.close()

    def _take(self, line: bytes, now: float) -> None:
        if line.startswith(b": keep-alive"):
            self.comments += 1
        elif line.startswith(b"data: "):
            self.began.set()
            event = json.loads(line.removeprefix(b"data: "))
            if event["response_type"] == "answer" and not self.heard_at.done():
                self.heard_at.set_result(now)
            self.ended = self.ended or event["done"]


async def measure(folder: Path, *, streams: int, silence_s: float) -> dict[str, Any]:
    plain = await _memory_of_plain_connections(folder / "plain", streams)
    few = await _with_streams(folder / "few", max(1, streams // 10), silence_s=0)
    many = await _with_streams(folder / "many", streams, silence_s=silence_s)
    return {
        "streams": streams,
        "silence_s": silence_s,
        "kib_per_plain_connection": plain,
        "few": few,
        "many": many,
        "stream_to_plain": round(many["kib_per_stream"] / plain, 1) if plain else None,
        "load_average": [round(load, 2) for load in os.getloadavg()],
    }


async def _memory_of_plain_connections(folder: Path, count: int) -> float:
    async with a_server(folder, {}) as server:
        await server.call("GET", "/info")
        before = server.resident_kib()
        opened = [await _connect(server) for _ in range(count)]
        await server.call("GET", "/info")  # answered after the others have been accepted
        after = server.resident_kib()
        for _, writer in opened:
            writer.close()
    return round((after - before) / count, 1)


async def _with_streams(folder: Path, count: int, *, silence_s: float) -> dict[str, Any]:
    model = SilentModel()
    async with beside(model.app) as address:
        environment = {
            "HEADRACE_CHAT_BASE_URL": f"{address}/v1",
            "HEADRACE_CHAT_MODEL": "silent",
            "HEADRACE_CHAT_TIMEOUT_S": str(silence_s + 600),
        }
        async with a_server(folder, environment) as server:
            session, message = await _ask(server)
            await asyncio.wait_for(model.asked.wait(), LIMIT_S)
            before, files = server.resident_kib(), server.open_files()
            readers = [Reader() for _ in range(count)]
            path = f"{API}/sessions/continue-stream/{session}?message_id={message}"
            reading = [asyncio.create_task(reader.read(server, path)) for reader in readers]
            for reader in readers:
                await asyncio.wait_for(reader.began.wait(), LIMIT_S)
            opened, cpu = server.resident_kib(), server.cpu_s()
            files = server.open_files() - files
            await asyncio.sleep(silence_s)
            cpu, after_silence = server.cpu_s() - cpu, server.resident_kib()
            comments, longest = [one.comments for one in readers], max(one.longest_s for one in readers)
            model.may_speak.set()
            heard = await asyncio.wait_for(asyncio.gather(*(one.heard_at for one in readers)), LIMIT_S)
            await server.call("POST", f"/sessions/{session}/stop", json={"message_id": message})
            await asyncio.wait_for(asyncio.gather(*reading), LIMIT_S)
    return {
        "streams": count,
        "rss_mib_before": round(before / 1024, 1),
        "rss_mib_open": round(opened / 1024, 1),
        "rss_mib_after_silence": round(after_silence / 1024, 1),
        "kib_per_stream": round((opened - before) / count, 1),
        "open_files": files,
        "cpu_percent_in_silence": round(100 * cpu / silence_s, 1) if silence_s else None,
        "comments": {"fewest": min(comments), "most": max(comments)},
        "longest_silence_s": round(longest, 2),
        "word_ms": spread([1000 * (moment - model.spoke_at) for moment in heard]),
        "ended": sum(reader.ended for reader in readers),
    }


async def _ask(server: Server) -> tuple[str, str]:
    """A question whose answer goes on without us."""
    session = (await server.call("POST", "/sessions", json={}))["id"]
    path = f"{API}/sessions/{session}/knowledge-qa"
    async with server.http.stream("POST", path, json={"query": "水从哪里来？"}) as stream:
        async for line in stream.aiter_lines():
            if line.startswith("data: "):
                return session, json.loads(line.removeprefix("data: "))["assistant_message_id"]
    raise SystemExit("The question was not answered with events.")


async def _connect(server: Server) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, _, port = server.url.removeprefix("http://").rpartition(":")
    return await asyncio.open_connection(host, int(port))


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median, 99th percentile (nearest rank) and the last one."""
    ranked = sorted(values)
    p99 = ranked[math.ceil(0.99 * len(ranked)) - 1]
    named = {"p50": statistics.median(ranked), "p99": p99, "max": ranked[-1]}
    return {name: round(value, 1) for name, value in named.items()}


def problems(result: dict[str, Any]) -> list[str]:
    """What would make the figures worthless."""
    many = result["many"]
    due = math.floor(result["silence_s"] / KEEP_ALIVE_S)
    found: list[str] = []
    if many["ended"] != many["streams"]:
        found.append(f"only {many['ended']} of {many['streams']} streams saw the end")
    if many["comments"]["fewest"] < due - 1:
        found.append(f"a stream heard {many['comments']['fewest']} comments where {due} were due")
    return found


def table(result: dict[str, Any]) -> str:
    rows = [("", "streams", "KiB each", "RSS MiB", "word p50", "p99", "max ms")]
    for name in ("few", "many"):
        one, word = result[name], result[name]["word_ms"]
        rows.append((name, one["streams"], one["kib_per_stream"], one["rss_mib_open"], *word.values()))
    rows.append(("plain connections", result["streams"], result["kib_per_plain_connection"], "", "", "", ""))
    lines = ["".join(f"{cell!s:>18}" for cell in row) for row in rows]
    many = result["many"]
    lines.append(
        f"{result['silence_s']:g} s of silence: {many['comments']['fewest']} to {many['comments']['most']} "
        f"comments each, never more than {many['longest_silence_s']} s without one, "
        f"{many['cpu_percent_in_silence']} % of a processor, {many['rss_mib_after_silence']} MiB after it"
    )
    return "\n".join(lines)


def _chunk(content: str) -> bytes:
    choice = {"index": 0, "delta": {"role": "assistant", "content": content}, "finish_reason": None}
    chunk = {
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "silent",
        "choices": [choice],
    }
    return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--silence", type=float, default=70, help="seconds")
    options = parser.parse_args()
    if options.streams < 1 or options.silence < 0:
        parser.error("--streams is at least 1, --silence at least 0")
    allow_files(2 * options.streams + 200)
    with contextlib.ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="headrace-bench-")))
        result = asyncio.run(measure(folder, streams=options.streams, silence_s=options.silence))
    print(table(result), file=sys.stderr)
    print(json.dumps(result))
    if found := problems(result):
        sys.exit("; ".join(found))


if __name__ == "__main__":
    main()
