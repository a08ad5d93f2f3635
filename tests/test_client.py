"""The command line's client, against servers that break off."""

import json
import threading
from collections.abc import Generator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from headrace.client import Client
from headrace.errors import HeadraceError
from headrace.serving import bind, url_of

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


@contextmanager
def killed_after(*events: dict[str, Any]) -> Generator[str]:
    """A server that sends the head of a stream and these events, and is gone: as after `kill -9`."""
    frames = [f"data: {json.dumps(one, ensure_ascii=False)}\n\n".encode() for one in events]
    chunks = [b"%x\r\n%s\r\n" % (len(frame), frame) for frame in frames]

    with closing(bind("127.0.0.1", 0)) as sock:
        sock.listen()

        def serve() -> None:
            connection, _ = sock.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(HEAD + b"".join(chunks))

        thread = threading.Thread(target=serve)
        thread.start()
        yield url_of("127.0.0.1", sock.getsockname()[1])
        thread.join()


def test_a_stream_whose_server_is_killed_ends_after_what_was_told() -> None:
    told = [{"seq": 1, "content": "年休假"}, {"seq": 2, "content": "twelve"}]
    with killed_after(*told) as url, closing(Client(url)) as client:
        assert [*client.events("GET", "/runs/r/events")] == told


def test_a_server_that_is_gone_before_it_has_told_anything_does_not_answer() -> None:
    with (
        killed_after() as url,
        closing(Client(url)) as client,
        pytest.raises(HeadraceError, match="does not answer"),
    ):
        next(client.events("GET", "/runs/r/events"))
