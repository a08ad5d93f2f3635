"""Sessions and their messages."""

from contextlib import suppress

from starlette.requests import Request
from starlette.responses import Response

from ..errors import Conflict, NotFound
from .answers import listing, success
from .questions import known_kbs
from .requests import paging, parse
from .schemas import CreateSession, DeleteSessions, PinSession, RenameSession
from .shapes import message_shape, session_shape
from .stack import Shared, Stack, stack_of


async def create_session(request: Request[Shared]) -> Response:
    stack = stack_of(request)
    body = await parse(request, CreateSession)
    await known_kbs(stack, body.knowledge_base_ids)
    session = await stack.sessions.create(title=body.title or None, kb_ids=body.knowledge_base_ids)
    return success(session_shape(session), status=201)


async def list_sessions(request: Request[Shared]) -> Response:
    page, page_size = paging(request)
    search = request.query_params.get("search") or None
    sessions, total = await stack_of(request).sessions.list(page=page, page_size=page_size, search=search)
    return listing([session_shape(one) for one in sessions], total=total, page=page, page_size=page_size)


async def get_session(request: Request[Shared]) -> Response:
    session = await stack_of(request).sessions.get(request.path_params["session_id"])
    return success(session_shape(session))


async def rename_session(request: Request[Shared]) -> Response:
    body = await parse(request, RenameSession)
    session = await stack_of(request).sessions.rename(request.path_params["session_id"], body.title)
    return success(session_shape(session))


async def pin_session(request: Request[Shared]) -> Response:
    body = await parse(request, PinSession)
    session = await stack_of(request).sessions.pin(request.path_params["session_id"], pinned=body.pinned)
    return success(session_shape(session))


async def delete_session(request: Request[Shared]) -> Response:
    session_id = request.path_params["session_id"]
    await _delete(stack_of(request), session_id)
    return success({"id": session_id})


async def delete_sessions(request: Request[Shared]) -> Response:
    """Those that are gone already are no reason to keep the others."""
    stack, body = stack_of(request), await parse(request, DeleteSessions)
    deleted, busy = 0, list[str]()
    for session_id in dict.fromkeys(body.ids):
        with suppress(NotFound):
            try:
                await _delete(stack, session_id)
                deleted += 1
            except Conflict:  # what goes on there has not ended in time
                busy.append(session_id)
    return success({"deleted": deleted, "busy": busy})


async def _delete(stack: Stack, session_id: str) -> None:
    try:
        await stack.sessions.delete(session_id)
    except Conflict:
        # Its question and each of its forks may be going on, others may wait in line.
        await stack.runs.stop_session(session_id)
        await stack.sessions.delete(session_id)


async def list_messages(request: Request[Shared]) -> Response:
    stack, session_id = stack_of(request), request.path_params["session_id"]
    await stack.sessions.get(session_id)
    page, page_size = paging(request)
    messages, total = await stack.sessions.messages(session_id, page=page, page_size=page_size)
    return listing([message_shape(one) for one in messages], total=total, page=page, page_size=page_size)
