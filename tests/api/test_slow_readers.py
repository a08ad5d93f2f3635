"""Readers that stop reading or read a little at a time, on real sockets."""

import asyncio
import json
import socket
import time
from collections import Counter
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headrace.checkpoints.event_rows import Told
from headrace.checkpoints.events import EventLog, RunEmitter
from headrace.checkpoints.journal import open_journal
from headrace.checkpoints.run_rows import End, end_run, insert_run
from headrace.checkpoints.sessions import Sessions
from headrace.checkpoints.texts import KeptTexts
from headrace.server import create_app
from headrace.serving import bind, serving_in_thread, url_of
from headrace.settings import load_settings

from ..checkpoints.toys import an_asked
from ..dictated_model import a_dictated_model
from ..running import API, a_client, a_session, answer_of, data, follow, objects, running

PIECES = 10_000  # an event of each is a fifth of a KB
PIECE = "水从渠 in"
# What the kernel holds for a socket, where both sides have asked for small buffers.
SEND_BUFFER = 64 * 1024
KERNEL_BYTES = 1024 * 1024


class Handed:
    """Counts the bytes that the app has handed over for each reader, named by its X-Reader header."""

    def __init__(self, app: ASGIApp, count: Counter[str]) -> None:
        self.app = app
        self.count = count

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        reader = dict(scope.get("headers", [])).get(b"x-reader", b"").decode()

        async def counted(message: Message) -> None:
            self.count[reader] += len(message.get("body", b""))
            await send(message)

        await self.app(scope, receive, counted)


@contextmanager
def counting(folder: Path, **settings: Any) -> Generator[tuple[str, Counter[str]]]:
    handed = Counter[str]()
    with closing(bind("127.0.0.1", 0)) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)  # inherited by its connections
        url = url_of("127.0.0.1", sock.getsockname()[1])
        app = create_app(load_settings(data=folder, **settings), url=url)
        app.add_middleware(Handed, count=handed)
        with serving_in_thread(app, sock):
            yield url, handed


@contextmanager
def a_socket(url: str, request: str, *, receives: int = 4096) -> Generator[socket.socket]:
    """A plain connection with a small receive buffer; HTTP/1.0, so that the body is not cut into chunks."""
    address = httpx.URL(url)
    with closing(socket.socket()) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receives)
        sock.settimeout(60)
        sock.connect((address.host, address.port))
        sock.sendall(request.encode())
        yield sock


def get(path: str, *headers: str) -> str:
    return "\r\n".join([f"GET {path} HTTP/1.0", "Host: 127.0.0.1", *headers, "", ""])


def read_all(sock: socket.socket, size: int) -> bytes:
    parts: list[bytes] = []
    while part := sock.recv(size):
        parts.append(part)
    head, _, body = b"".join(parts).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200"), head
    return body


def events_in(body: bytes) -> list[dict[str, Any]]:
    lines = body.decode().split("\n")
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


def test_a_reader_that_stops_reading_slows_nobody_and_is_not_buffered_for(tmp_path: Path) -> None:
    with a_dictated_model() as (model, model_url):
        chat = {
            "chat_base_url": f"{model_url}/v1",
            "chat_model": "stub",
            "suggestions_enabled": False,
            "enable_rewrite": False,
        }
        with counting(tmp_path, **chat) as (url, handed), a_client(url) as client:
            session = a_session(client)
            address = f"{API}/sessions/{session}/knowledge-qa"
            with client.stream("POST", address, json={"query": "水从哪里来？"}) as response:
                first = next(objects(response))
            message = first["assistant_message_id"]
            path = f"{API}/sessions/continue-stream/{session}?message_id={message}"
            model.wait_until_asked()
            with a_socket(url, get(path, "X-Reader: stuck")) as stuck, a_socket(url, get(path)) as left:
                model.say(*[PIECE] * PIECES)
                model.finish()
                # It ends while nobody reads the other two.
                events = follow(client, session, message)
                assert events[-1]["response_type"] == "complete"
                whole = len(PIECE.encode()) * PIECES
                assert len(json.dumps(events, ensure_ascii=False).encode()) > 1.5 * KERNEL_BYTES
                assert len(answer_of(events).encode()) == whole
                assert handed["stuck"] < KERNEL_BYTES
                left.close()
                # Whoever reads at last gets all of it.
                assert events_in(read_all(stuck, 1 << 16)) == events
            with a_socket(url, get(path)):
                began = time.monotonic()
    # The server has closed with a reader that does not read.
    assert time.monotonic() - began < 10


# --- a large event ----------------------------------------------------------------------------

REFERENCES = 20
CONTENT = "第{number}段：年休假应当在当年休完，最多可结转三天到次年三月底。𠮷野家 naïve 👩‍🔬 " * 160


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A folder with a finished run that has told 20 references of 16 KB each."""
    folder = tmp_path_factory.mktemp("data")
    return folder, asyncio.run(tell_much(folder))


async def tell_much(folder: Path) -> dict[str, str]:
    async with open_journal(folder / "journal.sqlite") as journal:
        asked = an_asked((await Sessions(journal).create()).id)
        run_id = await journal.write(lambda c: insert_run(c, asked=asked))
        texts = [CONTENT.format(number=number) for number in range(REFERENCES)]
        hashes = await KeptTexts(journal).keep(texts)
        emit = RunEmitter(EventLog(journal), run_id, Told(seq=1))
        references = [{"id": f"chunk{n}", "alias": f"c{n}", "passage": hash} for n, hash in enumerate(hashes)]
        emit("references", knowledge_references=references)
        emit("answer", "三天。", data={"segment": emit.new_segment()})
        emit.close()
        end = End(status="complete", response_type="complete", outcome="answered")
        await journal.write(lambda c: end_run(c, run_id=run_id, end=end))
    path = f"{API}/sessions/continue-stream/{asked['session_id']}?message_id={asked['message_id']}"
    return {"run": run_id, "path": path}


def is_whole(event: dict[str, Any]) -> bool:
    contents = [reference["content"] for reference in event["knowledge_references"]]
    return contents == [CONTENT.format(number=number) for number in range(REFERENCES)]


@pytest.mark.parametrize("size", [7, 1000, 1 << 20])
def test_a_large_event_arrives_whole_however_it_is_split(
    large: tuple[Path, dict[str, str]], size: int
) -> None:
    folder, run = large
    with running(folder) as url:
        with a_socket(url, get(run["path"]), receives=2048) as sock:
            body = read_all(sock, size)
        with a_client(url) as client:
            listed = data(client.get(f"{API}/runs/{run['run']}/events"))
    events = events_in(body)
    assert len(body) > 300 * 1024
    assert [event["response_type"] for event in events] == ["agent_query", "references", "answer", "complete"]
    assert is_whole(events[1])
    assert events == listed


def test_a_reader_cut_off_within_a_large_event_gets_it_whole_when_it_comes_back(
    large: tuple[Path, dict[str, str]],
) -> None:
    folder, run = large
    with running(folder) as url:
        for cut in (200, 1001, 100_000, 299_999):
            with a_socket(url, get(run["path"], "Last-Event-ID: 1"), receives=2048) as sock:
                got = b""
                while len(got) < cut:
                    got += sock.recv(cut - len(got))
            assert b"\nid: 3\n" not in got
            with a_socket(url, get(run["path"], "Last-Event-ID: 1")) as sock:
                events = events_in(read_all(sock, 1 << 16))
            assert [event["seq"] for event in events] == [2, 3, 4]
            assert is_whole(events[0])
