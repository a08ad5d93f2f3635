"""Server-sent events: frames, keep-alives, and an end when the server closes."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, TypeVar

import anyio
from starlette.responses import StreamingResponse

from ..checkpoints.events import Event
from ..errors import HeadraceError

logger = logging.getLogger(__name__)

T = TypeVar("T")

KEEP_ALIVE_S = 10.0
KEEP_ALIVE = ": keep-alive\n\n"
RETRY = "retry: 1000\n\n"
RETRY_LATER = "retry: 2000\n\n"  # a restart takes about that long
HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
# Legal in JSON, but a line end for some readers.
_LINE_ENDS = {ord(end): json.dumps(end)[1:-1] for end in "\x85\u2028\u2029"}


def event_stream(frames: AsyncIterator[str]) -> StreamingResponse:
    return StreamingResponse(frames, media_type="text/event-stream", headers=HEADERS)


def frame(data: object, *, id: int | None = None) -> str:
    line = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).translate(_LINE_ENDS)
    number = "" if id is None else f"id: {id}\n"
    return f"{number}event: message\ndata: {line}\n\n"


async def run_frames(
    events: AsyncIterator[Event], *, closing: asyncio.Event, keep_alive_s: float = KEEP_ALIVE_S
) -> AsyncGenerator[str]:
    """The events of a run as frames. The run never notices who reads, how fast, or for how long."""
    yield RETRY
    done = False
    try:
        async for event in paced(events, closing=closing, pause_s=keep_alive_s):
            yield KEEP_ALIVE if event is None else frame(event, id=event["seq"])
            done = done or (event is not None and event["done"])
    except HeadraceError as error:
        # The 200 has left. Without an id, since it is no event of the log; done, since coming again
        # would only find the same.
        logger.error("a stream ends before its run: %s", error.message)
        told = {"code": error.code, "status": error.status}
        yield frame({"response_type": "error", "content": error.message, "done": True, "data": told})
        return
    if not done:
        yield RETRY_LATER


async def object_frames(
    objects: AsyncIterator[dict[str, Any]], *, closing: asyncio.Event, keep_alive_s: float = KEEP_ALIVE_S
) -> AsyncGenerator[str]:
    """Any objects as frames without ids: each one is the whole truth, so nobody needs the missed ones."""
    yield RETRY
    async for one in paced(objects, closing=closing, pause_s=keep_alive_s):
        yield KEEP_ALIVE if one is None else frame(one)


async def paced(
    source: AsyncIterator[T], *, closing: asyncio.Event, pause_s: float
) -> AsyncGenerator[T | None]:
    """What `source` gives; None after each `pause_s` without anything; the end once `closing` is set."""
    closed = asyncio.ensure_future(closing.wait())
    upcoming: asyncio.Future[T] | None = None
    try:
        while not closing.is_set():
            upcoming = upcoming or asyncio.ensure_future(anext(source))
            await asyncio.wait({upcoming, closed}, timeout=pause_s, return_when=asyncio.FIRST_COMPLETED)
            if upcoming.done():
                finished, upcoming = upcoming, None
                try:
                    item = finished.result()
                except StopAsyncIteration:
                    return
                yield item
            elif not closing.is_set():
                yield None
    finally:
        # A reader that left has cancelled us: without the shield the source would stay open.
        with anyio.CancelScope(shield=True):
            await _let_go(source, upcoming, closed)


async def _let_go(source: AsyncIterator[Any], *pending: "asyncio.Future[Any] | None") -> None:
    waiting = [future for future in pending if future is not None]
    for future in waiting:
        future.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    if isinstance(source, AsyncGenerator):
        await source.aclose()
