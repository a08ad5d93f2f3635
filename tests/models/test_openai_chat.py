"""The client against a real server that is slow, down, strict or broken."""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import anyio
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessageChunk
from pydantic import SecretStr

from headrace.context import ChatMessage, ChatOptions, ChatPiece, ChatPrompt
from headrace.errors import DependencyFailed, DependencyRefused
from headrace.models.openai_chat import OpenAIChat, in_time, model_name
from headrace.models.openai_pieces import CleanStream, Pieces
from headrace.settings import Endpoint

from .servers import Reply, Served, refused, serving, streamed

pytestmark = pytest.mark.anyio

PROMPT = ChatPrompt(
    messages=[
        ChatMessage(role="system", content="Be brief."),
        ChatMessage(role="user", content="首都是哪里？ {query} %s $a"),
    ]
)
KEY = "sk-very-secret"


@asynccontextmanager
async def a_model(
    served: Served, *, model: str = "m", timeout_s: float = 5.0, **more: Any
) -> AsyncGenerator[OpenAIChat]:
    endpoint = Endpoint(base_url=served.url, api_key=SecretStr(KEY), model=model, timeout_s=timeout_s, **more)
    chat = OpenAIChat(endpoint, role="chat", context_tokens=8192, backoff_s=(0.0, 0.0), use_proxies=False)
    try:
        yield chat
    finally:
        await chat.aclose()


async def pieces_of(served: Served, **how: Any) -> list[ChatPiece]:
    options = how.pop("options", ChatOptions())
    async with a_model(served, **how) as chat:
        return [piece async for piece in chat.stream(PROMPT, options)]


@pytest.fixture
def silent_server() -> Generator[Served]:
    with serving(streamed("one ", silent=True)) as served:
        yield served


async def test_streams_content_piece_by_piece_with_the_usage_last() -> None:
    usage = {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}
    with serving(streamed("北京", "是首都。", usage=usage)) as served:
        pieces = await pieces_of(served)
    assert [(piece.kind, piece.text) for piece in pieces[:2]] == [("answer", "北京"), ("answer", "是首都。")]
    assert pieces[2].usage == {"prompt_tokens": 12, "completion_tokens": 3}


async def test_messages_and_key_arrive_as_they_were_written() -> None:
    with serving(streamed("ok")) as served:
        await pieces_of(served)
    [request] = served.requests
    assert request["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "首都是哪里？ {query} %s $a"},
    ]
    assert request["model"] == "m"
    assert served.keys == [f"Bearer {KEY}"]


async def test_sampling_options_arrive_under_the_names_every_server_knows() -> None:
    options = ChatOptions(temperature=0.2, top_p=0.9, seed=7, max_tokens=50)
    with serving(streamed("ok")) as served:
        await pieces_of(served, options=options)
    [request] = served.requests
    wanted = {"temperature": 0.2, "top_p": 0.9, "seed": 7, "max_tokens": 50}
    assert {name: request[name] for name in wanted} == wanted


async def test_what_is_not_set_is_left_to_the_server() -> None:
    with serving(streamed("ok")) as served:
        await pieces_of(served)
    assert set(served.requests[0]) == {"messages", "model", "stream", "stream_options"}


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_reasoning_beside_the_content_becomes_thinking(field: str) -> None:
    with serving(streamed({field: "先想想"}, "答案")) as served:
        pieces = await pieces_of(served)
    assert [(piece.kind, piece.text) for piece in pieces] == [("thinking", "先想想"), ("answer", "答案")]


async def test_think_tags_inside_the_content_are_left_to_the_decoder() -> None:
    with serving(streamed("<thi", "nk>a</think>b")) as served:
        pieces = await pieces_of(served)
    assert "".join(piece.text for piece in pieces) == "<think>a</think>b"


async def test_the_first_model_of_the_server_is_used_when_none_is_named() -> None:
    with serving(streamed("ok")) as served:
        async with a_model(served, model="") as chat:
            _ = [piece async for piece in chat.stream(PROMPT, ChatOptions())]
            assert chat.name == "first-model"
    assert served.requests[0]["model"] == "first-model"


