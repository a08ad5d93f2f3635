"""How an app is served, and how that ends."""

import asyncio
import socket
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing

import pytest
from anyio.to_thread import run_sync
from starlette.applications import Starlette

from headrace.serving import bind, serving_in_thread


def test_a_call_that_a_cancelled_task_has_left_in_a_thread_is_over_when_serving_is() -> None:
    begun, over = threading.Event(), threading.Event()

    def outlast(loop: asyncio.AbstractEventLoop) -> None:
        begun.set()
        while not loop.is_closed():
            over.wait(0.001)
        over.wait(0.1)  # longer than somebody in a hurry would take to leave
        over.set()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None]:
        call = asyncio.create_task(run_sync(outlast, asyncio.get_running_loop()))
        await asyncio.to_thread(begun.wait)
        yield
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)

    app = Starlette(lifespan=lifespan)
    app.state.closing = asyncio.Event()
    with closing(bind("127.0.0.1", 0)) as sock, serving_in_thread(app, sock):
        assert begun.is_set()
    assert over.is_set()


@pytest.mark.anyio
async def test_a_connection_sends_small_pieces_of_an_answer_at_once() -> None:
    at_once: asyncio.Queue[int] = asyncio.Queue()

    async def accept(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = writer.get_extra_info("socket")
        at_once.put_nowait(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    with closing(bind("127.0.0.1", 0)) as sock:
        async with await asyncio.start_server(accept, sock=sock):
            _, writer = await asyncio.open_connection(*sock.getsockname())
            assert await at_once.get()
            writer.close()
