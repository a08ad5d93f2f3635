"""Finding what was said in finished turns, across sessions, by its words."""

import asyncio
import math
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from ..context import Tokens
from .journal import Journal

NEWEST = 5_000  # messages that are looked at
CHARACTERS = 4_000  # of one message
SNIPPET = 200
K1, B = 1.2, 0.75  # BM25, as keyword indexes have them


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A message; `score` is its BM25 by the most that the query could get, on [0,1]."""

    message_id: str
    session_id: str
    session_title: str
    role: str
    snippet: str
    created_at: str
    score: float


@dataclass(frozen=True, slots=True)
class _Row:
    id: str
    session_id: str
    title: str
    role: str
    content: str
    created_at: str


class MessageSearch:
    """Reads the journal itself, so what was deleted or erased is found no more, at once."""

    def __init__(self, journal: Journal, tokens: Tokens) -> None:
        self._journal = journal
        self._tokens = tokens
        self._counted: dict[str, Counter[str]] = {}  # by message; only of those that were there last time

    async def search(self, query: str, *, tenant_id: str = "default") -> list[Found]:
        """Every message with a word of the query, best first, then newest."""
        rows = await self._journal.read(partial(_read, tenant_id=tenant_id))
        return await asyncio.to_thread(self._ranked, query, rows)

    def _ranked(self, query: str, rows: Sequence[_Row]) -> list[Found]:
        known = self._counted
        counted = {
            row.id: known.get(row.id) or Counter(self._tokens.index(row.content[:CHARACTERS])) for row in rows
        }
        self._counted = counted
        scores = _bm25(set(self._tokens.search(query)), counted)
        hits = [row for row in rows if scores.get(row.id, 0.0) > 0.0]
        hits.sort(key=lambda row: -scores[row.id])
        return [_found(row, scores[row.id], query) for row in hits]


def _bm25(terms: set[str], counted: Mapping[str, Counter[str]]) -> dict[str, float]:
    total = len(counted)
    holding = {term: sum(term in words for words in counted.values()) for term in terms}
    idf = {term: math.log(1 + (total - n + 0.5) / (n + 0.5)) for term, n in holding.items()}
    lengths = {id: words.total() for id, words in counted.items()}
    average = sum(lengths.values()) / total if total else 1.0
    most = sum(idf.values()) * (K1 + 1)
    scores: dict[str, float] = {}
    for id, words in counted.items():
        norm = K1 * (1 - B + B * lengths[id] / (average or 1.0))
        gained = sum(
            idf[term] * words[term] * (K1 + 1) / (words[term] + norm) for term in terms if words[term]
        )
        if gained:
            scores[id] = min(1.0, gained / most)
    return scores


def _found(row: _Row, score: float, query: str) -> Found:
    return Found(
        message_id=row.id,
        session_id=row.session_id,
        session_title=row.title,
        role=row.role,
        snippet=_around(row.content, query),
        created_at=row.created_at,
        score=round(score, 4),
    )


def _around(content: str, query: str) -> str:
    """The beginning, or the place where the first word of the query stands as it was typed."""
    plain = " ".join(content.split())
    places = [plain.casefold().find(word) for word in query.casefold().split()]
    start = max(0, min((place for place in places if place >= 0), default=0) - SNIPPET // 4)
    return plain[start : start + SNIPPET]


def _read(connection: sqlite3.Connection, *, tenant_id: str) -> list[_Row]:
    rows = connection.execute(
        "select m.id, m.session_id, s.title, m.role, m.content, m.created_at from messages m "
        "join sessions s on s.id = m.session_id join runs r on r.id = m.run_id "
        "where s.tenant_id = ? and r.status = 'complete' and m.forked = 0 and m.erased_at is null "
        "order by m.position desc limit ?",
        (tenant_id, NEWEST),
    )
    return [_Row(*row) for row in rows]
