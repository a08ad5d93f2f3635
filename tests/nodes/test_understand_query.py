"""Understanding with a model, with a broken model, and the intents that can be served."""

import json
from typing import Any

import pytest
from langgraph.runtime import Runtime

from headrace.errors import DependencyFailed
from headrace.nodes.reporting.calls import messages_hash
from headrace.nodes.understand_query import repeats, understand_query
from headrace.state import Turn, Update

from ..fakes import FakeTokens, ScriptedChat, World, a_chunk, a_turn, asked, usage_piece

pytestmark = pytest.mark.anyio

REWRITTEN = json.dumps(
    {"rewrite_query": "2021年的营业额是多少？", "intent": "kb_search", "uses_history": True}
)
HISTORY = [a_turn("2020年的营业额是多少？", '十亿元<kb doc="年报" knowledge_id="secret" chunk_id="x"/>。')]


async def understand(
    world: World,
    query: str = "那2021年呢？",
    *,
    history: list[Turn] = HISTORY,
    models: dict[str, Any],
    **request: Any,
) -> Update:
    return await understand_query(
        {"request": asked(query, **request), "history": history}, Runtime(context=world.context(**models))
    )


def saying(intent: str, rewrite: str = "x") -> ScriptedChat:
    return ScriptedChat([json.dumps({"rewrite_query": rewrite, "intent": intent})], name="small")


async def test_the_model_s_rewrite_and_intent_are_used() -> None:
    world = World()
    update = await understand(world, models={"understand": ScriptedChat([REWRITTEN])})
    assert update.get("rewritten_query") == "2021年的营业额是多少？"
    assert (update.get("intent"), update.get("uses_history")) == ("kb_search", True)


@pytest.mark.parametrize(
    ("earlier", "query", "completed"),
    [
        ("2020年的营业额是多少？", "那2021年呢？", "2021年的营业额是多少？"),
        ("What was the revenue in 2020?", "And in 2021?", "What was the revenue in 2021?"),
    ],
)
async def test_a_follow_up_that_the_model_left_as_it_was_is_completed_by_the_rules(
    earlier: str, query: str, completed: str
) -> None:
    model = {"understand": saying("kb_search", query)}
    update = await understand(World(), query, history=[a_turn(earlier, "…")], models=model)
    assert (update.get("rewritten_query"), update.get("uses_history")) == (completed, True)


async def test_the_model_sees_the_conversation_without_internal_ids() -> None:
    model = ScriptedChat([REWRITTEN])
    await understand(World(), models={"understand": model}, language="zh")
    shown = model.prompts[0].messages[-1].content
    assert "User: 2020年的营业额是多少？\nAssistant: 十亿元。" in shown
    assert "最后一个问题（中文）：那2021年呢？" in shown
    assert "secret" not in shown


async def test_the_window_closes_with_what_was_understood() -> None:
    world = World()
    await understand(world, models={"understand": ScriptedChat([REWRITTEN])})
    [call], [result] = world.emit.of("tool_call"), world.emit.of("tool_result")
    assert call.data["arguments"] == {"query": "那2021年呢？"}
    assert result.data["result"] == {"intent": "kb_search", "rewritten": "2021年的营业额是多少？"}


async def test_when_the_small_model_fails_the_chat_model_is_asked() -> None:
    world = World()
    broken = ScriptedChat([DependencyFailed("chat", "down")], name="small")
    update = await understand(world, models={"understand": broken, "chat": ScriptedChat([REWRITTEN])})
    assert update.get("rewritten_query") == "2021年的营业额是多少？"
    assert [warning["code"] for warning in update.get("warnings", [])] == ["dependency_failed"]
    assert [(call["model"], call["error"]) for call in update.get("calls", [])] == [
        ("small", "dependency_failed"),
        ("scripted", None),
    ]


async def test_when_both_fail_the_question_goes_on_unchanged() -> None:
    world = World()
    models = {"understand": ScriptedChat(["no idea"], name="small"), "chat": ScriptedChat(["none either"])}
    update = await understand(world, models=models)
    assert (update.get("rewritten_query"), update.get("intent")) == ("那2021年呢？", "kb_search")
    assert [warning["code"] for warning in update.get("warnings", [])] == ["unreadable_rewrite"] * 2
    assert [call["error"] for call in update.get("calls", [])] == ["unreadable_rewrite"] * 2


async def test_a_call_is_recorded_with_its_tokens_and_the_hash_of_what_was_asked() -> None:
    model = ScriptedChat([REWRITTEN, usage_piece(40, 9)])
    [call] = (await understand(World(), models={"understand": model})).get("calls", [])
    assert (call["stage"], call["role"]) == ("understand_query", "understand")
    assert call["usage"] == {"prompt_tokens": 40, "completion_tokens": 9}
    assert call.get("prompt") == messages_hash(model.prompts[0].messages)


async def test_the_extractive_answerer_is_never_asked_to_rewrite() -> None:
    quoting = ScriptedChat([AssertionError()], generates=False)
    broken = ScriptedChat([DependencyFailed("chat", "down")], name="small")
    update = await understand(World(), models={"understand": broken, "chat": quoting})
    assert update.get("intent") == "kb_search"


