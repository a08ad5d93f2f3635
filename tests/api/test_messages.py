"""Answers are rated, made drafts of FAQ entries, and given anew; sessions are pinned and deleted together."""

from typing import Any

import httpx
import pytest

from ..running import API, a_session, answer_of, ask, data, follow, objects, refused

ZH, EN = "国内出差的住宿标准是多少？", "How often is the seal kit replaced?"


@pytest.fixture
def session(client: httpx.Client, kb: str) -> str:
    return a_session(client, kb)


def messages(client: httpx.Client, session: str) -> list[dict[str, Any]]:
    return data(client.get(f"{API}/sessions/{session}/messages"))


def regenerated(client: httpx.Client, session: str, **body: Any) -> list[dict[str, Any]]:
    with client.stream("POST", f"{API}/sessions/{session}/regenerate", json=body) as response:
        assert response.status_code == 200, response.read()
        return list(objects(response))


def test_an_answer_is_rated_with_a_reason_rated_otherwise_and_no_more(
    client: httpx.Client, session: str
) -> None:
    ask(client, session, ZH)
    question, answer = messages(client, session)
    address = f"{API}/messages/{answer['id']}/feedback"
    rated = data(client.post(address, json={"thumb": "down", "reason": "答非所问\x00 off topic"}))
    assert rated["feedback"] == {"thumb": "down", "reason": "答非所问 off topic"}
    assert messages(client, session)[1]["feedback"] == rated["feedback"]
    assert data(client.post(address, json={"thumb": "up"}))["feedback"] == {"thumb": "up", "reason": None}
    assert data(client.delete(address))["feedback"] is None
    refused(
        client.post(f"{API}/messages/{question['id']}/feedback", json={"thumb": "up"}), 409, "not_an_answer"
    )
    refused(client.post(f"{API}/messages/none/feedback", json={"thumb": "up"}), 404, "message_not_found")


@pytest.mark.parametrize(
    "body", [{}, {"thumb": "sideways"}, {"thumb": 1}, {"thumb": "up", "reason": "长" * 2001}]
)
def test_a_rating_that_says_nothing_is_refused(
    client: httpx.Client, session: str, body: dict[str, Any]
) -> None:
    ask(client, session, ZH)
    answer = messages(client, session)[1]["id"]
    refused(client.post(f"{API}/messages/{answer}/feedback", json=body), 400, "malformed")


def test_the_last_question_is_answered_anew_in_place_of_its_turn(client: httpx.Client, session: str) -> None:
    ask(client, session, ZH)
    ask(client, session, EN)
    before = messages(client, session)
    events = regenerated(client, session)
    after = messages(client, session)
    assert after[:2] == before[:2]
    assert [one["role"] for one in after] == ["user", "assistant"] * 2
    assert (after[2]["content"], after[3]["content"]) == (EN, answer_of(events))
    assert {after[2]["id"], after[3]["id"]}.isdisjoint(one["id"] for one in before)
    # What was replaced is still there for whoever has its address.
    assert answer_of(follow(client, session, before[3]["id"])) == before[3]["content"]


def test_the_last_question_is_edited_and_asked_with_other_settings(
    client: httpx.Client, session: str
) -> None:
    ask(client, session, "国外出差的住宿标准是多少？")
    events = regenerated(client, session, query=ZH, settings={"citation_enabled": False})
    question, answer = messages(client, session)
    assert question["content"] == ZH
    assert "450" in answer_of(events)
    assert "<kb" not in answer["content"]


def test_a_follow_up_does_not_see_the_turn_that_was_replaced(client: httpx.Client, session: str) -> None:
    ask(client, session, EN)
    regenerated(client, session, query=ZH)
    trace = data(client.get(f"{API}/runs/{ask(client, session, '那伙食呢？')[0]['run_id']}/trace"))
    assert "seal" not in trace["rewritten_query"]


def test_where_nothing_was_asked_or_the_answer_is_in_the_making_nothing_is_regenerated(
    client: httpx.Client, session: str
) -> None:
    address = f"{API}/sessions/{session}/regenerate"
    refused(client.post(address, json={}), 409, "nothing_to_regenerate")
    ask(client, session, ZH)
    before = messages(client, session)
    refused(client.post(address, json={"query": " "}), 422, "empty_question")
    refused(client.post(address, json={"settings": {"nonsense": 1}}), 422, "bad_setting")
    refused(client.post(f"{API}/sessions/none/regenerate", json={}), 404, "session_not_found")
    assert messages(client, session) == before


def test_an_answer_becomes_the_draft_of_an_faq_entry(client: httpx.Client, session: str) -> None:
    ask(client, session, ZH)
    question, answer = messages(client, session)
    draft = data(client.post(f"{API}/messages/{answer['id']}/faq-draft"))
    assert draft["question"] == ZH
    assert "450" in draft["answers"][0]
    assert "<kb" not in draft["answers"][0]
    assert draft["source"] == {"session_id": session, "message_id": answer["id"]}
    refused(client.post(f"{API}/messages/{question['id']}/faq-draft"), 409, "not_an_answer")
    ask(
        client,
        session,
        "谁发明了量子计算机？",
        settings={"fallback_response": "没有。"},
        knowledge_base_ids=[],
    )
    declined = messages(client, session)[-1]
    assert data(client.post(f"{API}/messages/{declined['id']}/faq-draft"))["question"].startswith("谁发明")


def test_pinned_sessions_come_first(client: httpx.Client) -> None:
    old, new = (a_session(client) for _ in range(2))
    pinned = data(client.put(f"{API}/sessions/{old}/pin", json={"pinned": True}))
    assert pinned["pinned"] is True
    listed = [one["id"] for one in data(client.get(f"{API}/sessions"))]
    assert listed.index(old) < listed.index(new)
    assert data(client.put(f"{API}/sessions/{old}/pin", json={"pinned": False}))["pinned"] is False
    listed = [one["id"] for one in data(client.get(f"{API}/sessions"))]
    assert listed.index(new) < listed.index(old)
    refused(client.put(f"{API}/sessions/none/pin", json={"pinned": True}), 404, "session_not_found")


def test_several_sessions_are_deleted_at_once_those_that_are_gone_aside(
    client: httpx.Client, kb: str
) -> None:
    first, second, other = (a_session(client, kb) for _ in range(3))
    ask(client, first, ZH)
    body = {"ids": [first, second, first, "gone"]}
    assert data(client.post(f"{API}/sessions/delete", json=body)) == {"deleted": 2, "busy": []}
    refused(client.get(f"{API}/sessions/{first}"), 404, "session_not_found")
    assert data(client.get(f"{API}/sessions/{other}"))["id"] == other


def test_what_stands_beside_an_answer_is_there_when_it_is_loaded_again(
    client: httpx.Client, session: str
) -> None:
    events = ask(client, session, ZH)
    assert messages(client, session)[1]["model"] == events[-1]["data"]["model"] == "extractive"


def test_messages_are_searched_only_where_that_is_turned_on(client: httpx.Client) -> None:
    refused(client.get(f"{API}/messages/search", params={"query": ZH}), 409, "message_search_off")
