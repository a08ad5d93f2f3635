import json
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from headrace.errors import DependencyRefused
from headrace.models.rerank_dashscope import DashScopeReranker
from headrace.settings import Endpoint

pytestmark = pytest.mark.anyio

HOST = "http://models.test"
ROUTE = "/api/v1/services/rerank/text-rerank/text-rerank"
RESULTS = {"results": [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.2}]}


def a_reranker(
    asked: list[httpx.Request], body: Any, *, base: str = HOST, status: int = 200
) -> DashScopeReranker:
    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(status, json=body)

    endpoint = Endpoint(base_url=base, api_key=SecretStr("sk-secret"), model="gte-rerank-v2", timeout_s=5)
    return DashScopeReranker(endpoint, transport=httpx.MockTransport(answer), backoff_s=0)


@pytest.mark.parametrize("base", [HOST, f"{HOST}/api/v1", HOST + ROUTE])
async def test_it_is_asked_in_its_own_form_and_at_its_own_route(base: str) -> None:
    asked: list[httpx.Request] = []
    reranker = a_reranker(asked, {"output": RESULTS, "usage": {"total_tokens": 9}}, base=base)
    assert await reranker.scores("年假几天", ["Sick leave", "年假十天"]) == [0.2, 0.9]
    assert str(asked[0].url) == HOST + ROUTE
    assert json.loads(asked[0].content) == {
        "model": "gte-rerank-v2",
        "input": {"query": "年假几天", "documents": ["Sick leave", "年假十天"]},
        "parameters": {"top_n": 2, "return_documents": False},
    }
    assert asked[0].headers["authorization"] == "Bearer sk-secret"


async def test_what_it_refuses_is_told_in_its_words() -> None:
    body = {"code": "InvalidParameter", "message": "model gte-rerank-v2 not found for sk-secret"}
    with pytest.raises(DependencyRefused, match="gte-rerank-v2 not found for …"):
        await a_reranker([], body, status=400).scores("年假", ["x"])


@pytest.mark.parametrize("body", [{"output": {}}, {"output": None}, {"code": "x"}, []])
async def test_an_answer_without_scores_is_a_refusal(body: Any) -> None:
    with pytest.raises(DependencyRefused, match="no scores"):
        await a_reranker([], body).scores("年假", ["x"])


async def test_no_passages_ask_nothing() -> None:
    asked: list[httpx.Request] = []
    assert await a_reranker(asked, {}).scores("年假", []) == []
    assert asked == []
