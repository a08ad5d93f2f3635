"""A second question to a session that is still answering, over HTTP."""

import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx
import pytest

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

LONG = {"zh": "请慢慢回答。 slowly: 1000", "en": "Take your time. slowly: 1000"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Generator[httpx.Client]:
    folder: Path = tmp_path_factory.mktemp("data")
    with serving(a_model_server()) as model:
        chat = {"chat_base_url": f"{model}/v1", "chat_model": "stub", "suggestions_enabled": False}
        with running(folder, **chat, enable_rewrite=False) as url, a_client(url) as client:
            yield client


class Asking:
    """A question whose stream is read by a thread, once its answer has begun or its first event is there."""

    def __init__(self, client: httpx.Client, session: str, query: str, **body: Any) -> None:
        self.events: list[dict[str, Any]] = []
        self._begun, self._answering = threading.Event(), threading.Event()
        self._reading = threading.Thread(target=self._read, args=(client, session, {"query": query, **body}))
        self._reading.start()

    def _read(self, client: httpx.Client, session: str, body: dict[str, Any]) -> None:
        with client.stream("POST", f"{API}/sessions/{session}/knowledge-qa", json=body) as response:
            for event in objects(response):
                self.events.append(event)
                self._begun.set()
                if event["response_type"] == "answer":
                    self._answering.set()

    @property
    def message(self) -> str:
        assert self._begun.wait(20)
        return self.events[0]["assistant_message_id"]

    def answering(self) -> "Asking":
        assert self._answering.wait(20)
        return self

    def all_events(self) -> list[dict[str, Any]]:
        self._reading.join(20)
        assert not self._reading.is_alive()
        return self.events


def stop(client: httpx.Client, session: str, message: str) -> str:
    return data(client.post(f"{API}/sessions/{session}/stop", json={"message_id": message}))["status"]


def statuses(client: httpx.Client, session: str) -> list[str]:
    messages = data(client.get(f"{API}/sessions/{session}/messages?page_size=100"))
    return [message["status"] for message in messages if message["role"] == "assistant"]


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_question_in_line_is_answered_when_the_one_before_it_has_ended(
    client: httpx.Client, language: str
) -> None:
    session = a_session(client)
    first = Asking(client, session, LONG[language]).answering()
    second = Asking(client, session, "say: 水 water", on_busy="queue")
    run = second.events[0]["run_id"] if second.message else ""

    assert statuses(client, session) == ["running", "waiting"]
    assert data(client.get(f"{API}/runs/{run}"))["status"] == "queued"
    assert [event["response_type"] for event in second.events] == ["agent_query"]
    refused(client.post(f"{API}/runs/{run}/replay"), 409, "run_unfinished")
    assert stop(client, session, first.message) == "stopped"
    events = second.all_events()
    assert answer_of(events) == "水 water"
    assert follow(client, session, second.message) == events
    assert statuses(client, session) == ["stopped", "complete"]


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_question_may_replace_the_one_before_it(client: httpx.Client, language: str) -> None:
    session = a_session(client)
    first = Asking(client, session, LONG[language]).answering()
    in_line = Asking(client, session, "say: never", on_busy="queue")
    assert in_line.message
    events = ask(client, session, "say: instead 改问", on_busy="stop")

    assert answer_of(events) == "instead 改问"
    assert first.all_events()[-1]["response_type"] == "stop"
    assert [event["response_type"] for event in in_line.all_events()] == ["agent_query", "stop"]
    assert statuses(client, session) == ["stopped", "stopped", "complete"]


def test_without_a_word_about_it_a_busy_session_refuses(client: httpx.Client) -> None:
    session = a_session(client)
    first = Asking(client, session, LONG["zh"]).answering()
    answer = client.post(f"{API}/sessions/{session}/knowledge-qa", json={"query": "say: x"})
    refused(answer, 409, "session_busy")

    assert answer.json()["error"]["details"] == {"message_id": first.message}
    assert stop(client, session, first.message) == "stopped"
    assert statuses(client, session) == ["stopped"]


def test_who_asks_for_json_waits_in_line_too(client: httpx.Client) -> None:
    session = a_session(client)
    first = Asking(client, session, LONG["en"]).answering()
    threading.Timer(0.2, stop, (client, session, first.message)).start()
    answer = client.post(
        f"{API}/sessions/{session}/knowledge-qa",
        json={"query": "say: 到我了", "on_busy": "queue"},
        headers={"Accept": "application/json"},
    )

    assert (data(answer)["status"], data(answer)["content"]) == ("complete", "到我了")


def test_the_eleventh_in_line_is_refused_and_the_session_can_be_deleted(client: httpx.Client) -> None:
    session = a_session(client)
    asking = [Asking(client, session, LONG["zh"]).answering()]
    for number in range(10):
        asking.append(Asking(client, session, f"say: {number}", on_busy="queue"))
        assert asking[-1].message
    body = {"query": "say: x", "on_busy": "queue"}
    message = refused(client.post(f"{API}/sessions/{session}/knowledge-qa", json=body), 409, "queue_full")
    assert "10" in message
    assert data(client.delete(f"{API}/sessions/{session}")) == {"id": session}
    refused(client.get(f"{API}/sessions/{session}"), 404, "session_not_found")
    for one in asking:
        # Whoever was slow to look found the run deleted.
        assert one.all_events()[-1]["response_type"] in ("stop", "answer", "agent_query", "tool_result")


def test_the_description_says_what_each_choice_does(client: httpx.Client) -> None:
    schema = client.get("/openapi.json").json()["components"]["schemas"]["KnowledgeQa"]
    field = schema["properties"]["on_busy"]

    assert (field["enum"], field["default"]) == (["reject", "queue", "stop"], "reject")
    for word in ("session_busy", "queue_full", "10"):
        assert word in field["description"]
