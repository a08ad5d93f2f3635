"""What is said when nothing was found."""

from typing import Any

import pytest
from langgraph.runtime import Runtime

from headrace.context import ChatPiece
from headrace.errors import DependencyFailed
from headrace.nodes.fallback import fallback
from headrace.state import Update

from ..fakes import ScriptedChat, World, asked

pytestmark = pytest.mark.anyio


async def said(world: World, chat: ScriptedChat | None = None, **request: Any) -> Update:
    return await fallback({"request": asked(**request)}, Runtime(context=world.context(chat=chat)))


@pytest.mark.parametrize(("language", "words"), [("zh", "没有找到"), ("en", "Nothing in the selected")])
async def test_the_fixed_sentence_is_in_the_product_s_language(language: str, words: str) -> None:
    world = World()
    update = await said(world, language=language)
    assert words in update.get("answer", "")
    assert update.get("answer") == world.emit.text()


async def test_a_sentence_of_one_s_own_takes_its_place() -> None:
    update = await said(World(), fallback_response="请联系 {query} 客服。")
    assert update.get("answer") == "请联系 {query} 客服。"


async def test_a_sentence_of_one_s_own_cites_nothing() -> None:
    update = await said(World(), fallback_response='请看 <kb doc="x" chunk_id="y"/>')
    assert update.get("answer") == '请看 &lt;kb doc="x" chunk_id="y"/>'


async def test_the_model_may_say_it_in_its_own_words() -> None:
    chat = ScriptedChat(["Nothing was ", "found."])
    update = await said(World(), chat, fallback_strategy="model")
    assert (update.get("answer"), update.get("fell_back")) == ("Nothing was found.", True)
    assert "Nothing was found in the knowledge base" in chat.prompts[0].messages[0].content


async def test_a_model_that_is_down_leaves_the_fixed_sentence_and_a_warning() -> None:
    world = World()
    chat = ScriptedChat([DependencyFailed("chat", "down")])
    update = await said(world, chat, fallback_strategy="model")
    assert "Nothing in the selected" in update.get("answer", "")
    assert [warning["stage"] for warning in update.get("warnings", [])] == ["fallback"]
    assert [(call["stage"], call["role"], call["error"]) for call in update.get("calls", [])] == [
        ("fallback", "chat", "dependency_failed")
    ]


async def test_a_model_that_breaks_off_is_an_error() -> None:
    chat = ScriptedChat(["Nothing ", DependencyFailed("chat", "gone")])
    with pytest.raises(DependencyFailed):
        await said(World(), chat, fallback_strategy="model")


async def test_the_extractive_answerer_is_not_asked() -> None:
    quoting = ScriptedChat([AssertionError()], generates=False)
    assert (await said(World(), quoting, fallback_strategy="model")).get("fell_back") is True


async def test_the_search_window_is_closed() -> None:
    world = World()
    world.emit.open_call("knowledge_search", {})
    await said(world)
    assert world.emit.open == []


async def test_a_warning_about_its_words_is_the_fallback_s_own() -> None:
    chat = ScriptedChat(["没有找到。", ChatPiece(kind="unfinished", text="No end.")])
    update = await said(World(), chat, fallback_strategy="model")
    assert [warning["stage"] for warning in update.get("warnings", [])] == ["fallback"]
