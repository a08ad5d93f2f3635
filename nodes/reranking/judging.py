"""Hits as a reranker judges them, or as the search left them where it does not."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...context import Chunk, Context, Reranker
from ...errors import DependencyFailed, HeadraceError
from ...state import Asked, Departure, Hit, ModelCall, RerankVerdict, StageWarning
from ..reporting.calls import recorded
from ..reporting.departures import departed, with_scores
from ..reporting.warn import warn
from .candidates import Candidates
from .composite import with_composite
from .enrichment import for_scoring
from .quota import PICTURED, QUOTA, good_on_their_own, raised, within_quota
from .rescue import rescued
from .scores import usable
from .thresholds import found_elsewhere, holding_limit, limits, worth_reading

STAGE = "rerank"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Hits that stay, each with its composite score, in no particular order, and what became of the rest."""

    hits: Sequence[Hit]
    verdict: RerankVerdict
    departures: Sequence[Departure] = ()
    calls: Sequence[ModelCall] = ()
    warnings: Sequence[StageWarning] = ()


async def judged(context: Context, candidates: Candidates, asked: Asked) -> Judged:
    """Never fails: without a judgement the hits are as the search found them, and a warning says so."""
    reranker = context.reranker
    if reranker is None or not candidates.hits:
        return Judged(hits=unjudged(candidates.hits), verdict="skipped")
    calls: list[ModelCall] = []
    passages, warnings = await _passages(context, candidates)
    try:
        scores = await _scores(reranker, candidates, passages, calls)
    except DependencyFailed as error:
        warnings = [*warnings, warn(context.emit, STAGE, error.code, error.message)]
        hits = unjudged(candidates.hits)
        return Judged(hits=hits, verdict="failed", calls=calls, warnings=warnings)
    return replace(judgement(candidates, scores, asked), calls=calls, warnings=warnings)


def judgement(candidates: Candidates, given: Mapping[str, float], asked: Asked) -> Judged:
    """Who stays by these scores of the model, by chunk id, and why the others leave."""
    scores = raised(candidates.hits, given, candidates.query)
    threshold = asked["rerank_threshold"]
    limit = holding_limit(scores.values(), threshold)
    floors = rescued(candidates, scores, limit) if limit is not None else {}
    counting = {**scores, **floors}
    narrowed = bool(asked["document_ids"] or asked.get("tag_ids"))
    staying = _staying(candidates.hits, counting, limit, narrowed=narrowed)
    verdict: RerankVerdict = "ok"
    if not staying:
        verdict = "rejected"
        staying = dict.fromkeys((hit["chunk_id"] for hit in found_elsewhere(candidates.hits)), "")
    hits: list[Hit] = []
    departures: list[Departure] = []
    for hit in candidates.hits:
        chunk_id = hit["chunk_id"]
        scored = with_composite(_with_model(hit, given[chunk_id]), counting[chunk_id])
        if chunk_id in staying:
            marks = ["rescued"] if chunk_id in floors else [mark for mark in [staying[chunk_id]] if mark]
            hits.append({**scored, "marks": [*hit["marks"], *marks]})
        else:
            departures.append(
                _left(
                    scored, limits(threshold)[-1] if limit is None else limit, rejected=verdict == "rejected"
                )
            )
    return Judged(hits=hits, verdict=verdict, departures=departures)


def unjudged(hits: Sequence[Hit]) -> list[Hit]:
    """Hits whose score is what the search gave them."""
    return [with_composite({**hit, "scores": {**hit["scores"], "rerank": None}}, None) for hit in hits]


async def _scores(
    reranker: Reranker, candidates: Candidates, passages: Sequence[str], calls: list[ModelCall]
) -> dict[str, float]:
    with recorded(calls, stage=STAGE, role="rerank", name=lambda: reranker.name):
        scores = usable(await reranker.scores(candidates.query, passages), passages, reranker.name)
    return {hit["chunk_id"]: score for hit, score in zip(candidates.hits, scores, strict=True)}


async def _passages(context: Context, candidates: Candidates) -> tuple[list[str], list[StageWarning]]:
    """Texts for the model, in the order of the hits; without what cannot be read to go with them."""
    chunk_ids = [hit["chunk_id"] for hit in candidates.hits]
    chunks: Mapping[str, Chunk] = {}
    questions: Mapping[str, Sequence[str]] = {}
    warnings: list[StageWarning] = []
    try:
        chunks = await context.catalogue.chunks(chunk_ids)
        questions = await context.catalogue.questions(chunk_ids)
    except HeadraceError as error:
        message = f"Passages are scored without their images and questions: {error.message}"
        warnings.append(warn(context.emit, STAGE, error.code, message))
    passages = await asyncio.to_thread(_for_scoring, candidates, chunks, questions)
    return passages, warnings


def _for_scoring(
    candidates: Candidates, chunks: Mapping[str, Chunk], questions: Mapping[str, Sequence[str]]
) -> list[str]:
    return [
        for_scoring(candidates.texts[id], chunks[id].images if id in chunks else (), questions.get(id, ()))
        for id in (hit["chunk_id"] for hit in candidates.hits)
    ]


def _staying(
    hits: Sequence[Hit], scores: Mapping[str, float], limit: float | None, *, narrowed: bool
) -> dict[str, str]:
    """Chunk ids, each with the mark it gets, if any."""
    if limit is not None:
        texts = [hit for hit in hits if hit["kind"] not in PICTURED and scores[hit["chunk_id"]] >= limit]
        return dict.fromkeys((hit["chunk_id"] for hit in [*texts, *within_quota(hits, scores, limit)]), "")
    best = max(hits, key=lambda hit: scores[hit["chunk_id"]])["chunk_id"]
    pictured = within_quota(hits, scores, 1.0)
    keeping = worth_reading(scores[best], narrowed=narrowed)
    if not keeping and not good_on_their_own(pictured, scores):
        return {}
    kept = dict.fromkeys((hit["chunk_id"] for hit in pictured), "")
    return {**kept, best: "best_of_weak"} if keeping else kept


def _with_model(hit: Hit, score: float) -> Hit:
    return {**hit, "scores": {**hit["scores"], "rerank": round(score, 6)}}


def _left(hit: Hit, limit: float, *, rejected: bool) -> Departure:
    # What is compared with the threshold is the model's own score, not the composite.
    by_model: Hit = {**hit, "score": hit["scores"].get("rerank") or 0.0}
    if hit["kind"] in PICTURED and not rejected:
        left = departed(by_model, STAGE, "over_quota", limit=float(QUOTA))
    else:
        left = departed(by_model, STAGE, "below_threshold", limit=limit)
    return with_scores(left, hit["scores"])
