"""The trace of a search: what a run's trace says of retrieval, from the last state alone."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, TypedDict, cast

from ...state import Departure, Knobs, RagState, StageWarning, Usage
from .candidates import CHANNELS, candidates_of, hits_in
from .recorded import Recorded
from .shapes import Candidate
from .stages import PARTS, SMALL, departures_at
from .trace import without_secrets

# Places in `Hit.ranks` that are not a channel's.
PLACES = frozenset(CHANNELS.values())


class SearchStage(TypedDict):
    """One stage. A number of hits is null where the stage has none on that side."""

    stage: str
    duration_ms: float
    hits_in: int | None
    hits_out: int | None
    output: dict[str, Any]
    departures: dict[str, int]  # by reason


class SearchCall(TypedDict):
    """One call of a model, answered or not."""

    stage: str
    role: str
    model: str
    duration_ms: float
    usage: Usage
    error: str | None


class SearchTrace(TypedDict):
    """Why a search found what it found. Candidates are those of a run's trace."""

    query: str
    queries: dict[str, str]  # what was searched for, by language
    variants: list[str]  # other words that were looked for too
    stages: list[SearchStage]
    candidates: list[Candidate]
    channels: dict[str, int]  # how many candidates each channel knew
    departures: list[Departure]
    warnings: list[StageWarning]
    calls: list[SearchCall]
    rerank_verdict: str | None
    cache: dict[str, str]  # hit or miss, by what might have been kept
    settings: dict[str, Any]  # as they were in effect


def search_trace(recorded: Recorded) -> SearchTrace:
    """Of a search that is recorded as a run with one snapshot: its end."""
    asked, state = recorded.asked, recorded.state
    candidates = candidates_of(recorded)
    trace = SearchTrace(
        query=asked["query"],
        queries={asked["language"]: asked["query"], **state.get("translations", {})},
        variants=state.get("variants", []),
        stages=_stages(recorded),
        candidates=candidates,
        channels=_channels(recorded),
        departures=state.get("departures", []),
        warnings=state.get("warnings", []),
        calls=[
            SearchCall(
                stage=call["stage"],
                role=call["role"],
                model=call["model"],
                duration_ms=call["duration_ms"],
                usage=call["usage"],
                error=call["error"],
            )
            for call in state.get("calls", [])
        ],
        rerank_verdict=state.get("rerank_verdict"),
        cache=state.get("cached", {}),
        settings={name: asked[name] for name in Knobs.__annotations__ if name in asked},
    )
    return cast(SearchTrace, without_secrets(trace, recorded.hide))


def _stages(recorded: Recorded) -> list[SearchStage]:
    """Those that ran, in the order of the graph."""
    state = recorded.state
    timings = state.get("timings", {})
    return [
        SearchStage(
            stage=name,
            duration_ms=timings[name],
            hits_in=_count(recorded, part.hits_in),
            hits_out=_count(recorded, part.hits_out),
            output=_output(state, part.writes),
            departures=departures_at(name, state),
        )
        for name, part in PARTS.items()
        if name in timings
    ]


def _output(state: RagState, writes: Sequence[str]) -> dict[str, Any]:
    # What all stages together had from caches is told once, beside them.
    told = SMALL - {"cached"}
    return {channel: state[channel] for channel in writes if channel in told and channel in state}


def _count(recorded: Recorded, channel: str) -> int | None:
    return len(hits_in(recorded.state, channel)) if channel and channel in recorded.state else None


def _channels(recorded: Recorded) -> dict[str, int]:
    """By channel of the search, and "expanded" where other words found something."""
    found: Counter[str] = Counter()
    for hit in hits_in(recorded.state, "chunk_hits"):
        found.update(name for name in hit["ranks"] if name not in PLACES)
    return dict(found.most_common())
