"""Runs: how they stand, their recorded events as a list, and as the stream they once were."""

from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from ..checkpoints import summaries
from ..checkpoints.event_rows import without_voided
from ..checkpoints.record import read_recorded_run
from ..checkpoints.replay import Pace, replay
from .answers import listing, success
from .requests import MAX_PAGE_SIZE, compact, event_id, media_type_of, paging, parse
from .schemas import Replay
from .stack import Shared, stack_of
from .stream import event_stream, run_frames


async def list_runs(request: Request[Shared]) -> Response:
    """Newest first, forks among them; `?session_id=` leaves out those of other sessions."""
    page, page_size = paging(request)
    session_id = request.query_params.get("session_id") or None
    query = partial(summaries.list_runs, session_id=session_id, page=page, page_size=page_size)
    found, total = await stack_of(request).journal.read(query)
    return listing(found, total=total, page=page, page_size=page_size)


async def get_run(request: Request[Shared]) -> Response:
    run_id = request.path_params["run_id"]
    return success(await stack_of(request).journal.read(partial(summaries.read_with_answer, run_id=run_id)))


async def list_run_events(request: Request[Shared]) -> Response:
    """The events so far, as a list; `?after=` leaves out those up to a number."""
    stack, run_id = stack_of(request), request.path_params["run_id"]
    await stack.journal.read(partial(read_recorded_run, run_id=run_id))
    page, page_size = paging(request, default_size=MAX_PAGE_SIZE)
    after = event_id(request)
    events = await stack.events.read(run_id, after=after)
    if compact(request):
        events = without_voided(events, after=after)
    first = (page - 1) * page_size
    return listing(events[first : first + page_size], total=len(events), page=page, page_size=page_size)


async def replay_run(request: Request[Shared]) -> Response:
    stack = stack_of(request)
    # Everything in the body has a default: `curl -X POST` alone is a whole request.
    body = await parse(request, Replay) if media_type_of(request) else Replay(speed=0)
    events = await replay(stack.journal, request.path_params["run_id"], Pace(speed=body.speed))
    return event_stream(run_frames(events, closing=stack.closing))
