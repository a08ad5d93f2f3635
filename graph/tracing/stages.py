"""The stages of a run: when, how long, how many hits in and out, what each read and wrote."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from langgraph.types import StateSnapshot

from ...state import RagState
from .attempts import attempts_by_checkpoint
from .recorded import Origin, Recorded, state_of
from .shapes import Progress, Stage
from .times import wire_time

# Channels whose values are short enough to be shown whole.
SMALL = frozenset(
    {
        "ready_answer",
        "rewritten_query",
        "intent",
        "uses_history",
        "translations",
        "chosen_kb_ids",
        "kb_choice",
        "variants",
        "rerank_verdict",
        "wiki_boosted",
        "skipped",
        "cached",
        "budget",
        "usage",
        "model",
        "declined",
        "fell_back",
        "outcome",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A stage's part in the graph: channels it may read and write, and the hits on either side of it.

    The first of `writes` is there exactly if the stage has run.
    """

    reads: Sequence[str]
    writes: Sequence[str] = ()
    hits_in: str = ""
    hits_out: str = ""


_QUESTION = ("request", "rewritten_query")
_PROMPT = ("request", "history", "rewritten_query", "intent", "uses_history", "selected", "aliases", "budget")

# In the order of the graph. A test holds this against what the nodes do.
PARTS: Mapping[str, Part] = {
    "load_history": Part(reads=("request",), writes=("history",)),
    "match_ready_answer": Part(reads=("request", "history"), writes=("answer_scope", "ready_answer")),
    "answer_from_faq": Part(reads=("ready_answer",), writes=("answer",)),
    "answer_from_cache": Part(reads=("ready_answer",), writes=("answer",)),
    "understand_query": Part(
        reads=("request", "history", "answer_scope"),
        writes=("intent", "rewritten_query", "uses_history", "translations", "cached", "ready_answer"),
    ),
    "choose_kbs": Part(reads=_QUESTION, writes=("chosen_kb_ids", "kb_choice")),
    "search_chunks": Part(
        reads=(*_QUESTION, "translations", "chosen_kb_ids", "kb_choice"),
        writes=("chunk_hits", "variants", "cached"),
        hits_out="chunk_hits",
    ),
    "collect_results": Part(reads=("chunk_hits",), writes=("hits",), hits_in="chunk_hits", hits_out="hits"),
    "rerank": Part(
        reads=(*_QUESTION, "hits"),
        writes=("ranked", "rerank_verdict", "cached"),
        hits_in="hits",
        hits_out="ranked",
    ),
    "boost_wiki": Part(
        reads=("request", "ranked"), writes=("wiki_boosted", "ranked"), hits_in="ranked", hits_out="ranked"
    ),
    "merge_chunks": Part(
        reads=(*_QUESTION, "history", "ranked", "rerank_verdict"),
        writes=("merged", "skipped"),
        hits_in="ranked",
        hits_out="merged",
    ),
    "filter_top_k": Part(
        reads=("request", "merged"), writes=("selected",), hits_in="merged", hits_out="selected"
    ),
    "assemble_context": Part(
        reads=_PROMPT, writes=("budget", "selected", "aliases"), hits_in="selected", hits_out="selected"
    ),
    "emit_references": Part(reads=("selected", "aliases"), hits_in="selected", hits_out="selected"),
    "generate_answer": Part(
        reads=_PROMPT, writes=("answer", "thinking", "usage", "model", "declined"), hits_in="selected"
    ),
    "fallback": Part(
        reads=("request", "chosen_kb_ids"), writes=("fell_back", "answer", "usage", "model", "declined")
    ),
    "finalize": Part(
        reads=(
            *("request", "history", "rewritten_query", "answer_scope", "ready_answer", "uses_history"),
            "warnings",
            *("answer", "fell_back", "selected", "declined"),
        ),
        writes=("outcome",),
    ),
}


# Begins from the question alone, so a fork of it needs no checkpoint.
FIRST = "load_history"


def stages_of(recorded: Recorded) -> list[Stage]:
    """Those known by their results, those that ran, and the one that runs or at which the run ended."""
    ran = [*_ran(recorded)]
    if not recorded.snapshots:
        return ran
    first, names = recorded.snapshots[0], {stage["stage"] for stage in ran}
    before = [name for name in PARTS if name not in names and _has_run(name, first)]
    return [*(_by_result(recorded, name, first.values) for name in before), *ran]


def departures_at(stage: str, state: RagState) -> dict[str, int]:
    """How many left at a stage, by reason."""
    return dict(Counter(left["reason"] for left in state.get("departures", []) if left["stage"] == stage))


