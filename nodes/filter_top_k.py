"""The few passages that go to the model."""

from langgraph.runtime import Runtime

from ..context import Context
from ..state import Departure, Hit, RagState, Update
from .merge.pieces import order
from .reporting.departures import departed
from .stage import stage


@stage
async def filter_top_k(state: RagState, runtime: Runtime[Context]) -> Update:
    selected, departures = best(state.get("merged", []), count=state["request"]["rerank_top_k"])
    result = {"hits": len(selected), "knowledge_bases": len({hit["kb_id"] for hit in selected})}
    runtime.context.emit.close_call("knowledge_search", result)
    return {"selected": selected, "departures": departures}


def best(hits: list[Hit], *, count: int) -> tuple[list[Hit], list[Departure]]:
    ordered = sorted(hits, key=order)
    selected: list[Hit] = [
        {**hit, "scores": {**hit["scores"], "final": hit["score"]}} for hit in ordered[:count]
    ]
    return selected, [
        departed(hit, "filter_top_k", "over_limit", limit=float(count)) for hit in ordered[count:]
    ]
