"""Clients that lose the stream, once, twice, at every event, and over a restart of the server."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from ..dictated_model import a_dictated_model
from ..running import (
    API,
    a_client,
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
from ..stub_model import a_model_server


def with_model(url: str) -> dict[str, Any]:
    return {
        "chat_base_url": f"{url}/v1",
        "chat_model": "stub",
        "suggestions_enabled": False,
        "enable_rewrite": False,
    }


def begin(client: httpx.Client, session: str, query: str) -> dict[str, Any]:
    """Ask, read the first event, and be gone."""
    address = f"{API}/sessions/{session}/knowledge-qa"
    with client.stream("POST", address, json={"query": query}) as response:
        return next(objects(response))


def one_more(client: httpx.Client, session: str, message: str, seen: int) -> dict[str, Any]:
    """Come back, read one event, and be gone."""
    address = f"{API}/sessions/continue-stream/{session}?message_id={message}"
    with client.stream("GET", address, headers={"Last-Event-ID": str(seen)}) as response:
        return next(objects(response))


def come_and_go(client: httpx.Client, session: str, message: str, seen: int) -> None:
    """Come back, see that there is a stream, and be gone before anything has been said."""
    address = f"{API}/sessions/continue-stream/{session}?message_id={message}"
    with client.stream("GET", address, headers={"Last-Event-ID": str(seen)}) as response:
        assert next(response.iter_raw()) == b"retry: 1000\n\n"


def test_a_client_that_drops_at_every_event_and_twice_in_between_misses_nothing(tmp_path: Path) -> None:
    with a_dictated_model() as (model, url), running(tmp_path, **with_model(url)) as server:
        with a_client(server) as client:
            session = a_session(client)
            seen = [begin(client, session, "水从哪里来？ Where from?")]
            message, run = seen[0]["assistant_message_id"], seen[0]["run_id"]
            model.wait_until_asked()
            for _ in range(len(data(client.get(f"{API}/runs/{run}/events"))) - 1):
                seen.append(one_more(client, session, message, len(seen)))
            for piece in ("水", "从渠", "中来。", " Water", " comes", " down."):
                come_and_go(client, session, message, len(seen))
                come_and_go(client, session, message, len(seen))
                model.say(piece)
                seen.append(one_more(client, session, message, len(seen)))
            come_and_go(client, session, message, len(seen))
            come_and_go(client, session, message, len(seen))
            model.finish()
            while not seen[-1]["done"]:
                seen.append(one_more(client, session, message, len(seen)))
            assert follow(client, session, message) == seen
    assert [event["seq"] for event in seen] == list(range(1, len(seen) + 1))
    assert answer_of(seen) == "水从渠中来。 Water comes down."


# --- runs that have ended ---------------------------------------------------------------------


def completed(client: httpx.Client, session: str) -> list[dict[str, Any]]:
    return ask(client, session, "say: 水 从渠 comes down")


def failed(client: httpx.Client, session: str) -> list[dict[str, Any]]:
    return ask(client, session, "fault: 401")


def stopped(client: httpx.Client, session: str) -> list[dict[str, Any]]:
    address = f"{API}/sessions/{session}/knowledge-qa"
    with client.stream("POST", address, json={"query": "wait: 水 从渠"}) as response:
        events = objects(response)
        seen = [next(events)]
        while seen[-1]["response_type"] != "answer":
            seen.append(next(events))
        body = {"message_id": seen[0]["assistant_message_id"]}
        assert data(client.post(f"{API}/sessions/{session}/stop", json=body)) == {"status": "stopped"}
        return [*seen, *events]


ENDED: dict[str, Callable[[httpx.Client, str], list[dict[str, Any]]]] = {
    "complete": completed,
    "stop": stopped,
    "error": failed,
}


@pytest.mark.parametrize("end", ENDED)
def test_after_any_event_the_rest_comes_and_the_stream_ends_also_after_a_restart(
    tmp_path: Path, end: str
) -> None:
    with serving(a_model_server()) as model:
        with running(tmp_path, **with_model(model)) as url, a_client(url) as client:
            session = a_session(client)
            events = ENDED[end](client, session)
            message = events[0]["assistant_message_id"]
            assert events[-1]["response_type"] == end
            for seen in range(len(events) + 1):
                assert follow(client, session, message, after=seen) == events[seen:]
        with running(tmp_path, **with_model(model)) as url, a_client(url) as client:
            assert follow(client, session, message) == events
            for seen in range(len(events) + 1):
                assert follow(client, session, message, after=seen) == events[seen:]
            check_odd_ids(client, session, message, events)


def check_odd_ids(client: httpx.Client, session: str, message: str, events: list[dict[str, Any]]) -> None:
    address = f"{API}/sessions/continue-stream/{session}?message_id={message}"
    for none in ("", "0", "000"):
        with client.stream("GET", address, headers={"Last-Event-ID": none}) as response:
            assert list(objects(response)) == events
    for bad in ("x", "-1", "+1", "1.0", "1e3", "0x1", "1,2", "NaN", "null", str(len(events) + 1), "9" * 4000):
        message_of_refusal = refused(client.get(address, headers={"Last-Event-ID": bad}), 400, "bad_event_id")
        assert "Last-Event-ID" in message_of_refusal
        assert len(message_of_refusal) < 300


def test_a_compact_rest_completes_whatever_a_client_has_shown(tmp_path: Path) -> None:
    with serving(a_model_server()) as model:
        with running(tmp_path, **with_model(model)) as url, a_client(url) as client:
            session = a_session(client)
            address = f"{API}/sessions/{session}/knowledge-qa"
            with client.stream("POST", address, json={"query": "once: 一 two 三"}) as response:
                events = objects(response)
                event = next(events)
                message = event["assistant_message_id"]
                while event["response_type"] != "answer":
                    event = next(events)
        with running(tmp_path, **with_model(model)) as url, a_client(url) as client:
            whole = follow(client, session, message)
            stream = f"{API}/sessions/continue-stream/{session}?message_id={message}&compact=1"
            for seen in range(len(whole) + 1):
                with client.stream("GET", stream, headers={"Last-Event-ID": str(seen)}) as response:
                    rest = list(objects(response))
                assert answer_of([*whole[:seen], *rest]) == "一 two 三"
                assert [event["seq"] for event in rest] == sorted({event["seq"] for event in rest})
                assert set(map(str, rest)) <= set(map(str, whole[seen:]))
    assert "reset" in [event["response_type"] for event in whole]


def test_a_run_and_an_answer_that_do_not_exist_are_not_found(tmp_path: Path) -> None:
    with running(tmp_path) as url, a_client(url) as client:
        session = a_session(client)
        stream = f"{API}/sessions/continue-stream"
        for id in ("nope", "没有", "0" * 32, "a" * 3000):
            headers = {"Last-Event-ID": "3"}
            refused(
                client.get(f"{stream}/{session}?message_id={id}", headers=headers), 404, "message_not_found"
            )
            refused(client.get(f"{stream}/{id}?message_id={id}"), 404, "session_not_found")
            refused(client.get(f"{API}/runs/{id}/events"), 404, "run_not_found")
