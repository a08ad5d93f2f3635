"""What models were asked, put together again, and how it ended."""

import json
from dataclasses import replace

import pytest

from headrace.errors import DependencyFailed
from headrace.graph.tracing.recorded import Recorded
from headrace.graph.tracing.shapes import Call, Trace
from headrace.graph.tracing.trace import build_trace

from ...fakes import FakeReranker, ScriptedChat, World, a_chunk, a_turn, usage_piece
from .recording import hides, recorded

pytestmark = pytest.mark.anyio

REWRITTEN = json.dumps({"rewrite_query": "2021年的差旅标准是多少？", "intent": "kb_search"})
HISTORY = [a_turn("2020年的差旅标准是多少？", '450 元<kb doc="年报" knowledge_id="d" chunk_id="x"/>。')]


async def a_world(text: str = "差旅标准为每晚 450 元。travel") -> World:
    world = World()
    await world.add(a_chunk("a", text, document_id="rules", page=2), title="差旅规定.md")
    return world


async def answered(
    *, chat: ScriptedChat | None = None, understand: ScriptedChat | None = None, query: str = "那2021年呢？"
) -> tuple[Recorded, ScriptedChat, ScriptedChat]:
    chat = chat or ScriptedChat(['450 元<ref id="c1"/>。', usage_piece(300, 12)])
    understand = understand or ScriptedChat([REWRITTEN, usage_piece(90, 20)], name="small")
    world = await a_world()
    context = world.context(
        chat=chat, understand=understand, reranker=FakeReranker(rest=0.9), history=HISTORY
    )
    return await recorded(context, query, language="zh"), chat, understand


def by_role(trace: Trace) -> dict[str, Call]:
    return {call["role"]: call for call in trace["calls"]}


async def test_every_model_is_there_in_the_order_it_was_asked() -> None:
    run, _, _ = await answered()
    calls = build_trace(run)["calls"]
    assert [(call["stage"], call["role"], call["model"]) for call in calls] == [
        ("understand_query", "understand", "small"),
        ("search_chunks", "embedding", "fake-embedder"),
        ("rerank", "rerank", "fake-reranker"),
        ("generate_answer", "chat", "scripted"),
    ]
    assert [call["usage"].get("prompt_tokens") for call in calls] == [90, None, None, 300]
    assert all(call["error"] is None and (call["duration_ms"] or 0) >= 0 for call in calls)


@pytest.mark.parametrize("said", ["What is the travel rate of 2021?", ""])
async def test_a_question_asked_for_in_another_language_is_rebuilt_with_that(said: str) -> None:
    world = await a_world()
    await world.add(a_chunk("b", "The travel rate is 450 a night", document_id="en"))
    rewritten = {
        "rewrite_query": "2021年的差旅标准是多少？",
        "intent": "kb_search",
        "translations": {"en": said},
    }
    small = ScriptedChat([json.dumps(rewritten)], name="small")
    run = await recorded(world.context(understand=small, history=HISTORY), "那2021年呢？")
    call = by_role(build_trace(run))["understand"]
    assert call["exact"] is True
    assert '{"en": "(English)"}' in (call["messages"] or [])[0]["content"]


async def test_the_messages_are_those_that_were_sent_to_the_letter() -> None:
    run, chat, understand = await answered()
    calls = by_role(build_trace(run))
    for role, model in (("chat", chat), ("understand", understand)):
        sent = [{"role": one.role, "content": one.content} for one in model.prompts[0].messages]
        assert (calls[role]["messages"], calls[role]["exact"]) == (sent, True)
    assert "450 元" in str(calls["chat"]["messages"])
    assert (calls["rerank"]["messages"], calls["embedding"]["exact"]) == (None, None)


async def test_an_english_conversation_is_rebuilt_as_well() -> None:
    world = await a_world("Travel costs 450 a night.")
    run = await recorded(
        world.context(history=[a_turn("What about travel?", "Paid.")]), "How much a night for travel?"
    )
    call = by_role(build_trace(run))["chat"]
    assert call["exact"] is True
    assert call["messages"] is not None
    assert [message["role"] for message in call["messages"]] == ["system", "user", "assistant", "user"]


async def test_what_changed_since_is_shown_and_said_to_differ() -> None:
    run, _, _ = await answered()
    renamed = {id: replace(document, title="新名字.md") for id, document in run.documents.items()}
    calls = by_role(build_trace(replace(run, documents=renamed)))
    assert (calls["chat"]["exact"], calls["understand"]["exact"]) == (False, True)
    assert "新名字.md" in str(calls["chat"]["messages"])


