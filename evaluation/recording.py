"""Indexes that note what they were asked and how long they took: each channel seen alone."""

from collections.abc import Awaitable, Sequence
from time import perf_counter

from ..context import KeywordIndex, QueryTerms, Scored, VectorIndex


class Noted:
    """What one channel found for the question asked last, and the milliseconds of its store."""

    def __init__(self) -> None:
        self.found: list[Scored] = []
        self.ms = 0.0

    async def note(self, searching: Awaitable[list[Scored]]) -> list[Scored]:
        started = perf_counter()
        self.found = await searching
        self.ms = (perf_counter() - started) * 1000
        return self.found


class NotedVectors:
    """The part of `context.VectorIndex` that a search uses, over a real one."""

    def __init__(self, below: VectorIndex, noted: Noted) -> None:
        self._below = below
        self._noted = noted

    async def search(
        self, kb_id: str, model: str, vector: Sequence[float], *, limit: int, document_ids: Sequence[str] = ()
    ) -> list[Scored]:
        searching = self._below.search(kb_id, model, vector, limit=limit, document_ids=document_ids)
        return await self._noted.note(searching)

    async def scores(
        self, kb_id: str, model: str, vector: Sequence[float], chunk_ids: Sequence[str]
    ) -> dict[str, float]:
        return await self._below.scores(kb_id, model, vector, chunk_ids)


class NotedKeywords:
    """The part of `context.KeywordIndex` that a search uses, over a real one."""

    def __init__(self, below: KeywordIndex, noted: Noted) -> None:
        self._below = below
        self._noted = noted

    async def search(
        self, kb_id: str, query: str, *, limit: int, document_ids: Sequence[str] = ()
    ) -> list[Scored]:
        searching = self._below.search(kb_id, query, limit=limit, document_ids=document_ids)
        return await self._noted.note(searching)

    async def scores(self, kb_id: str, query: str, chunk_ids: Sequence[str]) -> dict[str, float]:
        return await self._below.scores(kb_id, query, chunk_ids)

    async def terms(self, kb_id: str, query: str) -> QueryTerms:
        return await self._below.terms(kb_id, query)