async def test_a_server_that_rejects_usage_is_asked_once_without_and_never_again_with() -> None:
    no_usage = refused(400, "unknown field stream_options")
    with serving(no_usage, streamed("ok")) as served:
        async with a_model(served) as chat:
            for _ in range(2):
                assert [piece.text async for piece in chat.stream(PROMPT, ChatOptions())] == ["ok"]
    assert ["stream_options" in request for request in served.requests] == [True, False, False]


async def test_a_request_that_is_refused_for_another_reason_leaves_the_usage_counted() -> None:
    too_long = refused(400, "the prompt has too many tokens")
    with serving(too_long, too_long, streamed("ok")) as served:
        async with a_model(served) as chat:
            with pytest.raises(DependencyRefused, match="too many tokens"):
                _ = [piece async for piece in chat.stream(PROMPT, ChatOptions())]
            _ = [piece async for piece in chat.stream(PROMPT, ChatOptions())]
    assert ["stream_options" in request for request in served.requests] == [True, False, True]


@pytest.mark.parametrize("asked", [True, False])
async def test_a_model_is_asked_to_think_or_not_in_both_dialects(asked: bool) -> None:
    with serving(streamed("ok")) as served:
        await pieces_of(served, options=ChatOptions(thinking=asked))
    [request] = served.requests
    assert request["chat_template_kwargs"] == {"enable_thinking": asked}
    assert request["enable_thinking"] is asked


async def test_a_server_that_knows_no_thinking_is_asked_without_and_still_counts() -> None:
    with serving(refused(400, "unknown field enable_thinking"), streamed("ok")) as served:
        async with a_model(served) as chat:
            for _ in range(2):
                pieces = [piece async for piece in chat.stream(PROMPT, ChatOptions(thinking=False))]
                assert [piece.text for piece in pieces] == ["ok"]
    assert ["enable_thinking" in request for request in served.requests] == [True, False, False]
    assert all("stream_options" in request for request in served.requests)


async def test_a_wrong_key_is_refused_with_the_setting_to_check_and_without_the_key() -> None:
    with serving(refused(401, f"Incorrect API key provided: {KEY}")) as served:
        with pytest.raises(DependencyRefused, match="HEADRACE_CHAT_API_KEY") as error:
            await pieces_of(served)
        assert KEY not in error.value.message
    assert len(served.requests) == 1


async def test_a_server_that_is_not_there_is_named_by_its_setting() -> None:
    with serving(streamed("ok")) as served:
        pass
    with pytest.raises(DependencyFailed, match="HEADRACE_CHAT_BASE_URL") as error:
        await pieces_of(served)
    assert error.value.code == "chat_unreachable"
    assert KEY not in error.value.message
    assert "127.0.0.1" not in error.value.message


async def test_a_server_that_repeats_the_key_and_its_address_is_quoted_without_them() -> None:
    with serving(refused(400, "no")) as served:
        served.replies = [refused(400, f"{KEY} 无权访问 {served.url}")]
        with pytest.raises(DependencyRefused, match="无权访问") as error:
            await pieces_of(served)
    assert KEY not in error.value.message
    assert "127.0.0.1" not in error.value.message


async def test_a_server_that_is_busy_is_asked_again() -> None:
    with serving(refused(503, "loading"), refused(429, "slow down"), streamed("ok")) as served:
        assert [piece.text for piece in await pieces_of(served)] == ["ok"]


async def test_a_busy_server_is_left_alone_for_as_long_as_it_asks() -> None:
    busy = Reply(refused(429, "slow down").parts[0], status=429, headers={"Retry-After": "1"})
    with serving(busy, streamed("好")) as served:
        started = anyio.current_time()
        assert [piece.text for piece in await pieces_of(served)] == ["好"]
        assert anyio.current_time() - started >= 1


async def test_after_three_attempts_the_failure_goes_through() -> None:
    with serving(refused(500, "broken")) as served:
        with pytest.raises(DependencyFailed, match="broken"):
            await pieces_of(served)
    assert len(served.requests) == 3


