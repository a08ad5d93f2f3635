"""Measure what one typical question leaves in the journal, in bytes: its payload, and its keys.

`.venv/bin/python bench/question.py`. The real stack answers a Chinese question over 60 passages of 1,200
characters: 50 candidates leave the search, 10 are kept, a stand-in for a model server streams 400 pieces that
cite every one. The characters of the passages are drawn at random, so they compress no better than prose.
The table goes to stderr, one JSON document to stdout.
"""

import argparse
import asyncio
import contextlib
import json
import random
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from headrace.api.questions import asked_in_session
from headrace.api.schemas import KnowledgeQa
from headrace.api.stack import Stack
from headrace.checkpoints.saver import JournalSaver
from headrace.context import Chunk, IndexEntry, KnowledgeBase
from headrace.server import open_stack
from headrace.serving import bind, serving_in_thread, url_of
from headrace.settings import load_settings
from headrace.text.signature import chunk_id

QUESTION = "三号泵站的密封件多久检修一次？"
PASSAGES = 60
CHARACTERS = 1200
KEPT = 10
PIECES = 400
BAR_BYTES = 120_000  # of payload
# The 3,755 characters of the first level of GB 2312, the common ones.
COMMON = bytes(
    byte for high in range(0xB0, 0xD8) for low in range(0xA1, 0xFF) for byte in (high, low)
).decode("gb2312", "ignore")
TABLES = {
    "checkpoints": ("checkpoints", "checkpoint_values"),
    "pending writes": ("checkpoint_writes",),
    "events": ("events", "event_tasks"),
    "messages and run": ("messages", "runs"),
    "passages": ("passages", "passage_uses"),
}
# What only says where a row belongs.
KEYS = {"position", "seq", "number", "hash", "ns"} | {
    f"{name}id" for name in ("", "run_", "thread_", "checkpoint_", "parent_", "task_", "session_", "message_")
}


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as folder:
        with contextlib.closing(bind("127.0.0.1", 0)) as sock, serving_in_thread(a_model_server(), sock):
            result = asyncio.run(measure(Path(folder), url_of("127.0.0.1", sock.getsockname()[1])))
    print(table(result), file=sys.stderr)
    print(json.dumps(result, ensure_ascii=False))


async def measure(folder: Path, model: str) -> dict[str, Any]:
    settings = load_settings(data=folder).model_copy(
        update={"chat_base_url": f"{model}/v1", "chat_model": "stand-in", "enable_rewrite": False}
    )
    async with open_stack(settings) as stack:
        kb = await fill(stack)
        session = await stack.sessions.create(kb_ids=[kb.id])
        asked = await asked_in_session(stack, session.id, KnowledgeQa.model_validate({"query": QUESTION}))
        message = await stack.runs.finished(await stack.runs.start(asked))
        used = await stack.journal.read(written)
        events = await stack.events.last(asked["run_id"])
        end = await JournalSaver(stack.journal).aget_tuple({"configurable": {"thread_id": asked["run_id"]}})
    assert end is not None
    if (message.outcome, len(message.references)) != ("answered", KEPT):
        raise SystemExit(f"{message.outcome} with {len(message.references)} references: {message.error}")
    return {
        "bytes": used,
        "payload": sum(one["payload"] for one in used.values()),
        "with_keys": sum(one.total() for one in used.values()),
        "bar": BAR_BYTES,
        "kept": len(message.references),
        "candidates": len(end.checkpoint["channel_values"]["chunk_hits"]),
        "events": events,
        "characters_of_passages": sum(len(one["content"]) for one in message.references),
    }


