"""Stores asked side by side: four at a time, each within its time, all of one or nothing."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from ...context import QueryTerms, Scored, SearchStore
from ...errors import DependencyFailed
from ...text.fusion import greatest_bm25
from .bounds import UNKNOWN, Edge, edge_of, undecided, widest
from .channels import CHANNELS, Recall, joined, recall_of
from .chunks import Chunks
from .targets import MOST_CANDIDATES, Call, StoreGroup

T = TypeVar("T")
U = TypeVar("U")

STORES_AT_ONCE = 4
REBUILDING = "index_rebuilding"  # as a keyword index says it of one of its knowledge bases
# An FAQ has many ways to ask one thing: where a round was full of few entries, more of it is looked at.
MOST_ROUNDS = 5
WIDENED = 3
FOREIGN_LOADED = 20  # the nearest in another language, of which a few are given a place
SPARE = 10  # places beyond those that are wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """One way to ask: its text, its vector in the model of a store, and how rare its terms are."""

    text: str
    vector: Sequence[float]
    terms: QueryTerms


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """How long a store may take for one search, and until when on the loop's clock that is."""

    seconds: float
    until: float

    @classmethod
    def started(cls, seconds: float, *, spent: float = 0.0) -> "Clock":
        return cls(seconds=seconds, until=asyncio.get_running_loop().time() + max(0.0, seconds - spent))


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """A store that has said how rare the terms of each wording are in it, and what is left of its time."""

    group: StoreGroup
    terms: Mapping[str, QueryTerms]
    seconds: float
    spent: float


async def each_store(
    groups: Sequence[T], ask: Callable[[T], Awaitable[U]]
) -> tuple[list[U], list[DependencyFailed]]:
    """What each says, and the failures of those that did not."""
    places = asyncio.Semaphore(STORES_AT_ONCE)

    async def one(group: T) -> U | DependencyFailed:
        async with places:
            try:
                return await ask(group)
            except DependencyFailed as error:
                return error

    results = await asyncio.gather(*map(one, groups))
    failures = [result for result in results if isinstance(result, DependencyFailed)]
    return [result for result in results if not isinstance(result, DependencyFailed)], failures


async def count_terms(group: StoreGroup, wordings: Mapping[str, str], seconds: float) -> Counted:
    """First round: how common the terms are. Raises DependencyFailed, as the next.

    Finds out, too, whose keyword index is just being made again: it is gone on without.
    """
    clock = Clock.started(seconds)
    started = asyncio.get_running_loop().time()
    while True:
        try:
            terms = await _terms(group, wordings, clock)
        except DependencyFailed as error:
            group = _without_words(group, error)
        else:
            spent = asyncio.get_running_loop().time() - started
            return Counted(group=group, terms=terms, seconds=seconds, spent=spent)


async def _terms(group: StoreGroup, wordings: Mapping[str, str], clock: Clock) -> dict[str, QueryTerms]:
    keywords, kb_ids = configured(group).keywords, group.with_words(group.kb_ids)
    asking = (
        _in_time(group, "keyword index", keywords.terms(kb_ids, text), clock) for text in wordings.values()
    )
    return dict(zip(wordings, await asyncio.gather(*asking), strict=True))


def _without_words(group: StoreGroup, error: DependencyFailed) -> StoreGroup:
    kb_id = error.details.get("knowledge_base_id")
    if error.code != REBUILDING or kb_id not in group.with_words(group.kb_ids):
        raise error
    return replace(group, without_words={*group.without_words, kb_id})


async def ask_store(
    asked: Counted,
    calls: Sequence[Call],
    wordings: Mapping[str, Wording],
    chunks: Chunks,
    *,
    wanted: int,
    weight: float | None,
) -> dict[str, Recall]:
    """Second and third round, by wording: both searches, and where coverage has a `weight` for the ranking,
    the scores that neither told, as far as they can matter to the best."""
    group, clock = asked.group, Clock.started(asked.seconds, spent=asked.spent)
    found = await asyncio.gather(
        *(_search(group, call, wordings, chunks, clock, wanted=wanted) for call in calls)
    )
    recalls = {wording: joined(one[wording] for one in found) for wording in wordings}
    if weight is None:
        return recalls

    async def completed(name: str) -> Recall:
        recall, wording = recalls[name], wordings[name]
        edge = _edge(calls, [one[name] for one in found])
        most = greatest_bm25(wording.terms)
        # Some may be gone from the catalogue.
        missing = undecided(recall, edge, weight=weight, most=most, keep=wanted + SPARE)
        return await _completed(group, wording, recall, *missing, clock)

    return dict(zip(recalls, await asyncio.gather(*map(completed, recalls)), strict=True))


def configured(group: StoreGroup) -> SearchStore:
    if group.store is None:
        names = ", ".join(repr(target.kb.name) for target in group.targets)
        raise DependencyFailed(
            "store",
            f"Store {group.name!r}, which holds {names}, is not configured on this server.",
            code="store_not_configured",
        )
    return group.store


