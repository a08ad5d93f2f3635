import json
import math
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import anyio
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from headrace.errors import DependencyFailed, DependencyRefused
from headrace.models.rerank_http import HttpReranker
from headrace.settings import Endpoint

pytestmark = pytest.mark.anyio

PASSAGES = ["年假十天", "Sick leave", "发票"]


ENDPOINT = Endpoint(
    base_url="http://models.test/v1", api_key=SecretStr("sk-secret"), model="bge-reranker", timeout_s=5
)


def reranker(answer: Callable[[httpx.Request], httpx.Response]) -> HttpReranker:
    return HttpReranker(ENDPOINT, transport=httpx.MockTransport(answer), backoff_s=0)


def answering(body: Any) -> HttpReranker:
    return reranker(lambda request: httpx.Response(200, content=json.dumps(body)))


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    names = st.sampled_from(["results", "data", "output", "scores", "index", "relevance_score", "score", "x"])
    return st.dictionaries(names, inner)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | objects(inner),
)


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


async def test_what_a_server_leaves_out_is_no_number() -> None:
    scores = await answering({"results": [result(1, 0.7)]}).scores("年假", PASSAGES)
    assert (scores[1], [math.isnan(score) for score in scores]) == (0.7, [True, False, True])


@given(JSON)
async def test_any_json_is_scores_or_a_refusal(body: Any) -> None:
    try:
        scores = await answering(body).scores("年假", PASSAGES)
    except DependencyRefused:
        return
    assert len(scores) == len(PASSAGES)


@pytest.mark.parametrize(
    ("base", "answered", "asked"),
    [
        ("http://models.test/v1", "/v1/rerank", ["/v1/rerank"]),
        ("http://models.test", "/rerank", ["/rerank", "/rerank"]),
        ("http://models.test", "/v1/rerank", ["/rerank", "/v1/rerank", "/v1/rerank"]),
    ],
)
async def test_either_route_is_found_and_kept_to(base: str, answered: str, asked: list[str]) -> None:
    paths: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        paths.append(request.url.path)
        known = request.url.path == answered
        return httpx.Response(200 if known else 404, json={"results": [result(0, 0.5)]})

    client = HttpReranker(
        replace(ENDPOINT, base_url=base), transport=httpx.MockTransport(answer), backoff_s=0
    )
    for _ in range(2 if len(asked) > 1 else 1):
        await client.scores("年假", PASSAGES)
    assert paths == asked


async def test_without_either_route_the_address_is_what_is_wrong() -> None:
    client = HttpReranker(
        replace(ENDPOINT, base_url="http://models.test"),
        transport=httpx.MockTransport(lambda request: httpx.Response(404)),
        backoff_s=0,
    )
    with pytest.raises(DependencyRefused, match="HEADRACE_RERANK_BASE_URL"):
        await client.scores("年假", PASSAGES)


@pytest.mark.parametrize(
    "content", [b"<html><body>Bad gateway</body></html>", b"", b"[" * 100_000, b"\xff\xfe", b'{"results": ']
)
async def test_what_is_no_json_is_a_refusal(content: bytes) -> None:
    with pytest.raises(DependencyRefused, match="no JSON"):
        await reranker(lambda request: httpx.Response(200, content=content)).scores("年假", PASSAGES)


async def test_an_endless_answer_is_not_read_to_its_end() -> None:
    read: list[int] = []

    async def endless() -> AsyncIterator[bytes]:
        while True:
            read.append(1)
            yield b" " * 1024 * 1024

    with pytest.raises(DependencyRefused, match="longer than 32 MB"):
        await reranker(lambda request: httpx.Response(200, content=endless())).scores("年假", PASSAGES)
    assert len(read) == 33


async def test_a_server_that_drips_is_not_waited_for_longer_than_the_limit() -> None:
    async def dripping() -> AsyncIterator[bytes]:
        while True:
            await anyio.sleep(0.01)
            yield b" "

    client = HttpReranker(
        replace(ENDPOINT, timeout_s=0.1),
        transport=httpx.MockTransport(lambda request: httpx.Response(200, content=dripping())),
        backoff_s=0,
    )
    with pytest.raises(DependencyFailed, match=r"within 0\.1 s"):
        await client.scores("年假", PASSAGES)


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


async def test_what_a_server_says_of_its_error_can_be_shown_and_stored() -> None:
    content = b'{"error": {"message": "\\ud800 \\u001b[31m\\u202e \xe6\xa8\xa1\xe5\x9e\x8b sk-secret"}}'
    with pytest.raises(DependencyRefused) as refused:
        await reranker(lambda request: httpx.Response(400, content=content)).scores("年假", PASSAGES)
    assert refused.value.message.endswith("HTTP 400: [31m 模型 …")


async def test_a_slow_server_is_not_waited_for_twice() -> None:
    tries: list[int] = []

    def answer(request: httpx.Request) -> httpx.Response:
        tries.append(1)
        raise httpx.ReadTimeout("slow")

    with pytest.raises(DependencyFailed):
        await reranker(answer).scores("年假", PASSAGES)
    assert len(tries) == 1
