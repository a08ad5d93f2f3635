"""A real HTTP server on a free loopback port that plays an OpenAI-compatible model."""

import json
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar


class Served:
    """What was asked of the server and what it does: a reply per request, the last for all that follow."""

    def __init__(self, replies: Sequence["Reply"]) -> None:
        self.replies = list(replies)
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.models = ["first-model", "second-model"]
        self.released = threading.Event()
        self.url = ""

    def next_reply(self) -> "Reply":
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


class Reply:
    """A status, a body in parts, and whether to fall silent or to hang up after them."""

    def __init__(
        self,
        *parts: str | bytes,
        status: int = 200,
        content_type: str = "text/event-stream",
        silent: bool = False,
        hang_up: bool = False,
        headers: dict[str, str] | None = None,
    ) -> None:
        self.parts = parts
        self.status = status
        self.content_type = content_type
        self.silent = silent
        self.hang_up = hang_up
        self.headers = headers or {}


def streamed(*deltas: dict[str, Any] | str, usage: dict[str, int] | None = None, **how: Any) -> Reply:
    """A proper stream of deltas; a string is content. With `how` it has no end."""
    chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": _delta(delta)}]} for delta in deltas]
    if not how:
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    if usage:
        chunks.append({"choices": [], "usage": usage})
    parts = [
        f"data: {json.dumps({'id': 'x', 'object': 'chat.completion.chunk', **chunk})}\n\n" for chunk in chunks
    ]
    return Reply(*parts, *([] if how else ["data: [DONE]\n\n"]), **how)


def refused(status: int, message: str) -> Reply:
    body = json.dumps({"error": {"message": message, "type": "error", "code": None}})
    return Reply(body, status=status, content_type="application/json")


def _delta(delta: dict[str, Any] | str) -> dict[str, Any]:
    return (
        {"role": "assistant", "content": delta} if isinstance(delta, str) else {"role": "assistant", **delta}
    )


@contextmanager
def serving(*replies: Reply) -> Generator[Served]:
    served = Served(replies)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"served": served}))
    served.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield served
    finally:
        served.released.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    served: ClassVar[Served]

    def do_GET(self) -> None:
        data = [{"id": model, "object": "model"} for model in self.served.models]
        self._send(Reply(json.dumps({"object": "list", "data": data}), content_type="application/json"))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.served.requests.append(json.loads(body))
        self.served.keys.append(self.headers.get("Authorization", ""))
        self._send(self.served.next_reply())

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.content_type)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if reply.hang_up:
            # A promised length that never comes tells an abort from an end.
            self.send_header("Content-Length", "100000")
        self.send_header("Connection", "close")
        self.end_headers()
        with suppress(ConnectionError):  # the client may have heard enough
            self._stream(reply)

    def _stream(self, reply: Reply) -> None:
        for part in reply.parts:
            self.wfile.write(part if isinstance(part, bytes) else part.encode())
            self.wfile.flush()
        if reply.silent:
            self.served.released.wait(10)

    def log_message(self, format: str, *args: Any) -> None:
        return
