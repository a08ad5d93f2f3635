import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from headrace.errors import DependencyFailed, DependencyRefused
from headrace.models.rerank import HttpReranker, make_reranker
from headrace.settings import Endpoint, load_settings

pytestmark = pytest.mark.anyio

PASSAGES = ["年假十天", "Sick leave", "发票"]


ENDPOINT = Endpoint(
    base_url="http://models.test/v1", api_key=SecretStr("sk-secret"), model="bge-reranker", timeout_s=5
)


def reranker(answer: Callable[[httpx.Request], httpx.Response]) -> HttpReranker:
    return HttpReranker(ENDPOINT, transport=httpx.MockTransport(answer), backoff_s=0)


def answering(body: Any) -> HttpReranker:
    return reranker(lambda request: httpx.Response(200, content=json.dumps(body)))


def result(index: Any, score: Any) -> dict[str, Any]:
    return {"index": index, "relevance_score": score}


async def test_scores_come_in_the_order_of_the_passages() -> None:
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(200, json={"results": [result(2, 0.9), result(0, 0.5), result(1, 0.1)]})

    assert await reranker(answer).scores("发票什么时候交", PASSAGES) == [0.5, 0.1, 0.9]
    assert str(asked[0].url) == "http://models.test/v1/rerank"
    body = json.loads(asked[0].content)
    assert (body["model"], body["query"], body["documents"]) == ("bge-reranker", "发票什么时候交", PASSAGES)
    assert asked[0].headers["authorization"] == "Bearer sk-secret"


@pytest.mark.parametrize(
    "body",
    [
        {"results": [result(0, 0.5), result(1, 0.1)]},
        {"data": [result(1, 0.1), result(0, 0.5)]},
        {"output": {"results": [result(0, 0.5), result(1, 0.1)]}},
        [{"index": 0, "score": 0.5}, {"index": 1, "score": 0.1}],
        {"results": [result(0, 0.5), result(0, 0.2), result(1, 0.1)]},
        {"results": [result(0, 0.5), result(1, 0.1), result(7, 0.9), result(-1, 0.9), result("2", 0.9)]},
        {"results": [result(0, 0.5), result(1, 0.1), result(2, float("nan")), result(2, None), "x", {}]},
    ],
)
async def test_forms_gaps_and_nonsense_are_borne(body: Any) -> None:
    assert await answering(body).scores("年假", PASSAGES) == [0.5, 0.1, 0.0]


async def test_logits_become_probabilities_in_the_same_order() -> None:
    scores = await answering({"results": [result(0, 4.2), result(1, -900.0), result(2, 0.0)]}).scores(
        "q", PASSAGES
    )
    assert scores == pytest.approx([0.985, 0.0, 0.5], abs=1e-3)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=8))
async def test_scores_lie_on_the_unit_interval(values: list[float]) -> None:
    body = {"results": [result(place, value) for place, value in enumerate(values)]}
    scores = await answering(body).scores("年假", ["leave"] * len(values))
    assert all(0.0 <= score <= 1.0 for score in scores)
    assert len(scores) == len(values)


async def test_no_passages_ask_nothing() -> None:
    def unasked(request: httpx.Request) -> httpx.Response:
        raise AssertionError(request)

    assert await reranker(unasked).scores("年假", []) == []


@pytest.mark.parametrize("body", [{"results": []}, {}, "x", None, {"results": [result(9, 0.5)]}])
async def test_an_answer_without_any_score_is_a_refusal(body: Any) -> None:
    with pytest.raises(DependencyRefused, match="no scores"):
        await answering(body).scores("年假", PASSAGES)


@pytest.mark.parametrize(
    ("trouble", "says"),
    [
        (httpx.ReadTimeout("slow"), "HEADRACE_RERANK_TIMEOUT_S"),
        (httpx.ConnectError("no"), "HEADRACE_RERANK_BASE_URL"),
    ],
)
async def test_a_server_that_does_not_answer_is_a_failure(trouble: Exception, says: str) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        raise trouble

    with pytest.raises(DependencyFailed, match=says):
        await reranker(answer).scores("年假", PASSAGES)


@pytest.mark.parametrize(
    ("status", "kind"), [(500, DependencyFailed), (401, DependencyRefused), (422, DependencyRefused)]
)
async def test_error_statuses_are_failures(status: int, kind: type[DependencyFailed]) -> None:
    with pytest.raises(kind, match=str(status)):
        await reranker(lambda request: httpx.Response(status)).scores("年假", PASSAGES)


async def test_a_slow_server_is_not_waited_for_twice() -> None:
    tries: list[int] = []

    def answer(request: httpx.Request) -> httpx.Response:
        tries.append(1)
        raise httpx.ReadTimeout("slow")

    with pytest.raises(DependencyFailed):
        await reranker(answer).scores("年假", PASSAGES)
    assert len(tries) == 1


async def test_a_reranker_exists_where_settings_name_one(tmp_path: Path) -> None:
    assert make_reranker(load_settings(data=tmp_path)) is None
    named = load_settings(data=tmp_path, rerank_base_url="http://models.test", rerank_model="bge-reranker")
    made = make_reranker(named)
    assert made is not None
    assert made.name == "bge-reranker"
    await made.aclose()
