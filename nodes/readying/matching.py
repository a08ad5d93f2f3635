"""Whether a question has an answer before it is understood."""

from collections.abc import Sequence

from ...context import Context
from ...errors import HeadraceError
from ...state import RagState, Turn, Update
from ..reporting.warn import warn
from ..understanding.rules import understand_by_rules
from .remembered import answer_scope, remembered_answer
from .standard import standard_answer


async def matched(state: RagState, context: Context) -> Update:
    """`ready_answer` where there is one. What fails is told, and the question is answered as any other."""
    asked, history = state["request"], state.get("history", [])
    update: Update = {"answer_scope": ""}
    try:
        if not may_depend(asked["query"], history) and (ready := await standard_answer(asked, context)):
            return {**update, "ready_answer": ready}
        scope = await answer_scope(asked, context)
        update = {"answer_scope": scope or ""}
        # With a conversation it is looked up once it is known whether the question needs it.
        ready = None if history else await remembered_answer(asked["query"], scope, context)
    except HeadraceError as error:
        return {**update, "warnings": [warn(context.emit, "match_ready_answer", error.code, error.message)]}
    return {**update, "ready_answer": ready} if ready else update


def may_depend(query: str, history: Sequence[Turn]) -> bool:
    """Whether a pronoun or something left out makes the conversation part of the question."""
    return bool(history) and understand_by_rules(query, history).uses_history
