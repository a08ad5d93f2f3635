"""Candidates for the answer from every knowledge base in scope."""

from langgraph.runtime import Runtime

from ..context import Context
from ..state import RagState, Update
from .reporting.cached import with_cached
from .reporting.warn import warn
from .searching.cached import cached_search
from .searching.search import search_for
from .stage import stage


@stage
async def search_chunks(state: RagState, runtime: Runtime[Context]) -> Update:
    context, asked = runtime.context, state["request"]
    query = state.get("rewritten_query") or asked["query"]
    # Closed by filter_top_k or fallback: the window shows the reader the whole search, not one stage.
    context.emit.open_call("knowledge_search", {"query": query, "knowledge_bases": len(asked["kb_ids"])})
    search = search_for(asked, query, state.get("translations"))
    found = await cached_search(context, search, tenant_id=asked["tenant_id"])
    warnings = [warn(context.emit, "search_chunks", error.code, error.message) for error in found.failures]
    update: Update = {
        "chunk_hits": found.hits,
        "departures": found.departures,
        "calls": found.calls,
        "warnings": warnings,
    }
    if found.variants:
        update = {**update, "variants": found.variants}
    return with_cached(update, context, "query", "embedding")
