"""The server as a whole: who may start it, how it ends, what it does when its models fail."""

import os
import socket
import threading
import time
from collections.abc import Generator
from pathlib import Path

import httpx
import pytest

from headrace.errors import StartRefused
from headrace.folder import FolderTaken
from headrace.serving import bind, url_of

from .running import (
    API,
    HANDBOOK,
    a_client,
    a_kb,
    a_session,
    answer_of,
    ask,
    data,
    follow,
    objects,
    refused,
    running,
    serving,
)
from .stub_model import a_model_server


def test_a_second_server_on_the_same_folder_is_refused_and_told_where_the_first_is(tmp_path: Path) -> None:
    with (
        running(tmp_path) as url,
        pytest.raises(FolderTaken, match=f"process {os.getpid()} at {url}"),
        running(tmp_path),
    ):
        pass


def test_a_taken_port_is_named_with_the_way_out() -> None:
    with bind("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(StartRefused, match=rf"{port} is taken.*--port"):
            bind("127.0.0.1", port)


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_an_address_that_others_can_reach_is_refused_unless_opened(host: str) -> None:
    with pytest.raises(StartRefused, match="HEADRACE_OPEN=1"):
        bind(host, 0)


def test_an_opened_address_is_served() -> None:
    with bind("0.0.0.0", 0, open_to_all=True) as sock:
        assert sock.getsockname()[0] == "0.0.0.0"


def test_a_name_that_is_no_address_is_refused() -> None:
    with pytest.raises(StartRefused, match="not an address"):
        bind("no such host", 0)


def test_addresses_are_those_a_browser_on_this_machine_can_open() -> None:
    assert url_of("0.0.0.0", 80) == "http://127.0.0.1:80"
    assert url_of("::", 80) == "http://[::1]:80"
    assert url_of("docs.example", 80) == "http://docs.example:80"


def test_documents_and_sessions_are_there_after_a_restart(tmp_path: Path) -> None:
    with running(tmp_path) as url, a_client(url) as client:
        kb = a_kb(client, "文档", [("员工手册.md", HANDBOOK)])
        session = a_session(client, kb)
        events = ask(client, session, "住宿标准是多少？")
    with running(tmp_path) as url, a_client(url) as client:
        assert follow(client, session, events[0]["assistant_message_id"]) == events
        assert "450 元" in answer_of(ask(client, session, "国内出差住宿标准是多少？"))


def test_a_knowledge_base_of_another_embedding_model_is_not_searched(tmp_path: Path) -> None:
    with running(tmp_path) as url, a_client(url) as client:
        kb = a_kb(client, "旧")
        session = a_session(client, kb)
    other = {"embedding_base_url": "http://127.0.0.1:9/v1", "embedding_model": "other"}
    with running(tmp_path, **other) as url, a_client(url) as client:
        asked = client.post(f"{API}/sessions/{session}/knowledge-qa", json={"query": "x"})
        message = refused(asked, 409, "embedding_model_mismatch")
        assert "'other'" in message
        assert "127.0.0.1:9" not in message
        searched = client.post(f"{API}/search", json={"query": "x", "knowledge_base_ids": [kb]})
        refused(searched, 409, "embedding_model_mismatch")
        assert client.get("/readyz").status_code == 503
        assert client.get("/healthz").status_code == 200


def test_a_link_in_place_of_the_folder_for_uploads_is_replaced_and_its_target_left_alone(
    tmp_path: Path,
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "文件.txt").touch()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "incoming").symlink_to(tmp_path / "elsewhere")
    with running(tmp_path / "data"):
        assert not (tmp_path / "data" / "incoming").is_symlink()
    assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == ["文件.txt"]


