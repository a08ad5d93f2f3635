"""Step 1: what is merged."""

from ...state import Hit, RagState
from .pieces import order


def merge_input(state: RagState) -> list[Hit]:
    """Reranked hits, of which a rejection leaves those found elsewhere; without a ranking what was found."""
    if "ranked" in state:
        return state["ranked"]
    return [] if state.get("rerank_verdict") == "rejected" else sorted(state.get("hits", []), key=order)
