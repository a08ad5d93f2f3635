"""Which model answers a run: chosen by name, over connections that are opened once."""

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager

import pytest

from headrace.context import ChatMessage, ChatOptions, ChatPrompt
from headrace.errors import BadRequest
from headrace.models.chat import ChatModels
from headrace.models.extractive import ExtractiveChat
from headrace.settings import Settings

from ..fakes import PROMPTS, FakeEmbedder, FakeTokens
from .servers import Served, serving, streamed

pytestmark = pytest.mark.anyio

QUESTION = ChatPrompt(messages=[ChatMessage(role="user", content="首都是哪里？ Which capital?")])


@pytest.fixture
def server() -> Generator[Served]:
    with serving(streamed("北京 Beijing")) as served:
        yield served


@asynccontextmanager
async def models(**settings: object) -> AsyncGenerator[ChatModels]:
    given = Settings.model_validate({"data": "x", **settings})
    chats = ChatModels(given, FakeEmbedder(), FakeTokens(), PROMPTS)
    try:
        yield chats
    finally:
        await chats.aclose()


async def ask(chats: ChatModels, name: str | None) -> str:
    return "".join([piece.text async for piece in chats.chosen(name).stream(QUESTION, ChatOptions())])


async def test_each_run_has_the_model_that_it_names(server: Served) -> None:
    async with models(chat_base_url=server.url, chat_model="large") as chats:
        for name in (None, "second-model", "large", "", "second-model"):
            assert await ask(chats, name) == "北京 Beijing"
        assert chats.chosen("second-model").name == "second-model"
    asked = [request["model"] for request in server.requests]
    assert asked == ["large", "second-model", "large", "large", "second-model"]


async def test_without_a_name_anywhere_the_first_model_of_the_server_answers(server: Served) -> None:
    async with models(chat_base_url=server.url) as chats:
        await ask(chats, "second-model")
        await ask(chats, None)
        assert chats.chosen().name == "first-model"
    assert [request["model"] for request in server.requests] == ["second-model", "first-model"]


async def test_a_name_is_looked_for_among_the_models_of_the_server(server: Served) -> None:
    async with models(chat_base_url=server.url, chat_model="large") as chats:
        for name in (None, "large", "extractive", "second-model"):
            await chats.require(name)
        with pytest.raises(BadRequest, match="'小模型' here, there is first-model, second-model, extractive"):
            await chats.require("小模型")


async def test_a_model_whose_id_is_a_path_is_called_by_its_name(server: Served) -> None:
    server.models = ["/srv/模型/qwen.gguf"]
    async with models(chat_base_url=server.url, chat_model="large") as chats:
        with pytest.raises(BadRequest) as refused:
            await chats.require("other")
        assert "/srv" not in str(refused.value.message) + str(refused.value.details)
        await chats.require("qwen")
        await ask(chats, "qwen")
        assert chats.chosen("qwen").name == "qwen"
    assert server.requests[-1]["model"] == "/srv/模型/qwen.gguf"


async def test_a_server_that_does_not_list_its_models_may_have_any() -> None:
    async with models(chat_base_url="http://127.0.0.1:9/v1") as chats:
        await chats.require("任意 any")


async def test_the_built_in_answerer_may_be_the_configured_one_beside_a_server(server: Served) -> None:
    async with models(chat_base_url=server.url, chat_model="extractive") as chats:
        assert isinstance(chats.chosen(), ExtractiveChat)
        await ask(chats, "second-model")
    assert [request["model"] for request in server.requests] == ["second-model"]


async def test_without_a_server_there_is_the_built_in_answerer_alone() -> None:
    async with models(chat_model="named, 但没有服务器") as chats:
        for name in (None, "extractive", "named, 但没有服务器"):
            await chats.require(name)
            assert isinstance(chats.chosen(name), ExtractiveChat)
        with pytest.raises(BadRequest, match="there is extractive"):
            await chats.require("x")


async def test_the_built_in_answerer_speaks_with_the_prompts_of_its_run() -> None:
    own = PROMPTS.changed({"intent_prompts.greeting_reply": "早 morning"})
    greeting = ChatPrompt(messages=[], question="你好", language="zh", intent="greeting")
    async with models() as chats:
        pieces = [piece.text async for piece in chats.chosen(None, own).stream(greeting, ChatOptions())]
    assert pieces == ["早 morning"]
