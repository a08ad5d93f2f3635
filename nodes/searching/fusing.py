"""What the channels and wordings found as one ranking of chunks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ...context import Chunk, Scored
from ...text.fusion import COVERAGE_WEIGHTS, Fused, by_coverage, greatest_bm25, weighted_rrf
from ...text.phrasings import of_phrasings
from ...text.similarity import normalise
from .channels import Recall
from .chunks import Chunks
from .stores import Wording

WEIGHTS = {"vector": 0.7, "keyword": 0.3}  # of the channels, where they are fused by rank


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A chunk, or an entry whose chunk was not read yet, in the ranking.

    `scores` and `ranks` (from 1, among chunks) are by channel; those of a translation have its language in
    their name ("vector_en"). `question` is what was found in the chunk's place.
    """

    id: str
    score: float
    scores: Mapping[str, float]
    ranks: Mapping[str, int]
    question: Chunk | None = None


def coverage_weight(fusion: str, model: str) -> float | None:
    """What coverage adds to cosines; None: fuse by rank, also where the scale of the model is not known."""
    return None if fusion == "rrf" else COVERAGE_WEIGHTS.get(model)


def fuse(wording: Wording, recall: Recall, weight: float | None, chunks: Chunks) -> list[Ranked]:
    """Both channels of one wording as one ranking, best first: with a `weight` by coverage, else by rank."""
    by_owner = {name: _first_of_each(found, chunks) for name, found in recall.channels.items()}
    if weight is None and len(by_owner) > 1:
        return _by_rank(by_owner, chunks)
    fused = by_coverage(recall.channels, recall.scores, greatest_bm25(wording.terms), weight or 0.0)
    places = {name: {owner: place for place, owner in enumerate(own, 1)} for name, own in by_owner.items()}
    entries: dict[str, list[Fused]] = {}
    for one in fused:
        entries.setdefault(chunks.owner(one.chunk_id), []).append(one)
    ranked = [
        Ranked(
            id=owner,
            score=_of_entries(wording.text, own, chunks),
            scores=own[0].scores,
            ranks={name: place[owner] for name, place in places.items() if owner in place},
            question=_question(own[0].chunk_id, chunks),
        )
        for owner, own in entries.items()
    ]
    return sorted(ranked, key=_order)


def best_of_wordings(rankings: Mapping[str, Sequence[Ranked]]) -> list[Ranked]:
    """One ranking with the best score of each chunk. The question's own wording is "" among the keys."""
    best: dict[str, Ranked] = {}
    for wording, ranking in rankings.items():
        for one in ranking:
            named = _named(one, wording)
            best[one.id] = _both(best[one.id], named) if one.id in best else named
    return sorted(best.values(), key=_order)


def _by_rank(by_owner: Mapping[str, Mapping[str, Scored]], chunks: Chunks) -> list[Ranked]:
    channels = {
        name: [Scored(chunk_id=owner, score=one.score) for owner, one in own.items()]
        for name, own in by_owner.items()
    }
    return [
        Ranked(
            id=one.chunk_id,
            score=one.score,
            scores=one.scores,
            ranks=one.ranks,
            question=_question(
                next(own[one.chunk_id].chunk_id for own in by_owner.values() if one.chunk_id in own), chunks
            ),
        )
        for one in weighted_rrf(channels, WEIGHTS)
    ]


def _first_of_each(found: Iterable[Scored], chunks: Chunks) -> dict[str, Scored]:
    first: dict[str, Scored] = {}
    for one in found:
        first.setdefault(chunks.owner(one.chunk_id), one)
    return first


def _of_entries(query: str, own: Sequence[Fused], chunks: Chunks) -> float:
    """The score of a chunk that several entries stand for: the best, of a known question its phrasings'."""
    best = own[0]
    if len(own) == 1:
        return best.score
    entry = chunks.entry(best.chunk_id)
    if entry and normalise(entry.text) == normalise(query):
        return best.score
    phrasings = [one.score for one in own if _is_phrasing(chunks.entry(one.chunk_id))]
    others = [one.score for one in own if not _is_phrasing(chunks.entry(one.chunk_id))]
    return max([*others, *([of_phrasings(phrasings)] if phrasings else [])])


def _is_phrasing(entry: Chunk | None) -> bool:
    # A question of an FAQ entry, whose document is the entry; not one that was made for a text.
    return entry is not None and entry.kind == "question" and entry.parent_chunk_id == entry.document_id


def _question(entry_id: str, chunks: Chunks) -> Chunk | None:
    return chunks.entry(entry_id) if chunks.is_question(entry_id) else None


def _named(one: Ranked, wording: str) -> Ranked:
    if not wording:
        return one
    scores = {f"{name}_{wording}": score for name, score in one.scores.items()}
    return replace(one, scores=scores, ranks={f"{name}_{wording}": rank for name, rank in one.ranks.items()})


def _both(one: Ranked, other: Ranked) -> Ranked:
    better = one if one.score >= other.score else other
    return replace(better, scores={**one.scores, **other.scores}, ranks={**one.ranks, **other.ranks})


def _order(one: Ranked) -> tuple[float, str]:
    return (-one.score, one.id)
