"""Where the graph goes next. Pure: state in, node name out."""

from typing import Literal

from ..nodes.understand_query import RETRIEVAL_INTENTS
from ..state import RagState


def route_scope(state: RagState) -> Literal["match_ready_answer", "assemble_context"]:
    request = state["request"]
    given = request["kb_ids"] or request["document_ids"] or request.get("auto_select")
    return "match_ready_answer" if given else "assemble_context"


def route_ready(state: RagState) -> Literal["answer_from_faq", "answer_from_cache", "understand_query"]:
    ready = state.get("ready_answer")
    if ready is None:
        return "understand_query"
    return "answer_from_faq" if ready["source"] == "faq" else "answer_from_cache"


def route_intent(
    state: RagState,
) -> Literal["choose_kbs", "search_chunks", "assemble_context", "answer_from_cache"]:
    if "ready_answer" in state:
        return "answer_from_cache"
    # An intent that nobody stated needs retrieval: an answer without sources is the worse mistake.
    needs_retrieval = state.get("intent", "kb_search") in RETRIEVAL_INTENTS
    if not needs_retrieval:
        return "assemble_context"
    request = state["request"]
    return "search_chunks" if request["kb_ids"] or request["document_ids"] else "choose_kbs"


def route_choice(state: RagState) -> Literal["search_chunks", "fallback"]:
    return "search_chunks" if state.get("chosen_kb_ids") else "fallback"


def route_results(state: RagState) -> Literal["rerank", "fallback"]:
    return "rerank" if state.get("hits") else "fallback"


def route_evidence(state: RagState) -> Literal["boost_wiki", "fallback"]:
    return "boost_wiki" if state.get("ranked") else "fallback"
