"""The graph, in the order of the diagram in the README.

load_history -> match_ready_answer -> answer_from_faq | answer_from_cache
-> understand_query -> choose_kbs -> search_chunks -> collect_results -> rerank -> boost_wiki
-> merge_chunks -> filter_top_k -> assemble_context -> emit_references -> generate_answer | fallback
-> finalize
"""

from langgraph.graph import END, START, StateGraph

from ..context import Context
from ..nodes.answer_from_cache import answer_from_cache
from ..nodes.answer_from_faq import answer_from_faq
from ..nodes.assemble_context import assemble_context
from ..nodes.boost_wiki import boost_wiki
from ..nodes.choose_kbs import choose_kbs
from ..nodes.collect_results import collect_results
from ..nodes.emit_references import emit_references
from ..nodes.fallback import fallback
from ..nodes.filter_top_k import filter_top_k
from ..nodes.finalize import finalize
from ..nodes.generate_answer import generate_answer
from ..nodes.load_history import load_history
from ..nodes.match_ready_answer import match_ready_answer
from ..nodes.merge_chunks import merge_chunks
from ..nodes.rerank import rerank
from ..nodes.search_chunks import search_chunks
from ..nodes.understand_query import understand_query
from ..state import Ask, RagState
from .routes import route_choice, route_evidence, route_intent, route_ready, route_results, route_scope


def build() -> StateGraph[RagState, Context, Ask, RagState]:
    """Answering a question. The caller compiles it with its checkpointer."""
    graph = StateGraph(RagState, context_schema=Context, input_schema=Ask)

    graph.add_node("load_history", load_history)
    graph.add_node("match_ready_answer", match_ready_answer)
    graph.add_node("answer_from_faq", answer_from_faq)
    graph.add_node("answer_from_cache", answer_from_cache)
    graph.add_node("understand_query", understand_query)
    graph.add_node("choose_kbs", choose_kbs)
    graph.add_node("search_chunks", search_chunks)
    graph.add_node("collect_results", collect_results)
    graph.add_node("rerank", rerank)
    graph.add_node("boost_wiki", boost_wiki)
    graph.add_node("merge_chunks", merge_chunks)
    graph.add_node("filter_top_k", filter_top_k)
    graph.add_node("assemble_context", assemble_context)
    graph.add_node("emit_references", emit_references)
    graph.add_node("generate_answer", generate_answer)
    graph.add_node("fallback", fallback)
    graph.add_node("finalize", finalize)

    graph.add_edge(START, "load_history")
    graph.add_conditional_edges("load_history", route_scope)
    graph.add_conditional_edges("match_ready_answer", route_ready)
    graph.add_edge("answer_from_faq", "finalize")
    graph.add_edge("answer_from_cache", "finalize")
    graph.add_conditional_edges("understand_query", route_intent)
    graph.add_conditional_edges("choose_kbs", route_choice)
    graph.add_edge("search_chunks", "collect_results")
    graph.add_conditional_edges("collect_results", route_results)
    graph.add_conditional_edges("rerank", route_evidence)
    graph.add_edge("boost_wiki", "merge_chunks")
    graph.add_edge("merge_chunks", "filter_top_k")
    graph.add_edge("filter_top_k", "assemble_context")
    graph.add_edge("assemble_context", "emit_references")
    graph.add_edge("emit_references", "generate_answer")
    graph.add_edge("generate_answer", "finalize")
    graph.add_edge("fallback", "finalize")
    graph.add_edge("finalize", END)

    return graph


def build_search() -> StateGraph[RagState, Context, Ask, RagState]:
    """Searching without answering: the same stages, ending in `selected`, which nothing found leaves out."""
    graph = StateGraph(RagState, context_schema=Context, input_schema=Ask)

    graph.add_node("search_chunks", search_chunks)
    graph.add_node("collect_results", collect_results)
    graph.add_node("rerank", rerank)
    graph.add_node("boost_wiki", boost_wiki)
    graph.add_node("merge_chunks", merge_chunks)
    graph.add_node("filter_top_k", filter_top_k)

    graph.add_edge(START, "search_chunks")
    graph.add_edge("search_chunks", "collect_results")
    graph.add_conditional_edges("collect_results", route_results, {"rerank": "rerank", "fallback": END})
    graph.add_conditional_edges("rerank", route_evidence, {"boost_wiki": "boost_wiki", "fallback": END})
    graph.add_edge("boost_wiki", "merge_chunks")
    graph.add_edge("merge_chunks", "filter_top_k")
    graph.add_edge("filter_top_k", END)

    return graph
