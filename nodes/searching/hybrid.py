"""Hybrid search: vectors and keywords side by side, fused. The one implementation for every caller."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...context import Context, QueryTerms, model_name
from ...errors import DependencyFailed
from ...state import Departure, ModelCall
from ...text.fusion import summed
from ..reporting.calls import recorded
from . import hits as told
from .channels import Recall, Weak, joined, passing
from .chunks import Chunks
from .expanding import Place, below, expand, is_needed
from .fusing import Ranked, best_of_wordings, coverage_weight, fuse
from .languages import Placed, foreign, spoken, with_other_languages
from .negatives import not_meant
from .search import Found, Search
from .stores import Counted, Wording, ask_store, count_terms, each_store
from .targets import FAQ, SPECIAL, Call, Target, calls_of, candidates, find_targets, store_groups


async def hybrid_search(context: Context, search: Search) -> Found:
    """Search every knowledge base in scope and fuse.

    A store is asked three times at most: how rare the terms are, for candidates in both channels, and for
    the scores that one channel has not told of what the other found; more often only where many ways to ask
    one thing crowd out the rest. Raises Conflict (`embedding_model_mismatch`) for a knowledge base indexed
    with another model, and DependencyFailed when a store fails; with `partial_ok` only when all of them do.
    """
    targets = await find_targets(context, search)
    if not targets:
        return Found(hits=[])
    weight = coverage_weight(search.fusion, context.embedder.model)
    plan, chunks = await _planned(context, search, targets), Chunks(context)
    recalls, failures = await _recalled(search, plan, chunks, weight)
    kept, weak = passing(recalls, search.limits, shown=search.count)
    ranking = best_of_wordings(
        {name: fuse(plan.wordings[name], recall, weight, chunks) for name, recall in kept.items()}
    )
    present, gone = await _present(ranking, search.count, chunks)
    meant, unmeant = await _meant(context, search, present)
    placed = with_other_languages(meant, plan.foreign, covered=weight is not None)
    first = told.first_recall(placed, search.count)
    departures = [*await _too_weak(weak, kept, chunks), *gone, *unmeant]
    found = Found(
        hits=first, departures=departures, failures=[*plan.failures, *failures], calls=plan.model_calls
    )
    if not is_needed(search, first, recalls[""], plan.limit):
        return found
    return await _expanded(context, search, plan, found, chunks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Whom to ask what. `foreign` are languages of the texts that no wording of the question is in."""

    stores: Sequence[tuple[Counted, Sequence[Call]]]
    wordings: Mapping[str, Wording]
    limit: int
    foreign: Sequence[str]
    failures: Sequence[DependencyFailed]
    model_calls: list[ModelCall]

    @property
    def places(self) -> list[Place]:
        """Where words are looked for."""
        return [
            (asked.group, call)
            for asked, calls in self.stores
            for call in calls
            if call.words and not call.is_media
        ]


async def _planned(context: Context, search: Search, targets: Sequence[Target]) -> Plan:
    kb_ids, texts = [target.kb.id for target in targets], search.wordings
    model_calls: list[ModelCall] = []
    vectors, (asked, failures), kinds, languages = await asyncio.gather(
        _embedded(context, [*texts.values()], model_calls),
        each_store(
            store_groups(context.stores, targets),
            lambda group: count_terms(group, texts, search.store_timeout_s),
        ),
        context.catalogue.kinds(kb_ids, SPECIAL),
        context.catalogue.languages(kb_ids),
    )
    _refuse(asked, failures, search)
    terms = {name: summed([one.terms[name] for one in asked]) for name in texts}
    limit, in_scope = candidates(search.count, len(targets)), spoken(languages)
    others = foreign(in_scope, search.query, [*texts]) if len(in_scope) > 1 else []
    return Plan(
        stores=[
            (
                one,
                calls_of(
                    one.group.targets, kinds, limit=limit, foreign=others, faq_answers=search.faq_answers
                ),
            )
            for one in asked
        ],
        wordings=_wordings(texts, vectors, terms),
        limit=limit,
        foreign=others,
        failures=[*failures, *_reindexing(context, asked)],
        model_calls=model_calls,
    )


