"""Replay and compact reading over HTTP, with a model server that counts how often it is asked."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from ..running import (
    API,
    HANDBOOK,
    MANUAL,
    a_client,
    a_kb,
    a_session,
    answer_of,
    ask,
    data,
    lines,
    objects,
    refused,
    running,
    serving,
)
from ..stub_model import a_model_server

ZH = "年休假 say: 水 从渠 中来"
EN = "lithium grease say: water comes down"


class Counted:
    """Counts the requests that reach the app behind it."""

    def __init__(self, app: ASGIApp, seen: list[str]) -> None:
        self.app = app
        self.seen = seen

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self.seen.append(scope["path"])
        await self.app(scope, receive, send)


@pytest.fixture(scope="module")
def model_calls() -> list[str]:
    return []


@pytest.fixture(scope="module")
def model(model_calls: list[str]) -> Generator[str]:
    app = a_model_server()
    app.add_middleware(Counted, seen=model_calls)
    with serving(app) as url:
        yield url


def with_model(model: str) -> dict[str, Any]:
    return {
        "chat_base_url": f"{model}/v1",
        "chat_model": "stub",
        "suggestions_enabled": False,
        "enable_rewrite": False,
    }


@pytest.fixture(scope="module")
def client(model: str, tmp_path_factory: pytest.TempPathFactory) -> Generator[httpx.Client]:
    folder = tmp_path_factory.mktemp("data")
    with running(folder, **with_model(model)) as url, a_client(url) as client:
        yield client


@pytest.fixture(scope="module")
def kb(client: httpx.Client) -> str:
    return a_kb(client, "文档 Documents", [("员工手册.md", HANDBOOK), ("LS-200.md", MANUAL)])


def replayed(client: httpx.Client, run_id: str, **body: Any) -> list[dict[str, Any]]:
    with client.stream("POST", f"{API}/runs/{run_id}/replay", json=body) as response:
        assert response.status_code == 200, response.read()
        return list(objects(response))


def references(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    (found,) = [one["knowledge_references"] for one in events if one["response_type"] == "references"]
    return found


@pytest.mark.parametrize("query", [ZH, EN])
def test_a_replay_has_the_frames_of_the_live_stream_to_the_byte(
    client: httpx.Client, kb: str, model_calls: list[str], query: str
) -> None:
    session = a_session(client, kb)
    address = f"{API}/sessions/{session}/knowledge-qa"
    with client.stream("POST", address, json={"query": query}) as response:
        live = list(lines(response))
    run_id = data(client.get(f"{API}/sessions/{session}/messages"))[1]["run_id"]
    before = data(client.get(f"{API}/runs/{run_id}"))
    asked = len(model_calls)
    assert asked

    bodies: list[dict[str, Any]] = [{"json": {}}, {"json": {"speed": 0}}, {"json": {"speed": 1000}}, {}]
    for body in bodies:
        with client.stream("POST", f"{API}/runs/{run_id}/replay", **body) as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            assert list(lines(response)) == live

    assert len(model_calls) == asked
    assert data(client.get(f"{API}/runs/{run_id}")) == before
    assert len(data(client.get(f"{API}/sessions/{session}/messages"))) == 2


def test_a_run_shows_its_passages_when_its_document_is_gone(client: httpx.Client) -> None:
    kb = a_kb(client, "temporary 临时", [("员工手册.md", HANDBOOK)])
    live = ask(client, a_session(client, kb), ZH)
    document = references(live)[0]["knowledge_id"]
    assert client.delete(f"{API}/documents/{document}").is_success
    assert client.delete(f"{API}/knowledge-bases/{kb}").is_success

    again = replayed(client, live[0]["run_id"])
    assert again == live
    assert "12 天" in references(again)[0]["content"]


def test_a_failed_run_is_replayed_with_its_error(client: httpx.Client, kb: str) -> None:
    live = ask(client, a_session(client, kb), "年休假 fault: 401")
    assert live[-1]["response_type"] == "error"
    assert replayed(client, live[0]["run_id"]) == live


@pytest.mark.parametrize("speed", [-1, 1001, 0.5, "1", True, None, [1]])
def test_a_bad_speed_is_refused(client: httpx.Client, kb: str, speed: Any) -> None:
    run_id = ask(client, a_session(client, kb), ZH)[0]["run_id"]
    message = refused(client.post(f"{API}/runs/{run_id}/replay", json={"speed": speed}), 400, "malformed")
    assert "speed" in message


def test_an_unknown_run_is_not_found(client: httpx.Client) -> None:
    refused(client.post(f"{API}/runs/没有/replay", json={}), 404, "run_not_found")


def test_a_run_that_goes_on_cannot_be_replayed_until_it_has_ended(client: httpx.Client, kb: str) -> None:
    session = a_session(client, kb)
    with client.stream(
        "POST", f"{API}/sessions/{session}/knowledge-qa", json={"query": "年休假 wait: 一 二"}
    ) as response:
        first = next(objects(response))
        address = f"{API}/runs/{first['run_id']}/replay"
        answer = client.post(address, json={})
        assert "stop" in refused(answer, 409, "run_unfinished")
        details = answer.json()["error"]["details"]
        assert details["message_id"] == first["assistant_message_id"]
        assert details["session_id"] == session
        client.post(f"{API}/sessions/{session}/stop", json={"message_id": details["message_id"]})
    again = replayed(client, first["run_id"])
    assert again[-1]["response_type"] == "stop"


def test_compact_reading_leaves_out_what_was_void(tmp_path: Path, model: str) -> None:
    with running(tmp_path, **with_model(model)) as url, a_client(url) as client:
        session = a_session(client, a_kb(client, "文档", [("员工手册.md", HANDBOOK)]))
        address = f"{API}/sessions/{session}/knowledge-qa"
        with client.stream("POST", address, json={"query": "年休假 once: 一 two 三"}) as response:
            first = next(event for event in objects(response) if event["response_type"] == "answer")
    with running(tmp_path, **with_model(model)) as url, a_client(url) as client:
        message = data(client.get(f"{API}/sessions/{session}/messages"))[1]["id"]
        stream = f"{API}/sessions/continue-stream/{session}?message_id={message}"
        with client.stream("GET", stream) as response:
            whole = list(objects(response))
        with client.stream("GET", f"{stream}&compact=1") as response:
            compact = list(objects(response))
        listed = f"{API}/runs/{first['run_id']}/events"
        pages = client.get(f"{listed}?compact=1&page_size=2&page=2").json()
        assert data(client.get(f"{listed}?compact=1")) == compact
        assert data(client.get(f"{listed}?compact=0")) == whole
        refused(client.get(f"{listed}?compact=yes"), 400, "bad_compact")
        refused(client.get(f"{stream}&compact=yes"), 400, "bad_compact")

    assert first in whole
    assert first not in compact
    assert "reset" not in [event["response_type"] for event in compact]
    assert "".join(e["content"] for e in compact if e["response_type"] == "answer") == answer_of(whole)
    assert (pages["data"], pages["total"]) == (compact[2:4], len(compact))
