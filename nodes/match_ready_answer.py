"""An answer that is there already: to a known question, or to one that was asked before."""

from langgraph.runtime import Runtime

from ..context import Context
from ..state import RagState, Update
from .readying.matching import matched
from .stage import stage


@stage
async def match_ready_answer(state: RagState, runtime: Runtime[Context]) -> Update:
    return await matched(state, runtime.context)
