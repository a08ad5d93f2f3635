"""The stored answer to a known question, word for word."""

from langgraph.runtime import Runtime

from ..context import Context
from ..state import RagState, Update
from .readying.telling import tell_ready
from .stage import stage


@stage
async def answer_from_faq(state: RagState, runtime: Runtime[Context]) -> Update:
    return await tell_ready(state, runtime)