@pytest.mark.parametrize("begun", [b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ", b"GET /"])
def test_a_request_head_without_end_is_cut_off(tmp_path: Path, begun: bytes) -> None:
    with running(tmp_path) as url, socket.create_connection(("127.0.0.1", httpx.URL(url).port)) as client:
        client.settimeout(10)
        with pytest.raises(OSError, match=r"(?i)reset|broken pipe"):
            client.sendall(begun + b"a" * 32 * 1024 * 1024)


# --- with a model server ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Generator[httpx.Client]:
    """A server whose chat model does what the question tells it to (stub_model.py)."""
    folder = tmp_path_factory.mktemp("data")
    with serving(a_model_server()) as model:
        chat = {
            "chat_base_url": f"{model}/v1",
            "chat_model": "stub",
            "suggestions_enabled": False,
            "chat_timeout_s": 1,
        }
        with running(folder, **chat, enable_rewrite=False) as url, a_client(url) as client:
            yield client


@pytest.fixture
def session(client: httpx.Client) -> str:
    return a_session(client)


def test_the_model_is_named(client: httpx.Client) -> None:
    assert data(client.get(f"{API}/info"))["chat"] == {"model": "stub", "generates": True}


def test_an_answer_arrives_in_pieces(client: httpx.Client, session: str) -> None:
    events = ask(client, session, "say: 一 二 three")
    assert answer_of(events) == "一 二 three"
    assert len([one for one in events if one["response_type"] == "answer"]) > 1


@pytest.mark.parametrize(
    ("fault", "status"), [("down", 503), ("slow", 503), ("401", 502), ("garbage", 502), ("500", 503)]
)
def test_a_failing_model_ends_the_run_with_an_error_and_nothing_else(
    client: httpx.Client, session: str, fault: str, status: int
) -> None:
    asked = client.post(
        f"{API}/sessions/{session}/knowledge-qa",
        json={"query": f"fault: {fault}"},
        headers={"Accept": "application/json"},
    )
    assert asked.status_code == status, asked.text
    error = asked.json()["error"]
    assert error["message"]
    events = follow(client, session, error["details"]["message_id"])
    assert events[-1]["response_type"] == "error"
    assert events[-1]["data"] == {"code": error["code"], "status": status}
    assert answer_of(ask(client, session, "say: 还在 still here")) == "还在 still here"


def test_a_second_question_waits_for_the_first(client: httpx.Client, session: str) -> None:
    with client.stream(
        "POST", f"{API}/sessions/{session}/knowledge-qa", json={"query": "wait: one"}
    ) as first:
        message = next(objects(first))["assistant_message_id"]
        second = client.post(f"{API}/sessions/{session}/knowledge-qa", json={"query": "two"})
        refused(second, 409, "session_busy")
        assert second.json()["error"]["details"]["message_id"] == message
        stopped = client.post(f"{API}/sessions/{session}/stop", json={"message_id": message})
        assert data(stopped)["status"] == "stopped"


def test_an_event_id_beyond_the_newest_is_refused_also_while_the_answer_grows(
    client: httpx.Client, session: str
) -> None:
    with client.stream(
        "POST", f"{API}/sessions/{session}/knowledge-qa", json={"query": "wait: 水"}
    ) as growing:
        message = next(objects(growing))["assistant_message_id"]
        address = f"{API}/sessions/continue-stream/{session}?message_id={message}"
        refused(client.get(address, headers={"Last-Event-ID": "500"}), 400, "bad_event_id")
        client.post(f"{API}/sessions/{session}/stop", json={"message_id": message})
    events = follow(client, session, message)
    assert follow(client, session, message, after=len(events)) == []
    refused(client.get(f"{address}&after={len(events) + 1}"), 400, "bad_event_id")


def test_stop_keeps_what_was_said_and_ends_the_stream(client: httpx.Client, session: str) -> None:
    with client.stream(
        "POST", f"{API}/sessions/{session}/knowledge-qa", json={"query": "wait: 部分 part"}
    ) as response:
        events = objects(response)
        seen = [next(events)]
        while seen[-1]["response_type"] != "answer":
            seen.append(next(events))
        message = seen[0]["assistant_message_id"]
        client.post(f"{API}/sessions/{session}/stop", json={"message_id": message})
        seen += events
    assert seen[-1]["response_type"] == "stop"
    stored = data(client.get(f"{API}/sessions/{session}/messages"))[1]
    assert (stored["status"], stored["content"]) == ("stopped", answer_of(seen))
    assert stored["content"]


def test_a_session_with_a_running_answer_can_be_deleted(client: httpx.Client, session: str) -> None:
    with client.stream(
        "POST", f"{API}/sessions/{session}/knowledge-qa", json={"query": "wait: x"}
    ) as response:
        next(objects(response))
        assert client.delete(f"{API}/sessions/{session}").status_code == 200
    refused(client.get(f"{API}/sessions/{session}"), 404, "session_not_found")


def test_a_client_that_leaves_changes_nothing(client: httpx.Client, session: str) -> None:
    with client.stream(
        "POST", f"{API}/sessions/{session}/knowledge-qa", json={"query": "say: 说 完 it"}
    ) as response:
        message = next(objects(response))["assistant_message_id"]
    assert answer_of(follow(client, session, message)) == "说 完 it"


def test_closing_ends_open_streams_at_once_and_the_answer_goes_on_at_the_next_start(tmp_path: Path) -> None:
    with serving(a_model_server()) as model:
        chat = {
            "chat_base_url": f"{model}/v1",
            "chat_model": "stub",
            "suggestions_enabled": False,
            "enable_rewrite": False,
        }
        closing = running(tmp_path, **chat)
        url = closing.__enter__()
        with a_client(url) as client:
            session = a_session(client)
            address = f"{API}/sessions/{session}/knowledge-qa"
            with client.stream("POST", address, json={"query": "once: 重新 开始 again"}) as response:
                pieces = response.iter_text()
                text = ""
                while '"answer"' not in text:
                    text += next(pieces)
                began = time.monotonic()
                ending = threading.Thread(target=closing.__exit__, args=(None, None, None))
                ending.start()
                text += "".join(pieces)
                ending.join()
        assert time.monotonic() - began < 10
        assert text.endswith("retry: 2000\n\n")
        with running(tmp_path, **chat) as url, a_client(url) as client:
            message = data(client.get(f"{API}/sessions/{session}/messages"))[1]
            events = follow(client, session, message["id"])
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert answer_of(events) == "重新 开始 again"


def test_a_client_with_half_a_request_does_not_keep_the_server_from_closing(tmp_path: Path) -> None:
    with running(tmp_path) as url:
        half = socket.create_connection(("127.0.0.1", int(url.rsplit(":", 1)[1])))
        half.sendall(b"POST /api/v1/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10\r\n\r\n{")
        began = time.monotonic()
    half.close()
    assert time.monotonic() - began < 10
