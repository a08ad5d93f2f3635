"""Stop answers of a real server at every stage, and measure how fast they end.

`.venv/bin/python bench/stop.py [--repeat 10]`. Stand-ins for the chat, embedding and rerank models hold an
answer up: the understanding of the question, the search, the reranking, the answer before its first word,
and an answer of a word every 10 ms. Measured from the moment the stop is sent: until its answer has come
(`status`), and until the last event has (`last event`); the bar is 300 ms. Whoever holds an answer up must
see its connection closed, and no later model may be asked. The table goes to stderr, one JSON document to
stdout; exit code 1 above the bar.
"""

import argparse
import asyncio
import contextlib
import json
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from process import API, Server, a_server, beside
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

BAR_MS = 300.0
WORD_S = 0.01
LIMIT_S = 60.0
WORDS = 20  # that are read before an answer is stopped in its middle
DOCUMENT = "# 员工手册\n\n年休假最多可结转三天。\n\nAnnual leave is twelve days.\n"
STAGES = ("understand", "search", "rerank", "before the first word", "in mid-answer", "at once")
# Which model holds an answer up at a stage, and those that may have been asked by then.
HOLDERS = {"understand": "understand", "search": "embed", "rerank": "rerank", "before the first word": "chat"}
ORDER = ("understand", "embed", "rerank", "chat")


class Models:
    """All four model servers. `hold` is the one that does not answer."""

    def __init__(self) -> None:
        self.hold: str | None = None
        self.asked: Counter[str] = Counter()
        self.reached = asyncio.Event()
        self.left = asyncio.Event()
        self.words = 0
        self.app = Starlette(
            routes=[
                Route("/understand/chat/completions", self._understand, methods=["POST"]),
                Route("/v1/embeddings", self._embed, methods=["POST"]),
                Route("/v1/rerank", self._rerank, methods=["POST"]),
                Route("/v1/chat/completions", self._chat, methods=["POST"]),
            ]
        )

    def prepare(self, stage: str) -> None:
        self.hold = HOLDERS.get(stage)
        self.asked.clear()
        self.reached.clear()
        self.left.clear()
        self.words = 0

    async def _understand(self, request: Request[Any]) -> Response:
        await request.body()
        await self._passed("understand", request)
        said = json.dumps(
            {"rewritten_query": "年休假最多可结转几天？", "intent": "kb_search"}, ensure_ascii=False
        )

        async def pieces() -> AsyncGenerator[bytes]:
            yield _chunk(said) + b"data: [DONE]\n\n"

        return StreamingResponse(pieces(), media_type="text/event-stream")

    async def _embed(self, request: Request[Any]) -> Response:
        texts: list[str] = (await request.json())["input"]
        await self._passed("embed", request)
        return JSONResponse({"data": [{"index": n, "embedding": [1.0] * 8} for n in range(len(texts))]})

    async def _rerank(self, request: Request[Any]) -> Response:
        documents: list[str] = (await request.json())["documents"]
        await self._passed("rerank", request)
        results = [{"index": n, "relevance_score": 0.9} for n in range(len(documents))]
        return JSONResponse({"results": results})

    async def _chat(self, request: Request[Any]) -> Response:
        await request.body()
        await self._passed("chat", request)
        return StreamingResponse(self._answer(), media_type="text/event-stream")

    async def _answer(self) -> AsyncGenerator[bytes]:
        try:
            while True:
                yield _chunk(f"词{self.words} ")
                self.words += 1
                await asyncio.sleep(WORD_S)
        finally:
            self.left.set()

    async def _passed(self, name: str, request: Request[Any]) -> None:
        self.asked[name] += 1
        if self.hold == name:
            self.reached.set()
            while (await request.receive())["type"] != "http.disconnect":
                pass
            self.left.set()


async def measure(folder: Path, *, repeat: int) -> dict[str, Any]:
    models = Models()
    async with beside(models.app) as address:
        environment = {
            "HEADRACE_CHAT_BASE_URL": f"{address}/v1",
            "HEADRACE_CHAT_MODEL": "stub",
            "HEADRACE_UNDERSTAND_BASE_URL": f"{address}/understand",
            "HEADRACE_UNDERSTAND_MODEL": "stub",
            "HEADRACE_EMBEDDING_BASE_URL": f"{address}/v1",
            "HEADRACE_EMBEDDING_MODEL": "stub",
            "HEADRACE_RERANK_BASE_URL": f"{address}/v1",
            "HEADRACE_RERANK_MODEL": "stub",
        }
        async with a_server(folder, environment) as server:
            kb = await _a_kb(server)
            measured: dict[str, list[dict[str, float]]] = {stage: [] for stage in STAGES}
            for _ in range(repeat):
                for stage in STAGES:
                    measured[stage].append(await _stop_at(server, models, kb, stage))
    return {
        "repeat": repeat,
        "stages": {stage: _summed(rows) for stage, rows in measured.items()},
        "load_average": [round(load, 2) for load in os.getloadavg()],
    }