async def test_reasoning_before_the_json_is_ignored() -> None:
    model = ScriptedChat([f"<think>{{maybe}}</think>{REWRITTEN}"])
    update = await understand(World(), models={"understand": model})
    assert update.get("rewritten_query") == "2021年的营业额是多少？"


async def test_without_a_model_the_rules_rewrite() -> None:
    update = await understand(World(), models={})
    assert update.get("rewritten_query") == "2021年的营业额是多少？"
    assert update.get("calls") == []


async def test_with_rewriting_off_no_model_is_asked() -> None:
    never = ScriptedChat([AssertionError()])
    update = await understand(World(), models={"understand": never}, enable_rewrite=False)
    assert (update.get("rewritten_query"), update.get("intent")) == ("那2021年呢？", "kb_search")


@pytest.mark.parametrize("intent", ["web_search", "image_only", "doc_only"])
async def test_an_intent_about_something_that_is_not_there_is_searched(intent: str) -> None:
    update = await understand(World(), models={"understand": saying(intent)})
    assert update.get("intent") == "kb_search"


async def test_a_follow_up_needs_a_conversation() -> None:
    model = {"understand": saying("follow_up")}
    assert (await understand(World(), models=model)).get("intent") == "follow_up"
    assert (await understand(World(), models=model, history=[])).get("intent") == "kb_search"


async def test_a_question_about_quoted_text_is_left_alone() -> None:
    update = await understand(World(), models={"understand": saying("doc_only")}, quoted_context="一段文字")
    assert update.get("intent") == "doc_only"


async def test_a_repeated_question_is_searched_whatever_the_model_says() -> None:
    update = await understand(World(), "２０２０年的营业额是多少", models={"understand": saying("chitchat")})
    assert update.get("intent") == "kb_search"


async def test_a_repeated_greeting_is_still_a_greeting() -> None:
    update = await understand(World(), "你好", history=[a_turn("你好")], models={})
    assert update.get("intent") == "greeting"


def test_a_question_repeats_another_by_its_words() -> None:
    history = [a_turn("What is the travel policy for staff?")]
    assert repeats("what is the travel-policy for staff", history, FakeTokens())
    assert not repeats("What is the travel policy for guests?", history, FakeTokens())


async def two_languages() -> World:
    world = World()
    await world.add(a_chunk("zh", "营业额为十亿元"), a_chunk("en", "The revenue was one billion"))
    return world


def translating(**fields: Any) -> ScriptedChat:
    said = {"rewrite_query": "2021年的营业额是多少？", "intent": "kb_search", **fields}
    return ScriptedChat([json.dumps(said, ensure_ascii=False)])


async def test_the_question_is_asked_for_in_the_other_language_of_the_knowledge_bases_by_the_same_call() -> (
    None
):
    model = translating(translations={"en": "What was the revenue in 2021?"})
    update = await understand(await two_languages(), models={"understand": model})
    assert update.get("translations") == {"en": "What was the revenue in 2021?"}
    assert update.get("rewritten_query") == "2021年的营业额是多少？"
    assert len(model.prompts) == 1
    assert '"translations": {"en": "(English)"}' in model.prompts[0].messages[0].content


async def test_with_texts_in_one_language_no_translation_is_asked_for() -> None:
    world, model = World(), translating(translations={"en": "What was the revenue in 2021?"})
    await world.add(a_chunk("zh", "营业额为十亿元"))
    update = await understand(world, models={"understand": model})
    assert "translations" not in update
    assert "translations" not in model.prompts[0].messages[0].content


async def test_a_question_in_another_language_than_all_texts_is_translated() -> None:
    world, model = (
        World(),
        translating(rewrite_query="How much leave?", translations={"zh": "年假有多少天？"}),
    )
    await world.add(a_chunk("zh", "年假十五天"))
    update = await understand(world, "How much leave?", history=[], models={"understand": model})
    assert update.get("translations") == {"zh": "年假有多少天？"}


@pytest.mark.parametrize("said", [None, {}, "", {"en": ""}, {"fr": "Le chiffre ?"}, [], 3])
async def test_a_model_that_does_not_translate_is_as_good_as_before(said: Any) -> None:
    model = translating() if said is None else translating(translations=said)
    update = await understand(await two_languages(), models={"understand": model})
    assert update.get("translations") == {"en": ""}
    assert (update.get("rewritten_query"), update.get("warnings")) == ("2021年的营业额是多少？", [])


async def test_a_question_completed_by_rules_has_no_translation_of_the_incomplete_one() -> None:
    model = translating(rewrite_query="那2021年呢？", translations={"en": "And in 2021?"})
    update = await understand(await two_languages(), models={"understand": model})
    assert update.get("translations") == {"en": ""}
    assert update.get("rewritten_query") == "2021年的营业额是多少？"


async def test_a_broken_model_leaves_word_of_what_it_was_asked_for() -> None:
    broken = ScriptedChat([DependencyFailed("chat", "down")])
    update = await understand(await two_languages(), models={"understand": broken, "chat": broken})
    assert update.get("translations") == {"en": ""}
