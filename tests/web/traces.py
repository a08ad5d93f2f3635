"""What a server tells of a run, in the shapes of GET /runs/{id}/trace and /diff."""

from typing import Any

from .candidates import a_candidate
from .scripted import a_run
from .told import Json


def a_stage(stage: str, ms: float | None, before: int | None, after: int | None, **more: Any) -> Json:
    return {
        "stage": stage,
        "started_at": "2026-01-01T00:00:00Z",
        "duration_ms": ms,
        "progress": "done",
        "inherited": False,
        "attempts": 1,
        "hits_in": before,
        "hits_out": after,
        "reads": ["request"],
        "writes": [],
        "output": {},
        "departures": {},
        "checkpoint_id": stage,
        "can_fork": True,
        **more,
    }


STAGES = [
    a_stage("load_history", 2, None, None),
    a_stage("understand_query", 4, None, None, output={"intent": "kb_search"}),
    a_stage("search_chunks", 40, None, 4, departures={"below_vector_threshold": 1}),
    a_stage("collect_results", 3, 4, 4),
    a_stage("rerank", 50, 4, 3, departures={"below_threshold": 1}, attempts=2),
    a_stage("merge_chunks", 6, 3, 2, departures={"joined": 1}),
    a_stage("filter_top_k", 1, 2, 1, departures={"brand_new_reason": 1}),
    a_stage("assemble_context", 2, 1, 1),
    a_stage("emit_references", 1, 1, 1),
    a_stage("generate_answer", 700, 1, None),
    a_stage("finalize", 1, None, None, can_fork=False),
]

CANDIDATES = [
    a_candidate(
        "c1",
        "手册",
        section="2.1",
        page=3,
        snippet="设计流量为 12 m³/s。",
        alias="c1",
        cited=True,
        ranks={
            "vector": 2,
            "keyword": 1,
            "fused": 1,
            "collected": 1,
            "reranked": 1,
            "merged": 1,
            "selected": 1,
        },
        scores={"vector": 0.8, "keyword": 7.25, "fused": 0.9, "rerank": 0.95, "final": 0.93},
    ),
    a_candidate(
        "c2",
        "手册",
        "merged",
        merged_into="c1",
        merged_by="joined",
        ranks={"vector": 1, "fused": 2, "collected": 2, "reranked": 2},
        scores={"vector": 0.85, "fused": 0.8, "rerank": 0.9},
    ),
    a_candidate(
        "c3",
        "Manual",
        "left",
        left={
            "stage": "filter_top_k",
            "reason": "brand_new_reason",
            "score": 0.4,
            "limit": 1.0,
            "other": None,
        },
        ranks={"vector": 3, "fused": 3, "collected": 3, "reranked": 3, "merged": 2},
        scores={"vector": 0.7, "fused": 0.6, "rerank": 0.4},
    ),
    a_candidate(
        "c4",
        "Zoo",
        "left",
        snippet="",
        left={"stage": "rerank", "reason": "below_threshold", "score": 0.12, "limit": 0.3, "other": None},
        ranks={"vector": 4, "fused": 4, "collected": 4},
        scores={"vector": 0.6, "fused": 0.5, "rerank": 0.12},
    ),
]

CALLS = [
    {
        "stage": "generate_answer",
        "role": "chat",
        "model": "scripted",
        "duration_ms": 690,
        "usage": {"prompt_tokens": 800, "completion_tokens": 40},
        "error": None,
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "设计流量？"},
        ],
        "exact": True,
    }
]


def a_trace(run_id: str = "r", *, question: str = "设计流量？", **more: Any) -> Json:
    run = more.pop("run", {})
    return {
        "run": a_run(run_id, question=question, **run),
        "query": question,
        "rewritten_query": "水渠的设计流量是多少？",
        "intent": "kb_search",
        "settings": {"rerank_top_k": 10, "rerank_threshold": 0.3, "mmr_lambda": None, "chat_model": None},
        "prompts": {},
        "stages": STAGES,
        "candidates": CANDIDATES,
        "calls": CALLS,
        "warnings": [],
        "events": {"count": 12, "first_at": None, "last_at": None, "resets": 0},
        "answer": "Twelve.",
        "outcome": "answered",
        "error": None,
        "missing": [],
        **more,
    }


def a_diff(first: str, second: str, **more: Any) -> Json:
    same: Json = {"in": "both", "duration_ms": [3, 4], "hits_out": [4, 4], "changed": {}}
    nothing: Json = {"entered": [], "left": [], "moved": []}
    rerank: Json = {
        "stage": "rerank",
        "in": "both",
        "duration_ms": [50, 20],
        "hits_out": [3, 2],
        "changed": {"rerank_verdict": ["ok", "rejected"]},
        "entered": [{"chunk_id": "c4", "document_title": "Zoo", "place": 2, "reason": "below_threshold"}],
        "left": [{"chunk_id": "c2", "document_title": "手册", "place": 2, "reason": "joined"}],
        "moved": [{"chunk_id": "c3", "document_title": "Manual", "from": 3, "to": 1}],
    }
    return {
        "runs": [a_run(first), a_run(second, forked_from=first, fork_stage="rerank")],
        "query": ["设计流量？", "设计流量？"],
        "settings": {"rerank_threshold": [0.3, 0.1]},
        "prompts": {},
        "stages": [{"stage": "search_chunks", **same, **nothing}, rerank],
        "answer": ["Twelve.", "Zwölf 十二。"],
        "same_answer": False,
        "outcome": ["answered", "answered"],
        "missing": [[], []],
        **more,
    }