async def _stop_at(server: Server, models: Models, kb: str, stage: str) -> dict[str, float]:
    models.prepare(stage)
    session = (await server.call("POST", "/sessions", json={"knowledge_base_ids": [kb]}))["id"]
    events: list[dict[str, Any]] = []
    began, spoken = asyncio.Event(), asyncio.Event()
    last_at = 0.0

    async def read() -> None:
        nonlocal last_at
        path = f"{API}/sessions/{session}/knowledge-qa"
        async with server.http.stream("POST", path, json={"query": "年休假最多可结转几天？"}) as stream:
            async for line in stream.aiter_lines():
                if line.startswith("data: "):
                    last_at = time.perf_counter()
                    events.append(json.loads(line.removeprefix("data: ")))
                    began.set()
                    if sum(event["response_type"] == "answer" for event in events) >= WORDS:
                        spoken.set()

    reading = asyncio.create_task(read())
    until = {"in mid-answer": spoken, "at once": began}.get(stage, models.reached)
    for event in (began, until):
        await asyncio.wait_for(event.wait(), LIMIT_S)
    sent_at = time.perf_counter()
    body = {"message_id": events[0]["assistant_message_id"]}
    status = (await server.call("POST", f"/sessions/{session}/stop", json=body))["status"]
    status_at = time.perf_counter()
    await asyncio.wait_for(reading, LIMIT_S)
    await _check(models, stage, status, events)
    return {"status": 1000 * (status_at - sent_at), "last event": 1000 * (last_at - sent_at)}


async def _check(models: Models, stage: str, status: str, events: list[dict[str, Any]]) -> None:
    if (status, events[-1]["response_type"]) != ("stopped", "stop"):
        raise SystemExit(f"{stage}: {status}, and the last event is {events[-1]}")
    if stage == "at once":
        return
    await asyncio.wait_for(models.left.wait(), LIMIT_S)
    holder = HOLDERS.get(stage, "chat")
    if later := {name for name in models.asked if ORDER.index(name) > ORDER.index(holder)}:
        raise SystemExit(f"{stage}: {later} was asked after the stop")
    if stage == "in mid-answer":
        words = models.words
        await asyncio.sleep(10 * WORD_S)
        if models.words != words:
            raise SystemExit(f"{stage}: words were pulled after the end")


async def _a_kb(server: Server) -> str:
    kb = (await server.call("POST", "/knowledge-bases", json={"name": "文档"}))["id"]
    path = f"/knowledge-bases/{kb}/documents"
    [document] = await server.call("POST", path, json={"title": "员工手册", "text": DOCUMENT})
    while (found := await server.call("GET", f"/documents/{document['id']}"))["status"] != "ready":
        if found["status"] == "failed":
            raise SystemExit(f"The document could not be indexed: {found['error']}")
        await asyncio.sleep(0.05)
    return kb


def _summed(rows: list[dict[str, float]]) -> dict[str, dict[str, float]]:
    return {
        name: {
            "median_ms": round(statistics.median(row[name] for row in rows), 1),
            "max_ms": round(max(row[name] for row in rows), 1),
        }
        for name in rows[0]
    }


def table(result: dict[str, Any]) -> str:
    lines = [f"{'stopped, ms':24}{'status':>10}{'max':>8}{'last event':>12}{'max':>8}"]
    for stage, row in result["stages"].items():
        status, last = row["status"], row["last event"]
        lines.append(
            f"{stage:24}{status['median_ms']:>10}{status['max_ms']:>8}"
            f"{last['median_ms']:>12}{last['max_ms']:>8}"
        )
    return "\n".join(lines)


def _chunk(content: str) -> bytes:
    choice = {"index": 0, "delta": {"role": "assistant", "content": content}, "finish_reason": None}
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "stub", "choices": [choice]}
    return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=10, help="stops at each stage")
    options = parser.parse_args()
    if options.repeat < 1:
        parser.error("--repeat must be at least 1")
    with contextlib.ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="headrace-bench-")))
        result = asyncio.run(measure(folder / "data", repeat=options.repeat))
    print(table(result), file=sys.stderr)
    print(json.dumps(result, ensure_ascii=False))
    worst = max(one["max_ms"] for row in result["stages"].values() for one in row.values())
    sys.exit(1 if worst > BAR_MS else 0)


if __name__ == "__main__":
    main()
