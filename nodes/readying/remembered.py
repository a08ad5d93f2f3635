"""The answer that the same question got before, as long as nothing that it depends on has changed."""

import json
from collections.abc import Sequence

from ...context import Context, KnowledgeBase, RememberedAnswer
from ...state import Asked, Hit, RagState, ReadyAnswer
from ...text.near_miss import difference, question_key
from ...text.signature import text_hash
from .standard import QUESTION_LENGTH

LEAST_SCORE = 0.3  # of the best passage: what was answered from less is asked again

# What is another one with every question; all the rest of a request may change what is answered.
_OWN = frozenset(
    {"query", "session_id", "message_id", "user_message_id", "request_id", "run_id", "answer_cache_enabled"}
)


async def answer_scope(asked: Asked, context: Context) -> str | None:
    """Everything that an answer depends on but the question, as a hash; None where none is remembered.

    The versions of the knowledge bases are part of it: they rise with every change of their content.
    """
    given = bool(asked["quoted_context"] or asked.get("images") or asked.get("attachments"))
    given = given or not asked["kb_ids"]  # what is searched is not known yet
    if context.answers is None or given or not asked.get("answer_cache_enabled", False):
        return None
    kbs = await context.catalogue.kbs(asked["kb_ids"])
    if len(kbs) < len(set(asked["kb_ids"])) or context.reindexing() & {*kbs}:
        return None
    return _scope(asked, [*kbs.values()], context)


def _scope(asked: Asked, kbs: Sequence[KnowledgeBase], context: Context) -> str:
    shared = {name: value for name, value in asked.items() if name not in _OWN}
    versions = sorted((kb.id, kb.version, sorted(kb.settings.items())) for kb in kbs)
    # Not the name of the chat model, which may be found out with its first answer: the request has the one
    # that was asked for, and who is behind it changes only with a restart, which forgets everything.
    models = [str(context.chat.generates), context.embedder.model]
    models.append(context.reranker.name if context.reranker else "")
    return text_hash(json.dumps([shared, versions, models], ensure_ascii=False, sort_keys=True, default=str))


async def remembered_answer(question: str, scope: str | None, context: Context) -> ReadyAnswer | None:
    """That of the same question, whose every word of weight is the same."""
    if not scope or context.answers is None:
        return None
    found = context.answers.find(scope, question_key(question, context.tokens))
    if found is None or difference(question, found.question, context.tokens):
        return None
    texts = await context.passages.read(found.hits)
    if None in texts:
        return None  # with the run that had kept it
    own = [text for text, hit in zip(texts, found.hits, strict=True) if text and "passage" in hit]
    # Kept by this run too: it lasts when the other one is deleted.
    kept = await context.passages.keep([found.answer, *own])
    return ReadyAnswer(
        source="cached",
        passage=kept[0],
        hits=list(found.hits),
        score=1.0,
        question=found.question[:QUESTION_LENGTH],
    )


async def remember(state: RagState, context: Context) -> None:
    """Keep the answer of a run that was answered from passages, alone and in full."""
    asked, scope = state["request"], state.get("answer_scope")
    answer, hits = state.get("answer", ""), state.get("selected", [])
    if context.answers is None or not scope or not answer or not worth_keeping(state, hits):
        return
    if context.caches is not None and context.caches.changing():
        return
    if await answer_scope(asked, context) != scope:
        return  # something was changed while this was answered
    # Without a conversation it is looked up as it was typed, else as it was understood.
    typed = [] if state.get("history") else [asked["query"]]
    for question in dict.fromkeys([*typed, state.get("rewritten_query") or asked["query"]]):
        remembered = RememberedAnswer(question=question, answer=answer, hits=hits)
        context.answers.put(scope, question_key(question, context.tokens), remembered)


def worth_keeping(state: RagState, hits: Sequence[Hit]) -> bool:
    """What leaned on the conversation, was cut short or had little to stand on is not given again."""
    # A small model says that a first question leans on what was said before.
    leaned = bool(state.get("history")) and state.get("uses_history", False)
    alone = not leaned and "ready_answer" not in state
    # A question that no model could rewrite was searched as it stands: that is no worse.
    lacking = [one for one in state.get("warnings", []) if one["stage"] != "understand_query"]
    whole = not state.get("declined") and not state.get("fell_back") and not lacking
    return alone and whole and max((hit["score"] for hit in hits), default=0.0) >= LEAST_SCORE