async def test_silence_between_pieces_ends_in_an_error_after_what_came(silent_server: Served) -> None:
    came: list[str] = []
    with pytest.raises(DependencyFailed) as error:
        await collect(silent_server, into=came)
    assert came == ["one "]
    assert error.value.code == "chat_timeout"
    assert len(silent_server.requests) == 1


async def test_a_pause_within_an_answer_has_a_limit_of_its_own(silent_server: Served) -> None:
    came: list[str] = []
    with pytest.raises(DependencyFailed, match="HEADRACE_CHAT_IDLE_S") as error, anyio.fail_after(5):
        await collect(silent_server, into=came, timeout_s=60, idle_s=0.2)
    assert came == ["one "]
    assert error.value.code == "chat_timeout"


async def test_chunks_that_say_nothing_are_silence() -> None:
    nothing = [{"content": ""}] * 3
    with serving(streamed(*nothing, silent=True)) as served:
        with pytest.raises(DependencyFailed, match="HEADRACE_CHAT_TIMEOUT_S"):
            await collect(served, into=[])


async def test_silence_is_not_broken_by_chunks_without_a_word() -> None:
    async def babble() -> AsyncGenerator[AIMessageChunk]:
        while True:
            await asyncio.sleep(0)
            yield AIMessageChunk(content="")

    with pytest.raises(TimeoutError):
        async for _ in in_time(babble(), Pieces(), first_s=0.05, idle_s=60):
            pass


async def test_an_answer_that_is_whole_does_not_wait_for_a_connection_that_stays_open() -> None:
    async def chunks() -> AsyncGenerator[AIMessageChunk]:
        yield AIMessageChunk(content="全文")
        yield AIMessageChunk(content="", response_metadata={"finish_reason": "stop"})
        raise TimeoutError

    pieces = [piece async for some in in_time(chunks(), Pieces(), first_s=60, idle_s=60) for piece in some]
    assert [piece.text for piece in pieces] == ["全文"]


async def test_a_connection_that_breaks_behind_the_end_breaks_nothing() -> None:
    end = 'data: {"choices": [{"index": 0, "delta": {"content": "全文"}, "finish_reason": "stop"}]}\n\n'
    with serving(Reply(end, hang_up=True)) as served:
        pieces = await pieces_of(served)
    assert [(piece.kind, piece.text) for piece in pieces] == [("answer", "全文")]


async def test_an_end_that_is_said_twice_is_one_end() -> None:
    end = 'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\n'
    with serving(Reply(*streamed("水").parts[:-1], end, end, "data: [DONE]\n\ndata: [DONE]\n\n")) as served:
        pieces = await pieces_of(served)
    assert [(piece.kind, piece.text) for piece in pieces] == [("answer", "水")]


@pytest.mark.parametrize(("reason", "why"), [("length", "max_tokens"), ("content_filter", "content filter")])
async def test_an_answer_that_the_server_cut_off_says_why(reason: str, why: str) -> None:
    choice = {"index": 0, "delta": {"content": "水"}, "finish_reason": reason}
    cut = f"data: {json.dumps({'choices': [choice]})}\n\n"
    with serving(Reply(cut, "data: [DONE]\n\n")) as served:
        pieces = await pieces_of(served)
    assert [piece.kind for piece in pieces] == ["answer", "unfinished"]
    assert why in pieces[1].text


async def test_a_model_that_runs_on_for_ever_is_cut_off() -> None:
    with serving(streamed(*["水" * 100_000] * 5, silent=True)) as served:
        pieces = await pieces_of(served)
    assert sum(len(piece.text) for piece in pieces if piece.kind == "answer") == 500_000
    assert "did not come to an end" in pieces[-1].text


async def test_bytes_that_are_no_utf_8_are_replaced_and_the_rest_arrives() -> None:
    part = streamed("水@好").parts[0]
    assert isinstance(part, str)
    broken = json.loads(part.removeprefix("data: "))
    body = json.dumps(broken, ensure_ascii=False).encode().replace(b"@", b"\xff\xc3")
    rest = streamed("。").parts
    with serving(Reply(b"data: " + body + b"\n\n", *rest)) as served:
        pieces = await pieces_of(served)
    assert "".join(piece.text for piece in pieces) == "水\ufffd\ufffd好。"


