"""The knowledge bases whose passages lie nearest to a question."""

import asyncio
import math
from collections.abc import Sequence

from ...context import Context, KnowledgeBase, store_of
from ...errors import HeadraceError
from ...state import KbChoice, RagState, StageWarning
from ...text.kb_choice import SCALES, Nearest, chosen
from ...text.language import language_of
from ..reporting.warn import warn


async def choice(state: RagState, context: Context) -> tuple[list[KbChoice], list[StageWarning]]:
    """Those to search, nearest first. One that cannot be asked is told and left out."""
    asked = state["request"]
    query = state.get("rewritten_query") or asked["query"]
    kbs = [
        kb
        for kb in await context.catalogue.kbs_of(asked["tenant_id"])
        if kb.embedding_model == context.embedder.model
    ]
    [vector] = await context.embedder.embed_queries([query])
    found = await asyncio.gather(
        *(_nearest(kb, query, vector, context) for kb in kbs), return_exceptions=True
    )
    warnings: list[StageWarning] = []
    nearest: dict[str, Nearest] = {}
    for kb, one in zip(kbs, found, strict=True):
        if isinstance(one, HeadraceError):
            warnings.append(warn(context.emit, "choose_kbs", one.code, one.message))
        elif isinstance(one, BaseException):
            raise one
        elif one is not None:
            nearest[kb.id] = one
    names = {kb.id: kb.name for kb in kbs}
    scale = SCALES.get(context.embedder.model)
    ranked = chosen(nearest, scale=scale, threshold=asked.get("kb_match_threshold", 0.5))
    return [KbChoice(id=id, name=names[id], score=round(score, 4)) for id, score in ranked], warnings


async def _nearest(
    kb: KnowledgeBase, query: str, vector: Sequence[float], context: Context
) -> Nearest | None:
    """None for a knowledge base without passages."""
    vectors = store_of(context.stores, kb).vectors
    found = await vectors.search([kb.id], kb.embedding_model, vector, limit=1)
    if not found:
        return None
    best = found[0]
    if context.everyday is None:
        return Nearest(cosine=best.score, chance=0.0)
    mean = await context.everyday.mean(language_of(query))
    scores = await vectors.scores([kb.id], kb.embedding_model, mean, [best.chunk_id])
    return Nearest(cosine=best.score, chance=math.hypot(*mean) * scores.get(best.chunk_id, 0.0))
