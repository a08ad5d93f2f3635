import httpx
import pytest

from ..running import API, MANUAL, a_kb, a_session, data, refused

KBS = f"{API}/knowledge-bases"


def test_a_knowledge_base_is_made_listed_changed_and_deleted(client: httpx.Client) -> None:
    made = client.post(
        KBS, json={"name": "法规 Rules", "description": "内部", "settings": {"rerank_top_k": 3}}
    )
    assert made.status_code == 201
    kb = data(made)
    assert (kb["name"], kb["kind"], kb["settings"], kb["document_count"]) == (
        "法规 Rules",
        "document",
        {"rerank_top_k": 3},
        0,
    )
    address = f"{KBS}/{kb['id']}"
    assert data(client.get(address)) == kb
    assert kb["id"] in [one["id"] for one in data(client.get(KBS, params={"search": "法规"}))]
    assert data(client.patch(address, json={"name": "Rules"}))["name"] == "Rules"
    changed = data(client.put(address, json={"description": "x", "settings": {}}))
    assert (changed["name"], changed["description"], changed["settings"]) == ("Rules", "x", {})
    assert data(client.delete(address)) == {"id": kb["id"]}
    refused(client.get(address), 404, "kb_not_found")


def test_deleting_takes_the_documents_along(client: httpx.Client) -> None:
    kb = a_kb(client, "short-lived", [("LS-200.md", MANUAL)])
    (document,) = data(client.get(f"{KBS}/{kb}/documents"))
    assert data(client.get(f"{KBS}/{kb}"))["document_count"] == 1
    client.delete(f"{KBS}/{kb}")
    refused(client.get(f"{API}/documents/{document['id']}"), 404, "document_not_found")
    refused(
        client.post(f"{API}/search", json={"query": "seal", "knowledge_base_ids": [kb]}), 404, "kb_not_found"
    )


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 400, "malformed"),
        ({"name": 5}, 400, "malformed"),
        ({"name": "x" * 101}, 400, "malformed"),
        ({"name": "x", "colour": "red"}, 400, "malformed"),
        ({"name": "x", "kind": "wiki"}, 400, "malformed"),
        ({"name": "x", "settings": {"rerank_top_k": "many"}}, 422, "bad_setting"),
        ({"name": "x", "settings": {"nonsense": 1}}, 422, "bad_setting"),
    ],
)
def test_bad_knowledge_bases_are_refused(client: httpx.Client, body: object, status: int, code: str) -> None:
    refused(client.post(KBS, json=body), status, code)


def test_a_name_is_used_once(client: httpx.Client) -> None:
    a_kb(client, "只有一个")
    refused(client.post(KBS, json={"name": "只有一个"}), 409, "kb_name_taken")


def test_an_empty_name_is_refused(client: httpx.Client) -> None:
    assert client.post(KBS, json={"name": " \x00 "}).status_code == 422


def test_unknown_knowledge_bases_are_not_found(client: httpx.Client) -> None:
    for answer in (
        client.get(f"{KBS}/nope"),
        client.delete(f"{KBS}/nope"),
        client.put(f"{KBS}/nope", json={"name": "x"}),
        client.get(f"{KBS}/nope/documents"),
        client.post(f"{KBS}/nope/documents", json={"title": "a", "text": "b"}),
    ):
        refused(answer, 404, "kb_not_found")


def test_the_settings_of_a_knowledge_base_count_until_the_question_says_otherwise(
    client: httpx.Client, kb: str
) -> None:
    body = {"query": "LS-200 maintenance 休假 差旅", "knowledge_base_ids": [kb]}
    client.put(f"{KBS}/{kb}", json={"settings": {"rerank_top_k": 1}})
    try:
        one = data(client.post(f"{API}/search", json=body))["knowledge_references"]
        two = data(client.post(f"{API}/search", json={**body, "top_k": 2}))["knowledge_references"]
    finally:
        client.put(f"{KBS}/{kb}", json={"settings": {}})
    assert (len(one), len(two)) == (1, 2)


def test_the_knowledge_bases_of_a_session_are_the_default(client: httpx.Client, kb: str) -> None:
    session = a_session(client, kb)
    answer = client.post(
        f"{API}/sessions/{session}/knowledge-qa",
        json={"query": "How many dB(A) at one metre?"},
        headers={"Accept": "application/json"},
    )
    assert "62 dB" in data(answer)["content"]
