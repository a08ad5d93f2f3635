"""Retrieval alone: the stages up to filter_top_k, nothing stored."""

import dataclasses
from typing import Any, cast

from starlette.requests import Request
from starlette.responses import Response

from ..context import Context
from ..graph.quiet import PassingPassages, SilentEmitter
from ..nodes.answering.references import to_references
from ..state import Ask, RagState
from .answers import success
from .questions import asked_for_search
from .requests import parse
from .schemas import Search
from .stack import Shared, Stack, stack_of


async def search(request: Request[Shared]) -> Response:
    stack = stack_of(request)
    body = await parse(request, Search)
    asked = await asked_for_search(stack, body)
    context = _context(stack, rerank=body.rerank)
    state = cast(RagState, await stack.search.ainvoke(Ask(request=asked), context=context))
    found: dict[str, Any] = {"knowledge_references": await _references(stack, context, state)}
    if body.trace:
        found["trace"] = _trace(state)
    return success(found)


def _context(stack: Stack, *, rerank: bool) -> Context:
    context = stack.context(SilentEmitter())
    passages = PassingPassages(context.passages)
    return dataclasses.replace(context, passages=passages, reranker=context.reranker if rerank else None)


async def _references(stack: Stack, context: Context, state: RagState) -> list[dict[str, Any]]:
    hits = state.get("selected", [])
    texts = await context.passages.read(hits)
    documents = await stack.catalogue.documents([hit["document_id"] for hit in hits])
    return to_references(hits, documents=documents, aliases={}, texts=texts)


def _trace(state: RagState) -> dict[str, Any]:
    """The hits each stage handed on, which left and why, how long each took."""
    channels = ("chunk_hits", "hits", "ranked", "merged", "selected")
    return {
        "hits": {name: state.get(name) for name in channels},
        "departures": state.get("departures", []),
        "warnings": state.get("warnings", []),
        "timings_ms": state.get("timings", {}),
        "rerank_verdict": state.get("rerank_verdict"),
    }
