"""A question that stands on its own, and what kind of answer it asks for."""

import json
from collections.abc import Sequence
from dataclasses import replace

from langgraph.runtime import Runtime

from ..context import ChatMessage, ChatModel, ChatOptions, ChatPrompt, Context, Prompts, Tokens
from ..errors import HeadraceError
from ..prompts.loader import LANGUAGE_NAMES
from ..state import Asked, ModelCall, RagState, ReadyAnswer, StageWarning, Turn, Update
from ..text.signature import text_hash
from ..text.similarity import jaccard, normalise
from .answering.citations import without_tags
from .answering.decoding import without_thinking
from .answering.fencing import neutralised
from .readying.remembered import remembered_answer
from .reporting.cached import with_cached
from .reporting.calls import messages_hash, recorded
from .reporting.warn import warn
from .reporting.window import window
from .searching.languages import foreign, spoken
from .stage import stage
from .understanding.parse import parse_understanding
from .understanding.rules import Understood, small_talk, understand_by_rules

# Intents that need the knowledge base; without a web search, `web_search` is one of them.
RETRIEVAL_INTENTS = frozenset({"kb_search", "web_search", "clarification", "summarize"})
SAME_QUESTION = 0.9  # Jaccard of content tokens
REWRITE_TURNS = 3  # turns shown to the model that rewrites
REMEMBERED_TURNS = 2  # turns that a question is told apart by
REWRITE_ANSWER = 600  # characters of each earlier answer
UNREADABLE = "unreadable_rewrite"
REWRITE_OPTIONS = ChatOptions(temperature=0, max_tokens=400)
TRANSLATION_TOKENS = 200  # more of them, for each language


@stage
async def understand_query(state: RagState, runtime: Runtime[Context]) -> Update:
    context, asked, history = runtime.context, state["request"], state.get("history", [])
    with window(context.emit, "query_understand", {"query": asked["query"]}) as result:
        understood, calls, warnings = await understand(asked, history, context)
        understood = settled(understood, asked, history, context.tokens)
        result |= {"intent": understood.intent, "rewritten": understood.rewritten}
    update: Update = {
        "rewritten_query": understood.rewritten,
        "intent": understood.intent,
        "uses_history": understood.uses_history,
        "calls": calls,
        "warnings": warnings,
    }
    if understood.translations:
        update = {**update, "translations": dict(understood.translations)}
    ready = await _answered_before(understood, state, context)
    update = {**update, "ready_answer": ready} if ready else update
    return with_cached(update, context, "understanding")


async def _answered_before(understood: Understood, state: RagState, context: Context) -> ReadyAnswer | None:
    """What the rewritten question was answered before, unless it leans on the conversation or repeats it."""
    asked, history = state["request"], state.get("history", [])
    alone = understood.intent in RETRIEVAL_INTENTS and not understood.uses_history
    if not history or not alone or repeats(asked["query"], history, context.tokens):
        return None
    return await remembered_answer(understood.rewritten, state.get("answer_scope"), context)


async def understand(
    asked: Asked, history: Sequence[Turn], context: Context
) -> tuple[Understood, list[ModelCall], list[StageWarning]]:
    """By the model that is set for it, then by the chat model, then unchanged.

    By rules where none is set, and where small talk is all that was said: of that rules are surer.
    """
    if context.understand is None or not asked["enable_rewrite"] or small_talk(asked["query"]):
        return understand_by_rules(asked["query"], history, rewrite=asked["enable_rewrite"]), [], []
    languages = foreign(spoken(await context.catalogue.languages(asked["kb_ids"])), asked["query"])
    understood, calls, told = await _remembered(asked, history, languages, context)
    warnings = [warn(context.emit, one["stage"], one["code"], one["message"]) for one in told]
    # The empty ones say in a trace what the models were asked for.
    translations = {language: understood.translations.get(language, "") for language in languages}
    return replace(understood, translations=translations), calls, warnings


async def _remembered(
    asked: Asked, history: Sequence[Turn], languages: Sequence[str], context: Context
) -> tuple[Understood, list[ModelCall], list[StageWarning]]:
    """What the same models understood by the same words after the same two turns, as long as it is kept."""
    caches = context.caches
    if caches is None:
        return await _by_models(asked, history, languages, context)
    names = [model.name for model in (context.understand, context.chat) if model]
    prompt = rewrite_prompt(asked, history[-REMEMBERED_TURNS:], languages, context.prompts)
    key = text_hash("\0".join([asked["tenant_id"], *names, messages_hash(prompt.messages)]))
    # What went on without a model may go better the next time.
    (understood, calls, warnings), hit = await caches.understanding.get(
        key, lambda: _by_models(asked, history, languages, context), keep=lambda result: not result[2]
    )
    caches.used["understanding"] = "hit" if hit else "miss"
    return understood, [] if hit else calls, warnings


