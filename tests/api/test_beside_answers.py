"""Through the whole server: what is proposed beside an answer comes behind its end and stays there."""

from collections.abc import Generator
from pathlib import Path

import httpx
import pytest

from ..running import API, HANDBOOK, a_client, a_kb, a_session, ask, data, running, serving
from ..stub_model import a_model_server

QUERY = "年休假有几天？ say: 差旅住宿标准是每晚多少元？"


@pytest.fixture
def client(tmp_path: Path) -> Generator[httpx.Client]:
    model = a_model_server()
    with serving(model) as model_url:
        chat = {"chat_base_url": f"{model_url}/v1", "chat_model": "stub", "enable_rewrite": False}
        with running(tmp_path, **chat) as url, a_client(url) as client:
            yield client
            model.state.closing.set()


def test_what_is_told_behind_the_end_is_what_a_reload_shows(client: httpx.Client) -> None:
    session = a_session(client, a_kb(client, "文档", [("员工手册.md", HANDBOOK)]))
    events = ask(client, session, QUERY)
    kinds = [event["response_type"] for event in events]
    behind = events[kinds.index("complete") + 1 :]
    assert {event["response_type"] for event in behind} <= {"suggested_questions", "session_title"}
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    titles = [event["content"] for event in behind if event["response_type"] == "session_title"]
    assert data(client.get(f"{API}/sessions/{session}"))["title"] == (titles or [QUERY])[0]
    proposed = [
        event["data"]["questions"] for event in behind if event["response_type"] == "suggested_questions"
    ]
    answer = data(client.get(f"{API}/sessions/{session}/messages"))[1]
    assert answer.get("suggested_questions") == (proposed or [None])[0]
    again = data(client.get(f"{API}/runs/{answer['run_id']}/events"))
    assert [event["seq"] for event in again] == [event["seq"] for event in events]
