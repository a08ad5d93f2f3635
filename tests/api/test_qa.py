import json
from typing import Any

import httpx
import pytest

from ..running import API, a_kb, a_session, answer_of, ask, data, follow, lines, objects, refused

ENDS = {"complete", "stop", "error"}


@pytest.fixture(scope="module")
def session(client: httpx.Client, kb: str) -> str:
    return a_session(client, kb)


@pytest.fixture(scope="module")
def events(client: httpx.Client, session: str) -> list[dict[str, Any]]:
    return ask(client, session, "累计工龄满 10 年的员工每年有多少天年休假？")


def qa(session: str) -> str:
    return f"{API}/sessions/{session}/knowledge-qa"


def test_events_come_in_the_promised_order(events: list[dict[str, Any]]) -> None:
    types = [event["response_type"] for event in events]
    assert types[0] == "agent_query"
    assert types[-1] == "complete"
    assert types.index("references") < types.index("answer")
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert [event["done"] for event in events] == [False] * (len(events) - 1) + [True]
    assert types.count("tool_call") == types.count("tool_result") > 0


def test_the_answer_is_right_cited_and_stored_as_it_was_told(
    client: httpx.Client, session: str, events: list[dict[str, Any]]
) -> None:
    answer = answer_of(events)
    assert "12 天" in answer
    (references,) = [one["knowledge_references"] for one in events if one["response_type"] == "references"]
    assert f'chunk_id="{references[0]["id"]}"' in answer
    assert references[0]["knowledge_title"] == "员工手册.md"
    assert "12 天" in references[0]["content"]
    stored = data(client.get(f"{API}/sessions/{session}/messages"))[1]
    assert stored["content"] == answer
    assert events[-1]["data"]["outcome"] == stored["outcome"] == "answered"
    assert events[-1]["data"]["timing"]["total_ms"] > 0


def test_an_english_question_is_answered_from_the_english_document(client: httpx.Client, kb: str) -> None:
    answer = answer_of(ask(client, a_session(client, kb), "Which lithium grease should I use?"))
    assert "lithium grease NLGI 2" in answer


def test_a_client_that_comes_back_after_any_event_gets_exactly_the_rest(
    client: httpx.Client, session: str, events: list[dict[str, Any]]
) -> None:
    message = events[0]["assistant_message_id"]
    assert follow(client, session, message) == events
    for seen in range(len(events) + 1):
        assert follow(client, session, message, after=seen) == events[seen:]


def test_after_in_the_address_does_the_same_and_the_header_wins(
    client: httpx.Client, session: str, events: list[dict[str, Any]]
) -> None:
    address = f"{API}/sessions/continue-stream/{session}"
    params = {"message_id": events[0]["assistant_message_id"], "after": "2"}
    with client.stream("GET", address, params=params) as response:
        assert list(objects(response)) == events[2:]
    with client.stream("GET", address, params=params, headers={"Last-Event-ID": "4"}) as response:
        assert list(objects(response)) == events[4:]


@pytest.mark.parametrize("id", ["x", "-1", "1.5", "٣", "9" * 30])
def test_a_bad_event_id_is_refused(
    client: httpx.Client, session: str, events: list[dict[str, Any]], id: str
) -> None:
    address = f"{API}/sessions/continue-stream/{session}?message_id={events[0]['assistant_message_id']}"
    refused(client.get(f"{address}&after={id}"), 400, "bad_event_id")
    refused(client.get(address, headers=[(b"Last-Event-ID", id.encode())]), 400, "bad_event_id")


def test_frames_are_as_browsers_want_them(client: httpx.Client, session: str) -> None:
    with client.stream("POST", qa(session), json={"query": "住宿标准是多少？"}) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["cache-control"] == "no-cache"
        assert response.headers["x-accel-buffering"] == "no"
        text = "\n".join([*lines(response), ""])
    head, *frames, last = text.split("\n\n")
    assert head == "retry: 1000"
    assert last == ""
    for number, frame in enumerate(frames, 1):
        id, name, body = frame.split("\n")
        assert (id, name) == (f"id: {number}", "event: message")
        assert json.loads(body.removeprefix("data: "))["seq"] == number


def test_who_asks_for_json_gets_the_finished_message(client: httpx.Client, session: str) -> None:
    answer = client.post(
        qa(session), json={"query": "泵的噪音是多少？"}, headers={"Accept": "application/json"}
    )
    message = data(answer)
    assert (message["role"], message["status"]) == ("assistant", "complete")
    assert message == data(client.get(f"{API}/sessions/{session}/messages?page_size=1000"))[-1]


