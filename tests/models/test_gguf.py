"""A local model file: refusals without one, and a real answer where a file is at hand."""

import os
from pathlib import Path

import pytest

from headrace.context import ChatMessage, ChatOptions, ChatPrompt
from headrace.errors import StartRefused
from headrace.models.chat import ChatModels, make_understand
from headrace.models.extractive import ExtractiveChat
from headrace.models.gguf import GgufChat
from headrace.models.openai_chat import OpenAIChat
from headrace.settings import Settings

from ..fakes import PROMPTS, FakeEmbedder, FakeTokens

pytestmark = pytest.mark.anyio

MODEL_FILE = os.environ.get("HEADRACE_TEST_GGUF", "")


def test_a_file_that_is_not_there_is_refused_at_the_start(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    with pytest.raises(StartRefused, match="there is no file"):
        GgufChat(tmp_path / "none.gguf", context_tokens=1024, timeout_s=5)


def chosen(**settings: object) -> object:
    given = Settings.model_validate({"data": Path("x"), **settings})
    return ChatModels(given, FakeEmbedder(), FakeTokens(), PROMPTS).chosen()


def test_without_any_model_answers_are_quoted() -> None:
    assert isinstance(chosen(), ExtractiveChat)


def test_a_server_goes_before_a_file() -> None:
    both = chosen(chat_base_url="http://127.0.0.1:9/v1", chat_gguf="none.gguf")
    assert isinstance(both, OpenAIChat)
    assert both.context_tokens == 8192


def test_questions_are_rewritten_by_the_chat_server_unless_another_is_set() -> None:
    assert make_understand(Settings.model_validate({"data": "x"})) is None
    server = {"chat_base_url": "http://127.0.0.1:9/v1", "chat_model": "large"}
    chat = Settings.model_validate({"data": "x", **server})
    small = chat.model_copy(
        update={"understand_base_url": "http://127.0.0.1:9/v1", "understand_model": "small"}
    )
    assert [model.name for model in map(make_understand, (chat, small)) if model] == ["large", "small"]


@pytest.mark.integration
@pytest.mark.skipif(not MODEL_FILE, reason="HEADRACE_TEST_GGUF names no file")
async def test_a_local_model_answers_in_pieces() -> None:
    chat = GgufChat(Path(MODEL_FILE), context_tokens=1024, timeout_s=120)
    prompt = ChatPrompt(messages=[ChatMessage(role="user", content="中国的首都是哪里？只回答城市名。")])
    options = ChatOptions(temperature=0, max_tokens=20)
    pieces = [piece async for piece in chat.stream(prompt, options)]
    await chat.aclose()
    assert "北京" in "".join(piece.text for piece in pieces)
    assert pieces[-1].usage.get("completion_tokens", 0) > 0
