from collections.abc import Generator
from typing import Any

import httpx
import pytest

from ..running import API, MANUAL, a_kb, a_session, data, refused

KBS = f"{API}/knowledge-bases"


@pytest.fixture
def own(client: httpx.Client) -> Generator[str]:
    kb = a_kb(client, "改动 edits", [("LS-200.md", MANUAL), ("便条.md", "# 便条\n\n门禁密码每季度更换。")])
    yield kb
    data(client.delete(f"{KBS}/{kb}"))


def chunks(client: httpx.Client, kb: str, title: str, kind: str = "text") -> list[dict[str, Any]]:
    (document,) = [one for one in data(client.get(f"{KBS}/{kb}/documents")) if one["title"] == title]
    return data(client.get(f"{API}/documents/{document['id']}/chunks", params={"kind": kind}))


def found(client: httpx.Client, kb: str, query: str) -> dict[str, str]:
    """What the best passage says, by the title of its document."""
    body = {"query": query, "knowledge_base_ids": [kb]}
    references = data(client.post(f"{API}/search", json=body))["knowledge_references"]
    return {one["knowledge_title"]: one["content"] for one in references[:1]}


def test_a_chunk_is_read_edited_and_disabled(client: httpx.Client, own: str) -> None:
    (chunk,) = chunks(client, own, "便条.md")
    address = f"{API}/chunks/{chunk['id']}"
    assert data(client.get(address)) == chunk
    assert (chunk["knowledge_base_id"], chunk["enabled"], chunk["revision"]) == (own, True, 1)
    edited = data(client.put(address, json={"content": "停车场入口在北门。"}))
    assert (edited["id"], edited["content"], edited["revision"]) == (chunk["id"], "停车场入口在北门。", 2)
    assert [*found(client, own, "停车场入口")] == ["便条.md"]
    off = data(client.patch(address, json={"enabled": False}))
    assert (off["enabled"], off["content"]) == (False, "停车场入口在北门。")
    assert "便条.md" not in found(client, own, "停车场入口")
    data(client.patch(address, json={"enabled": True}))
    assert [*found(client, own, "停车场入口")] == ["便条.md"]
    assert data(client.get(f"{KBS}/{own}"))["version"] == 6


def test_an_old_answer_still_shows_what_it_had_read(client: httpx.Client, own: str) -> None:
    session = a_session(client, own)
    answer = data(
        client.post(
            f"{API}/sessions/{session}/knowledge-qa",
            json={"query": "How often is the seal kit replaced?"},
            headers={"Accept": "application/json"},
        )
    )
    assert "4000 operating hours" in answer["knowledge_references"][0]["content"]
    for chunk in chunks(client, own, "LS-200.md", "text") + chunks(client, own, "LS-200.md", "parent"):
        data(client.put(f"{API}/chunks/{chunk['id']}", json={"content": "换成了别的 Replaced by this."}))
    (_, kept) = data(client.get(f"{API}/sessions/{session}/messages"))
    assert kept["content"] == answer["content"]
    assert kept["knowledge_references"] == answer["knowledge_references"]
    events = data(client.get(f"{API}/runs/{kept['run_id']}/events", params={"page_size": 1000}))
    (told,) = [one["knowledge_references"] for one in events if one["response_type"] == "references"]
    assert told == answer["knowledge_references"]
    trace = data(client.get(f"{API}/runs/{kept['run_id']}/trace"))
    assert not [one for one in trace["candidates"] if "Replaced by this" in one["snippet"]]


def test_impossible_edits_are_refused(client: httpx.Client, own: str) -> None:
    (chunk,) = chunks(client, own, "便条.md")
    (parent,) = chunks(client, own, "便条.md", "parent")
    address = f"{API}/chunks/{chunk['id']}"
    for content in ("", " \n", "\x00", "\u200b"):
        refused(client.put(address, json={"content": content}), 422, "empty_chunk")
    refused(client.put(address, json={"content": "长" * 100_001}), 413, "chunk_too_long")
    refused(client.put(address, json={"content": 5}), 400, "malformed")
    refused(client.put(address, json={"text": "x"}), 400, "malformed")
    refused(client.put(f"{API}/chunks/{parent['id']}", json={"enabled": False}), 422, "not_searched")
    refused(client.put(f"{API}/chunks/none", json={"enabled": False}), 404, "chunk_not_found")
    refused(client.get(f"{API}/chunks/none"), 404, "chunk_not_found")
    assert data(client.put(address, json={})) == chunk