async def test_bytes_may_be_cut_anywhere() -> None:
    parts = "".join(part for part in streamed("水💧。", "Ten.").parts if isinstance(part, str))
    parts = parts.replace("\\u6c34", "水").replace("\\ud83d\\udca7", "💧")
    with serving(Reply(*[bytes([byte]) for byte in parts.encode()])) as served:
        pieces = await pieces_of(served)
    assert "".join(piece.text for piece in pieces) == "水💧。Ten."


@given(body=st.binary(max_size=40), cuts=st.lists(st.integers(0, 40), max_size=5))
async def test_a_body_is_cleaned_alike_however_it_is_cut(body: bytes, cuts: list[int]) -> None:
    async def cleaned(pieces: list[bytes]) -> bytes:
        return b"".join([piece async for piece in CleanStream(InPieces(pieces))])

    places = sorted({0, len(body), *(min(cut, len(body)) for cut in cuts)})
    assert await cleaned([body[a:b] for a, b in pairwise(places)]) == body.decode(errors="replace").encode()


class InPieces(httpx.AsyncByteStream):
    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = pieces

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        for piece in self.pieces:
            yield piece


async def test_a_reply_that_is_marked_as_a_refusal_counts_as_declined() -> None:
    with serving(streamed({"refusal": "我不能"}, {"refusal": "回答。"})) as served:
        pieces = await pieces_of(served)
    assert "".join(piece.text for piece in pieces) == "<decline/>我不能回答。"


def test_content_in_parts_is_read_like_plain_content() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "想"}]}
    said = {"type": "text", "text": "十天"}
    pieces = Pieces().read(AIMessageChunk(content=[thought, said, {"type": "image"}]))
    assert [(piece.kind, piece.text) for piece in pieces] == [("thinking", "想"), ("answer", "十天")]


