"""A stand-in for a model server that does what the question tells it to.

`say: a b` streams the words; `wait: a b` streams them, then stays silent; `once: a b` stays silent after
the first word the first time it is asked and says all later; `slowly: 200` streams that many words, 20 ms
apart; `fault: …` fails in that way.
"""

import asyncio
import json
import re
from collections.abc import AsyncGenerator

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

TOLD = re.compile(r"(say|wait|once|slowly|fault): (.*)")
PAUSE_S = 0.02
SLOW_S = 30.0


def a_model_server() -> Starlette:
    asked: set[str] = set()
    closing = asyncio.Event()

    async def complete(request: Request) -> Response:
        told = TOLD.search((await request.json())["messages"][-1]["content"])
        assert told is not None
        kind, rest = told.groups()
        if kind == "fault":
            return await fault(rest, closing)
        first, _ = rest not in asked, asked.add(rest)
        return StreamingResponse(pieces(kind, rest, closing, first=first), media_type="text/event-stream")

    app = Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])])
    app.state.closing = closing
    return app


async def pieces(kind: str, rest: str, closing: asyncio.Event, *, first: bool) -> AsyncGenerator[str]:
    words = [f"词{n}" for n in range(int(rest))] if kind == "slowly" else rest.split()
    for number, word in enumerate(words):
        yield a_chunk(word if number == 0 else f" {word}")
        if kind == "slowly":
            await asyncio.sleep(PAUSE_S)
        if kind == "once" and first:
            await closing.wait()
            return
    if kind == "wait":
        await closing.wait()
        return
    yield a_chunk("", finish="stop")
    yield "data: [DONE]\n\n"


async def fault(name: str, closing: asyncio.Event) -> Response:
    match name.split()[0]:
        case "401":
            return JSONResponse({"error": {"message": "bad key", "code": "invalid_api_key"}}, status_code=401)
        case "500":
            return JSONResponse({"error": {"message": "broken"}}, status_code=500)
        case "garbage":
            return PlainTextResponse("<html>not a model</html>")
        case "slow":
            await asyncio.wait([asyncio.ensure_future(closing.wait())], timeout=SLOW_S)
            return PlainTextResponse("too late")
        case _:
            return PlainTextResponse("unavailable", status_code=503)


def a_chunk(content: str, *, finish: str | None = None) -> str:
    chunk = {
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "stub",
        "choices": [
            {"index": 0, "delta": {"role": "assistant", "content": content}, "finish_reason": finish}
        ],
    }
    return f"data: {json.dumps(chunk)}\n\n"
