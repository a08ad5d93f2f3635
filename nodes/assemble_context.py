"""What the model will read: the passages that fit, each with its alias."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from langgraph.runtime import Runtime

from ..context import Context, Prompts
from ..state import Hit, RagState, Turn, Update
from .answering.budget import fit, token_estimate
from .answering.citations import aliases_for
from .answering.prompting import Material, history_messages, read_material, system_text, user_text
from .reporting.departures import departed
from .stage import stage

# Kept free for the answer where the request does not limit it, but never more than a quarter.
ANSWER_TOKENS = 1024
# History may take this share of what is left beside the question.
HISTORY_SHARE = 0.25


@stage
async def assemble_context(state: RagState, runtime: Runtime[Context]) -> Update:
    context = runtime.context
    material = await read_material(state, context)
    plan = plan_context(state, material, context.prompts, context.chat.context_tokens)
    selected = await _kept(plan, context)
    departures = [
        *(departed(hit, "assemble_context", "gone") for hit in without_text(state, material)),
        *(departed(hit, "assemble_context", "over_budget") for hit in plan.dropped),
    ]
    update: Update = {"budget": plan.budget, "departures": departures}
    if "selected" in state:
        update |= {"selected": selected, "aliases": aliases_for(selected)}
    return update


def without_text(state: RagState, material: Material) -> list[Hit]:
    """Selected hits whose text was erased since it was kept."""
    present = {hit["chunk_id"] for hit in material.hits}
    return [hit for hit in state.get("selected", []) if hit["chunk_id"] not in present]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Hits that fit, with their texts; `shortened` are the places of those cut, `dropped` did not fit."""

    hits: Sequence[Hit]
    texts: Sequence[str]
    shortened: Sequence[int]
    budget: dict[str, Any]
    dropped: Sequence[Hit]


def plan_context(state: RagState, material: Material, prompts: Prompts, context_tokens: int) -> Plan:
    """Fit history and passages into the context, best first; the question is never cut."""
    left = context_tokens - _reserve(state, context_tokens) - _fixed_tokens(state, material, prompts)
    turns = _turns_that_fit(state.get("history", []), int(left * HISTORY_SHARE))
    left -= sum(map(_turn_tokens, turns))
    fitted = fit(material.texts, material.found, tokens=left)
    kept = [place for place, text in enumerate(fitted) if text]
    cut = [place for place in kept if fitted[place] != material.texts[place]]
    gone = [hit for hit, text in zip(material.hits, fitted, strict=True) if not text]
    return Plan(
        hits=[material.hits[place] for place in kept],
        texts=[fitted[place] or "" for place in kept],
        shortened=[kept.index(place) for place in cut],
        budget={
            "tokens": max(left, 0),
            "characters": sum(len(fitted[place] or "") for place in kept),
            "kept": len(kept),
            "shortened": len(cut),
            "dropped": len(gone),
            "turns": len(turns),
            "current_time": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        },
        dropped=gone,
    )


def _reserve(state: RagState, context_tokens: int) -> int:
    return min(state["request"]["max_tokens"] or ANSWER_TOKENS, context_tokens // 4)


def _fixed_tokens(state: RagState, material: Material, prompts: Prompts) -> int:
    empty = replace(material, hits=(), texts=(), found=())
    return token_estimate(system_text(state, prompts)) + token_estimate(user_text(state, empty, prompts))


def _turns_that_fit(turns: Sequence[Turn], tokens: int) -> list[Turn]:
    kept: list[Turn] = []
    for turn in reversed(turns):
        tokens -= _turn_tokens(turn)
        if tokens < 0:
            break
        kept.insert(0, turn)
    return kept


def _turn_tokens(turn: Turn) -> int:
    return sum(token_estimate(message.content) for message in history_messages([turn]))


async def _kept(plan: Plan, context: Context) -> list[Hit]:
    """The hits, where a text was cut with the cut text as their passage."""
    hits = [*plan.hits]
    if plan.shortened:
        hashes = await context.passages.keep([plan.texts[place] for place in plan.shortened])
        for place, passage in zip(plan.shortened, hashes, strict=True):
            hits[place] = {**hits[place], "passage": passage}
    return hits
