"""A run branched off another one; all that can be refused is refused before anything is stored."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from ..checkpoints.forks import Fork
from ..settings import Knobs, effective_knobs
from ..state import Asked
from .answers import success
from .cleaning import cleaned_texts
from .requests import parse
from .schemas import ForkRun
from .stack import Shared, Stack, stack_of
from .state_changes import checked_state, require_homes


async def fork_run(request: Request[Shared]) -> Response:
    stack, run_id = stack_of(request), request.path_params["run_id"]
    body = await parse(request, ForkRun)
    origin = await stack.forks.origin(run_id)
    stack.forks.require_stage(body.stage)
    fork = Fork(
        stage=body.stage,
        settings=await _knobs(stack, origin, body.settings),
        prompts=stack.prompts.checked(cleaned_texts(body.prompts)),
        state=checked_state(body.state),
    )
    await require_homes(fork.state, stack.catalogue)
    return success(dataclasses.asdict(await stack.forks.fork(run_id, fork)), status=202)


async def _knobs(stack: Stack, origin: Asked, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The knobs of the origin with changes. One that an older run does not have has its default."""
    had = {name: value for name, value in origin.items() if name in Knobs.model_fields}
    knobs = effective_knobs(stack.settings.knobs().model_copy(update=had), [], changes)
    await stack.chats.require(knobs.chat_model)
    return knobs.model_dump()
