"""How the built-in everyday questions lie in an embedding model, worked out once for each language."""

import asyncio
from collections.abc import Sequence
from statistics import fmean

from ..context import Embedder
from ..text.everyday_questions import EVERYDAY_QUESTIONS


class EverydayMeans:
    """`context.EverydayQuestions` of one embedder; the first question in a language waits about a second."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._means: dict[str, list[float]] = {}
        self._working = asyncio.Lock()

    async def mean(self, language: str) -> Sequence[float]:
        """Raises what the embedder raises; a language without questions of its own has the English ones."""
        language = language if language in EVERYDAY_QUESTIONS else "en"
        async with self._working:
            if language not in self._means:
                vectors = await self._embedder.embed_queries(EVERYDAY_QUESTIONS[language])
                self._means[language] = [fmean(values) for values in zip(*vectors, strict=True)]
        return self._means[language]