def test_another_question_under_the_same_request_id_is_refused(client: httpx.Client, kb: str) -> None:
    session = a_session(client, kb)
    ask(client, session, "住宿标准是多少？", request_id="taken-1")
    body = {"query": "Which grease is used?", "request_id": "taken-1"}
    assert "new one" in refused(client.post(qa(session), json=body), 409, "request_id_taken")


def test_the_same_request_again_is_the_same_answer(client: httpx.Client, kb: str) -> None:
    session = a_session(client, kb)
    first = ask(client, session, "住宿标准是多少？", request_id="again-1")
    assert ask(client, session, "住宿标准是多少？", request_id="again-1") == first
    assert len(data(client.get(f"{API}/sessions/{session}/messages"))) == 2


def test_nothing_found_is_said_plainly(client: httpx.Client) -> None:
    events = ask(client, a_session(client, a_kb(client, "empty 空")), "公司的年假政策是什么？")
    assert events[-1]["data"]["outcome"] == "fallback"
    assert answer_of(events)


def test_a_question_may_bring_its_own_prompts(client: httpx.Client) -> None:
    session = a_session(client, a_kb(client, "another empty 又空"))
    prompts = {"fallback": "资料里没有 {{query}} %s $a\x00。"}
    assert answer_of(ask(client, session, "年假几天？", prompts=prompts)) == "资料里没有 {{query}} %s $a。"
    assert answer_of(ask(client, session, "年假几天？")) != "资料里没有 {{query}} %s $a。"


def test_small_talk_needs_no_knowledge_base(client: httpx.Client) -> None:
    events = ask(client, a_session(client), "你好")
    assert events[-1]["data"]["outcome"] == "chat"
    assert "references" not in [event["response_type"] for event in events]


def test_stopping_a_finished_answer_changes_nothing(
    client: httpx.Client, session: str, events: list[dict[str, Any]]
) -> None:
    message = events[0]["assistant_message_id"]
    address = f"{API}/sessions/{session}/stop"
    assert data(client.post(address, json={"message_id": message})) == {"status": "complete"}
    assert follow(client, session, message) == events
    refused(client.post(address, json={"message_id": "nope"}), 404, "message_not_found")
    refused(
        client.post(address, json={"message_id": events[0]["data"]["user_message_id"]}),
        404,
        "message_not_found",
    )


def test_an_answer_is_not_found_in_another_session(
    client: httpx.Client, kb: str, events: list[dict[str, Any]]
) -> None:
    address = f"{API}/sessions/continue-stream/{a_session(client, kb)}"
    params = {"message_id": events[0]["assistant_message_id"]}
    refused(client.get(address, params=params), 404, "message_not_found")
    refused(client.get(address), 400, "malformed")


