"""A real server on a real socket, in this process, and the pieces tests need to talk to it."""

import json
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
from starlette.applications import Starlette

from headrace.server import create_app
from headrace.serving import bind, serving_in_thread, url_of
from headrace.settings import load_settings

API = "/api/v1"
HANDBOOK = (
    "# 员工手册\n\n## 休假\n\n累计工龄满 10 年不满 20 年的员工，每年享有 12 天年休假。"
    "年休假应当在当年休完，最多可结转 3 天到次年三月底。\n\n"
    "## 差旅\n\n国内出差住宿标准为每晚不超过 450 元，凭发票报销。\n"
)
MANUAL = (
    "# LS-200 pump manual\n\n## Maintenance\n\nReplace the seal kit every 4000 operating hours. "
    "Use only lithium grease NLGI 2.\n\n## Noise\n\nThe pump runs at 62 dB(A) at one metre.\n"
)


@contextmanager
def running(folder: Path, **settings: Any) -> Generator[str]:
    """A server over `folder` for the block; gives its address. It makes every answer anew by default."""
    with closing(bind("127.0.0.1", 0)) as sock:
        url = url_of("127.0.0.1", sock.getsockname()[1])
        anew: dict[str, Any] = {"answer_cache_enabled": False, **settings}
        app = create_app(load_settings(data=folder, **anew), url=url)
        with serving_in_thread(app, sock):
            yield url


@contextmanager
def serving(app: Starlette) -> Generator[str]:
    """Any other app on a socket of its own, such as a stand-in for a model server."""
    with closing(bind("127.0.0.1", 0)) as sock, serving_in_thread(app, sock):
        yield url_of("127.0.0.1", sock.getsockname()[1])


@contextmanager
def a_client(url: str) -> Generator[httpx.Client]:
    with httpx.Client(base_url=url, timeout=30, trust_env=False) as client:
        yield client


def data(response: httpx.Response) -> Any:
    body = response.json()
    assert body["success"], body
    return body["data"]


def refused(response: httpx.Response, status: int, code: str) -> str:
    """Checks a refusal and its envelope; gives the message."""
    body = response.json()
    assert (response.status_code, body["error"]["code"]) == (status, code), body
    assert body["success"] is False
    assert isinstance(body["error"]["details"], dict)
    assert body["error"]["message"]
    return body["error"]["message"]


def a_kb(client: httpx.Client, name: str, documents: Iterable[tuple[str, str]] = ()) -> str:
    """A new knowledge base with texts, ready to be asked; gives its id."""
    kb = data(client.post(f"{API}/knowledge-bases", json={"name": name}))["id"]
    for title, text in documents:
        add(client, kb, title, text.encode())
    return kb


def add(client: httpx.Client, kb: str, name: str, content: bytes) -> dict[str, Any]:
    """Upload a file and wait until it is ready or has failed."""
    answer = client.post(f"{API}/knowledge-bases/{kb}/documents", files={"file": (name, content)})
    (document,) = data(answer)
    return settled(client, document["id"])


def settled(client: httpx.Client, document_id: str) -> dict[str, Any]:
    with client.stream("GET", f"{API}/documents/{document_id}/events") as response:
        return list(objects(response))[-1]


def a_session(client: httpx.Client, *kbs: str) -> str:
    return data(client.post(f"{API}/sessions", json={"knowledge_base_ids": list(kbs)}))["id"]


def ask(client: httpx.Client, session: str, query: str, **body: Any) -> list[dict[str, Any]]:
    """All events of the answer."""
    address = f"{API}/sessions/{session}/knowledge-qa"
    with client.stream("POST", address, json={"query": query, **body}) as response:
        assert response.status_code == 200, response.read()
        return list(objects(response))


def follow(
    client: httpx.Client, session: str, message: str, *, after: int | None = None
) -> list[dict[str, Any]]:
    """The events from there to the end, as a reconnecting client asks for them."""
    headers = {} if after is None else {"Last-Event-ID": str(after)}
    address = f"{API}/sessions/continue-stream/{session}?message_id={message}"
    with client.stream("GET", address, headers=headers) as response:
        assert response.status_code == 200, response.read()
        return list(objects(response))


def objects(response: httpx.Response) -> Iterator[dict[str, Any]]:
    """The data of each frame; checks that the frame's id is the event's number."""
    number = ""
    for line in lines(response):
        name, _, value = line.partition(": ")
        if name == "id":
            number = value
        elif name == "data":
            event = json.loads(value)
            assert "seq" not in event or str(event["seq"]) == number
            yield event


def lines(response: httpx.Response) -> Iterator[str]:
    rest = b""
    for piece in response.iter_raw():
        *whole, rest = (rest + piece).split(b"\n")
        yield from (line.decode() for line in whole)


def answer_of(events: Iterable[dict[str, Any]]) -> str:
    """What a client that honours `reset` has put together."""
    pieces: list[tuple[int, str]] = []
    for event in events:
        if event["response_type"] == "answer":
            pieces.append((event["data"]["segment"], event["content"]))
        elif event["response_type"] == "reset":
            pieces = [piece for piece in pieces if piece[0] not in event["data"]["segments"]]
    return "".join(text for _, text in pieces)
