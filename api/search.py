"""Retrieval alone: the stages up to filter_top_k, nothing stored."""

import dataclasses
from collections.abc import Mapping
from typing import Any, cast

from starlette.requests import Request
from starlette.responses import Response

from ..context import Context
from ..nodes.references import to_references
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
    context = stack.context(SilentEmitter())
    if not body.rerank:
        context = dataclasses.replace(context, reranker=None)
    state = cast(RagState, await stack.search.ainvoke(Ask(request=asked), context=context))
    found: dict[str, Any] = {"knowledge_references": await _references(stack, context, state)}
    if body.trace:
        found["trace"] = _trace(state)
    return success(found)


class SilentEmitter:
    """A `context.Emitter` for runs that nobody can follow."""

    def __init__(self) -> None:
        self._segments = 0

    def __call__(
        self, response_type: str, content: str = "", *, data: Mapping[str, Any] | None = None, **top: Any
    ) -> None:
        pass

    def new_segment(self) -> int:
        self._segments += 1
        return self._segments

    def open_call(self, tool_name: str, arguments: Mapping[str, Any]) -> None:
        pass

    def close_call(self, tool_name: str, result: Mapping[str, Any]) -> None:
        pass


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
