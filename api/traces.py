"""What a run did and why, and what differs between two."""

from starlette.requests import Request
from starlette.responses import Response

from ..errors import BadRequest
from ..graph.tracing.diff import diff
from .answers import success
from .gathering import Sources, read_trace, sources_in
from .stack import Shared, Stack, stack_of


async def get_trace(request: Request[Shared]) -> Response:
    return success(await read_trace(request.path_params["run_id"], _sources(stack_of(request))))


async def get_diff(request: Request[Shared]) -> Response:
    """`?with=` names the other run."""
    sources, other = _sources(stack_of(request)), request.query_params.get("with")
    if not other:
        raise BadRequest("Name the run to compare with: ?with=RUN.", code="no_run")
    first = await read_trace(request.path_params["run_id"], sources)
    return success(diff(first, await read_trace(other, sources)))


def _sources(stack: Stack) -> Sources:
    return sources_in(stack.journal, stack.catalogue, stack.prompts, stack.settings)
