"""Which known question is asked, and how certain that is."""

import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from ...context import EverydayQuestions, FaqEntry, KnowledgeBase, SearchCatalogue, VectorIndex
from ...text.language import language_of
from ...text.same_question import CALIBRATIONS, NEIGHBOURS, same_question
from ..searching.negatives import not_meant


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """An entry by that of its questions which is nearest to the one that was asked."""

    entry: FaqEntry
    index_id: str  # of that question in the indexes
    phrasing: str
    cosine: float


async def nearest_known(
    question: str,
    vector: Sequence[float],
    kb: KnowledgeBase,
    *,
    catalogue: SearchCatalogue,
    vectors: VectorIndex,
    document_ids: Sequence[str] = (),
) -> list[Known]:
    """The nearest entries of a bank, best first, one each; without those that say they are not meant.

    `vector` is the question's, embedded as a query. Raises DependencyFailed.
    """
    limit = NEIGHBOURS * 2
    while True:
        found = await vectors.search(
            [kb.id],
            kb.embedding_model,
            vector,
            limit=limit,
            document_ids=document_ids,
            kinds=["question"],
        )
        chunks = await catalogue.indexed_chunks([one.chunk_id for one in found])
        owners = {chunk.parent_chunk_id or "" for chunk in chunks.values() if chunk.enabled}
        entries = {
            id: entry for id, entry in (await catalogue.faq_entries(sorted(owners))).items() if entry.enabled
        }
        unmeant = not_meant(entries.values(), [question])
        nearest: dict[str, Known] = {}
        for one in found:
            chunk = chunks.get(one.chunk_id)
            entry = entries.get((chunk.parent_chunk_id if chunk else None) or "")
            if chunk and entry and entry.id not in unmeant:
                known = Known(entry=entry, index_id=one.chunk_id, phrasing=chunk.text, cosine=one.score)
                nearest.setdefault(entry.id, known)
        if len(nearest) >= NEIGHBOURS or len(found) < limit:
            return [*nearest.values()][:NEIGHBOURS]
        limit *= 4


async def certainty(
    question: str,
    nearest: Sequence[Known],
    kb: KnowledgeBase,
    *,
    vectors: VectorIndex,
    everyday: EverydayQuestions,
) -> float | None:
    """How likely the first of them asks the same, on [0,1]; None for a model that nobody measured."""
    calibration = CALIBRATIONS.get(kb.embedding_model)
    if calibration is None:
        return None
    mean = await everyday.mean(language_of(question))
    ids = [known.index_id for known in nearest]
    cosines = await vectors.scores([kb.id], kb.embedding_model, mean, ids)
    # The mean of cosines is the cosine to the mean, times the length of that.
    chances = [math.hypot(*mean) * cosines[id] for id in ids if id in cosines]
    return same_question([known.cosine for known in nearest], chances, calibration)


def in_scope(
    kb_id: str, document_ids: Sequence[str], tagged: Mapping[str, Sequence[str]] | None
) -> AbstractSet[str] | None:
    """Ids of the entries that may answer where a question names documents or tags; None: all."""
    if not document_ids and tagged is None:
        return None
    named = {*document_ids} if document_ids else None
    with_tag = {*tagged.get(kb_id, ())} if tagged is not None else None
    if named is None or with_tag is None:
        return named if with_tag is None else with_tag
    return named & with_tag