def test_a_run_tells_its_status_and_its_events(client: httpx.Client, events: list[dict[str, Any]]) -> None:
    run = f"{API}/runs/{events[0]['run_id']}"
    told = data(client.get(run))
    assert told["status"] == "complete"
    assert set(told["timing"]) == {"total_ms", "stages_ms"}
    assert data(client.get(f"{run}/events")) == events
    assert data(client.get(f"{run}/events", params={"after": 3})) == events[3:]
    refused(client.get(f"{API}/runs/nope"), 404, "run_not_found")
    refused(client.get(f"{API}/runs/nope/events"), 404, "run_not_found")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 422, "empty_question"),
        ({"query": ""}, 422, "empty_question"),
        ({"query": " \n\t\x00"}, 422, "empty_question"),
        ({"query": "\u200b \ufeff"}, 422, "empty_question"),
        ({"query": "长" * 10_001}, 422, "question_too_long"),
        ({"query": "x", "knowledge_base_ids": ["nope"]}, 404, "kb_not_found"),
        ({"query": "x", "knowledge_ids": ["nope"]}, 404, "document_not_found"),
        ({"query": "x", "images": [{"url": "http://a/b.png"}]}, 422, "not_supported"),
        ({"query": "", "images": [{"url": "http://a/b.png"}]}, 422, "not_supported"),
        ({"query": "x", "attachments": [{"name": "a", "text": "b"}]}, 422, "not_supported"),
        ({"query": "x", "web_search_enabled": True}, 422, "not_supported"),
        ({"query": "x", "tag_ids": ["t"]}, 404, "tag_not_found"),
        ({"query": "x", "settings": {"rerank_top_k": 0}}, 422, "bad_setting"),
        ({"query": "x", "settings": {"nonsense": 1}}, 422, "bad_setting"),
        ({"query": "x", "settings": {"rerank_top_k": True}}, 422, "bad_setting"),
        ({"query": "x", "settings": {"rerank_top_k": "5"}}, 422, "bad_setting"),
        ({"query": "x", "prompts": {"fallback": "{answer}"}}, 422, "bad_prompt"),
        ({"query": "x", "prompts": {"citation.on": "[1]"}}, 422, "bad_prompt"),
        ({"query": "x", "prompts": {"无": "x"}}, 422, "bad_prompt"),
        ({"query": 5}, 400, "malformed"),
        ({"query": None}, 400, "malformed"),
        ({"query": "x", "knowledge_base_ids": "kb"}, 400, "malformed"),
        ({"query": "x", "knowledge_base_ids": [1]}, 400, "malformed"),
        ({"query": "x", "web_search_enabled": "yes"}, 400, "malformed"),
        ({"query": "x", "settings": []}, 400, "malformed"),
        ({"query": "x", "language": "fr"}, 400, "malformed"),
        ({"query": "x", "on_busy": "wait"}, 400, "malformed"),
        ({"query": "x", "request_id": "../.."}, 400, "malformed"),
        ([], 400, "malformed"),
        ("x", 400, "malformed"),
        (None, 400, "malformed"),
    ],
)
def test_bad_questions_are_refused_and_leave_nothing_behind(
    client: httpx.Client, kb: str, body: object, status: int, code: str
) -> None:
    session = a_session(client, kb)
    refused(
        client.post(qa(session), content=json.dumps(body), headers={"Content-Type": "application/json"}),
        status,
        code,
    )
    assert data(client.get(f"{API}/sessions/{session}/messages")) == []


def test_an_unknown_field_is_named(client: httpx.Client, session: str) -> None:
    message = refused(client.post(qa(session), json={"query": "x", "querry": "y"}), 400, "malformed")
    assert "'querry'" in message
    assert "knowledge_base_ids" in message


def test_a_thousand_unknown_fields_do_not_come_back_in_the_refusal(
    client: httpx.Client, session: str
) -> None:
    body = {f"字段{number}": 1 for number in range(1000)}
    answer = client.post(qa(session), json=body)
    assert "and 995 more" in refused(answer, 400, "malformed")
    assert len(answer.content) < 5000


@pytest.mark.parametrize(
    "body",
    [b"{", b"", b"\xff", b'{"query": NaN}', b'{"query": "\\ud800"}', b"[" * 100_000, b'{"query": "a",}'],
)
def test_broken_json_is_refused(client: httpx.Client, session: str, body: bytes) -> None:
    refused(
        client.post(qa(session), content=body, headers={"Content-Type": "application/json"}), 400, "malformed"
    )


def test_a_body_that_is_not_called_json_is_refused(client: httpx.Client, session: str) -> None:
    # What a form on a foreign page can send without asking first.
    for media_type in ("text/plain", "application/x-www-form-urlencoded", ""):
        answer = client.post(qa(session), content=b'{"query": "x"}', headers={"Content-Type": media_type})
        refused(answer, 415, "unsupported_media_type")


def test_a_body_over_a_megabyte_is_refused(client: httpx.Client, session: str) -> None:
    refused(client.post(qa(session), json={"query": "x", "quoted_context": "长" * 400_000}), 413, "too_large")


def test_an_unknown_session_is_not_found(client: httpx.Client) -> None:
    refused(client.post(qa("nope"), json={"query": "x"}), 404, "session_not_found")
    refused(client.get(f"{API}/sessions/continue-stream/nope?message_id=x"), 404, "session_not_found")


def test_ten_thousand_characters_and_control_characters_are_a_question(client: httpx.Client, kb: str) -> None:
    session = a_session(client, kb)
    long = "年休假可以结转几天？" * 1000
    assert ask(client, session, long)[-1]["response_type"] == "complete"
    ask(client, session, "年休假\x00可以\x1b结转几天？😀")
    messages = data(client.get(f"{API}/sessions/{session}/messages"))
    assert [messages[0]["content"], messages[2]["content"]] == [long, "年休假可以结转几天？😀"]
