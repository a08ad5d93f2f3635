"""Runs: how they stand, and their recorded events."""

from starlette.requests import Request
from starlette.responses import Response

from .answers import listing, success
from .requests import MAX_PAGE_SIZE, event_id, paging
from .stack import Shared, stack_of


async def get_run(request: Request[Shared]) -> Response:
    return success(await stack_of(request).runs.get(request.path_params["run_id"]))


async def list_run_events(request: Request[Shared]) -> Response:
    """The events so far, as a list; `?after=` leaves out those up to a number."""
    stack, run_id = stack_of(request), request.path_params["run_id"]
    await stack.runs.get(run_id)
    page, page_size = paging(request, default_size=MAX_PAGE_SIZE)
    events = await stack.events.read(run_id, after=event_id(request))
    first = (page - 1) * page_size
    return listing(events[first : first + page_size], total=len(events), page=page, page_size=page_size)
