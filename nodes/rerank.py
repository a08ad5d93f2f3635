"""Hits in the order of a second opinion, where there is one, and without repetitions."""

from langgraph.runtime import Runtime

from ..context import Context
from ..state import RagState, Update
from .reporting.cached import had_from_cache, with_cached
from .reranking.candidates import candidates_of
from .reranking.composite import with_faq_first
from .reranking.diversity import diverse
from .reranking.judging import judged
from .stage import stage


@stage
async def rerank(state: RagState, runtime: Runtime[Context]) -> Update:
    context, asked = runtime.context, state["request"]
    query = state.get("rewritten_query") or asked["query"]
    candidates = await candidates_of(context, query, state.get("hits", []))
    opinion = await judged(context, candidates, asked)
    ordered = with_faq_first(opinion.hits, asked)
    ranked, repeated = diverse(ordered, candidates.words, asked, opinion.verdict)
    update: Update = {
        "ranked": ranked,
        "rerank_verdict": opinion.verdict,
        "departures": [*opinion.departures, *repeated],
        "calls": [] if had_from_cache(context, "rerank") else [*opinion.calls],
        "warnings": [*opinion.warnings],
    }
    return with_cached(update, context, "rerank")
