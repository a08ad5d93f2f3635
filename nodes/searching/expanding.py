"""Asked again in other words: what that finds joins below everything that was found before."""

import asyncio
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from ...context import Scored, Tokens
from ...errors import DependencyFailed
from ...state import Hit
from ...text.fusion import weighted_rrf
from .channels import Recall, best_first
from .chunks import Chunks
from .expansion import variants
from .fusing import Ranked
from .hits import to_hit
from .languages import Placed
from .search import Search
from .stores import ask_keywords
from .targets import Call, StoreGroup

SEARCHES_AT_ONCE = 16
THRESHOLD = 0.8  # of the keyword threshold: fewer words score less
WEIGHT = 0.5  # of the lowest score of the first recall
EXPANDED = "expanded"

Place = tuple[StoreGroup, Call]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expanded:
    """What was found besides, best first, the other words that were tried, and what did not answer."""

    placed: list[Placed] = field(default_factory=list[Placed])
    variants: list[str] = field(default_factory=list[str])
    failures: list[DependencyFailed] = field(default_factory=list[DependencyFailed])


def is_needed(search: Search, first: Sequence[Hit], recall: Recall, limit: int) -> bool:
    """Whether less was found than wanted while something may be left to find.

    Without thresholds, vectors that came in less than the `limit` were all there are.
    """
    if not search.expand or len(first) >= search.count:
        return False
    vectors, keywords = ({one.chunk_id for one in recall.channels[name]} for name in ("vector", "keyword"))
    all_seen = 0 < len(vectors) < limit and keywords <= vectors
    return not all_seen or any(search.limits.values())


async def expand(
    search: Search, places: Sequence[Place], known: Collection[str], chunks: Chunks, tokens: Tokens
) -> Expanded:
    """Chunks that other words for the question find and that are not `known`.

    It is more than was asked for, so that a store which fails is gone on without.
    """
    asked = variants(search.query, search.asked, tokens)
    found, failures = await _searched(search, places, asked)
    try:
        await chunks.load(one.chunk_id for own in found for one in own)
    except DependencyFailed as error:
        return Expanded(variants=asked, failures=[error])
    ranked = [one for one in _ranked(found, chunks) if one.id not in known]
    placed = [(one, chunk) for one in ranked if (chunk := chunks.get(one.id))]
    return Expanded(placed=placed, variants=asked, failures=failures[:1])


def below(first: Sequence[Hit], further: Sequence[Placed]) -> list[Hit]:
    """Hits that join under all of `first`, on the same scale."""
    highest = WEIGHT * min((hit["score"] for hit in first), default=1.0)
    return [
        {
            **to_hit(replace(one, score=one.score * highest, ranks={EXPANDED: place}), chunk),
            "marks": [EXPANDED],
        }
        for place, (one, chunk) in enumerate(further, start=1)
    ]


async def _searched(
    search: Search, places: Sequence[Place], asked: Sequence[str]
) -> tuple[list[list[Scored]], list[DependencyFailed]]:
    """What each variant found over all places."""
    limit = 2 * max(search.count, search.rerank_top_k)
    least = search.limits.get("keyword", 0.0) * THRESHOLD
    turns = asyncio.Semaphore(SEARCHES_AT_ONCE)
    failures: list[DependencyFailed] = []

    async def one(place: Place, text: str) -> list[Scored]:
        group, call = place
        async with turns:
            try:
                return await ask_keywords(group, replace(call, limit=limit), text, search.store_timeout_s)
            except DependencyFailed as error:
                failures.append(error)
                return []

    async def everywhere(text: str) -> list[Scored]:
        found = await asyncio.gather(*(one(place, text) for place in places))
        return [scored for scored in best_first(found) if scored.score >= least][:limit]

    return await asyncio.gather(*map(everywhere, asked)), failures


def _ranked(found: Iterable[Sequence[Scored]], chunks: Chunks) -> list[Ranked]:
    """By rank over all variants. Their BM25 scores cannot be compared: each counts other words."""
    channels = {str(number): [*_by_owner(own, chunks).values()] for number, own in enumerate(found)}
    fused = weighted_rrf(channels, dict.fromkeys(channels, 1.0))
    return [
        Ranked(id=one.chunk_id, score=one.score, scores={"keyword": max(one.scores.values())}, ranks={})
        for one in fused
    ]


def _by_owner(found: Iterable[Scored], chunks: Chunks) -> dict[str, Scored]:
    best: dict[str, Scored] = {}
    for one in found:
        owner = chunks.owner(one.chunk_id)
        best.setdefault(owner, Scored(chunk_id=owner, score=one.score))
    return best
