"""How likely a bank of questions holds the one that is asked (`text.same_question`)."""

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from statistics import fmean

from ..context import Embedder, VectorIndex
from ..nodes.searching.negatives import not_meant
from ..text.everyday_questions import EVERYDAY_QUESTIONS
from ..text.language import language_of
from ..text.same_question import CALIBRATIONS, NEIGHBOURS, same_question
from .indexing import Indexed


class Sameness:
    """The calibrated score of the entry nearest to a question, over the vectors of a bank."""

    def __init__(self, indexed: Indexed, vectors: VectorIndex, embedder: Embedder) -> None:
        self._kb = indexed.kb
        self._entries = indexed.by_entry
        self._faq = indexed.faq
        self._vectors = vectors
        self._embedder = embedder
        self._means: dict[str, list[float]] = {}  # of the everyday questions, by language

    def unmeant(self, question: str) -> set[str]:
        """Rows of the entries that say of the question that they are not meant."""
        ids = not_meant(self._faq.values(), [question])
        return {row for row, entry in self._faq.items() if entry.id in ids}

    async def score(self, question: str) -> float | None:
        """None where the embedding model is not one that the score was calibrated for."""
        calibration = CALIBRATIONS.get(self._kb.embedding_model)
        if calibration is None:
            return None
        [vector] = await self._embedder.embed_queries([question])
        nearest = await self._nearest(vector, self.unmeant(question))
        chances = await self._chances(language_of(question), [*nearest])
        return same_question([*nearest.values()], chances, calibration)

    async def _nearest(self, vector: Sequence[float], unmeant: AbstractSet[str]) -> dict[str, float]:
        """Cosines of the nearest entries, best first, each by the question of it that is nearest.

        Without entries that say of the question that they are not meant, given by their rows.
        """
        limit = NEIGHBOURS
        while True:
            found = await self._search(vector, limit)
            best: dict[tuple[str, ...], tuple[str, float]] = {}
            for id, cosine in found:
                rows = (*self._entries[id],)
                if rows[0] not in unmeant:
                    best.setdefault(rows, (id, cosine))
            if len(best) >= NEIGHBOURS or len(found) < limit:
                return dict([*best.values()][:NEIGHBOURS])
            limit *= 4

    async def _search(self, vector: Sequence[float], limit: int) -> list[tuple[str, float]]:
        model = self._kb.embedding_model
        found = await self._vectors.search([self._kb.id], model, vector, limit=limit, kinds=["question"])
        return [(one.chunk_id, one.score) for one in found]

    async def _chances(self, language: str, ids: Sequence[str]) -> list[float]:
        """Mean cosines of everyday questions: the cosine to their mean, times the length of that."""
        if language not in self._means:
            vectors = await self._embedder.embed_queries(EVERYDAY_QUESTIONS[language])
            self._means[language] = [fmean(values) for values in zip(*vectors, strict=True)]
        mean = self._means[language]
        cosines = await self._vectors.scores([self._kb.id], self._kb.embedding_model, mean, ids)
        return [math.hypot(*mean) * cosines[id] for id in ids if id in cosines]