async def fill(stack: Stack) -> KnowledgeBase:
    """A knowledge base of passages as long as the bar says, past the chunker, which cuts shorter ones."""
    kb = await stack.catalogue.create_kb(name="泵站", embedding_model=stack.embedder.model)
    document = await stack.catalogue.create_document(
        kb_id=kb.id, title="检修手册.txt", media_type="text/plain", sha256="0" * 64, bytes=0
    )
    texts = [a_passage(number) for number in range(PASSAGES)]
    # Their beginnings: what is found matters here, how well does not.
    vectors = await stack.embedder.embed_passages([text[:80] for text in texts])
    chunks = [
        Chunk(
            id=chunk_id(document.id, 1, "text", number),
            revision=1,
            kb_id=kb.id,
            document_id=document.id,
            kind="text",
            chunk_index=number * 2,  # neighbours would be joined to one passage
            text=text,
            section="检修 > 密封件",
        )
        for number, text in enumerate(texts)
    ]
    entries = [
        IndexEntry(chunk_id=chunk.id, document_id=document.id, text=chunk.text, vector=vector)
        for chunk, vector in zip(chunks, vectors, strict=True)
    ]
    context = stack.context(silent)
    await context.stores[kb.store].vectors.add(kb.id, kb.embedding_model, entries)
    await context.stores[kb.store].keywords.add(kb.id, entries)
    await stack.catalogue.publish(document.id, revision=1, chunks=chunks)
    return kb


def a_passage(number: int) -> str:
    chosen = random.Random(number)
    text = f"{number}号泵站的密封件每运行{chosen.randrange(1000, 9000)}小时检修一次。"
    while len(text) < CHARACTERS:
        text += "".join(chosen.choices(COMMON, k=chosen.randrange(8, 40))) + "。"
    return text[:CHARACTERS]


class Silent:
    """An emitter for work outside a run."""

    def __call__(self, response_type: str, content: str = "", **given: Any) -> None: ...

    def new_segment(self) -> int:
        return 1

    def open_call(self, tool_name: str, arguments: Any) -> None: ...

    def close_call(self, tool_name: str, result: Any) -> None: ...


silent = Silent()


def a_model_server() -> Starlette:
    async def complete(request: Request) -> Response:
        return StreamingResponse(answer(), media_type="text/event-stream")

    app = Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])])
    app.state.closing = asyncio.Event()
    return app


async def answer() -> AsyncGenerator[str]:
    chosen = random.Random(0)
    for number in range(PIECES):
        cited = f"[c{number // 40 + 1}]" if number % 40 == 39 else ""
        yield a_chunk("".join(chosen.choices(COMMON, k=2)) + cited)
    yield a_chunk("", finish="stop")
    yield "data: [DONE]\n\n"


def a_chunk(content: str, *, finish: str | None = None) -> str:
    choice = {"index": 0, "delta": {"role": "assistant", "content": content}, "finish_reason": finish}
    chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return f"data: {json.dumps(chunk)}\n\n"


def written(connection: sqlite3.Connection) -> dict[str, Counter[str]]:
    """Bytes of keys and of payload in each group of tables, as SQLite stores them."""
    return {
        name: sum((bytes_of(connection, table) for table in tables), Counter[str]())
        for name, tables in TABLES.items()
    }


def bytes_of(connection: sqlite3.Connection, table: str) -> Counter[str]:
    columns: list[str] = [row[1] for row in connection.execute(f"pragma table_info({table})")]
    counted = Counter[str]()
    for row in connection.execute(f"select * from {table}"):
        for column, value in zip(columns, row, strict=True):
            counted["keys" if column in KEYS else "payload"] += size_of(value)
    return counted


def size_of(value: str | bytes | int | None) -> int:
    match value:
        case None:
            return 0
        case int():
            return value.bit_length() // 8 + 1
        case bytes():
            return len(value)
        case str():
            return len(value.encode())


def table(result: dict[str, Any]) -> str:
    lines = [f"{'bytes':20}{'payload':>10}{'with keys':>12}"]
    for name, used in result["bytes"].items():
        lines.append(f"{name:20}{used['payload']:>10,}{used.total():>12,}")
    lines.append(f"{'in all':20}{result['payload']:>10,}{result['with_keys']:>12,}")
    lines.append(f"{result['candidates']} candidates, {result['kept']} kept, {result['events']} events")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
