"""A search that need not be made again: the same was looked for, and nothing has changed since."""

import json
from dataclasses import asdict, replace

from ...context import Caches, Context
from ...text.signature import text_hash
from .hybrid import hybrid_search
from .search import Found, Search
from .targets import find_targets

# What was hardly found at all may be found better once the question is understood better.
LEAST_SCORE = 0.3


async def cached_search(context: Context, search: Search, *, tenant_id: str) -> Found:
    """As `hybrid_search`. What is kept is all that it found and why the rest left; calls of models are those
    that were made this time.
    """
    caches = context.caches
    if caches is None:
        return await hybrid_search(context, search)
    caches.used.pop("embedding", None)
    key = await search_key(context, search, tenant_id=tenant_id)
    settled = not caches.changing()
    found, hit = await caches.queries.get(
        key,
        lambda: hybrid_search(context, search),
        keep=lambda found: settled and not caches.changing() and worth_keeping(found),
    )
    caches.used["query"] = "hit" if hit else "miss"
    return replace(found, calls=[]) if hit else _without_calls_not_made(found, caches)


async def search_key(context: Context, search: Search, *, tenant_id: str) -> str:
    """A hash of all that the result depends on: any change of a knowledge base in scope raises its version.

    Raises Conflict (`embedding_model_mismatch`).
    """
    targets = [
        (target.kb.id, target.kb.version, target.kb.store, target.kb.embedding_model, [*target.document_ids])
        for target in await find_targets(context, search)
    ]
    depends = [tenant_id, asdict(search), targets, context.embedder.model, [*context.stores]]
    return text_hash(json.dumps(depends, ensure_ascii=False, sort_keys=True))


def worth_keeping(found: Found) -> bool:
    """Good results of a search that went well: nothing failed, and the indexes had nothing that is gone."""
    best = max((hit["score"] for hit in found.hits), default=0.0)
    clean = not found.failures and all(left["reason"] != "gone" for left in found.departures)
    return clean and best >= LEAST_SCORE


def _without_calls_not_made(found: Found, caches: Caches) -> Found:
    if caches.used.get("embedding") != "hit":
        return found
    return replace(found, calls=[call for call in found.calls if call["role"] != "embedding"])
