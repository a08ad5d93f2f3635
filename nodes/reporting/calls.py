"""Calls of models as a trace shows them: who was asked, for how long, how it ended."""

import json
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from time import perf_counter

from ...context import ChatMessage
from ...errors import HeadraceError
from ...state import ModelCall, Usage
from ...text.signature import text_hash


@contextmanager
def recorded(
    calls: list[ModelCall],
    *,
    stage: str,
    role: str,
    name: Callable[[], str],
    messages: Sequence[ChatMessage] | None = None,
) -> Generator[ModelCall]:
    """Append the call that the body makes to `calls`, also when it fails. The body fills in `usage`.

    `name` is asked afterwards: a server's first model has none before it has answered.
    """
    call = ModelCall(stage=stage, role=role, model="", duration_ms=0.0, usage=Usage(), error=None)
    if messages is not None:
        call["prompt"] = messages_hash(messages)
    started = perf_counter()
    try:
        yield call
    except HeadraceError as error:
        call["error"] = error.code
        raise
    finally:
        call["model"] = name()
        call["duration_ms"] = round((perf_counter() - started) * 1000, 3)
        calls.append(call)


def messages_hash(messages: Sequence[ChatMessage]) -> str:
    """sha256 of rendered messages: the same only if every character of them is."""
    said = [[message.role, message.content] for message in messages]
    return text_hash(json.dumps(said, ensure_ascii=False, separators=(",", ":")))
