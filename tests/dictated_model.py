"""A stand-in for a model server that says what the test tells it, when the test does."""

import asyncio
import queue
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from .running import serving
from .stub_model import a_chunk


class DictatedModel:
    """One answer at a time: `say` its pieces, then `finish` it."""

    def __init__(self) -> None:
        self.app = Starlette(routes=[Route("/v1/chat/completions", self._complete, methods=["POST"])])
        self.app.state.closing = asyncio.Event()
        self._asked: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._pieces: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def wait_until_asked(self) -> None:
        self._asked.get(timeout=60)

    def say(self, *pieces: str) -> None:
        for piece in pieces:
            self._pieces.put(piece)

    def finish(self) -> None:
        self._pieces.put(None)

    async def _complete(self, request: Request) -> Response:
        await request.body()
        self._asked.put(None)
        return StreamingResponse(self._answer(), media_type="text/event-stream")

    async def _answer(self) -> AsyncGenerator[str]:
        while (piece := await asyncio.to_thread(self._pieces.get)) is not None:
            yield a_chunk(piece)
        yield a_chunk("", finish="stop")
        yield "data: [DONE]\n\n"


@contextmanager
def a_dictated_model() -> Generator[tuple[DictatedModel, str]]:
    """The model and its address."""
    model = DictatedModel()
    with serving(model.app) as url:
        try:
            yield model, url
        finally:
            model.finish()  # whoever still waits for a word
