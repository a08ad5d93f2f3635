"""A trace and a difference of two, as they go on the wire."""

from typing import Any, Literal, TypedDict

from ...state import StageWarning, Usage

Progress = Literal["done", "running", "failed", "stopped"]
Fate = Literal["selected", "merged", "left", "pending"]


class Run(TypedDict):
    """One run as the list of runs shows it."""

    id: str
    session_id: str
    message_id: str
    status: str
    created_at: str
    ended_at: str | None
    timing: dict[str, Any] | None
    forked_from: str | None
    fork_stage: str | None
    kept: str
    question: str
    outcome: str | None
    forks: list[str]  # runs that branch off this one, oldest first


class Stage(TypedDict):
    """One stage of a run. Times and checkpoints are null where only the result is known."""

    stage: str
    started_at: str | None
    duration_ms: float | None
    progress: Progress
    inherited: bool  # it ran in the run that this one was forked from
    attempts: int  # more than 1: begun again after a crash, or tried again
    hits_in: int | None
    hits_out: int | None
    reads: list[str]  # channels
    writes: list[str]
    output: dict[str, Any]  # what it wrote into the small channels
    departures: dict[str, int]  # by reason
    checkpoint_id: str | None  # of the state it began from
    can_fork: bool


class Left(TypedDict):
    """Where a candidate went out, and by how much. `other` is the chunk that it is too much like."""

    stage: str
    reason: str
    score: float | None
    limit: float | None
    other: str | None


class Candidate(TypedDict):
    """One chunk that was found, and what became of it.

    Exactly one of these holds, and `fate` says which: it was selected; another hit holds its text
    (`merged_into`, and `merged_by` why); it left (`left`); or the run ended or stands before that. What left
    may still be read with a selected hit, as a neighbour of it or below the same parent: `shown_in`.
    """

    chunk_id: str
    document_id: str
    document_title: str
    kb_id: str
    kind: str
    section: str | None
    page: int | None
    chunk_index: int | None
    snippet: str  # the beginning of its own text; empty when that is gone
    match_type: str
    question: str | None  # the known question that was found in its place
    marks: list[str]
    ranks: dict[str, int]  # vector, keyword, fused, collected, reranked, merged, selected; from 1
    # vector, keyword, coverage, fused, rerank, composite, mmr, final; vector_en … for a translation
    scores: dict[str, float | None]
    alias: str | None
    cited: bool
    fate: Fate
    merged_into: str | None
    merged_by: str | None
    left: Left | None
    shown_in: str | None


class CallMessage(TypedDict):
    role: str
    content: str


class Call(TypedDict):
    """One call of a model. `exact`: the rebuilt messages are those that were sent, to the letter."""

    stage: str
    role: str
    model: str  # empty where the run ended before the model had told its name
    duration_ms: float | None
    usage: Usage
    error: str | None
    messages: list[CallMessage] | None
    exact: bool | None
    inherited: bool  # made by the run that this one was forked from


class Events(TypedDict):
    count: int
    first_at: str | None
    last_at: str | None
    resets: int


class Trace(TypedDict):
    """Everything about one run. `missing` says what is no longer kept, in sentences for a person."""

    run: Run
    query: str
    rewritten_query: str | None
    intent: str | None
    settings: dict[str, Any]
    prompts: dict[str, str]
    stages: list[Stage]
    candidates: list[Candidate]
    calls: list[Call]
    warnings: list[StageWarning]
    events: Events
    answer: str
    outcome: str | None
    error: dict[str, Any] | None
    missing: list[str]


class Place(TypedDict):
    """A candidate at a stage where only one of two runs has it; `reason` is why the other has not."""

    chunk_id: str
    document_title: str
    section: str | None
    page: int | None
    chunk_index: int | None
    place: int
    reason: str | None


# `from` is a word of the language, so this one cannot be a class: a candidate in different places.
Move = TypedDict(
    "Move",
    {
        "chunk_id": str,
        "document_title": str,
        "section": str | None,
        "page": int | None,
        "chunk_index": int | None,
        "from": int,
        "to": int,
    },
)


# As above for `in`: how one stage went in two runs.
StageDiff = TypedDict(
    "StageDiff",
    {
        "stage": str,
        "in": Literal["both", "first", "second"],
        "duration_ms": list[float | None],
        "hits_out": list[int | None],
        "changed": dict[str, list[Any]],  # small channels
        "entered": list[Place],  # only in the second
        "left": list[Place],  # only in the first
        "moved": list[Move],
    },
)


class Diff(TypedDict):
    """What differs between two runs, stage by stage. Every list of two is [first, second]."""

    runs: list[Run]
    query: list[str]
    settings: dict[str, list[Any]]  # only those that differ
    prompts: dict[str, list[str | None]]
    stages: list[StageDiff]
    answer: list[str]
    same_answer: bool
    outcome: list[str | None]
    missing: list[list[str]]


class Step(TypedDict):
    """What one stage did with a candidate. `chunk_id` is the hit that holds its text by then."""

    stage: str
    chunk_id: str
    place: int | None
    score: float | None
    happened: str
