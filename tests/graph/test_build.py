"""Whole runs through the graph, over small fakes and LangGraph's own in-memory saver."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from headrace.context import ChatPiece, Context
from headrace.errors import Conflict, DependencyFailed
from headrace.graph.build import build, build_search
from headrace.graph.quiet import PassingPassages, SilentEmitter
from headrace.state import Ask

from ..fakes import FakeReranker, ScriptedChat, World, a_chunk, a_turn, asked, usage_piece

pytestmark = pytest.mark.anyio

RULES = (
    a_chunk(
        "r1", "Travel expenses are refunded within ten working days after approval.", document_id="rules"
    ),
    a_chunk("r2", "Annual leave is fifteen days a year for every employee.", document_id="leave"),
    a_chunk("r3", "差旅报销应在出差结束后十个工作日内提交。", document_id="zh-rules"),
)


async def run(context: Context, query: str, **request: Any) -> dict[str, Any]:
    graph = build().compile(checkpointer=InMemorySaver())
    config: RunnableConfig = {"configurable": {"thread_id": "run1"}, "recursion_limit": 50}
    return await graph.ainvoke(
        Ask(request=asked(query, **request)), config, context=context, durability="sync"
    )


async def a_world(*chunks: Any) -> World:
    world = World()
    await world.add(*(chunks or RULES))
    return world


async def test_answers_with_a_citation_that_names_the_document() -> None:
    world = await a_world()
    chat = ScriptedChat(["Within ten working days", '<ref id="', 'c1"/>.', usage_piece(50, 7)])
    state = await run(world.context(chat=chat), "When are travel expenses refunded?")
    assert state["answer"] == ('Within ten working days<kb doc="rules" knowledge_id="rules" chunk_id="r1"/>.')
    assert state["outcome"] == "answered"
    assert state["usage"] == {"prompt_tokens": 50, "completion_tokens": 7}
    assert state["answer"] == world.emit.text()


async def test_answers_in_chinese_from_a_chinese_document() -> None:
    world = await a_world()
    chat = ScriptedChat(['十个工作日内提交<ref id="c1"/>。'])
    state = await run(world.context(chat=chat), "差旅报销什么时候提交？", language="zh")
    assert state["answer"] == '十个工作日内提交<kb doc="zh-rules" knowledge_id="zh-rules" chunk_id="r3"/>。'
    assert "问题：差旅报销什么时候提交？" in chat.prompts[0].messages[-1].content


async def test_tells_the_references_before_the_first_word() -> None:
    world = await a_world()
    await run(world.context(), "days for travel expenses")
    types = world.emit.types()
    assert types.index("references") < types.index("answer")
    [event] = world.emit.of("references")
    assert [reference["alias"] for reference in event.top["knowledge_references"]][:2] == ["c1", "c2"]


async def test_every_reference_was_kept_and_carries_no_text_itself() -> None:
    world = await a_world()
    await run(world.context(), "travel expenses")
    [event] = world.emit.of("references")
    for reference in event.top["knowledge_references"]:
        assert reference["passage"] in world.passages.texts
        assert "content" not in reference


async def test_opens_and_closes_both_progress_windows_with_numbers() -> None:
    world = await a_world()
    await run(world.context(), "When are travel expenses refunded?")
    results = {event.data["tool_name"]: event.data["result"] for event in world.emit.of("tool_result")}
    assert results["query_understand"]["intent"] == "kb_search"
    assert results["knowledge_search"]["hits"] >= 1
    assert results["knowledge_search"]["knowledge_bases"] == 1
    assert world.emit.open == []


async def test_a_model_that_begins_with_decline_gives_a_declined_answer() -> None:
    world = await a_world()
    chat = ScriptedChat(["<dec", "line/> The documents do not say."])
    state = await run(world.context(chat=chat), "Who founded the company?")
    assert state["outcome"] == "declined"
    assert state["answer"] == "The documents do not say."


async def test_a_decline_without_words_gets_the_product_s_sentence() -> None:
    world = await a_world()
    state = await run(world.context(chat=ScriptedChat(["<decline/>"])), "谁批准差旅报销？", language="zh")
    assert state["answer"] == "资料中没有找到这个问题的答案。" == world.emit.text()


async def test_an_empty_knowledge_base_ends_in_the_fallback() -> None:
    world = World()
    await world.add(a_chunk("other", "text", kb_id="kb2"))
    state = await run(world.context(chat=ScriptedChat([AssertionError()])), "年假有几天？", language="zh")
    assert state["outcome"] == "fallback"
    assert "没有找到" in state["answer"]
    assert world.emit.open == []
    assert "references" not in world.emit.types()


@pytest.mark.parametrize("greeting", ["你好！", "Hello there"])
async def test_a_greeting_is_not_looked_up(greeting: str) -> None:
    world = await a_world()
    state = await run(world.context(chat=ScriptedChat(["Hi!"])), greeting)
    assert world.keywords.asked == []
    assert (state["outcome"], state["intent"]) == ("chat", "greeting")


async def test_a_question_with_a_greeting_in_front_is_looked_up() -> None:
    world = await a_world()
    state = await run(world.context(), "你好，请问差旅报销流程？")
    assert world.keywords.asked == ["你好，请问差旅报销流程？"]
    assert state["intent"] == "kb_search"


@pytest.mark.parametrize(
    ("earlier", "query", "searched"),
    [
        ("2020年的营业额是多少？", "那2021年呢？", "2021年的营业额是多少？"),
        ("What was the revenue in 2020?", "and in 2021?", "What was the revenue in 2021?"),
    ],
)
async def test_a_follow_up_is_searched_as_a_complete_question(
    earlier: str, query: str, searched: str
) -> None:
    world = await a_world()
    state = await run(world.context(history=[a_turn(earlier)]), query)
    assert world.keywords.asked == [searched]
    assert state["uses_history"] is True


async def test_history_reaches_the_model_without_thinking_and_internal_ids() -> None:
    world = await a_world()
    chat = ScriptedChat(["Yes."])
    answer = '<think>hm</think>Ten days<kb doc="Rules" knowledge_id="secret" chunk_id="x"/>.'
    await run(world.context(chat=chat, history=[a_turn("How long?", answer)]), "Is that certain?")
    assert [message.content for message in chat.prompts[0].messages[1:3]] == ["How long?", "Ten days."]


async def test_no_history_is_read_when_rounds_are_switched_off() -> None:
    world = await a_world()
    state = await run(world.context(history=[a_turn("2020年的营业额？")]), "那2021年呢？", max_rounds=0)
    assert state["history"] == []
    assert world.keywords.asked == ["那2021年呢？"]


async def test_a_reranker_that_rejects_everything_leads_to_the_fallback() -> None:
    world = await a_world()
    state = await run(world.context(reranker=FakeReranker(rest=0.01)), "travel expenses")
    assert (state["rerank_verdict"], state["outcome"]) == ("rejected", "fallback")
    assert {departure["reason"] for departure in state["departures"]} == {"below_threshold"}


async def test_a_reranker_that_fails_costs_a_warning_and_nothing_else() -> None:
    world = await a_world()
    broken = FakeReranker(error=DependencyFailed("rerank", "The reranker is down."))
    state = await run(world.context(reranker=broken), "travel expenses")
    assert (state["rerank_verdict"], state["outcome"]) == ("failed", "answered")
    assert [warning["stage"] for warning in state["warnings"]] == ["rerank"]
    assert world.emit.of("warning")[0].data["stage"] == "rerank"


async def test_an_error_after_the_first_words_goes_through_and_the_words_stay() -> None:
    world = await a_world()
    chat = ScriptedChat(["Within ten ", DependencyFailed("chat", "The model is gone.")])
    with pytest.raises(DependencyFailed, match="gone"):
        await run(world.context(chat=chat), "travel expenses")
    assert world.emit.text() == "Within ten "


async def test_a_failing_vector_store_ends_the_run() -> None:
    world = await a_world()
    world.vectors.failing.add("kb1")
    with pytest.raises(DependencyFailed, match="vector store"):
        await run(world.context(), "travel expenses")


async def test_a_knowledge_base_of_another_embedding_model_is_refused() -> None:
    world = World()
    await world.add(a_chunk("old", "text"), model="older-model")
    with pytest.raises(Conflict) as refused:
        await run(world.context(), "text")
    assert refused.value.code == "embedding_model_mismatch"


async def test_without_a_knowledge_base_the_model_chats() -> None:
    world = await a_world()
    chat = ScriptedChat(["Paris."])
    state = await run(world.context(chat=chat), "Capital of France?", kb_ids=[])
    assert state["outcome"] == "chat"
    assert world.emit.types() == ["answer"]
    assert chat.prompts[0].intent == "chat"


async def test_thinking_is_told_apart_from_the_answer() -> None:
    world = await a_world()
    chat = ScriptedChat(
        [ChatPiece(kind="thinking", text="First. "), "<thi", "nk>Then.</th", "ink>\n\nTen days."]
    )
    state = await run(world.context(chat=chat), "travel expenses")
    assert (state["thinking"], state["answer"]) == ("First. Then.", "Ten days.")
    segments = {
        event.response_type: event.data["segment"] for event in world.emit.events if "segment" in event.data
    }
    assert segments == {"thinking": 1, "answer": 2}


async def test_every_stage_is_timed_under_its_own_name() -> None:
    world = await a_world()
    state = await run(world.context(), "travel expenses")
    visited = set(build().nodes) - {"fallback", "answer_from_faq", "answer_from_cache", "choose_kbs"}
    assert set(state["timings"]) == visited


async def test_what_is_in_the_state_is_plain_json() -> None:
    world = await a_world()
    state = await run(world.context(), "travel expenses")
    assert_plain(state)


def assert_plain(value: Any) -> None:
    match value:
        case dict():
            assert_each_plain([*value, *value.values()])  # pyright: ignore[reportUnknownArgumentType]
        case list():
            assert_each_plain(value)  # pyright: ignore[reportUnknownArgumentType]
        case _:
            assert type(value) in {str, int, float, bool, type(None)}


def assert_each_plain(values: Sequence[Any]) -> None:
    for value in values:
        assert_plain(value)


async def test_no_text_of_a_passage_is_in_any_checkpoint() -> None:
    world = await a_world()
    saver = InMemorySaver()
    graph = build().compile(checkpointer=saver)
    config: RunnableConfig = {"configurable": {"thread_id": "run1"}}
    await graph.ainvoke(Ask(request=asked("leave days")), config, context=world.context(), durability="sync")
    stored = repr([checkpoint async for checkpoint in saver.alist(config)])
    assert "fifteen days" not in stored


async def test_search_alone_ends_in_selected_hits_and_tells_nobody() -> None:
    world = await a_world()
    context = world.context()
    quiet = replace(context, emit=SilentEmitter(), passages=PassingPassages(world.passages))
    state = await build_search().compile().ainvoke(Ask(request=asked("差旅报销")), context=quiet)
    assert state["selected"][0]["chunk_id"] == "r3"
    assert await quiet.passages.read(state["selected"][:1]) == [RULES[2].text]
    assert world.passages.texts == {}


async def test_search_alone_that_finds_nothing_just_ends() -> None:
    world = World()
    await world.add(a_chunk("other", "text", kb_id="kb2"))
    state = await build_search().compile().ainvoke(Ask(request=asked("anything")), context=world.context())
    assert "selected" not in state
