"""`Reranker` by a model of FlashRank in this process."""

import asyncio
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import DependencyFailed

if TYPE_CHECKING:
    from .flashrank_ranker import LocalRanker

# Longer ones are cut by the model at 512 tokens anyway.
MOST_QUERY_CHARACTERS = 1_000
MOST_PASSAGE_CHARACTERS = 4_000
BATCH = 8  # a stopped run waits for no more than this many; of like length, so that little is padded
MOST_THREADS = 4


class FlashRankReranker:
    """A model folder; loaded at the first question, in a thread of its own that `aclose` ends."""

    def __init__(self, folder: Path, *, threads: int | None = None) -> None:
        self.name = folder.name
        self._folder = folder
        # One core stays for what the server does meanwhile.
        self._threads = threads or max(1, min(MOST_THREADS, (os.cpu_count() or 2) - 1))
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="rerank")
        self._ranker: LocalRanker | None = None

    async def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """The model's probabilities. Raises DependencyFailed when it cannot be loaded or fails on a text."""
        asked = _readable(query[:MOST_QUERY_CHARACTERS])
        texts = [_readable(text[:MOST_PASSAGE_CHARACTERS]) for text in passages]
        by_length = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        scores = [0.0] * len(texts)
        for start in range(0, len(texts), BATCH):
            places = by_length[start : start + BATCH]
            found = await self._run(asked, [texts[place] for place in places])
            for place, score in zip(places, found, strict=True):
                scores[place] = score
        return scores

    async def aclose(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _run(self, query: str, texts: list[str]) -> list[float]:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._score, query, texts)

    # --- in the thread ---

    def _score(self, query: str, texts: list[str]) -> list[float]:
        # The tokeniser and the engine raise plain exceptions of their own for whatever is wrong in a file.
        try:
            self._ranker = self._ranker or self._load()
        except Exception as error:
            raise self._failed("cannot be loaded", error) from error
        try:
            # FlashRank takes the exponential of logits as they come: of large ones it is infinite.
            with np.errstate(over="ignore", invalid="ignore"):
                return self._ranker.scored(query, texts)
        except Exception as error:
            raise self._failed("failed on a passage", error) from error

    def _load(self) -> "LocalRanker":
        # Read once, when the engine's library loads.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        from .flashrank_ranker import LocalRanker

        return LocalRanker(self._folder, threads=self._threads)

    def _failed(self, what: str, error: Exception) -> DependencyFailed:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        return DependencyFailed("rerank", f"the reranking model {self.name} {what}: {reason}")


def _readable(text: str) -> str:
    # Tokenisers take UTF-8, which has no lone surrogates.
    return text.encode("utf-8", "replace").decode("utf-8")
