from typing import Any

import httpx
import pytest

from ..running import API, data, refused

SEARCH = f"{API}/search"


def test_passages_come_with_their_text_best_first(client: httpx.Client, kb: str) -> None:
    found = data(client.post(SEARCH, json={"query": "年休假结转", "knowledge_base_ids": [kb]}))
    first = found["knowledge_references"][0]
    assert "结转 3 天" in first["content"]
    assert first["knowledge_title"] == "员工手册.md"
    scores = [one["score"] for one in found["knowledge_references"]]
    assert scores == sorted(scores, reverse=True)
    assert "trace" not in found


def test_a_search_can_be_narrowed_to_documents(client: httpx.Client, kb: str) -> None:
    listed = data(client.get(f"{API}/knowledge-bases/{kb}/documents"))
    (manual,) = [one["id"] for one in listed if one["title"] == "LS-200.md"]
    body = {"query": "休假 seal kit", "knowledge_base_ids": [], "knowledge_ids": [manual]}
    found = data(client.post(SEARCH, json=body))["knowledge_references"]
    assert {one["knowledge_id"] for one in found} == {manual}


def test_a_trace_says_what_each_stage_handed_on(client: httpx.Client, kb: str) -> None:
    body = {"query": "grease", "knowledge_base_ids": [kb], "trace": True, "rerank": False}
    trace = data(client.post(SEARCH, json=body))["trace"]
    assert {"chunk_hits", "hits", "ranked", "merged", "selected"} == set(trace["hits"])
    assert trace["timings_ms"]["search_chunks"] > 0


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"query": "x", "knowledge_base_ids": []}, 422, "no_knowledge_base"),
        ({"query": "x"}, 400, "malformed"),
        ({"query": " ", "knowledge_base_ids": ["nope"]}, 422, "empty_question"),
        ({"query": "x" * 10_001, "knowledge_base_ids": ["nope"]}, 422, "question_too_long"),
        ({"query": "x", "knowledge_base_ids": ["nope"]}, 404, "kb_not_found"),
        ({"query": "x", "knowledge_base_ids": ["nope"], "top_k": 0}, 400, "malformed"),
        ({"query": "x", "knowledge_base_ids": ["nope"], "limit": 5}, 400, "malformed"),
    ],
)
def test_bad_searches_are_refused(client: httpx.Client, body: dict[str, Any], status: int, code: str) -> None:
    refused(client.post(SEARCH, json=body), status, code)
