"""An answer on its way: pieces, usage, failures and cancellation."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from headrace.context import ChatOptions, ChatPiece, ChatPrompt
from headrace.errors import DependencyFailed, DependencyRefused
from headrace.nodes.answering.citations import public_tag
from headrace.nodes.answering.streaming import Teller, chat_options, stream_answer
from headrace.nodes.reporting.calls import messages_hash
from headrace.nodes.reporting.window import window
from headrace.state import Update

from ...fakes import PROMPTS, RecordingEmitter, ScriptedChat, World, a_hit, asked, usage_piece

pytestmark = pytest.mark.anyio

PROMPT = ChatPrompt(messages=[], language="en")
TAGS = {"c1": "[ONE]"}


async def streamed(world: World, chat: ScriptedChat) -> Update:
    context = world.context(chat=chat)
    return await stream_answer(context, PROMPT, ChatOptions(), TAGS, Teller(world.emit))


async def test_the_emitted_pieces_joined_are_the_answer() -> None:
    world = World()
    update = await streamed(world, ScriptedChat([*'十天<ref id="c1"/>。']))
    assert update.get("answer") == "十天[ONE]。" == world.emit.text()
    assert all(event.content for event in world.emit.events)


async def test_an_answer_that_may_be_cut_short_is_kept_with_a_warning() -> None:
    world = World()
    update = await streamed(world, ScriptedChat(["十天", ChatPiece(kind="unfinished", text="No end.")]))
    assert update.get("answer") == "十天"
    assert [warning["code"] for warning in update.get("warnings", [])] == ["chat_unfinished"]
    assert [event.content for event in world.emit.of("warning")] == ["No end."]


async def test_usage_and_the_model_s_name_are_noted() -> None:
    update = await streamed(World(), ScriptedChat(["Ten.", usage_piece(9, 2)], name="qwen"))
    assert (update.get("usage"), update.get("model")) == (
        {"prompt_tokens": 9, "completion_tokens": 2},
        "qwen",
    )
    [call] = update.get("calls", [])
    assert (call["role"], call["model"], call["usage"]) == ("chat", "qwen", update.get("usage"))
    assert call.get("prompt") == messages_hash(PROMPT.messages)


@pytest.mark.parametrize(
    "script",
    [
        [],
        [""],
        ["  \n"],
        ["<think>only thoughts</think>"],
        ['<ref id="c9"/>'],
        ["<", "/ref>"],
    ],
)
async def test_an_answer_without_a_word_is_refused(script: list[str]) -> None:
    with pytest.raises(DependencyRefused) as refused:
        await streamed(World(), ScriptedChat(script))
    assert refused.value.code == "empty_answer"


async def test_sources_without_a_word_are_no_answer() -> None:
    context = World().context(chat=ScriptedChat(['<ref id="c1"/> ', '<ref id="c1"/>']))
    tags = {"c1": public_tag(a_hit(), {})}
    with pytest.raises(DependencyRefused) as refused:
        await stream_answer(context, PROMPT, ChatOptions(), tags, Teller(context.emit))
    assert refused.value.code == "empty_answer"


async def test_a_model_that_only_declines_gets_words_for_it() -> None:
    world = World()
    update = await streamed(world, ScriptedChat(["<decline/>"]))
    assert update.get("declined") is True
    assert update.get("answer") == world.emit.text() == PROMPTS.text("fallback", "declined", language="en")


async def test_json_where_text_is_due_is_text() -> None:
    world = World()
    update = await streamed(world, ScriptedChat(['{"answer": ', '"十天", "ref": "c1"}']))
    assert update.get("answer") == '{"answer": "十天", "ref": "c1"}' == world.emit.text()


async def test_reasoning_that_only_its_end_marks_is_reset_and_told_as_reasoning() -> None:
    world = World()
    update = await streamed(world, ScriptedChat(["先想想。", "\n</think>", "\n十天。"]))
    assert (update.get("thinking"), update.get("answer")) == ("先想想。\n", "十天。")
    [reset] = world.emit.of("reset")
    told = [event.data["segment"] for event in world.emit.of("answer")]
    assert reset.data["segments"] == [told[0]]
    live = [e.content for e in world.emit.of("answer") if e.data["segment"] not in reset.data["segments"]]
    assert "".join(live) == "十天。"
    assert "".join(event.content for event in world.emit.of("thinking")) == "先想想。\n"


async def test_a_withheld_answer_is_remembered_and_not_told() -> None:
    world = World()
    context = world.context(chat=ScriptedChat(["<think>hm</think>", "Ten."]))
    teller = Teller(context.emit, withheld=True)
    update = await stream_answer(context, PROMPT, ChatOptions(), TAGS, teller)
    assert update.get("answer") == "Ten."
    assert world.emit.types() == ["thinking"]


@pytest.mark.parametrize(("generates", "shown"), [(True, "见 resource://x"), (False, "见 res://0001")])
async def test_only_a_model_that_was_given_handles_has_them_turned_back(generates: bool, shown: str) -> None:
    context = World().context(chat=ScriptedChat(["见 res://", "0001"], generates=generates))
    prompt = ChatPrompt(messages=[], resources={"res://0001": "resource://x"})
    update = await stream_answer(context, prompt, ChatOptions(), {}, Teller(context.emit))
    assert update.get("answer") == shown


async def test_what_was_held_back_is_told_when_the_model_breaks_off() -> None:
    world = World()
    with pytest.raises(DependencyFailed):
        await streamed(world, ScriptedChat(["a <", DependencyFailed("chat", "gone")]))
    assert world.emit.text() == "a <"


async def test_cancellation_goes_through_and_leaves_what_was_told() -> None:
    world = World()
    endless = Endless()
    task = asyncio.create_task(streamed(world, endless))
    await endless.waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert world.emit.text() == "Ten "


class Endless(ScriptedChat):
    def __init__(self) -> None:
        super().__init__([])
        self.waiting = asyncio.Event()

    async def stream(self, prompt: ChatPrompt, options: ChatOptions) -> AsyncIterator[ChatPiece]:
        yield ChatPiece(kind="answer", text="Ten ")
        self.waiting.set()
        await asyncio.Event().wait()


def test_sampling_options_come_from_the_request() -> None:
    wanted: dict[str, Any] = {
        "temperature": 0.1,
        "top_p": 0.9,
        "seed": 3,
        "max_tokens": 50,
        "thinking": False,
    }
    assert chat_options(asked(**wanted)) == ChatOptions(**wanted)


def test_a_window_closes_when_its_body_fails() -> None:
    emit = RecordingEmitter()
    with pytest.raises(ValueError, match="broken"):
        fail_inside(emit)
    assert emit.open == []
    assert emit.of("tool_result")[0].data["result"] == {"intent": "kb_search", "interrupted": True}


def fail_inside(emit: RecordingEmitter) -> None:
    with window(emit, "query_understand", {}) as result:
        result["intent"] = "kb_search"
        raise ValueError("broken")
