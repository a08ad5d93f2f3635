"""The trace of one run: what it did at each stage, what became of every candidate, what models were asked."""

from collections.abc import Callable
from typing import Any, cast

from ...state import Knobs
from .calls import calls_of
from .candidates import all_hits, candidates_of
from .recorded import Recorded
from .shapes import Events, Trace
from .stages import stages_of
from .times import wire_time_of

# Ids, names of stages and the like. A key such as "none" or "x", which local servers are given, must not
# change them.
OUR_WORDS = frozenset(
    {
        *("id", "session_id", "message_id", "chunk_id", "document_id", "kb_id", "checkpoint_id"),
        *("forked_from", "fork_stage", "forks", "merged_into", "other", "shown_in", "alias"),
        *("status", "kept", "outcome", "stage", "progress", "reads", "writes", "intent", "rerank_verdict"),
        *("code", "kind", "match_type", "marks", "fate", "merged_by", "reason", "role", "missing"),
        *("created_at", "ended_at", "started_at", "first_at", "last_at"),
    }
)


def build_trace(recorded: Recorded) -> Trace:
    """Work in proportion to what was recorded; nothing is asked of a model or a store."""
    asked, state, stages = recorded.asked, recorded.state, stages_of(recorded)
    trace = Trace(
        run=recorded.run,
        query=asked["query"],
        rewritten_query=state.get("rewritten_query"),
        intent=state.get("intent"),
        settings={name: asked[name] for name in Knobs.__annotations__ if name in asked},
        prompts=dict(asked.get("prompts") or {}),
        stages=stages,
        candidates=candidates_of(recorded),
        calls=calls_of(recorded, stages),
        warnings=state.get("warnings", []),
        events=_events(recorded),
        answer=recorded.answer,
        outcome=recorded.run["outcome"] or state.get("outcome"),
        error=recorded.error,
        missing=_missing(recorded),
    )
    return cast(Trace, without_secrets(trace, recorded.hide))


def _events(recorded: Recorded) -> Events:
    times = [event["at"] for event in recorded.events]
    return Events(
        count=len(times),
        first_at=wire_time_of(times[0]) if times else None,
        last_at=wire_time_of(times[-1]) if times else None,
        resets=sum(event["response_type"] == "reset" for event in recorded.events),
    )


def _missing(recorded: Recorded) -> list[str]:
    """What the trace of this run once showed and no longer does."""
    run, state = recorded.run, recorded.state
    missing: list[str] = []
    if not recorded.snapshots:
        if run["ended_at"] is not None and not _never_began(recorded):
            missing.append("No checkpoint of this run is left: its stages and candidates are not known.")
    elif run["kept"] == "last":
        missing.append("Only the last checkpoint is left: when its stages began is not known.")
    if not recorded.events:
        missing.append("The events of this run are gone: what was tried again is not known.")
    texts = {hit["passage"] for hit in state.get("selected", []) if "passage" in hit} - {*recorded.texts}
    if texts:
        missing.append(f"The texts of {len(texts)} selected passages are gone: prompts stand without them.")
    gone = {hit["document_id"] for hit in all_hits(state)} - {*recorded.documents}
    if gone:
        missing.append(f"Deleted since: documents that candidates came from ({len(gone)}).")
    return missing


def _never_began(recorded: Recorded) -> bool:
    """Whether it was stopped while it waited in line: no stage has told anything."""
    return bool(recorded.events) and all(event["task"] is None for event in recorded.events)


def without_secrets(value: Any, hide: Callable[[str], str]) -> Any:
    """Every text from outside, wherever it stands: a document or a server's message may hold a key."""
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, dict):
        parts = cast("dict[str, Any]", value)
        return {n: part if n in OUR_WORDS else without_secrets(part, hide) for n, part in parts.items()}
    if isinstance(value, list):
        return [without_secrets(part, hide) for part in cast("list[Any]", value)]
    return value
