"""The finished turns that the question may refer to."""

from langgraph.runtime import Runtime

from ..context import Context
from ..state import RagState, Turn, Update
from .answering.decoding import without_thinking
from .stage import stage

# Messages beyond the wanted turns that are looked at, since some turns are unfinished.
SPARE_MESSAGES = 10


@stage
async def load_history(state: RagState, runtime: Runtime[Context]) -> Update:
    asked = state["request"]
    rounds = asked["max_rounds"]
    if rounds <= 0:
        return {"history": []}
    turns = await runtime.context.messages.turns(
        asked["session_id"], before=asked["user_message_id"], limit=rounds * 2 + SPARE_MESSAGES
    )
    return {"history": [_as_shown(turn) for turn in turns[-rounds:]]}


def _as_shown(turn: Turn) -> Turn:
    return {**turn, "assistant": without_thinking(turn["assistant"])}
