import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from headrace.state import Knobs

from ..running import API, a_client, a_kb, data, refused, running

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


STAGES = ["search_chunks", "collect_results", "rerank", "boost_wiki", "merge_chunks", "filter_top_k"]


def traced(client: httpx.Client, query: str, *kbs: str, **body: Any) -> dict[str, Any]:
    """The trace of a search; checks that it says where every candidate has gone."""
    body = {"query": query, "knowledge_base_ids": list(kbs), "trace": True, **body}
    found = data(client.post(SEARCH, json=body))
    trace = found["trace"]
    selected = [one["chunk_id"] for one in trace["candidates"] if one["fate"] == "selected"]
    assert selected == [one["id"] for one in found["knowledge_references"]]
    for one in trace["candidates"]:
        assert (one["fate"] == "left") == (one["left"] is not None)
        assert (one["fate"] == "merged") == (one["merged_into"] is not None)
        assert one["fate"] != "pending"
    return trace


def test_a_trace_tells_stages_in_order_with_time_and_hits(client: httpx.Client, kb: str) -> None:
    trace = traced(client, "grease 润滑脂", kb, rerank=False)
    assert [stage["stage"] for stage in trace["stages"]] == STAGES
    assert all(stage["duration_ms"] > 0 for stage in trace["stages"])
    first, *rest = trace["stages"]
    assert (first["hits_in"], first["hits_out"]) == (None, trace["stages"][1]["hits_in"])
    assert rest[-1]["hits_out"] == sum(one["fate"] == "selected" for one in trace["candidates"])
    assert trace["stages"][2]["output"]["rerank_verdict"] == trace["rerank_verdict"] == "skipped"
    assert [(call["role"], call["error"]) for call in trace["calls"]] == [("embedding", None)]
    assert (trace["query"], trace["queries"]) == ("grease 润滑脂", {"zh": "grease 润滑脂"})
    assert (trace["warnings"], trace["cache"]) == ([], {"query": "miss", "embedding": "miss"})
    again = traced(client, "grease 润滑脂", kb, rerank=False)
    assert (again["cache"]["query"], again["calls"]) == ("hit", [])
    assert [one["ranks"] for one in again["candidates"]] == [one["ranks"] for one in trace["candidates"]]


def test_a_trace_tells_places_and_scores_by_channel(client: httpx.Client, kb: str) -> None:
    trace = traced(client, "lithium grease", kb)
    best = trace["candidates"][0]
    assert best["document_title"] == "LS-200.md"
    assert "lithium grease" in best["snippet"]
    assert {"vector": 1, "keyword": 1, "fused": 1, "selected": 1}.items() <= best["ranks"].items()
    assert 0.5 < best["scores"]["vector"] <= 1
    assert best["scores"]["keyword"] > 0
    assert trace["channels"]["vector"] >= trace["channels"]["keyword"] >= 1


def test_a_trace_tells_why_a_chunk_left(client: httpx.Client, kb: str) -> None:
    trace = traced(client, "年休假结转", kb, settings={"vector_threshold": 1.0, "keyword_threshold": 1000.0})
    assert {one["left"]["stage"] for one in trace["candidates"]} == {"search_chunks"}
    reasons = {one["left"]["reason"]: one["left"]["limit"] for one in trace["candidates"]}
    assert reasons.items() <= {"below_vector_threshold": 1.0, "below_keyword_threshold": 1000.0}.items()
    assert len(trace["departures"]) == len(trace["candidates"])
    assert trace["stages"][0]["departures"] == {
        reason: sum(one["left"]["reason"] == reason for one in trace["candidates"]) for reason in reasons
    }
    over = traced(client, "员工 pump", kb, top_k=1)
    assert {"stage": "filter_top_k", "reason": "over_limit", "limit": 1.0}.items() <= {
        name: value for name, value in (over["departures"][-1]).items()
    }.items()


