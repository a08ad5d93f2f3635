"""A server with each kind of reranker: what it makes of a ranking, and that it is never in the way."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from ..models.servers import Reply
from ..models.servers import serving as replying
from ..running import API, a_client, a_kb, a_session, answer_of, ask, data, running

DOCUMENTS = [
    ("差旅.md", "# 差旅\n\n出差住宿标准是每晚 450 元，超出部分自理。"),
    ("年假.md", "# 年假\n\n员工每年有十天年假。"),
    ("leave.md", "# Leave\n\nHow many days of annual leave do I get? Ten days a year."),
]


@contextmanager
def a_server(folder: Path, **settings: Any) -> Generator[tuple[httpx.Client, str]]:
    with running(folder, **settings) as url, a_client(url) as client:
        yield client, a_kb(client, "文档", DOCUMENTS)


def ranked(client: httpx.Client, kb: str, query: str, **body: Any) -> list[dict[str, Any]]:
    asked = {"query": query, "knowledge_base_ids": [kb], **body}
    return data(client.post(f"{API}/search", json=asked))["knowledge_references"]


def traced(client: httpx.Client, events: list[dict[str, Any]]) -> dict[str, Any]:
    return data(client.get(f"{API}/runs/{events[0]['run_id']}/trace"))


def verdict(trace: dict[str, Any]) -> str:
    [stage] = [one for one in trace["stages"] if one["stage"] == "rerank"]
    return stage["output"]["rerank_verdict"]


def test_a_model_on_disk_reranks_in_both_languages(tmp_path: Path) -> None:
    pytest.importorskip("flashrank", reason="the extra `rerank` is not installed")
    pytest.importorskip("onnx", reason="without onnx no model can be made for this test")
    from ..models.tiny_reranker import write_model

    write_model(tmp_path / "models" / "flashrank" / "tiny")
    with a_server(tmp_path) as (client, kb):
        session = a_session(client, kb)
        for query, title in (("年假十天", "年假.md"), ("annual leave days", "leave.md")):
            trace = traced(client, ask(client, session, query))
            assert verdict(trace) == "ok"
            best = trace["candidates"][0]
            assert best["document_title"] == title
            assert best["scores"]["rerank"] > 0.9
            assert [call["model"] for call in trace["calls"] if call["role"] == "rerank"] == ["tiny"]
        assert ranked(client, kb, "年假", rerank=False)


@pytest.mark.parametrize(
    "reply",
    [
        Reply("<html>502</html>", content_type="text/html"),
        Reply('{"results": []}', content_type="application/json"),
        Reply('{"error": {"message": "out of memory"}}', status=500, content_type="application/json"),
        Reply('{"results": [{"index": 0', content_type="application/json", hang_up=True),
        Reply("", content_type="application/json", silent=True),
    ],
)
def test_a_reranker_that_fails_costs_only_its_opinion(tmp_path: Path, reply: Reply) -> None:
    with replying(reply) as served:
        given = {"rerank_base_url": served.url, "rerank_model": "bge", "rerank_timeout_s": 0.5}
        with a_server(tmp_path, **given) as (client, kb):
            events = ask(client, a_session(client, kb), "出差住宿标准是多少？")
            assert "450 元" in answer_of(events)
            trace = traced(client, events)
            assert verdict(trace) == "failed"
            assert [warning["stage"] for warning in trace["warnings"]] == ["rerank"]


def test_what_a_reranker_rejects_is_no_answer(tmp_path: Path) -> None:
    results = '{"results": [{"index": 0, "relevance_score": 0.02}, {"index": 1, "relevance_score": 0.01}]}'
    with replying(Reply(results, content_type="application/json")) as served:
        given = {"rerank_base_url": served.url, "rerank_model": "bge"}
        with a_server(tmp_path, **given) as (client, kb):
            trace = traced(client, ask(client, a_session(client, kb), "出差住宿标准是多少？"))
            assert (verdict(trace), trace["outcome"]) == ("rejected", "fallback")


def test_a_chat_model_may_order_the_passages(tmp_path: Path) -> None:
    from ..models.servers import streamed

    with replying(streamed("[2] > [1]")) as served:
        given = {
            "chat_base_url": served.url,
            "chat_model": "stub",
            "rerank": "llm",
            "suggestions_enabled": False,
        }
        with a_server(tmp_path, **given) as (client, kb):
            found = ranked(client, kb, "年假")
    assert len(found) == 2
