"""Stopping over HTTP: from another client, twice at once, before the first word, and after the end."""

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from ..dictated_model import DictatedModel, a_dictated_model
from ..running import API, a_client, a_session, answer_of, data, follow, objects, running


@pytest.fixture
def world(tmp_path: Path) -> Generator[tuple[DictatedModel, str]]:
    """A model that speaks when told to, and the address of a server that asks it."""
    with a_dictated_model() as (model, model_url):
        chat = {
            "chat_base_url": f"{model_url}/v1",
            "chat_model": "stub",
            "suggestions_enabled": False,
            "enable_rewrite": False,
        }
        with running(tmp_path, **chat) as url:
            yield model, url


def stop(url: str, session: str, message: str) -> str:
    """As somebody else: on a connection of their own."""
    with a_client(url) as client:
        return data(client.post(f"{API}/sessions/{session}/stop", json={"message_id": message}))["status"]


def messages(client: httpx.Client, session: str) -> list[dict[str, Any]]:
    return data(client.get(f"{API}/sessions/{session}/messages"))


@pytest.mark.parametrize("said", [(), ("水从渠中来。", " Water comes")], ids=["before", "after"])
def test_others_stop_an_answer_before_or_after_its_first_word_twice_at_once(
    world: tuple[DictatedModel, str], said: tuple[str, ...]
) -> None:
    model, url = world
    with a_client(url) as client:
        session = a_session(client)
        query = {"query": "水从哪里来？ Where from?"}
        with client.stream("POST", f"{API}/sessions/{session}/knowledge-qa", json=query) as response:
            events = objects(response)
            seen = [next(events)]
            message = seen[0]["assistant_message_id"]
            model.wait_until_asked()
            model.say(*said)
            while sum(event["response_type"] == "answer" for event in seen) < len(said):
                seen.append(next(events))
            with ThreadPoolExecutor(3) as others:
                answers = list(others.map(stop, [url] * 3, [session] * 3, [message] * 3))
            seen += events
        assert answers == ["stopped"] * 3
        model.say(" too", " late")
        assert stop(url, session, message) == "stopped"
        assert follow(client, session, message) == seen
        user, answer = messages(client, session)
    assert [event["response_type"] for event in seen].count("stop") == 1
    assert seen[-1]["response_type"] == "stop"
    assert (user["role"], user["status"], user["content"]) == ("user", "complete", query["query"])
    assert (answer["status"], answer["content"]) == ("stopped", answer_of(seen))
    assert answer["content"] == "".join(said)