def test_every_knob_counts_for_one_search_and_is_told(client: httpx.Client, kb: str) -> None:
    asked = {"embedding_top_k": 3, "fusion": "rrf", "mmr_lambda": 0.5, "enable_query_expansion": False}
    trace = traced(client, "grease", kb, settings=asked, top_k=2)
    assert {**asked, "rerank_top_k": 2}.items() <= trace["settings"].items()
    assert set(trace["settings"]) == set(Knobs.__annotations__)
    assert traced(client, "grease", kb)["settings"]["fusion"] == "auto"


def test_a_known_question_is_told_with_the_wording_that_was_found(client: httpx.Client) -> None:
    address = f"{API}/knowledge-bases"
    faq = data(client.post(address, json={"name": "问答 search", "kind": "faq"}))["id"]
    entry = {
        "question": "年假有几天？",
        "similar_questions": ["How much leave do I get?"],
        "answers": ["十天。"],
    }
    made = data(client.post(f"{address}/{faq}/faq", json=entry))
    (found,) = traced(client, "How much leave do I get?", faq)["candidates"]
    assert (found["chunk_id"], found["kind"], found["match_type"]) == (made["id"], "faq", "faq")
    assert (found["document_title"], found["question"]) == ("年假有几天？", "How much leave do I get?")


def test_a_search_in_an_empty_knowledge_base_has_a_trace_too(client: httpx.Client) -> None:
    kb = data(client.post(f"{API}/knowledge-bases", json={"name": "空 search"}))["id"]
    trace = traced(client, "什么？", kb)
    assert (trace["candidates"], trace["channels"], trace["departures"]) == ([], {}, [])


def test_keys_are_not_told_in_a_trace(tmp_path: Path) -> None:
    settings = {"rerank_base_url": "http://127.0.0.1:9/v1", "rerank_api_key": "geheim-123"}
    with running(tmp_path, **settings) as url, a_client(url) as client:
        kb = a_kb(client, "钥匙", [("geheim-123.md", "The key 密钥 is geheim-123.")])
        answer = client.post(SEARCH, json={"query": "密钥 key", "knowledge_base_ids": [kb], "trace": True})
        trace = data(answer)["trace"]
        assert trace["rerank_verdict"] == "failed"
        assert [one["code"] for one in trace["warnings"]]
        assert "geheim-123" not in json.dumps(trace)
        assert trace["candidates"][0]["document_title"] == "….md"


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"query": "x", "knowledge_base_ids": []}, 422, "no_knowledge_base"),
        ({"query": "x"}, 400, "malformed"),
        ({"query": " ", "knowledge_base_ids": ["nope"]}, 422, "empty_question"),
        ({"query": "x" * 10_001, "knowledge_base_ids": ["nope"]}, 422, "question_too_long"),
        ({"query": "x", "knowledge_base_ids": ["nope"]}, 404, "kb_not_found"),
        ({"query": "x", "knowledge_base_ids": ["nope"], "top_k": 0}, 400, "malformed"),
        ({"query": "x", "knowledge_base_ids": ["nope"], "top_k": 101}, 400, "malformed"),
        ({"query": "x", "knowledge_base_ids": ["nope"], "limit": 5}, 400, "malformed"),
        ({"query": "x", "knowledge_base_ids": ["nope"] * 201}, 400, "malformed"),
        ({"query": "x", "knowledge_base_ids": [], "knowledge_ids": ["nope"]}, 404, "document_not_found"),
        ({"query": "x", "knowledge_base_ids": [], "tag_ids": ["nope"]}, 404, "tag_not_found"),
    ],
)
def test_bad_searches_are_refused(client: httpx.Client, body: dict[str, Any], status: int, code: str) -> None:
    refused(client.post(SEARCH, json=body), status, code)


@pytest.mark.parametrize(
    "settings",
    [
        {"rerank_treshold": 0.5},
        {"rerank_threshold": 1.5},
        {"rerank_threshold": "0.5"},
        {"fusion": "max"},
        {"embedding_top_k": 0},
        {"wiki_enabled": 1},
    ],
)
def test_an_impossible_knob_is_named(client: httpx.Client, kb: str, settings: dict[str, Any]) -> None:
    body = {"query": "年假", "knowledge_base_ids": [kb], "settings": settings}
    assert next(iter(settings)) in refused(client.post(SEARCH, json=body), 422, "bad_setting")