async def test_a_run_with_prompts_of_its_own_is_rebuilt_with_them() -> None:
    world, chat = await a_world(), ScriptedChat(["450 元。"])
    own = {"system_prompt": "只用一句话回答。"}
    context = world.context(chat=chat)
    context = replace(context, prompts=context.prompts.changed(own))  # pyright: ignore[reportAttributeAccessIssue, reportUnknownArgumentType, reportUnknownMemberType]  # the real library
    run = await recorded(context, "差旅标准？", prompts=own)
    trace = build_trace(replace(run, prompts=context.prompts))
    call = by_role(trace)["chat"]
    assert call["exact"] is True
    assert call["messages"] is not None
    assert call["messages"][0]["content"].startswith("只用一句话回答。")
    assert trace["prompts"] == own
    assert by_role(build_trace(run))["chat"]["exact"] is False


async def test_tries_that_failed_are_there_with_their_codes() -> None:
    broken = ScriptedChat([DependencyFailed("chat", "down", code="chat_timeout")], name="small")
    run, _, _ = await answered(understand=broken, chat=ScriptedChat([REWRITTEN], ["450 元。"]))
    calls = [call for call in build_trace(run)["calls"] if call["stage"] == "understand_query"]
    assert [(call["model"], call["error"]) for call in calls] == [
        ("small", "chat_timeout"),
        ("scripted", None),
    ]
    assert [call["exact"] for call in calls] == [True, True]


async def test_the_words_of_the_fallback_are_rebuilt() -> None:
    world, chat = await a_world(), ScriptedChat(["没有找到。"])
    context = world.context(chat=chat, reranker=FakeReranker(rest=0.01))
    run = await recorded(context, "差旅？", language="zh", fallback_strategy="model")
    [call] = [call for call in build_trace(run)["calls"] if call["role"] == "chat"]
    assert (call["stage"], call["exact"]) == ("fallback", True)


async def test_a_plain_chat_has_one_call() -> None:
    run = await recorded((await a_world()).context(), "你好", kb_ids=[])
    [call] = build_trace(run)["calls"]
    assert (call["stage"], call["exact"]) == ("generate_answer", True)


async def test_the_call_that_ended_the_run_is_there_although_its_stage_left_nothing() -> None:
    run, _, _ = await answered(chat=ScriptedChat([DependencyFailed("chat", "gone", code="chat_timeout")]))
    call = build_trace(run)["calls"][-1]
    assert (call["stage"], call["role"], call["error"]) == ("generate_answer", "chat", "chat_timeout")
    assert (call["model"], call["exact"]) == ("", None)
    assert "450 元" in str(call["messages"])


async def test_an_end_that_says_nothing_of_a_model_is_no_call() -> None:
    run, _, _ = await answered(chat=ScriptedChat([DependencyFailed("chat", "gone")]))
    ours = replace(run, error={"code": "internal_error", "message": "Something went wrong."})
    assert [call["role"] for call in build_trace(ours)["calls"]] == ["understand", "embedding", "rerank"]


KEY, ADDRESS = "sk-4f9d2c7e1b", "10.1.2.3:9000"


@pytest.mark.parametrize("query", [f"差旅 {KEY} 是什么？", f"travel {KEY} at {ADDRESS}?"])
async def test_no_secret_is_in_a_trace_wherever_it_was_typed(query: str) -> None:
    world = await a_world(f"差旅 travel 密钥 {KEY}，地址 http://{ADDRESS}/v1。")
    await world.add(a_chunk("b", f"travel {KEY}", document_id="d2"), title=f"{KEY}.md")
    chat = ScriptedChat([f"{KEY} <ref id='c1'/>", usage_piece(1, 1)])
    history = [a_turn(f"{KEY}?", f"{ADDRESS}!")]
    context = world.context(chat=chat, history=history)
    run = await recorded(context, query, fallback_response=KEY, prompts={"system_prompt": KEY})
    assert KEY in json.dumps(build_trace(run))
    trace = build_trace(replace(run, hide=hides(KEY, ADDRESS)))
    told = json.dumps(trace, ensure_ascii=False)
    assert KEY not in told
    assert ADDRESS not in told
    assert "密钥 …，地址 http://…/v1" in told
    assert by_role(trace)["chat"]["exact"] is True


async def test_a_key_that_is_a_word_of_ours_leaves_ids_and_stages_alone() -> None:
    run, _, _ = await answered()
    trace = build_trace(replace(run, hide=hides("chat", "a", "done", "差旅")))
    assert by_role(trace)["chat"]["stage"] == "generate_answer"
    assert (trace["stages"][0]["progress"], trace["candidates"][0]["chunk_id"]) == ("done", "a")
    assert "差旅" not in json.dumps(trace, ensure_ascii=False)
