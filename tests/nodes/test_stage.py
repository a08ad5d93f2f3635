"""Timing, and nothing else, is added to a node."""

from typing import get_type_hints

import pytest
from langgraph.runtime import Runtime

from headrace.context import Context
from headrace.nodes.finalize import outcome_of
from headrace.nodes.stage import stage
from headrace.state import RagState, Update

from ..fakes import a_context, asked

pytestmark = pytest.mark.anyio


@stage
async def thinking(state: RagState, runtime: Runtime[Context]) -> Update:
    return {"answer": state["request"]["query"]}


async def test_a_stage_is_timed_under_its_own_name() -> None:
    update = await thinking({"request": asked("q")}, Runtime(context=a_context()))
    assert update.get("answer") == "q"
    assert list(update.get("timings", {})) == ["thinking"]


def test_langgraph_still_sees_the_types_of_the_node() -> None:
    assert get_type_hints(thinking)["state"] is RagState


def test_an_outcome_is_one_word() -> None:
    assert outcome_of({"request": asked(), "selected": []}) == "answered"
    assert outcome_of({"request": asked(), "selected": [], "declined": True}) == "declined"
    assert outcome_of({"request": asked(), "fell_back": True}) == "fallback"
    assert outcome_of({"request": asked(), "answer": "hi"}) == "chat"