def checkpoint_of(snapshot: StateSnapshot) -> str:
    return snapshot.config.get("configurable", {}).get("checkpoint_id", "")


def _ran(recorded: Recorded) -> Iterator[Stage]:
    attempts = _attempts(recorded)
    for snapshot, after in zip_longest(recorded.snapshots, recorded.snapshots[1:]):
        for name in snapshot.next:
            if name in PARTS:
                begun = attempts.get(checkpoint_of(snapshot), 1)
                yield _between(recorded, name, snapshot, after, attempts=begun)


def _attempts(recorded: Recorded) -> dict[str, int]:
    attempts, resumed_from = attempts_by_checkpoint(recorded.events), recorded.resumed_from
    if resumed_from and recorded.snapshots:
        # A fork is taken over where it begins, like a run that another process has left there.
        begun = recorded.run["forked_from"] and resumed_from == checkpoint_of(recorded.snapshots[0])
        starts = recorded.resumes + (0 if begun else 1)
        attempts[resumed_from] = max(attempts.get(resumed_from, 1), starts)
    return attempts


def _between(
    recorded: Recorded, name: str, before: StateSnapshot, after: StateSnapshot | None, *, attempts: int
) -> Stage:
    """A stage that ran, or is running, from one state to the next."""
    part, begun = PARTS[name], state_of(before, recorded.asked)
    values: Mapping[str, Any] = after.values if after else {}
    writes = [channel for channel in part.writes if _changed(channel, before.values, values)]
    return Stage(
        stage=name,
        started_at=wire_time(before.created_at),
        duration_ms=values.get("timings", {}).get(name),
        progress=_progress(recorded.run["status"]) if after is None else "done",
        inherited=False,
        attempts=attempts,
        hits_in=_count(before.values, part.hits_in),
        hits_out=_count(values, part.hits_out),
        reads=[channel for channel in part.reads if channel in begun],
        writes=writes,
        output=_output(values, writes),
        departures=departures_at(name, recorded.state),
        checkpoint_id=checkpoint_of(before),
        can_fork=recorded.run["kept"] == "all" or name == FIRST,
    )


def _by_result(recorded: Recorded, name: str, values: Mapping[str, Any]) -> Stage:
    """A stage before the first state that is kept, or one of the run that this one was forked from."""
    part, timings = PARTS[name], values.get("timings", {})
    writes = [channel for channel in part.writes if channel in values]
    return Stage(
        stage=name,
        started_at=None,
        duration_ms=timings.get(name),
        progress="done",
        inherited=recorded.run["forked_from"] is not None and name not in timings,
        attempts=1,
        hits_in=_count(values, part.hits_in),
        hits_out=_count(values, part.hits_out),
        reads=[channel for channel in part.reads if channel in values],
        writes=writes,
        output=_output(values, writes),
        departures=departures_at(name, recorded.state),
        checkpoint_id=None,
        can_fork=name == FIRST or _kept_by_an_origin(name, recorded.origins),
    )


def _has_run(name: str, first: StateSnapshot) -> bool:
    values = first.values
    if name in values.get("timings", {}):
        return True
    match name:
        case "emit_references":  # writes nothing, but what comes next stands behind it
            return "generate_answer" in first.next or _answers_from(values) == "generate_answer"
        case "generate_answer" | "answer_from_faq" | "answer_from_cache":  # all write the same channel
            return _answers_from(values) == name
        case _:
            return PARTS[name].writes[0] in values


def _answers_from(values: Mapping[str, Any]) -> str | None:
    """The stage whose words the answer is, if there is one."""
    if "answer" not in values:
        return None
    if ready := values.get("ready_answer"):
        return f"answer_from_{'faq' if ready['source'] == 'faq' else 'cache'}"
    return "fallback" if "fell_back" in values else "generate_answer"


def _kept_by_an_origin(name: str, origins: Sequence[Origin]) -> bool:
    """Whether the checkpoint before a stage is still there, in the run that ran it."""
    order = [*PARTS]
    for origin in origins:
        if origin.fork_stage is None or order.index(name) >= order.index(origin.fork_stage):
            return origin.kept == "all"
    return False


def _changed(channel: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    return channel in after and (channel not in before or before[channel] != after[channel])


def _count(values: Mapping[str, Any], channel: str) -> int | None:
    return len(values[channel]) if channel in values else None


def _output(values: Mapping[str, Any], writes: Sequence[str]) -> dict[str, Any]:
    return {channel: values[channel] for channel in writes if channel in SMALL}


def _progress(status: str) -> Progress:
    match status:
        case "failed":
            return "failed"
        case "stopped":
            return "stopped"
        case _:
            return "running"
