"""What becomes of an answer: rated, made a draft for an FAQ entry, or given anew."""

from dataclasses import asdict
from functools import partial
from typing import Literal

from starlette.requests import Request
from starlette.responses import Response

from ..checkpoints.run_rows import read_run
from ..checkpoints.sessions import Message
from ..errors import BadRequest, Conflict
from ..nodes.answering.citations import without_tags
from ..settings import Knobs
from ..state import Asked
from .answers import listing, success
from .qa import answered
from .questions import asked_in_session
from .requests import paging, parse
from .schemas import MAX_QUESTION, KnowledgeQa, Rate, Regenerate
from .shapes import message_shape
from .stack import Shared, stack_of


async def rate(request: Request[Shared]) -> Response:
    body = await parse(request, Rate)
    feedback = {"thumb": body.thumb, "reason": body.reason or None}
    message = await stack_of(request).sessions.rate(request.path_params["message_id"], feedback)
    return success(message_shape(message))


async def unrate(request: Request[Shared]) -> Response:
    message = await stack_of(request).sessions.rate(request.path_params["message_id"], None)
    return success(message_shape(message))


async def faq_draft(request: Request[Shared]) -> Response:
    """What an FAQ entry made of this answer would say; nothing is stored."""
    stack = stack_of(request)
    message = await stack.sessions.message(request.path_params["message_id"])
    if message.role != "assistant":
        raise Conflict("This is a question: name its answer.", code="not_an_answer")
    question = await stack.sessions.question_of(message)
    return success(
        {
            "question": question.content,
            "similar_questions": [],
            "answers": _answers(message),
            "source": {"session_id": message.session_id, "message_id": message.id},
        }
    )


def _answers(message: Message) -> list[str]:
    """Its words where it has an answer; where it declined somebody has to write one."""
    text = without_tags(message.content).strip()
    return [text] if text and message.outcome in ("answered", "cached", "faq", "chat") else []


def _language(before: Asked) -> Literal["zh", "en"]:
    return "zh" if before["language"] == "zh" else "en"


async def search_messages(request: Request[Shared]) -> Response:
    """What was said in finished turns. Raises Conflict (message_search_off), BadRequest."""
    stack = stack_of(request)
    if not stack.settings.message_search:
        message = "Messages are not searched here; HEADRACE_MESSAGE_SEARCH=true turns that on."
        raise Conflict(message, code="message_search_off")
    if (mode := request.query_params.get("mode", "keyword")) != "keyword":
        raise BadRequest(f"There is no mode {mode[:20]!r}, there is keyword.", code="bad_mode")
    query = request.query_params.get("query", "").strip()
    if not query or len(query) > MAX_QUESTION:
        raise BadRequest(f"query must have 1 to {MAX_QUESTION} characters.", code="bad_query")
    page, page_size = paging(request)
    found = await stack.message_search.search(query)
    first = (page - 1) * page_size
    shown = [asdict(one) for one in found[first : first + page_size]]
    return listing(shown, total=len(found), page=page, page_size=page_size)


async def regenerate(request: Request[Shared]) -> Response:
    """The last question asked again, perhaps edited; the new turn takes the place of the old one."""
    stack, session_id = stack_of(request), request.path_params["session_id"]
    body = await parse(request, Regenerate)
    turn = await stack.sessions.last_turn(session_id)
    if turn is None:
        raise Conflict("Nothing was asked in this session yet.", code="nothing_to_regenerate")
    question, answer = turn
    before = (await stack.journal.read(partial(read_run, run_id=answer.run_id))).asked
    had = {name: before.get(name) for name in Knobs.model_fields if name in before}
    asked = await asked_in_session(
        stack,
        session_id,
        KnowledgeQa(
            query=body.query if body.query is not None else question.content,
            knowledge_base_ids=before["kb_ids"],
            knowledge_ids=before["document_ids"],
            tag_ids=before.get("tag_ids", []),
            request_id=body.request_id,
            on_busy="reject",
            language=_language(before) if body.query is None else None,
            quoted_context=before["quoted_context"],
            settings={**had, "answer_cache_enabled": False, **body.settings},
            prompts={**(before.get("prompts") or {}), **body.prompts},
        ),
    )
    run_id = await stack.runs.start(asked, replaces=answer.request_id)
    return await answered(request, run_id)
