"""What a run did and why, and what differs between two."""

from starlette.requests import Request
from starlette.responses import Response

from ..checkpoints.saver import JournalSaver
from ..context import Prompts
from ..errors import BadRequest
from ..graph.tracing.diff import diff
from ..settings import ROLES
from ..state import Asked
from .answers import success
from .gathering import Sources, hiding, read_trace
from .stack import Shared, Stack, stack_of


async def get_trace(request: Request[Shared]) -> Response:
    return success(await read_trace(request.path_params["run_id"], sources_of(stack_of(request))))


async def get_diff(request: Request[Shared]) -> Response:
    """`?with=` names the other run."""
    sources, other = sources_of(stack_of(request)), request.query_params.get("with")
    if not other:
        raise BadRequest("Name the run to compare with: ?with=RUN.", code="no_run")
    first = await read_trace(request.path_params["run_id"], sources)
    return success(diff(first, await read_trace(other, sources)))


def sources_of(stack: Stack) -> Sources:
    def prompts(asked: Asked) -> Prompts:
        return stack.prompts.changed(asked.get("prompts") or {})

    return Sources(
        journal=stack.journal,
        saver=JournalSaver(stack.journal),
        catalogue=stack.catalogue,
        prompts=prompts,
        hide=hiding(stack.settings.endpoint(role) for role in ROLES),
    )
