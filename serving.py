"""Runs an app under uvicorn: a safe address, one socket, and an end within ten seconds."""

import asyncio
import contextlib
import errno
import ipaddress
import logging
import os
import resource
import signal
import socket
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future
from time import monotonic
from types import FrameType
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from .api.answers import failure
from .errors import StartRefused

logger = logging.getLogger(__name__)

GRACE_S = 1  # for answers under way, after the streams have been told to end
LAST_RESORT_S = 9.5  # the journal survives a kill; a supervisor that waits for us does not like to
LEFT_CALLS_S = 5.0
BACKLOG = 2048
# Open files kept for the stores, the models and the parser; each connection is one, too.
RESERVED_FILES = 200
ENOUGH_FILES = 65_536


class Serving(uvicorn.Server):
    """uvicorn without its signal handling and lifespan.

    uvicorn waits for open streams before it tells the app to close, so the streams end here first
    (`app.state.closing`); and it raises a caught signal again before what the app has opened is closed.
    """

    def __init__(self, app: Starlette, sock: socket.socket, *, on_ready: Callable[[], None]) -> None:
        self._app = app
        self._sock = sock
        self._on_ready = on_ready
        self._state: dict[str, Any] = {}
        self._most_connections = most_connections(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        self._full = False
        super().__init__(
            uvicorn.Config(
                self._with_state,
                interface="asgi3",
                # Named, since uvicorn takes whichever is there, and the other one collects headers and
                # addresses without end.
                http="h11",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                ws="none",
                backlog=BACKLOG,
                timeout_graceful_shutdown=GRACE_S,
            )
        )

    async def run_app(self) -> None:
        """Open the app, serve until `should_exit`, close the app. Raises what opening it raises."""
        async with self._app.router.lifespan_context(self._app) as state:
            self._state.update(state or {})
            await self.serve(sockets=[self._sock])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.state.closing.set()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def _with_state(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._is_full():
            await _no_room()(scope, receive, send)
            return
        await self._app({**scope, "state": dict(self._state)}, receive, send)

    def _is_full(self) -> bool:
        full = len(self.server_state.connections) > self._most_connections
        if full and not self._full:
            logger.warning(
                "%d connections are open; more are refused, so that files can still be opened: "
                "raise the limit of open files (ulimit -n)",
                self._most_connections,
            )
        self._full = full
        return full


def serve_until_signalled(
    app: Starlette, sock: socket.socket, *, on_ready: Callable[[], None] = lambda: None
) -> int:
    """Serve in this, the main thread, until SIGINT or SIGTERM. Returns the number of the signal, or 0."""
    _allow_many_files()
    server = Serving(app, sock, on_ready=on_ready)
    caught: list[int] = []

    def end(number: int, stack_frame: FrameType | None) -> None:
        if not caught:
            _last_resort().start()
        caught.append(number)
        server.handle_exit(number, stack_frame)

    previous = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        _run(server)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    return caught[0] if caught else 0


@contextlib.contextmanager
def serving_in_thread(app: Starlette, sock: socket.socket) -> Generator[None]:
    """Serve in another thread during the block. Raises what opening the app raises."""
    ready: Future[None] = Future()
    server = Serving(app, sock, on_ready=lambda: ready.set_result(None))

    def run() -> None:
        try:
            _run(server)
        except BaseException as error:
            if ready.done():
                raise
            ready.set_exception(error)

    thread = threading.Thread(target=run, name="serve", daemon=True)
    thread.start()
    try:
        ready.result()
        yield
    finally:
        server.should_exit = True
        thread.join()


def _run(server: Serving) -> None:
    """Serve in a loop of its own, and outlast the calls that cancelled tasks have left in threads.

    Python ends such a thread where it stands when the program ends, and native code in it, such as that of a
    vector index, takes the process down: measured, 3 of 24 short commands on a busy machine.
    """
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        runner.run(server.run_app())
    deadline = monotonic() + LEFT_CALLS_S
    for thread in threading.enumerate():
        if getattr(thread, "loop", None) is loop:  # the worker threads of anyio have it
            thread.join(max(0.0, deadline - monotonic()))


def bind(host: str, port: int, *, open_to_all: bool = False) -> socket.socket:
    """A listening socket; clients that come before the app is open wait in its queue.

    Raises StartRefused when the port is taken or the address is not loopback and not allowed.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise StartRefused(f"{host!r} is not an address of this machine: {error.strerror}.") from error
    loopback = ipaddress.ip_address(address[0]).is_loopback
    if not loopback and not open_to_all:
        raise StartRefused(
            f"{host} can be reached from other machines, and nothing asks them for a key. Use 127.0.0.1, or "
            f"set HEADRACE_OPEN=1 if everyone who reaches this address may read and change everything.",
            code="open_address",
        )
    if not loopback:
        logger.warning("%s: everyone who reaches this address may read and change everything", host)
    # asyncio has small pieces sent at once (TCP_NODELAY) only where the protocol is named.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise StartRefused(_why_not(host, port, error), code="address_not_available") from error
    return sock


def most_connections(files: int) -> int:
    """How many connections may be open at once in a process that may have so many files open."""
    files = ENOUGH_FILES if files == resource.RLIM_INFINITY else files
    return max(files - RESERVED_FILES, files // 2)


def url_of(host: str, port: int) -> str:
    """Where a person on this machine finds a server that is bound to `host`."""
    name = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def _why_not(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} is taken by another program. Stop it, or give another port with --port."
    if error.errno == errno.EACCES:
        return f"Port {port} needs more rights than this program has. Give another one with --port."
    return f"{host}:{port} cannot be served: {error.strerror}."


def _allow_many_files() -> None:
    """As many as this process may allow itself: shells often begin with 1,024, and a reader holds one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = ENOUGH_FILES if hard == resource.RLIM_INFINITY else min(hard, ENOUGH_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _no_room() -> JSONResponse:
    return failure(
        503,
        "too_many_connections",
        "Too many connections are open: come back in a moment.",
        headers={"Retry-After": "2", "Connection": "close"},
    )


def _last_resort() -> threading.Timer:
    def leave() -> None:
        logger.error(
            "not closed after %s s, leaving now; unfinished answers go on at the next start", LAST_RESORT_S
        )
        os._exit(1)

    timer = threading.Timer(LAST_RESORT_S, leave)
    timer.daemon = True
    return timer