def _reindexing(context: Context, asked: Sequence[Counted]) -> list[DependencyFailed]:
    """What is searched though not all of it can be found yet."""
    known = context.reindexing()
    return [
        DependencyFailed(
            "index",
            f"Knowledge base {target.kb.name!r} is being indexed again: until that is done, some of it is "
            f"found by its words alone, by its meaning alone, or not at all.",
            code="reindexing",
        )
        for one in asked
        for target in one.group.targets
        if target.kb.id in known or target.kb.id in one.group.without_words
    ]


def _wordings(
    texts: Mapping[str, str], vectors: Sequence[Sequence[float]], terms: Mapping[str, QueryTerms]
) -> dict[str, Wording]:
    return {
        name: Wording(text=text, vector=vector, terms=terms[name])
        for (name, text), vector in zip(texts.items(), vectors, strict=True)
    }


async def _embedded(context: Context, texts: Sequence[str], calls: list[ModelCall]) -> list[list[float]]:
    # Every knowledge base in scope has this model: `find_targets` refuses the others.
    embedder = context.embedder
    with recorded(calls, stage=told.STAGE, role="embedding", name=lambda: model_name(embedder.model)):
        return await embedder.embed_queries(texts)


async def _recalled(
    search: Search, plan: Plan, chunks: Chunks, weight: float | None
) -> tuple[dict[str, Recall], list[DependencyFailed]]:
    """What all stores found, by wording."""
    found, failures = await each_store(
        plan.stores,
        lambda store: ask_store(*store, plan.wordings, chunks, wanted=search.count, weight=weight),
    )
    _refuse(found, failures, search)
    return {name: joined([one[name] for one in found]) for name in plan.wordings}, failures


def _refuse(results: Sequence[object], failures: Sequence[DependencyFailed], search: Search) -> None:
    if failures and (not search.partial_ok or not results):
        raise failures[0]


async def _present(
    ranking: Sequence[Ranked], count: int, chunks: Chunks
) -> tuple[list[Placed], list[Departure]]:
    """The best of the ranking that the catalogue still has: an index may be behind it."""
    # Twice as many as wanted at a time, so that chunks which are gone leave no gap.
    for start in range(0, len(ranking), 2 * count):
        await chunks.load(one.id for one in ranking[start : start + 2 * count])
        if sum(chunks.get(one.id) is not None for one in ranking) >= count:
            break
    placed = [(one, chunk) for one in ranking if (chunk := chunks.get(one.id))]
    lost = [one for one in ranking[:count] if chunks.known(one.id) and not chunks.get(one.id)]
    return placed, [told.gone(one) for one in lost]


async def _meant(
    context: Context, search: Search, placed: Sequence[Placed]
) -> tuple[list[Placed], list[Departure]]:
    """Without known questions that say they do not answer this one."""
    ids = [chunk.id for _, chunk in placed if chunk.kind == FAQ]
    if not ids:
        return [*placed], []
    entries = await context.catalogue.faq_entries(ids)
    unmeant = not_meant(entries.values(), [search.asked, *search.wordings.values()])
    left = [told.not_meant(*one) for one in placed if one[1].id in unmeant]
    return [one for one in placed if one[1].id not in unmeant], left


async def _too_weak(weak: Sequence[Weak], kept: Mapping[str, Recall], chunks: Chunks) -> list[Departure]:
    await chunks.load(one.entry_id for one in weak)
    staying = {chunks.owner(id) for recall in kept.values() for id in recall.ids}
    return told.too_weak(weak, chunks, staying)


async def _expanded(context: Context, search: Search, plan: Plan, found: Found, chunks: Chunks) -> Found:
    """With what other words find below the hits that are there."""
    known = {hit["chunk_id"] for hit in found.hits}
    more = await expand(search, plan.places, known, chunks, context.tokens)
    meant, unmeant = await _meant(context, search, more.placed)
    further = below(found.hits, meant[: search.count - len(found.hits)])
    # What was too weak for its threshold may have come in over the lower one.
    departures = {left["chunk_id"]: left for left in [*found.departures, *unmeant]}
    for hit in further:
        departures.pop(hit["chunk_id"], None)
    return replace(
        found,
        hits=[*found.hits, *further],
        departures=[*departures.values()],
        failures=[*found.failures, *more.failures],
        variants=more.variants,
    )
