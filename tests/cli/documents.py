"""Runs, traces and differences as the server sends them, made by hand; and what a command prints."""

import json
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

from headrace.cli import main
from headrace.graph.tracing.shapes import Call, Candidate, Diff, Move, Place, Run, Stage, StageDiff, Trace


def a_run(**changes: Any) -> Run:
    return {  # pyright: ignore[reportReturnType]  # of any value, so that a test can change each
        "id": "0193a6b0c0de7000800000000000a001",
        "session_id": "s1",
        "message_id": "m1",
        "status": "complete",
        "created_at": "2026-11-30T08:00:00.000Z",
        "ended_at": "2026-11-30T08:00:01.520Z",
        "timing": {"total_ms": 1520.0, "stages_ms": {}},
        "forked_from": None,
        "fork_stage": None,
        "kept": "all",
        "question": "国内出差的住宿标准是多少？",
        "outcome": "answered",
        "forks": [],
        **changes,
    }


def a_stage(name: str = "rerank", **changes: Any) -> Stage:
    return {  # pyright: ignore[reportReturnType]  # of any value, so that a test can change each
        "stage": name,
        "started_at": "2026-11-30T08:00:00.000Z",
        "duration_ms": 100.0,
        "progress": "done",
        "inherited": False,
        "attempts": 1,
        "hits_in": None,
        "hits_out": None,
        "reads": [],
        "writes": [],
        "output": {},
        "departures": {},
        "checkpoint_id": "cp1",
        "can_fork": True,
        **changes,
    }


def a_candidate(chunk_id: str = "c-1", **changes: Any) -> Candidate:
    return {  # pyright: ignore[reportReturnType]  # of any value, so that a test can change each
        "chunk_id": chunk_id,
        "document_id": "d-1",
        "document_title": "员工手册.md",
        "kb_id": "kb-1",
        "kind": "text",
        "section": "差旅",
        "page": None,
        "chunk_index": 3,
        "snippet": "国内出差住宿标准为每晚不超过 450 元，凭发票报销。",
        "match_type": "both",
        "question": None,
        "marks": [],
        "ranks": {"vector": 2, "keyword": 1, "fused": 1},
        "scores": {"vector": 0.8812, "keyword": 12.5, "fused": 0.71, "rerank": None, "final": 0.71},
        "alias": None,
        "cited": False,
        "fate": "pending",
        "merged_into": None,
        "merged_by": None,
        "left": None,
        "shown_in": None,
        **changes,
    }


def selected(chunk_id: str, place: int, **changes: Any) -> Candidate:
    ranks = {"vector": 2, "keyword": 1, "fused": 1, "selected": place}
    return a_candidate(chunk_id, ranks=ranks, alias=f"c{place}", fate="selected", **changes)


def gone(chunk_id: str, reason: str = "below_threshold", **changes: Any) -> Candidate:
    left = {"stage": "rerank", "reason": reason, "score": 0.21, "limit": 0.3, "other": None}
    return a_candidate(chunk_id, **{"fate": "left", "left": left, **changes})


def a_call(**changes: Any) -> Call:
    return {  # pyright: ignore[reportReturnType]  # of any value, so that a test can change each
        "stage": "generate_answer",
        "role": "chat",
        "model": "qwen3-4b",
        "duration_ms": 1234.0,
        "usage": {"prompt_tokens": 812, "completion_tokens": 64},
        "error": None,
        "messages": [
            {"role": "system", "content": "只用资料回答。"},
            {"role": "user", "content": "问：住宿标准？"},
        ],
        "exact": True,
        "inherited": False,
        **changes,
    }


def a_trace(**changes: Any) -> Trace:
    return {  # pyright: ignore[reportReturnType]  # of any value, so that a test can change each
        "run": a_run(),
        "query": "国内出差的住宿标准是多少？",
        "rewritten_query": "国内出差住宿费标准",
        "intent": "kb_search",
        "settings": {"rerank_top_k": 10, "mmr_lambda": None},
        "prompts": {},
        "stages": [a_stage()],
        "candidates": [],
        "calls": [],
        "warnings": [],
        "events": {"count": 12, "first_at": None, "last_at": None, "resets": 0},
        "answer": "",
        "outcome": "answered",
        "error": None,
        "missing": [],
        **changes,
    }


def a_stage_diff(name: str = "rerank", **changes: Any) -> StageDiff:
    return {  # pyright: ignore[reportReturnType]  # of any value, so that a test can change each
        "stage": name,
        "in": "both",
        "duration_ms": [100.0, 120.0],
        "hits_out": [None, None],
        "changed": {},
        "entered": [],
        "left": [],
        "moved": [],
        **changes,
    }


def a_place(title: str, place: int, **changes: Any) -> Place:
    return {  # pyright: ignore[reportReturnType]  # of any value, so that a test can change each
        "chunk_id": "x",
        "document_title": title,
        "section": None,
        "page": None,
        "chunk_index": None,
        "place": place,
        "reason": None,
        **changes,
    }


def a_move(title: str, before: int, after: int, **changes: Any) -> Move:
    place = a_place(title, 0, **changes)
    known = {name: value for name, value in place.items() if name not in ("place", "reason")}
    return {**known, "from": before, "to": after}  # pyright: ignore[reportReturnType]


def a_diff(**changes: Any) -> Diff:
    fork = a_run(id="0193a6b0c0de7000800000000000a002", forked_from=a_run()["id"], fork_stage="rerank")
    return {  # pyright: ignore[reportReturnType]  # of any value, so that a test can change each
        "runs": [a_run(), fork],
        "settings": {},
        "prompts": {},
        "stages": [a_stage_diff()],
        "answer": ["每晚 450 元。", "每晚 450 元。"],
        "same_answer": True,
        "outcome": ["answered", "answered"],
        "query": [a_run()["question"]] * 2,
        "missing": [[], []],
        **changes,
    }


def report_of(*arguments: str, code: int = 0) -> Any:
    """The one document that a command prints with --json."""
    with redirect_stdout(StringIO()) as out:
        assert main([*arguments, "--json"]) == code
    return json.loads(out.getvalue())