async def _by_models(
    asked: Asked, history: Sequence[Turn], languages: Sequence[str], context: Context
) -> tuple[Understood, list[ModelCall], list[StageWarning]]:
    models = [model for model in [context.understand] if model]
    if context.chat.generates and context.chat.name not in [model.name for model in models]:
        models.append(context.chat)
    calls: list[ModelCall] = []
    warnings: list[StageWarning] = []
    for model in models:
        understood, warning = await _ask(model, asked, history, languages, context, calls)
        if understood:
            return guarded(understood, asked["query"], history), calls, warnings
        warnings.extend([warning] if warning else [])
    return Understood(rewritten=asked["query"], intent="kb_search", uses_history=False), calls, warnings


def guarded(understood: Understood, query: str, history: Sequence[Turn]) -> Understood:
    """What a model made of the question, unless it left a follow-up as it was: the rules complete that.

    A model of half a billion parameters returns "And of the hill library?" unchanged.
    """
    if understood.intent not in RETRIEVAL_INTENTS or normalise(understood.rewritten) != normalise(query):
        return understood
    by_rules = understand_by_rules(query, history)
    return by_rules if by_rules.uses_history else understood


def settled(understood: Understood, asked: Asked, history: Sequence[Turn], tokens: Tokens) -> Understood:
    """The intent that can be served: what it is about must be there, and a repeated question is searched."""
    query, intent = asked["query"], understood.intent
    missing = (
        intent in {"web_search", "image_only"}
        or (intent == "doc_only" and not asked["quoted_context"])
        or (intent == "follow_up" and not history)
    )
    repeated = intent not in RETRIEVAL_INTENTS and not small_talk(query) and repeats(query, history, tokens)
    if not missing and not repeated:
        return understood
    return replace(understood, intent="kb_search")


def repeats(query: str, history: Sequence[Turn], tokens: Tokens) -> bool:
    """Whether an earlier question of the session was the same: the user was not satisfied."""
    wanted, content = normalise(query), set(tokens.content(query))
    return any(
        normalise(turn["user"]) == wanted
        or jaccard(content, set(tokens.content(turn["user"]))) >= SAME_QUESTION
        for turn in history
    )


async def _ask(
    model: ChatModel,
    asked: Asked,
    history: Sequence[Turn],
    languages: Sequence[str],
    context: Context,
    calls: list[ModelCall],
) -> tuple[Understood | None, StageWarning | None]:
    prompt = rewrite_prompt(asked, history, languages, context.prompts)
    tokens = (REWRITE_OPTIONS.max_tokens or 0) + TRANSLATION_TOKENS * len(languages)
    try:
        answer = await _answer(model, prompt, replace(REWRITE_OPTIONS, max_tokens=tokens), calls)
    except HeadraceError as error:
        return None, StageWarning(stage="understand_query", code=error.code, message=error.message)
    understood = parse_understanding(without_thinking(answer), asked["query"], languages)
    if understood is None:
        calls[-1]["error"] = UNREADABLE
        message = "The rewriting model did not answer with the JSON it was asked for."
        return None, StageWarning(stage="understand_query", code=UNREADABLE, message=message)
    return understood, None


async def _answer(model: ChatModel, prompt: ChatPrompt, options: ChatOptions, calls: list[ModelCall]) -> str:
    said: list[str] = []
    with recorded(
        calls,
        stage="understand_query",
        role="understand",
        name=lambda: model.name,
        messages=prompt.messages,
    ) as call:
        async for piece in model.stream(prompt, options):
            match piece.kind:
                case "answer":
                    said.append(piece.text)
                case "usage":
                    call["usage"] = piece.usage
                case _:
                    continue
    return "".join(said)


def rewrite_prompt(
    asked: Asked, history: Sequence[Turn], languages: Sequence[str], prompts: Prompts
) -> ChatPrompt:
    """`languages` are those that the question is asked for in besides its own."""
    language = asked["language"]
    system = prompts.text("rewrite", language=language)
    if languages:
        fields = {one: f"({LANGUAGE_NAMES.get(one, one)})" for one in languages}
        added = json.dumps(fields, ensure_ascii=False)
        system += "\n\n" + prompts.text("rewrite", "translations", language=language, languages=added)
    user = prompts.text(
        "rewrite",
        "user",
        language=language,
        conversation=conversation_text(history[-REWRITE_TURNS:]) or "-",
        query=neutralised(asked["query"]),
    )
    return ChatPrompt(
        messages=[ChatMessage(role="system", content=system), ChatMessage(role="user", content=user)],
        question=asked["query"],
        language=language,
        intent="rewrite",
    )


def conversation_text(history: Sequence[Turn]) -> str:
    lines: list[str] = []
    for turn in history:
        answer = neutralised(without_tags(turn["assistant"]))
        lines.append(f"User: {neutralised(turn['user'])}")
        lines.append(f"Assistant: {answer[:REWRITE_ANSWER]}{'…' if len(answer) > REWRITE_ANSWER else ''}")
    return "\n".join(lines)
