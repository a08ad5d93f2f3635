"""The calls of models, with what was asked: rendered again from the state, since it is not stored."""

from collections.abc import Sequence

from ...context import ChatMessage
from ...nodes.answering.prompting import Material, render
from ...nodes.fallback import fallback_prompt
from ...nodes.reporting.calls import messages_hash
from ...nodes.understand_query import rewrite_prompt
from ...state import ModelCall, Usage
from .candidates import hits_in
from .recorded import Recorded
from .shapes import Call, CallMessage, Stage
from .times import milliseconds_from

# Stages that end a run when their model fails: it is their one dependency.
ANSWERING = frozenset({"generate_answer", "fallback"})
# Ends that say nothing about a model.
OF_OURS = frozenset({"internal_error", "run_given_up"})


def calls_of(recorded: Recorded, stages: Sequence[Stage]) -> list[Call]:
    """Recorded ones, and the one that ended the run: a stage that fails leaves nothing in the state."""
    inherited = {stage["stage"] for stage in stages if stage["inherited"]}
    made = recorded.state.get("calls", [])
    calls = [_call(recorded, call, inherited=call["stage"] in inherited) for call in made]
    return [*calls, *(_failed(recorded, stage) for stage in stages if _ended_by(recorded, stage))]


def _call(recorded: Recorded, call: ModelCall, *, inherited: bool) -> Call:
    messages = _messages(recorded, call["stage"], call["role"])
    return Call(
        stage=call["stage"],
        role=call["role"],
        model=call["model"],
        duration_ms=call["duration_ms"],
        usage=call["usage"],
        error=call["error"],
        messages=_shown(messages),
        exact=None if messages is None or "prompt" not in call else messages_hash(messages) == call["prompt"],
        inherited=inherited,
    )


def _ended_by(recorded: Recorded, stage: Stage) -> bool:
    code = (recorded.error or {}).get("code")
    return stage["progress"] == "failed" and stage["stage"] in ANSWERING and code not in OF_OURS


def _failed(recorded: Recorded, stage: Stage) -> Call:
    return Call(
        stage=stage["stage"],
        role="chat",
        model="",
        duration_ms=milliseconds_from(stage["started_at"], recorded.run["ended_at"]),
        usage=Usage(),
        error=(recorded.error or {}).get("code"),
        messages=_shown(_messages(recorded, stage["stage"], "chat")),
        exact=None,
        inherited=False,
    )


def _messages(recorded: Recorded, stage: str, role: str) -> Sequence[ChatMessage] | None:
    """What a stage asks of a model; None where that is no conversation."""
    state, prompts = recorded.state, recorded.prompts
    match stage, role:
        case "understand_query", "understand":
            languages = [*state.get("translations", {})]
            return rewrite_prompt(state["request"], state.get("history", []), languages, prompts).messages
        case "generate_answer", "chat":
            return render(state, _material(recorded), prompts).messages
        case "fallback", "chat":
            return fallback_prompt(state["request"], prompts).messages
        case _:
            return None


def _material(recorded: Recorded) -> Material:
    """As `read_material` reads it, without what only the answerer that quotes needs."""
    hits = hits_in(recorded.state, "selected")
    present = [(hit, text) for hit in hits if (text := recorded.texts.get(hit.get("passage", "")))]
    return Material(
        hits=[hit for hit, _ in present],
        texts=[text for _, text in present],
        found=["" for _ in present],
        documents=recorded.documents,
    )


def _shown(messages: Sequence[ChatMessage] | None) -> list[CallMessage] | None:
    if messages is None:
        return None
    return [CallMessage(role=message.role, content=message.content) for message in messages]
