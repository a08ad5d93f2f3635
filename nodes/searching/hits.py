"""From a place in a ranking to a hit, and from an entry that fell out to a departure."""

from collections.abc import Mapping, Sequence

from ...context import Chunk
from ...state import Departure, Hit, Source
from .channels import CHANNELS, Weak
from .chunks import Chunks
from .fusing import Ranked
from .languages import Placed
from .targets import FAQ, MEDIA, MEDIA_RECALL

STAGE = "search_chunks"
SCORES = ("vector", "keyword", "coverage")  # of every hit, None where there is none


def to_hit(ranked: Ranked, chunk: Chunk) -> Hit:
    score = round(ranked.score, 6)
    scores: dict[str, float | None] = {**dict.fromkeys(SCORES), **_rounded(ranked.scores), "fused": score}
    hit = Hit(
        chunk_id=chunk.id,
        chunk_revision=chunk.revision,
        kb_id=chunk.kb_id,
        document_id=chunk.document_id,
        kind=chunk.kind,
        match_type=_match_type(ranked, chunk),
        chunk_index=chunk.chunk_index,
        score=score,
        scores=scores,
        ranks=dict(ranked.ranks),
        marks=[],
        sub_chunk_ids=[],
        source=Source(
            page=chunk.page, boxes=[list(box) for box in chunk.boxes], section=chunk.section, url=None
        ),
    )
    if ranked.question and ranked.question.id != chunk.id:
        hit["question"] = ranked.question.id
    return hit


def first_recall(placed: Sequence[Placed], count: int) -> list[Hit]:
    """The best `count` as hits, and after them a few images and tables that texts have crowded out."""
    media = [place for place, (_, chunk) in enumerate(placed) if chunk.kind in MEDIA][:MEDIA_RECALL]
    kept = [*placed[:count], *(placed[place] for place in media if place >= count)]
    hits = [to_hit(ranked, chunk) for ranked, chunk in kept]
    return [{**hit, "ranks": {**hit["ranks"], "fused": place}} for place, hit in enumerate(hits, start=1)]


def gone(ranked: Ranked) -> Departure:
    return Departure(chunk_id=ranked.id, stage=STAGE, reason="gone", score=ranked.score, limit=None)


def not_meant(ranked: Ranked, chunk: Chunk) -> Departure:
    return Departure(
        chunk_id=chunk.id, stage=STAGE, reason="negative_question", score=ranked.score, limit=None
    )


def too_weak(weak: Sequence[Weak], chunks: Chunks, staying: set[str]) -> list[Departure]:
    """Under a threshold, by the chunk that an entry counts for; none of a chunk that another entry keeps."""
    left = {owner: one for one in reversed(weak) if (owner := chunks.owner(one.entry_id)) not in staying}
    return [
        Departure(
            chunk_id=owner,
            stage=STAGE,
            reason=f"below_{one.channel}_threshold",
            score=one.score,
            limit=one.limit,
        )
        for owner, one in left.items()
    ]


def _match_type(ranked: Ranked, chunk: Chunk) -> str:
    if chunk.kind == FAQ:
        return "faq"
    found_by = {name for name in CHANNELS for rank in ranked.ranks if rank.partition("_")[0] == name}
    # What was found in other words has no rank among these: words found it.
    return "both" if len(found_by) > 1 else next(iter(found_by), "keyword")


def _rounded(scores: Mapping[str, float]) -> dict[str, float]:
    return {name: round(score, 6) for name, score in scores.items()}
