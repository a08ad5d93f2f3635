"""How the run ended, in one word."""

from langgraph.runtime import Runtime

from ..context import Context
from ..state import Outcome, RagState, Update
from .readying.remembered import remember
from .stage import stage


@stage
async def finalize(state: RagState, runtime: Runtime[Context]) -> Update:
    await remember(state, runtime.context)
    return {"outcome": outcome_of(state)}


def outcome_of(state: RagState) -> Outcome:
    if ready := state.get("ready_answer"):
        return ready["source"]
    if state.get("fell_back"):
        return "fallback"
    if "selected" not in state:
        return "chat"
    return "declined" if state.get("declined") else "answered"
