"""An honest answer where nothing was found."""

from langgraph.runtime import Runtime

from ..context import ChatMessage, ChatPrompt, Context, Prompts
from ..errors import DependencyFailed
from ..state import Asked, ModelCall, RagState, Update
from .answering.citations import harmless
from .answering.fencing import neutralised
from .answering.streaming import Teller, chat_options, stream_answer
from .reporting.warn import warn
from .stage import stage


@stage
async def fallback(state: RagState, runtime: Runtime[Context]) -> Update:
    context, teller = runtime.context, Teller(runtime.context.emit)
    if state.get("chosen_kb_ids") == []:  # nothing was searched
        return _unchosen(state["request"], context, teller)
    context.emit.close_call("knowledge_search", {"hits": 0, "knowledge_bases": 0})
    if state["request"]["fallback_strategy"] == "model" and context.chat.generates:
        return await _in_own_words(state["request"], context, teller)
    return _fixed(state["request"], context, teller)


async def _in_own_words(asked: Asked, context: Context, teller: Teller) -> Update:
    prompt, calls = fallback_prompt(asked, context.prompts), list[ModelCall]()
    try:
        answered = await stream_answer(
            context, prompt, chat_options(asked), {}, teller, stage="fallback", calls=calls
        )
    except DependencyFailed as error:
        if teller.text("answer"):
            raise
        warning = warn(context.emit, "fallback", error.code, error.message)
        return {**_fixed(asked, context, teller), "warnings": [warning], "calls": calls}
    return {**answered, "declined": False, "fell_back": True}


def fallback_prompt(asked: Asked, prompts: Prompts) -> ChatPrompt:
    language = asked["language"]
    return ChatPrompt(
        messages=[
            ChatMessage(role="system", content=prompts.text("fallback", "model", language=language)),
            ChatMessage(role="user", content=neutralised(asked["query"])),
        ],
        question=asked["query"],
        language=language,
        intent="fallback",
    )


def _unchosen(asked: Asked, context: Context, teller: Teller) -> Update:
    sentence = context.prompts.text("fallback", "unchosen", language=asked["language"])
    teller.tell([("answer", sentence)])
    return {"answer": sentence, "fell_back": True}


def _fixed(asked: Asked, context: Context, teller: Teller) -> Update:
    sentence = harmless(
        asked["fallback_response"] or context.prompts.text("fallback", language=asked["language"])
    )
    teller.tell([("answer", sentence)])
    return {"answer": sentence, "fell_back": True}
