"""From what was sent to the effective request of a run; all that can be refused is refused here."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..context import KnowledgeBase, require_same_model
from ..errors import BadRequest, NotFound
from ..ids import new_id
from ..settings import Knobs, effective_knobs
from ..state import Asked
from ..text.language import language_of
from .cleaning import cleaned_texts
from .schemas import MAX_QUESTION, KnowledgeQa, Search
from .stack import Stack

NOT_YET = {
    "images": "Questions with images are not supported yet: describe the image in words.",
    "attachments": "Attachments are not supported yet: upload the file to a knowledge base, or put its text "
    "into quoted_context.",
    "web_search_enabled": "Web search is not supported yet: leave web_search_enabled out or false.",
}


async def asked_in_session(stack: Stack, session_id: str, body: KnowledgeQa) -> Asked:
    """Raises BadRequest and its kinds: nothing of a refused question is stored."""
    session = await stack.sessions.get(session_id)
    _refuse_unbuilt(body.model_dump(include=set(NOT_YET)))
    query = _checked(body.query)
    given = session.kb_ids if body.knowledge_base_ids is None else body.knowledge_base_ids
    kb_ids = await _scope(stack, given, body.knowledge_ids, body.tag_ids)
    return await _asked(
        stack,
        query=query,
        kb_ids=kb_ids,
        document_ids=body.knowledge_ids,
        tag_ids=body.tag_ids,
        asked_settings=body.settings,
        session_id=session.id,
        request_id=body.request_id or new_id(),
        tenant_id=session.tenant_id,
        language=body.language,
        quoted_context=body.quoted_context,
        prompts=stack.prompts.checked(cleaned_texts(body.prompts)),
    )


async def asked_for_search(stack: Stack, body: Search) -> Asked:
    """As above, for a search without a session: the ids of a run are made up and stored nowhere."""
    query = _checked(body.query)
    if not body.knowledge_base_ids and not body.knowledge_ids and not body.tag_ids:
        raise BadRequest("Name at least one knowledge base in knowledge_base_ids.", code="no_knowledge_base")
    kb_ids = await _scope(stack, body.knowledge_base_ids, body.knowledge_ids, body.tag_ids)
    top_k = {} if body.top_k is None else {"rerank_top_k": body.top_k}
    return await _asked(
        stack,
        query=query,
        kb_ids=kb_ids,
        document_ids=body.knowledge_ids,
        tag_ids=body.tag_ids,
        asked_settings=body.settings | top_k,
    )


def _refuse_unbuilt(sent: Mapping[str, object]) -> None:
    for name, value in sent.items():
        if value:
            raise BadRequest(NOT_YET[name], code="not_supported", details={"field": name})


def _checked(query: str) -> str:
    query = query.strip()
    if not any(character.isprintable() and character != " " for character in query):
        raise BadRequest("The question is empty: put it into query.", code="empty_question")
    if len(query) > MAX_QUESTION:
        raise BadRequest(
            f"The question has {len(query)} characters, at most {MAX_QUESTION} are possible. Shorten it, or "
            f"upload the long text as a document.",
            code="question_too_long",
            details={"limit": MAX_QUESTION},
        )
    return query


async def _scope(
    stack: Stack, kb_ids: Sequence[str], document_ids: Sequence[str], tag_ids: Sequence[str]
) -> list[str]:
    """The knowledge bases to search, each known and fit. Documents and tags named alone bring theirs."""
    documents = await stack.catalogue.documents(document_ids)
    for document_id in document_ids:
        if document_id not in documents:
            raise NotFound(
                f"There is no document {document_id[:40]!r}: it may have been deleted.",
                code="document_not_found",
            )
    tags = [await stack.catalogue.get_tag(tag_id) for tag_id in dict.fromkeys(tag_ids)]
    homes = [documents[document_id].kb_id for document_id in document_ids]
    scope = list(dict.fromkeys(kb_ids or [*homes, *(tag.kb_id for tag in tags)]))
    for document_id, home in zip(document_ids, homes, strict=True):
        if home not in scope:
            raise BadRequest(
                f"Document {document_id} is not in the knowledge bases of this question.",
                code="document_out_of_scope",
            )
    for tag in tags:
        if tag.kb_id not in scope:
            raise BadRequest(
                f"Tag {tag.name!r} is not of the knowledge bases of this question.", code="tag_out_of_scope"
            )
    return scope


async def _asked(
    stack: Stack,
    *,
    query: str,
    kb_ids: Sequence[str],
    document_ids: Sequence[str],
    tag_ids: Sequence[str],
    asked_settings: Mapping[str, Any],
    session_id: str = "",
    request_id: str = "",
    tenant_id: str = "default",
    language: str | None = None,
    quoted_context: str | None = None,
    prompts: Mapping[str, str] | None = None,
) -> Asked:
    kbs = await known_kbs(stack, kb_ids)
    for kb in kbs:
        require_same_model(kb, stack.embedder.model)
    knobs = effective_knobs(stack.settings.knobs(), [kb.settings for kb in kbs], asked_settings)
    await stack.chats.require(knobs.chat_model)
    return Asked(
        **knobs.model_dump(),
        query=query,
        session_id=session_id,
        message_id=new_id(),
        user_message_id=new_id(),
        request_id=request_id,
        run_id=new_id(),
        tenant_id=tenant_id,
        language=language or language_of(query),
        kb_ids=list(kb_ids),
        document_ids=list(document_ids),
        tag_ids=list(dict.fromkeys(tag_ids)),
        standard_answer_kb_ids=_answering_banks(kbs, stack.settings.knobs(), asked_settings),
        quoted_context=quoted_context or None,
        prompts=dict(prompts or {}),
    )


def _answering_banks(
    kbs: Sequence[KnowledgeBase], defaults: Knobs, asked_settings: Mapping[str, Any]
) -> list[str]:
    """Banks whose answers are given word for word: each says so for itself, and the question wins."""
    name = "standard_answers_enabled"
    usual = defaults.standard_answers_enabled
    return [
        kb.id for kb in kbs if kb.kind == "faq" and asked_settings.get(name, kb.settings.get(name, usual))
    ]


async def known_kbs(stack: Stack, kb_ids: Sequence[str]) -> list[KnowledgeBase]:
    """Raises NotFound for the first that is not known."""
    kbs = await stack.catalogue.kbs(kb_ids)
    for kb_id in kb_ids:
        if kb_id not in kbs:
            raise NotFound(
                f"There is no knowledge base {kb_id[:40]!r}: it may have been deleted.", code="kb_not_found"
            )
    return [kbs[kb_id] for kb_id in kb_ids]
