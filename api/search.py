"""Retrieval alone: the stages up to filter_top_k, nothing stored."""

import asyncio
import dataclasses
from typing import Any, cast

from langgraph.types import StateSnapshot
from starlette.requests import Request
from starlette.responses import Response

from ..context import Context, Tokens
from ..graph.quiet import PassingPassages, SilentEmitter
from ..graph.tracing.candidates import all_hits
from ..graph.tracing.recorded import Recorded
from ..graph.tracing.search import SearchTrace, search_trace
from ..graph.tracing.shapes import Run
from ..nodes.answering.references import to_references
from ..settings import ROLES
from ..state import Ask, Asked, RagState
from ..text.highlight import highlights
from .answers import success
from .gathering import hiding, with_catalogue
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
        found["trace"] = await _trace(stack, context, asked, state)
    return success(found)


def _context(stack: Stack, *, rerank: bool) -> Context:
    context = stack.context(SilentEmitter())
    passages = PassingPassages(context.passages)
    return dataclasses.replace(context, passages=passages, reranker=context.reranker if rerank else None)


async def _references(stack: Stack, context: Context, state: RagState) -> list[dict[str, Any]]:
    hits = state.get("selected", [])
    texts = await context.passages.read(hits)
    documents = await stack.catalogue.documents([hit["document_id"] for hit in hits])
    references = to_references(hits, documents=documents, aliases={}, texts=texts)
    return await asyncio.to_thread(_highlighted, references, state["request"]["query"], context.tokens)


def _highlighted(references: list[dict[str, Any]], question: str, tokens: Tokens) -> list[dict[str, Any]]:
    """With the places of the question's words, in characters of `content`."""
    return [{**one, "highlights": highlights(one["content"], question, tokens)} for one in references]


async def _trace(stack: Stack, context: Context, asked: Asked, state: RagState) -> SearchTrace:
    hits = [hit for hit in all_hits(state) if "passage" in hit]
    texts = zip(hits, await context.passages.read(hits), strict=True)
    recorded = Recorded(
        run=_no_run(asked),
        asked=asked,
        answer="",
        error=None,
        prompts=stack.prompts,
        hide=hiding(stack.settings.endpoint(role) for role in ROLES),
        snapshots=[_end(state)],
        texts={hit["passage"]: text for hit, text in texts if "passage" in hit and text is not None},
    )
    return search_trace(await with_catalogue(recorded, stack.catalogue))


def _end(state: RagState) -> StateSnapshot:
    return StateSnapshot(
        values={**state},
        next=(),
        config={},
        metadata=None,
        created_at=None,
        parent_config=None,
        tasks=(),
        interrupts=(),
    )


def _no_run(asked: Asked) -> Run:
    """A search leaves no run; this one says so to whoever reads its record."""
    return Run(
        id=asked["run_id"],
        session_id="",
        message_id="",
        status="complete",
        created_at="",
        ended_at=None,
        timing=None,
        forked_from=None,
        fork_stage=None,
        kept="",
        question=asked["query"],
        outcome=None,
        forks=[],
    )
