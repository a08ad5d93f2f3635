"""Hits in the order of a second opinion, where there is one, and without repetitions."""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from langgraph.runtime import Runtime

from ..context import Context, Reranker, Tokens
from ..errors import DependencyFailed, DependencyRefused
from ..state import Asked, Departure, Hit, ModelCall, RagState, RerankVerdict, Update
from ..text.cleaning import clean_passage
from .reporting.calls import recorded
from .reporting.departures import departed, with_scores
from .reporting.warn import warn
from .reranking.diversity import maximal_marginal_relevance, without_near_duplicates
from .stage import stage

# The threshold is lowered once when nothing passes; the best one is kept if it is not hopeless.
LEAST_THRESHOLD = 0.3
LOWERED = 0.7
HOPELESS = 0.15
MODEL_WEIGHT, BASE_WEIGHT, SOURCE_WEIGHT = 0.6, 0.3, 0.1
MMR_WITH_RERANKER = 0.7
MMR_WITHOUT = 1.0


@stage
async def rerank(state: RagState, runtime: Runtime[Context]) -> Update:
    context, asked, hits = runtime.context, state["request"], state.get("hits", [])
    texts = [text or "" for text in await context.passages.read(hits)]
    query = state.get("rewritten_query") or asked["query"]
    judged = await _judged(context.reranker, query, hits, texts, asked)
    warnings = [warn(context.emit, "rerank", e.code, e.message) for e in [judged.failure] if e]
    ranked, departures = await _diverse(judged, texts, hits, asked, context.tokens)
    return {
        "ranked": ranked,
        "rerank_verdict": judged.verdict,
        "departures": [*judged.departures, *departures],
        "calls": judged.calls,
        "warnings": warnings,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Hits after the model's judgement; in retrieval order where there was none."""

    hits: list[Hit]
    verdict: RerankVerdict
    departures: list[Departure] = field(default_factory=list[Departure])
    calls: list[ModelCall] = field(default_factory=list[ModelCall])
    failure: DependencyFailed | None = None


async def _judged(
    reranker: Reranker | None, query: str, hits: list[Hit], texts: Sequence[str], asked: Asked
) -> Judged:
    if reranker is None:
        return Judged(hits=[with_composite(hit, None) for hit in hits], verdict="skipped")
    calls: list[ModelCall] = []
    try:
        with recorded(calls, stage="rerank", role="rerank", name=lambda: reranker.name):
            scores = await reranker.scores(query, [clean_passage(text) for text in texts])
            check_scores(scores, len(hits), reranker.name)
    except DependencyFailed as error:
        unscored = [with_composite(hit, None) for hit in hits]
        return Judged(hits=unscored, verdict="failed", calls=calls, failure=error)
    scored = [with_composite(hit, score) for hit, score in zip(hits, scores, strict=True)]
    kept, limit = above_threshold(scored, asked["rerank_threshold"], narrowed=bool(asked["document_ids"]))
    staying = {hit["chunk_id"] for hit in kept}
    departures = [_below(hit, limit) for hit in scored if hit["chunk_id"] not in staying]
    verdict: RerankVerdict = "ok" if kept else "rejected"
    return Judged(hits=by_score(kept), verdict=verdict, departures=departures, calls=calls)


def _below(hit: Hit, limit: float) -> Departure:
    # What is compared with the threshold is the model's own score, not the composite.
    by_model: Hit = {**hit, "score": _model_score(hit)}
    return with_scores(departed(by_model, "rerank", "below_threshold", limit=limit), hit["scores"])


def check_scores(scores: Sequence[float], count: int, name: str) -> None:
    """Raises DependencyRefused: a reranker that answers with something else has failed, not rejected."""
    if len(scores) != count or not all(math.isfinite(score) for score in scores):
        raise DependencyRefused("rerank", f"The reranker {name} did not give one number per passage.")


def with_composite(hit: Hit, model: float | None) -> Hit:
    """The hit scored as a whole; without a model score that is the retrieval score."""
    base = hit["score"]
    score = base
    if model is not None:
        score = MODEL_WEIGHT * model + BASE_WEIGHT * base + SOURCE_WEIGHT
    score = round(min(1.0, max(0.0, score)), 6)
    return {**hit, "score": score, "scores": {**hit["scores"], "rerank": model, "composite": score}}


def above_threshold(hits: Sequence[Hit], threshold: float, *, narrowed: bool) -> tuple[list[Hit], float]:
    """Hits that the model finds good enough, and the limit that held in the end.

    `narrowed`: the user pointed at documents, so the best passage of them is always worth reading.
    """
    limits = [threshold]
    if threshold > LEAST_THRESHOLD:
        limits.append(max(LEAST_THRESHOLD, threshold * LOWERED))
    for limit in limits:
        if kept := [hit for hit in hits if _model_score(hit) >= limit]:
            return kept, limit
    hopeless = 0.0 if narrowed else HOPELESS
    best = max(hits, key=_model_score, default=None)
    if best and _model_score(best) >= hopeless:
        return [{**best, "marks": [*best["marks"], "best_of_weak"]}], limits[-1]
    return [], limits[-1]


def by_score(hits: Sequence[Hit]) -> list[Hit]:
    return sorted(hits, key=lambda hit: (-hit["score"], hit["chunk_id"]))


async def _diverse(
    judged: Judged, texts: Sequence[str], hits: Sequence[Hit], asked: Asked, tokens: Tokens
) -> tuple[list[Hit], list[Departure]]:
    weight = asked["mmr_lambda"]
    if weight is None:
        weight = MMR_WITH_RERANKER if judged.verdict == "ok" else MMR_WITHOUT
    text_of = {hit["chunk_id"]: text for hit, text in zip(hits, texts, strict=True)}
    wanted = {hit["chunk_id"]: text_of[hit["chunk_id"]] for hit in judged.hits}
    sets = await asyncio.to_thread(_token_sets, tokens, wanted)
    distinct, repeated = without_near_duplicates(judged.hits, sets)
    if weight >= MMR_WITHOUT:
        return distinct, repeated
    chosen, alike = maximal_marginal_relevance(distinct, sets, weight=weight, count=asked["rerank_top_k"])
    return chosen, [*repeated, *alike]


def _token_sets(tokens: Tokens, texts: dict[str, str]) -> dict[str, set[str]]:
    return {chunk_id: set(tokens.content(text)) for chunk_id, text in texts.items()}


def _model_score(hit: Hit) -> float:
    return hit["scores"].get("rerank") or 0.0
