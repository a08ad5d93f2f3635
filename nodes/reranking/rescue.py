"""Hits that rerankers are known to undervalue, lifted just over the threshold."""

from collections.abc import Iterator, Mapping, Sequence

from ...state import Hit
from .candidates import Candidates
from .quota import PICTURED

MOST_RESCUED = 3
ABOVE = 0.01  # over the threshold
KEYWORD_TOP = 3
SECTION_CHUNKS = 3
# A term is rare that no more than this share of the candidates hold. They were found by the query's terms,
# so what is rare among them is rarer still in the knowledge base.
RARE = 0.2


def rescued(candidates: Candidates, scores: Mapping[str, float], limit: float) -> dict[str, float]:
    """What counts for up to three hits in place of the model's score, by chunk id.

    Those first that hold exactly what the query names, then those that hold all its rare words, then the
    best of sections that were found again and again. None is lifted over the hit that the model likes
    best, and one that this leaves where it was is none. Images and tables have a rule of their own.
    """
    floor = min(limit + ABOVE, max(scores.values(), default=0.0))
    low = [hit for hit in candidates.hits if scores[hit["chunk_id"]] < limit <= floor]
    low = [hit for hit in low if hit["kind"] not in PICTURED]
    found = dict.fromkeys(
        [
            *_exact(low, candidates),
            *_with_rare_words(low, candidates, scores),
            *_of_sections(low, candidates, scores),
        ]
    )
    return dict.fromkeys([*found][:MOST_RESCUED], floor)


def _exact(low: Sequence[Hit], candidates: Candidates) -> Iterator[str]:
    return (hit["chunk_id"] for hit in low if hit["chunk_id"] in candidates.exact)


def _with_rare_words(
    low: Sequence[Hit], candidates: Candidates, scores: Mapping[str, float]
) -> Iterator[str]:
    """In the keyword search's first three and with every rare word, but in the lower half for the model."""
    rare = rare_terms(candidates)
    ordered = sorted(scores, key=lambda chunk_id: -scores[chunk_id])
    lower_half = {*ordered[len(ordered) // 2 :]}
    for hit in low:
        at_the_top = hit["ranks"].get("keyword", KEYWORD_TOP + 1) <= KEYWORD_TOP
        if (
            rare
            and at_the_top
            and hit["chunk_id"] in lower_half
            and rare <= candidates.words[hit["chunk_id"]]
        ):
            yield hit["chunk_id"]


def rare_terms(candidates: Candidates) -> set[str]:
    """Terms of the query that few candidates hold, though not none."""
    counts = {term: sum(term in words for words in candidates.words.values()) for term in candidates.terms}
    return {term for term, count in counts.items() if 0 < count <= max(1.0, RARE * len(candidates.hits))}


def _of_sections(low: Sequence[Hit], candidates: Candidates, scores: Mapping[str, float]) -> Iterator[str]:
    """The best of each section with three or more chunks, all of them under the threshold."""
    sections: dict[tuple[str, str], list[str]] = {}
    for hit in candidates.hits:
        if section := hit["source"]["section"]:
            sections.setdefault((hit["document_id"], section), []).append(hit["chunk_id"])
    under = {hit["chunk_id"] for hit in low}
    for chunk_ids in sections.values():
        if len(chunk_ids) >= SECTION_CHUNKS and under.issuperset(chunk_ids):
            yield max(chunk_ids, key=lambda chunk_id: scores[chunk_id])
