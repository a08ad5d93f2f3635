"""What is kept, for how long, and what happens to those who ask at once."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import DependencyFailed
from headrace.stores.caches import CachedEmbedder, CachedReranker, ExpiringCache, Limits, ProcessCaches

from ..fakes import FakeEmbedder, FakeReranker

pytestmark = pytest.mark.anyio

SMALL = Limits(entries=3, seconds=10)


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Work:
    """Computes nothing much, when it is let."""

    value: str = "值"
    asked: int = 0
    cancelled: int = 0
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    may_end: asyncio.Event = field(default_factory=asyncio.Event)
    error: Exception | None = None

    async def __call__(self) -> str:
        self.asked += 1
        self.begun.set()
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.error:
            raise self.error
        return self.value


def done(value: str = "值") -> Work:
    work = Work(value)
    work.may_end.set()
    return work


async def test_what_was_computed_is_not_computed_again_until_it_expires() -> None:
    clock = Clock()
    cache, work = ExpiringCache[str, str](SMALL, clock=clock), done()
    assert await cache.get("问", work) == ("值", False)
    clock.now = 9.9
    assert await cache.get("问", work) == ("值", True)
    clock.now = 10.0
    assert await cache.get("问", work) == ("值", False)
    assert (work.asked, cache.hits, cache.misses) == (2, 1, 2)


async def test_the_least_recently_used_goes_first() -> None:
    cache = ExpiringCache[str, str](SMALL)
    for key in ("a", "b", "c", "a", "d"):
        await cache.get(key, done())
    assert [(await cache.get(key, done()))[1] for key in ("a", "c", "d")] == [True] * 3
    assert (await cache.get("b", done()))[1] is False
    assert len(cache) == 3


async def test_what_is_not_worth_keeping_is_not_kept() -> None:
    cache, work = ExpiringCache[str, str](SMALL), done("")
    assert await cache.get("k", work, keep=bool) == ("", False)
    assert (await cache.get("k", work, keep=bool))[1] is False


async def test_two_who_ask_the_same_at_once_make_it_be_computed_once() -> None:
    cache, work = ExpiringCache[str, str](SMALL), Work()
    asking = [asyncio.create_task(cache.get("k", work)) for _ in range(5)]
    await work.begun.wait()
    work.may_end.set()
    assert await asyncio.gather(*asking) == [("值", False), *[("值", True)] * 4]
    assert work.asked == 1


async def test_a_failure_reaches_all_who_wait_and_is_not_kept() -> None:
    cache, work = ExpiringCache[str, str](SMALL), Work(error=DependencyFailed("x", "down"))
    asking = [asyncio.create_task(cache.get("k", work)) for _ in range(2)]
    await work.begun.wait()
    work.may_end.set()
    told = await asyncio.gather(*asking, return_exceptions=True)
    assert [type(one) for one in told] == [DependencyFailed] * 2
    assert await cache.get("k", done()) == ("值", False)


@pytest.mark.parametrize("leaver", [0, 1])
async def test_who_stops_waiting_does_not_disturb_the_other(leaver: int) -> None:
    cache, work = ExpiringCache[str, str](SMALL), Work()
    asking = [asyncio.create_task(cache.get("k", work)) for _ in range(2)]
    await work.begun.wait()
    asking[leaver].cancel()
    await asyncio.gather(asking[leaver], return_exceptions=True)
    work.may_end.set()
    assert (await asking[1 - leaver])[0] == "值"
    assert (work.asked, work.cancelled) == (1, 0)
    assert await cache.get("k", done("other")) == ("值", True)


async def test_what_nobody_waits_for_any_more_is_cancelled_and_the_next_one_starts_anew() -> None:
    cache, work = ExpiringCache[str, str](SMALL), Work()
    asking = asyncio.create_task(cache.get("k", work))
    await work.begun.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    # Before the cancelled computation has even noticed.
    assert await cache.get("k", done("new")) == ("new", False)
    assert work.cancelled == 1
    assert await cache.get("k", done()) == ("new", True)


async def test_what_was_on_its_way_when_all_was_forgotten_is_not_kept() -> None:
    cache, old, new = ExpiringCache[str, str](SMALL), Work("old"), Work("new")
    first = asyncio.create_task(cache.get("k", old))
    await old.begun.wait()
    assert cache.clear() == 0
    second = asyncio.create_task(cache.get("k", new))
    await new.begun.wait()
    old.may_end.set()
    assert await first == ("old", False)
    new.may_end.set()
    assert await second == ("new", False)
    assert await cache.get("k", done()) == ("new", True)


async def test_of_several_keys_only_the_missing_ones_are_asked_for_and_once() -> None:
    cache = ExpiringCache[str, str](Limits(entries=9, seconds=9))
    asked: list[Sequence[str]] = []

    async def compute(keys: Sequence[str]) -> Sequence[str]:
        asked.append(keys)
        return [key.upper() for key in keys]

    assert await cache.get_many(["a", "b", "a"], compute) == (["A", "B", "A"], 2)
    assert await cache.get_many(["c", "b"], compute) == (["C", "B"], 1)
    assert asked == [["a", "b"], ["c"]]


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["get", "fail", "clear", "later"]))))
def test_whatever_happens_a_value_is_the_one_of_its_key(steps: list[tuple[str, str]]) -> None:
    async def going() -> None:
        clock = Clock()
        cache = ExpiringCache[str, str](Limits(entries=2, seconds=3), clock=clock)
        for key, what in steps:
            match what:
                case "get":
                    assert (await cache.get(key, done(key)))[0] == key
                case "fail":
                    work = done()
                    work.error = ValueError(key)
                    with suppress(ValueError):
                        assert (await cache.get(key, work)) == (key, True)
                case "clear":
                    cache.clear()
                case _:
                    clock.now += 1
            assert len(cache) <= 2

    asyncio.run(going())


# --- models ---


class Counting(FakeEmbedder):
    def __init__(self) -> None:
        super().__init__()
        self.asked: list[list[str]] = []

    async def embed_queries(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked.append([*texts])
        return await super().embed_queries(texts)


async def test_a_text_is_embedded_once_and_apart_as_query_and_as_passage() -> None:
    below, used = Counting(), dict[str, str]()
    embedder = CachedEmbedder(below, ProcessCaches().embeddings, used)
    assert embedder.model == below.model
    plain = await FakeEmbedder().embed_queries(["年假", "leave"])
    assert await embedder.embed_queries(["年假"]) == plain[:1]
    assert used == {"embedding": "miss"}
    used.clear()
    assert await embedder.embed_queries(["年假"]) == plain[:1]
    assert used == {"embedding": "hit"}
    assert await embedder.embed_queries(["leave", "年假"]) == plain[::-1]
    await embedder.embed_passages(["年假"])
    assert below.asked == [["年假"], ["leave"]]
    assert used == {"embedding": "miss"}


async def test_two_models_have_vectors_of_their_own() -> None:
    kept = ProcessCaches().embeddings
    await CachedEmbedder(FakeEmbedder("one"), kept).embed_queries(["x"])
    await CachedEmbedder(FakeEmbedder("two"), kept).embed_queries(["x"])
    assert (kept.hits, kept.misses) == (0, 2)


async def test_scores_are_kept_for_a_query_and_the_texts_of_its_passages() -> None:
    below, used, caches = FakeReranker({"假": 0.75}, rest=0.25), dict[str, str](), ProcessCaches()
    reranker = CachedReranker(below, caches.rerank, used)
    first = await reranker.scores("年假", ["年假十五天", "pump"])
    expected = [*first]
    first.append(7.0)  # what a caller does with its list is its own business
    below.by_word = {}
    used.clear()
    assert await reranker.scores("年假", ["年假十五天", "pump"]) == expected
    assert used == {"rerank": "hit"}
    for query, passages in (("年假", ["年假二十天", "pump"]), ("病假", ["年假十五天", "pump"])):
        assert await reranker.scores(query, passages) != expected
    assert (caches.rerank.hits, caches.rerank.misses) == (1, 3)


@pytest.mark.parametrize("answer", [[], [0.1], [0.1, float("nan")]])
async def test_scores_that_nobody_can_use_are_not_kept(answer: list[float]) -> None:
    class Odd(FakeReranker):
        async def scores(self, query: str, passages: Sequence[str]) -> list[float]:
            return answer

    caches = ProcessCaches()
    for _ in range(2):
        await CachedReranker(Odd(), caches.rerank).scores("q", ["a", "b"])
    assert caches.counters()["rerank"] == {"entries": 0, "hits": 0, "misses": 2}


async def test_everything_can_be_forgotten_and_counted() -> None:
    caches = ProcessCaches()
    await CachedEmbedder(FakeEmbedder(), caches.embeddings).embed_queries(["a", "b"])
    kept: Callable[[Any], bool] = bool
    await caches.of_run(lambda: False).queries.get("q", done(), keep=kept)
    assert caches.clear() == {"queries": 1, "embeddings": 2, "rerank": 0, "understanding": 0, "answers": 0}
    assert caches.counters()["embeddings"] == {"entries": 0, "hits": 0, "misses": 2}
    assert caches.clear()["queries"] == 0