def rounds(limit: int) -> list[int]:
    """How many candidates to ask for, round by round, as long as there are hits missing."""
    further = [limit * WIDENED * 2**number for number in range(MOST_ROUNDS - 1)]
    return [*dict.fromkeys(min(size, MOST_CANDIDATES) for size in [limit, *further])]


async def ask_keywords(group: StoreGroup, call: Call, text: str, seconds: float) -> list[Scored]:
    """One search of words alone, how rare they are counted by the store itself."""
    searching = configured(group).keywords.search(
        group.with_words(call.kb_ids),
        text,
        limit=call.limit,
        document_ids=call.document_ids,
        kinds=call.kinds,
    )
    found = await _in_time(group, "keyword index", searching, Clock.started(seconds))
    return [one for one in found if one.score > 0]


async def _search(
    group: StoreGroup,
    call: Call,
    wordings: Mapping[str, Wording],
    chunks: Chunks,
    clock: Clock,
    *,
    wanted: int,
) -> dict[str, Recall]:
    recalls: dict[str, Recall] = {}
    for limit in rounds(call.limit) if call.folds and call.words else [call.limit]:
        widened = replace(call, limit=limit)
        found = await asyncio.gather(*(_both(group, widened, one, clock) for one in wordings.values()))
        recalls = dict(zip(wordings, found, strict=True))
        ids = [id for recall in found for id in recall.ids]
        chunks.found(call.kb_ids, ids)
        if call.folds or call.is_media:
            await chunks.load(ids)
        elif not call.words:
            await chunks.load(ids[:FOREIGN_LOADED])
        is_full = any(len(recall.channels[name]) >= limit for recall in found for name in CHANNELS)
        if not is_full or len(chunks.present(ids)) >= wanted:
            break
    return recalls


async def _both(group: StoreGroup, call: Call, wording: Wording, clock: Clock) -> Recall:
    store, kb_ids, limit = configured(group), call.kb_ids, call.limit
    documents, kinds = call.document_ids, call.kinds
    of_vectors = store.vectors.search(
        kb_ids,
        group.model,
        wording.vector,
        limit=limit,
        document_ids=documents,
        kinds=kinds,
        languages=call.languages,
    )
    if not call.words:
        return recall_of({"vector": await _in_time(group, "vector store", of_vectors, clock), "keyword": []})
    of_keywords = store.keywords.search(
        group.with_words(kb_ids),
        wording.text,
        limit=limit,
        document_ids=documents,
        kinds=kinds,
        terms=wording.terms,
    )
    vectors, keywords = await _side_by_side(group, clock, of_vectors, of_keywords)
    return recall_of({"vector": vectors, "keyword": [one for one in keywords if one.score > 0]})


def _edge(calls: Sequence[Call], recalls: Sequence[Recall]) -> Edge:
    # What counts for another chunk needs the scores of all that do.
    if any(call.folds for call in calls):
        return UNKNOWN
    edges = [
        edge_of(recall, call.limit)
        for call, recall in zip(calls, recalls, strict=True)
        # Others search what tables are among; a short list of vectors alone has left out nothing.
        if not call.is_media and (call.words or len(recall.channels["vector"]) >= call.limit)
    ]
    return widest(edges)


async def _completed(
    group: StoreGroup,
    wording: Wording,
    recall: Recall,
    without_cosine: Sequence[str],
    without_bm25: Sequence[str],
    clock: Clock,
) -> Recall:
    store, known = configured(group), recall.scores
    cosines, bm25 = await _side_by_side(
        group,
        clock,
        store.vectors.scores(group.kb_ids, group.model, wording.vector, without_cosine),
        store.keywords.scores(
            group.with_words(group.kb_ids), wording.text, without_bm25, terms=wording.terms
        ),
    )
    return replace(
        recall, scores={"vector": {**known["vector"], **cosines}, "keyword": {**known["keyword"], **bm25}}
    )


async def _side_by_side(
    group: StoreGroup, clock: Clock, of_vectors: Awaitable[T], of_keywords: Awaitable[U]
) -> tuple[T, U]:
    return await asyncio.gather(
        _in_time(group, "vector store", of_vectors, clock),
        _in_time(group, "keyword index", of_keywords, clock),
    )


async def _in_time(group: StoreGroup, part: str, asking: Awaitable[T], clock: Clock) -> T:
    try:
        async with asyncio.timeout_at(clock.until):
            return await asking
    except TimeoutError as error:
        message = f"Store {group.name!r}: the {part} did not answer within {clock.seconds:g} s."
        raise DependencyFailed(part, message, code="store_timeout") from error
    except DependencyFailed as error:
        named = type(error)(error.dependency, f"Store {group.name!r}: {error.message}", code=error.code)
        named.details |= error.details
        raise named from error
