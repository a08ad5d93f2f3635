import httpx
import pytest

from ..running import API, a_session, ask, data, refused

SESSIONS = f"{API}/sessions"


@pytest.fixture
def session(client: httpx.Client, kb: str) -> str:
    return a_session(client, kb)


def test_a_session_is_made_listed_read_renamed_and_deleted(client: httpx.Client, kb: str) -> None:
    made = client.post(SESSIONS, json={"title": "休假问题", "knowledge_base_ids": [kb]})
    assert made.status_code == 201
    session = data(made)
    assert session["title"] == "休假问题"
    assert session["created_at"].endswith("Z")
    address = f"{SESSIONS}/{session['id']}"
    assert data(client.get(address)) == session
    assert session["id"] in [one["id"] for one in data(client.get(SESSIONS, params={"search": "休假"}))]
    assert data(client.put(address, json={"title": "Leave"}))["title"] == "Leave"
    assert data(client.patch(address, json={"title": "年休假"}))["title"] == "年休假"
    assert data(client.delete(address)) == {"id": session["id"]}
    refused(client.get(address), 404, "session_not_found")


def test_lists_say_where_they_are(client: httpx.Client, session: str) -> None:
    answer = client.get(SESSIONS, params={"page": 1, "page_size": 1}).json()
    assert len(answer["data"]) == 1
    assert (answer["page"], answer["page_size"]) == (1, 1)
    assert answer["total"] >= 1


@pytest.mark.parametrize(
    "params",
    [{"page": 0}, {"page": "x"}, {"page_size": 1001}, {"page_size": -1}, {"page": 10**12}, {"page": "٣"}],
)
def test_impossible_pages_are_refused(client: httpx.Client, params: dict[str, str]) -> None:
    refused(client.get(SESSIONS, params=params), 422, "bad_page")


def test_a_session_takes_the_first_question_as_its_title(client: httpx.Client, session: str) -> None:
    ask(client, session, "年休假可以结转几天？")
    assert data(client.get(f"{SESSIONS}/{session}"))["title"] == "年休假可以结转几天？"


def test_messages_hold_both_sides_oldest_first_with_references(client: httpx.Client, session: str) -> None:
    ask(client, session, "How often is the seal kit replaced?", request_id="seal-1")
    answer = client.get(f"{SESSIONS}/{session}/messages").json()
    user, assistant = answer["data"]
    assert answer["total"] == 2
    assert (user["role"], user["content"]) == ("user", "How often is the seal kit replaced?")
    assert (assistant["role"], assistant["status"]) == ("assistant", "complete")
    assert user["request_id"] == assistant["request_id"] == "seal-1"
    assert "4000" in assistant["content"]
    assert "4000" in assistant["knowledge_references"][0]["content"]
    assert assistant["timing"]["total_ms"] > 0


@pytest.mark.parametrize("title", ["", "  ", "\x00\x1f"])
def test_an_empty_title_is_refused(client: httpx.Client, session: str, title: str) -> None:
    answer = client.put(f"{SESSIONS}/{session}", json={"title": title})
    assert answer.status_code in (400, 422)


def test_a_title_that_is_too_long_is_told_in_characters(client: httpx.Client) -> None:
    told = refused(client.post(SESSIONS, json={"title": "长" * 201}), 400, "malformed")
    assert "200 characters" in told


def test_what_is_not_there_is_named_and_cut(client: httpx.Client) -> None:
    told = refused(client.get(f"{SESSIONS}/{'x' * 5000}"), 404, "session_not_found")
    assert told.startswith("There is no session 'xxx")
    assert len(told) < 200


def test_unknown_sessions_and_knowledge_bases_are_not_found(client: httpx.Client) -> None:
    for call in (client.get, client.delete):
        refused(call(f"{SESSIONS}/nope"), 404, "session_not_found")
    refused(client.get(f"{SESSIONS}/nope/messages"), 404, "session_not_found")
    refused(client.put(f"{SESSIONS}/nope", json={"title": "x"}), 404, "session_not_found")
    refused(client.post(SESSIONS, json={"knowledge_base_ids": ["nope"]}), 404, "kb_not_found")
