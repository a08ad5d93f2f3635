"""How likely a bank of questions holds the one that is asked (`text.same_question`)."""

import math
from collections.abc import Sequence
from statistics import fmean

from ..context import Embedder, VectorIndex
from ..text.everyday_questions import EVERYDAY_QUESTIONS
from ..text.language import language_of
from ..text.same_question import CALIBRATIONS, NEIGHBOURS, same_question
from .indexing import Indexed


class Sameness:
    """The calibrated score of the entry nearest to a question, over the vectors of a bank."""

    def __init__(self, indexed: Indexed, vectors: VectorIndex, embedder: Embedder) -> None:
        self._kb = indexed.kb
        self._entries = indexed.by_entry
        self._vectors = vectors
        self._embedder = embedder
        self._means: dict[str, list[float]] = {}  # of the everyday questions, by language

    async def score(self, question: str) -> float | None:
        """None where the embedding model is not one that the score was calibrated for."""
        calibration = CALIBRATIONS.get(self._kb.embedding_model)
        if calibration is None:
            return None
        [vector] = await self._embedder.embed_queries([question])
        nearest = await self._nearest(vector)
        chances = await self._chances(language_of(question), [*nearest])
        return same_question([*nearest.values()], chances, calibration)

    async def _nearest(self, vector: Sequence[float]) -> dict[str, float]:
        """Cosines of the nearest entries, best first, each by the question of it that is nearest."""
        limit = NEIGHBOURS
        while True:
            found = await self._search(vector, limit)
            best: dict[tuple[str, ...], tuple[str, float]] = {}
            for id, cosine in found:
                best.setdefault((*self._entries[id],), (id, cosine))
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
