"""Where the graph goes next. Pure: state in, node name out."""

from typing import Literal

from ..nodes.understand_query import RETRIEVAL_INTENTS
from ..state import RagState


def route_scope(state: RagState) -> Literal["understand_query", "assemble_context"]:
    request = state["request"]
    return "understand_query" if request["kb_ids"] or request["document_ids"] else "assemble_context"


def route_intent(state: RagState) -> Literal["search_chunks", "assemble_context"]:
    # An intent that nobody stated needs retrieval: an answer without sources is the worse mistake.
    needs_retrieval = state.get("intent", "kb_search") in RETRIEVAL_INTENTS
    return "search_chunks" if needs_retrieval else "assemble_context"


def route_results(state: RagState) -> Literal["rerank", "fallback"]:
    return "rerank" if state.get("hits") else "fallback"


def route_evidence(state: RagState) -> Literal["boost_wiki", "fallback"]:
    return "boost_wiki" if state.get("ranked") else "fallback"
