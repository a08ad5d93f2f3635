"""What a process remembers of slow work: bounded, for a while, and computed once however many ask at once."""

import asyncio
import hashlib
import math
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, Protocol, TypeVar, cast

from ..context import Caches, Embedder, Reranker
from ..text.signature import text_hash
from .answer_cache import AnswersInMemory

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")

HOUR = 3600.0
SEPARATOR = "\0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How many entries, and for how many seconds each."""

    entries: int
    seconds: float


# pipeline.md section 16.
QUERIES = Limits(entries=500, seconds=HOUR)
EMBEDDINGS = Limits(entries=2_000, seconds=24 * HOUR)
RERANK = Limits(entries=1_000, seconds=HOUR)
UNDERSTANDING = Limits(entries=500, seconds=HOUR)


@dataclass(slots=True)
class _Flight:
    """One computation on its way, of the values of some keys, and how many wait for it."""

    keys: Sequence[Any]
    task: "asyncio.Task[Sequence[Any]]"
    waiting: int = 0


class ExpiringCache(Generic[K, V]):
    """The most recently used entries. All its methods belong to one event loop.

    What fails is not kept: each who waits gets the error, and the next one tries again. Who stops waiting
    does not stop the computation for the others; when nobody waits any more it is cancelled.
    """

    def __init__(self, limits: Limits, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._entries: OrderedDict[K, tuple[V, float]] = OrderedDict()
        self._flights: dict[K, tuple[_Flight, int]] = {}
        self.hits = 0
        self.misses = 0

    def __len__(self) -> int:
        return len(self._entries)

    def clear(self) -> int:
        """Forget everything, also what is on its way: it reaches those who wait and is not kept."""
        count = len(self._entries)
        self._entries.clear()
        self._flights.clear()
        return count

    async def get(
        self, key: K, compute: Callable[[], Awaitable[V]], *, keep: Callable[[V], bool] = lambda _: True
    ) -> tuple[V, bool]:
        """The value, and whether nothing had to be computed for it here."""

        async def one(_: Sequence[K]) -> Sequence[V]:
            return [await compute()]

        values, missed = await self.get_many([key], one, keep=keep)
        return values[0], not missed

    async def get_many(
        self,
        keys: Sequence[K],
        compute: Callable[[Sequence[K]], Awaitable[Sequence[V]]],
        *,
        keep: Callable[[V], bool] = lambda _: True,
    ) -> tuple[list[V], int]:
        """The values of all keys, in order, and how many of these had to be computed.

        `compute` is asked once, for those that are neither here nor on their way.
        """
        wanted = list(dict.fromkeys(keys))
        found = {key: value for key in wanted if (value := self._fresh(key)) is not None}
        flying = {key: self._flights[key] for key in wanted if key not in found and key in self._flights}
        missing = [key for key in wanted if key not in found and key not in flying]
        self.hits += len(wanted) - len(missing)
        self.misses += len(missing)
        if missing:
            flight = self._start(missing, compute, keep)
            flying |= {key: (flight, place) for place, key in enumerate(missing)}
        await self._wait({id(flight): flight for flight, _ in flying.values()}.values())
        values = {key: flight.task.result()[place] for key, (flight, place) in flying.items()}
        return [found[key][0] if key in found else cast(V, values[key]) for key in keys], len(missing)

    async def _wait(self, flights: Iterable[_Flight]) -> None:
        for flight in flights:
            flight.waiting += 1
        try:
            for flight in flights:
                await asyncio.shield(flight.task)
        finally:
            for flight in flights:
                flight.waiting -= 1
                if not flight.waiting and not flight.task.done():
                    self._drop(flight)  # whoever asks from now on must not get the end of this one
                    flight.task.cancel()

    def _fresh(self, key: K) -> tuple[V, float] | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        if entry[1] <= self._clock():
            del self._entries[key]
            return None
        self._entries.move_to_end(key)
        return entry

    def _start(
        self,
        missing: Sequence[K],
        compute: Callable[[Sequence[K]], Awaitable[Sequence[V]]],
        keep: Callable[[V], bool],
    ) -> _Flight:
        # A task of its own: whoever asked first may give up while others wait for it.
        flight = _Flight(missing, asyncio.create_task(_called(compute, missing)))
        self._flights |= {key: (flight, place) for place, key in enumerate(missing)}
        flight.task.add_done_callback(lambda _: self._land(flight, keep))
        return flight

    def _land(self, flight: _Flight, keep: Callable[[V], bool]) -> None:
        done = not flight.task.cancelled() and flight.task.exception() is None
        for place in self._drop(flight):
            if done and keep(flight.task.result()[place]):
                self._put(flight.keys[place], flight.task.result()[place])

    def _drop(self, flight: _Flight) -> list[int]:
        """Nobody joins it any more. Returns the places of the keys that were still its own: after everything
        was forgotten another one may be on its way to them.
        """
        own = [place for place, key in enumerate(flight.keys) if self._flights.get(key, (None,))[0] is flight]
        for place in own:
            del self._flights[flight.keys[place]]
        return own

    def _put(self, key: K, value: V) -> None:
        self._entries[key] = (value, self._clock() + self._limits.seconds)
        self._entries.move_to_end(key)
        while len(self._entries) > self._limits.entries:
            self._entries.popitem(last=False)


async def _called(compute: Callable[[T], Awaitable[V]], given: T) -> V:
    return await compute(given)


# --- models ---


def vector_key(model: str, kind: Literal["query", "passage"], text: str) -> bytes:
    """What a vector depends on, as a hash: no text is kept for it."""
    key = SEPARATOR.join([model, kind, text])
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


class KeptVectors(Protocol):
    """Vectors by key, in memory or in a file."""

    async def get_many(
        self, keys: Sequence[bytes], compute: Callable[[Sequence[bytes]], Awaitable[Sequence[list[float]]]]
    ) -> tuple[list[list[float]], int]:
        """As `ExpiringCache.get_many`."""
        ...


class CachedEmbedder:
    """`context.Embedder` that asks the one below only for texts it has not seen.

    `used` is told whether all were there ("hit") or some were not.
    """

    def __init__(self, below: Embedder, kept: KeptVectors, used: dict[str, str] | None = None) -> None:
        self._below = below
        self._kept = kept
        self._used = {} if used is None else used

    @property
    def model(self) -> str:
        return self._below.model

    async def embed_queries(self, texts: Sequence[str]) -> list[list[float]]:
        return await self._embedded("query", texts, self._below.embed_queries)

    async def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        return await self._embedded("passage", texts, self._below.embed_passages)

    async def _embedded(
        self,
        kind: Literal["query", "passage"],
        texts: Sequence[str],
        embed: Callable[[Sequence[str]], Awaitable[list[list[float]]]],
    ) -> list[list[float]]:
        keys = [vector_key(self.model, kind, text) for text in texts]
        text_of = dict(zip(keys, texts, strict=True))

        async def compute(missing: Sequence[bytes]) -> Sequence[list[float]]:
            return await embed([text_of[key] for key in missing])

        vectors, computed = await self._kept.get_many(keys, compute)
        _note(self._used, "embedding", hit=not computed)
        return vectors


class CachedReranker:
    """`context.Reranker` that remembers the scores of whole lists of passages.

    A list is one entry: some rerankers judge passages against each other. What a passage says stands for its
    chunk and revision. `used` is told whether the list was there.
    """

    def __init__(
        self, below: Reranker, kept: ExpiringCache[str, list[float]], used: dict[str, str] | None = None
    ) -> None:
        self._below = below
        self._kept = kept
        self._used = {} if used is None else used

    @property
    def name(self) -> str:
        return self._below.name

    async def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        key = text_hash(SEPARATOR.join([self.name, query, *map(text_hash, passages)]))
        scores, hit = await self._kept.get(
            key,
            lambda: self._below.scores(query, passages),
            keep=lambda scores: len(scores) == len(passages) and all(map(math.isfinite, scores)),
        )
        _note(self._used, "rerank", hit=hit)
        return [*scores]


def _note(used: dict[str, str], name: str, *, hit: bool) -> None:
    used[name] = "hit" if hit and used.get(name) != "miss" else "miss"


# --- all of them ---


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessCaches:
    """The caches of one process."""

    queries: ExpiringCache[str, Any] = field(default_factory=lambda: ExpiringCache[str, Any](QUERIES))
    embeddings: ExpiringCache[bytes, list[float]] = field(
        default_factory=lambda: ExpiringCache[bytes, list[float]](EMBEDDINGS)
    )
    rerank: ExpiringCache[str, list[float]] = field(
        default_factory=lambda: ExpiringCache[str, list[float]](RERANK)
    )
    understanding: ExpiringCache[str, Any] = field(
        default_factory=lambda: ExpiringCache[str, Any](UNDERSTANDING)
    )

    answers: AnswersInMemory = field(default_factory=AnswersInMemory)

    def of_run(self, changing: Callable[[], bool]) -> Caches:
        """What one run is given; it has its own record of what it had from them."""
        return Caches(queries=self.queries, understanding=self.understanding, changing=changing, used={})

    def clear(self) -> dict[str, int]:
        """Empty all; returns how many entries each had."""
        return {name: cache.clear() for name, cache in self._all()}

    def counters(self) -> dict[str, dict[str, int]]:
        return {
            name: {"entries": len(cache), "hits": cache.hits, "misses": cache.misses}
            for name, cache in self._all()
        }

    def _all(self) -> Sequence[tuple[str, ExpiringCache[Any, Any] | AnswersInMemory]]:
        return [
            ("queries", self.queries),
            ("embeddings", self.embeddings),
            ("rerank", self.rerank),
            ("understanding", self.understanding),
            ("answers", self.answers),
        ]
