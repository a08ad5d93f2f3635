"""Candidates for the answer from every knowledge base in scope."""

from typing import Any

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
    kb_ids = state.get("chosen_kb_ids", asked["kb_ids"])
    told: dict[str, Any] = {"query": query, "knowledge_bases": len(kb_ids)}
    context.emit.open_call(
        "knowledge_search", told | ({"chosen": chosen} if (chosen := state.get("kb_choice")) else {})
    )
    search = search_for({**asked, "kb_ids": kb_ids}, query, state.get("translations"))
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
