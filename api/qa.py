"""Asking: a question in, the events of its run out. The handlers only read the log."""

import asyncio
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from ..checkpoints.record import read_recorded_run
from ..checkpoints.sessions import Message
from ..errors import DependencyFailed, HeadraceError, Malformed, NotFound
from .answers import failure, success
from .questions import asked_in_session
from .requests import compact, event_id, parse
from .schemas import KnowledgeQa, Stop
from .shapes import message_shape
from .stack import Shared, Stack, stack_of
from .stream import event_stream, run_frames


async def knowledge_qa(request: Request[Shared]) -> Response:
    stack = stack_of(request)
    body = await parse(request, KnowledgeQa)
    asked = await asked_in_session(stack, request.path_params["session_id"], body)
    # Not always the id in `asked`: the same request sent again goes on with its first run.
    run_id = await stack.runs.start(asked, on_busy=body.on_busy)
    return await answered(request, run_id)


async def answered(request: Request[Shared], run_id: str) -> Response:
    """The events of a run as they come, or with `Accept: application/json` the finished message."""
    stack = stack_of(request)
    if wants_json(request):
        return await _finished(stack, run_id)
    await _require_record(stack, run_id)
    stack.runs.require_ours(run_id)
    return event_stream(run_frames(stack.events.follow(run_id), closing=stack.closing))


async def continue_stream(request: Request[Shared]) -> Response:
    stack = stack_of(request)
    message_id = request.query_params.get("message_id")
    if not message_id:
        raise Malformed("Name the answer to continue: ?message_id=")
    after = event_id(request)
    message = await _answer(stack, request.path_params["session_id"], message_id)
    await _require_record(stack, message.run_id)
    stack.runs.require_ours(message.run_id)
    if after > (last := await stack.events.last(message.run_id)):
        # To wait for what comes after it would leave out what comes before.
        raise Malformed(
            f"The newest event of this answer is {last}: Last-Event-ID (or after) {after} is not from it. "
            "Leave it out to read the answer from its beginning.",
            code="bad_event_id",
        )
    events = stack.events.follow(message.run_id, after=after, compact=compact(request))
    return event_stream(run_frames(events, closing=stack.closing))


async def stop(request: Request[Shared]) -> Response:
    stack = stack_of(request)
    body = await parse(request, Stop)
    message = await _answer(stack, request.path_params["session_id"], body.message_id)
    return success({"status": await stack.runs.stop(message.session_id, message.id)})


def wants_json(request: Request[Shared]) -> bool:
    accept = request.headers.get("accept", "")
    return "application/json" in accept and "text/event-stream" not in accept


async def _answer(stack: Stack, session_id: str, message_id: str) -> Message:
    await stack.sessions.get(session_id)
    message = await stack.sessions.message(message_id)
    if message.session_id != session_id or message.role != "assistant":
        raise NotFound(f"There is no answer {message_id} in this session.", code="message_not_found")
    return message


async def _require_record(stack: Stack, run_id: str) -> None:
    """Raises Gone (run_trimmed, run_erased): a stream without events would never come to its end."""
    await stack.journal.read(partial(read_recorded_run, run_id=run_id))


async def _finished(stack: Stack, run_id: str) -> Response:
    ending = asyncio.ensure_future(stack.runs.finished(run_id))
    closing = asyncio.ensure_future(stack.closing.wait())
    try:
        await asyncio.wait({ending, closing}, return_when=asyncio.FIRST_COMPLETED)
        if not ending.done():
            raise DependencyFailed(
                "server", "The server is closing; the answer goes on when it is back.", code="shutting_down"
            )
        message = ending.result()
    finally:
        ending.cancel()
        closing.cancel()
    if message.status == "failed":
        return _failed(message)
    return success(message_shape(message))


def _failed(message: Message) -> Response:
    """The run's own error, as its event stream told it."""
    told = message.error or {}
    return failure(
        int(told.get("status", HeadraceError.status)),
        str(told.get("code", HeadraceError.code)),
        str(told.get("message", "The answer failed.")),
        details={"message_id": message.id, "run_id": message.run_id},
    )
