"""Which knowledge bases to search where the question names none."""

from langgraph.runtime import Runtime

from ..context import Context
from ..state import RagState, Update
from .searching.choosing import choice
from .stage import stage


@stage
async def choose_kbs(state: RagState, runtime: Runtime[Context]) -> Update:
    chosen, warnings = await choice(state, runtime.context)
    return {"chosen_kb_ids": [one["id"] for one in chosen], "kb_choice": chosen, "warnings": warnings}