PRICES: dict[str, Any] = {"input_price": 2.0, "output_price": 8.0}
COUNTED: dict[str, Any] = {"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500}


@pytest.mark.parametrize(
    ("counted", "prices", "model", "cost"),
    [
        (COUNTED, PRICES, "m", 0.006),
        (COUNTED | {"cost": 0.5}, PRICES, "m", 0.5),
        (COUNTED, {}, "m", None),
        (COUNTED, {"input_price": 2.0}, "m", None),
        (COUNTED, PRICES, "another", None),
        (COUNTED | {"cost": -1}, {}, "m", None),
    ],
)
async def test_an_answer_s_cost_is_told_where_it_is_known(
    counted: dict[str, Any], prices: dict[str, Any], model: str, cost: float | None
) -> None:
    with serving(streamed("ok", usage=counted)) as served:
        async with a_model(served, **prices) as chat:
            answering = chat if model == "m" else chat.with_model(model)
            pieces = [piece async for piece in answering.stream(PROMPT, ChatOptions())]
    assert pieces[-1].usage.get("cost") == cost
    assert pieces[-1].usage.get("prompt_tokens") == 1000


@pytest.mark.parametrize(
    "counted",
    [
        {"prompt_tokens": None, "completion_tokens": None},
        {"prompt_tokens": -5, "completion_tokens": 6, "total_tokens": 1},
        {"prompt_tokens": 10**30, "completion_tokens": 6, "total_tokens": 6},
    ],
)
async def test_a_count_of_tokens_that_cannot_be_is_left_out(counted: dict[str, Any]) -> None:
    with serving(streamed("水", usage=counted)) as served:
        pieces = await pieces_of(served)
    assert [(piece.kind, piece.text) for piece in pieces] == [("answer", "水")]


async def test_a_server_that_accepts_and_never_answers_is_given_up_after_one_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        served = Served([])
        served.url = f"http://127.0.0.1:{deaf.getsockname()[1]}/v1"
        with pytest.raises(DependencyFailed, match="HEADRACE_CHAT_TIMEOUT_S") as error, anyio.fail_after(5):
            await collect(served, into=[])
        assert error.value.code == "chat_timeout"
        deaf.setblocking(False)
        with contextlib.closing(deaf.accept()[0]), pytest.raises(BlockingIOError):
            deaf.accept()  # a second attempt


async def collect(served: Served, *, into: list[str], timeout_s: float = 0.2, **more: Any) -> None:
    async with a_model(served, timeout_s=timeout_s, **more) as chat:
        async for piece in chat.stream(PROMPT, ChatOptions()):
            into.append(piece.text)


async def test_a_stream_that_breaks_off_is_an_error_and_no_second_attempt() -> None:
    with serving(streamed("one ", hang_up=True)) as served:
        with pytest.raises(DependencyFailed):
            await pieces_of(served)
    assert len(served.requests) == 1


async def test_a_stream_that_ends_without_its_last_word_says_so() -> None:
    # Without a promised length HTTP takes the end of the connection for the end of the answer.
    with serving(streamed("水 ", hang_up=False)) as served:
        pieces = await pieces_of(served)
    assert [piece.kind for piece in pieces] == ["answer", "unfinished"]
    assert len(served.requests) == 1


async def test_a_cancellation_that_comes_together_with_a_piece_is_not_lost() -> None:
    arriving: asyncio.Future[AIMessageChunk] = asyncio.get_running_loop().create_future()

    async def chunks() -> AsyncGenerator[AIMessageChunk]:
        yield await arriving

    async def read() -> None:
        async for _ in in_time(chunks(), Pieces(), first_s=60, idle_s=60):
            pass

    reading = asyncio.create_task(read())
    await asyncio.sleep(0)
    arriving.set_result(AIMessageChunk(content="one"))
    reading.cancel()
    await asyncio.wait({reading})
    assert reading.cancelled()


async def test_a_character_that_a_server_has_cut_in_two_arrives_whole() -> None:
    with serving(
        streamed("水\ud83d", "\udca7。\ud842", {"reasoning": "\ud83d"}, "\udfb7野", "\udca7")
    ) as served:
        pieces = await pieces_of(served)
    assert "".join(piece.text for piece in pieces if piece.kind == "answer") == "水💧。𠮷野\ufffd"
    assert "".join(piece.text for piece in pieces if piece.kind == "thinking") == ""


@pytest.mark.parametrize(
    "garbage",
    [
        Reply("<html>It works!</html>", content_type="text/html"),
        Reply("data: {not json\n\n"),
        Reply('data: {"other": 7}\n\n'),
        Reply('data: {"choices": [{"nothing": 1}]}\n\n'),
        Reply('{"choices": []}', content_type="application/json"),
        Reply("data: [DONE]\n\n"),
    ],
)
async def test_what_is_not_a_stream_of_pieces_is_refused_as_unreadable(garbage: Reply) -> None:
    with serving(garbage) as served, pytest.raises(DependencyRefused) as error:
        await pieces_of(served)
    assert error.value.code == "chat_unreadable"


async def test_a_refused_request_says_what_the_server_said() -> None:
    with serving(refused(404, "model m does not exist")) as served:
        with pytest.raises(DependencyRefused, match="model m does not exist"):
            await pieces_of(served)


async def test_an_error_inside_the_stream_goes_through_in_the_server_s_words() -> None:
    with serving(Reply('data: {"error": {"message": "out of memory"}}\n\n')) as served:
        with pytest.raises(DependencyFailed, match="out of memory"):
            await pieces_of(served)


async def test_what_the_server_says_of_its_error_can_be_shown_and_stored() -> None:
    said = "\ud800 \x1b[31m\u202e内存不足\nout of memory"
    for reply in (refused(400, said), Reply(f'data: {{"error": {{"message": {json.dumps(said)}}}}}\n\n')):
        with serving(reply) as served, pytest.raises(DependencyFailed) as error:
            await pieces_of(served)
        assert "[31m 内存不足 out of memory" in error.value.message
        assert error.value.message.isprintable()


def test_a_model_s_name_is_never_a_path() -> None:
    assert model_name("/srv/models/qwen.gguf") == "qwen"
    assert model_name("C:\\models\\qwen.gguf") == "qwen"
    assert model_name("Qwen/Qwen2.5-7B-Instruct") == "Qwen/Qwen2.5-7B-Instruct"
