"""Progress windows that open and close inside one node."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

from ...context import Emitter


@contextmanager
def window(emit: Emitter, tool_name: str, arguments: Mapping[str, Any]) -> Generator[dict[str, Any]]:
    """Open a progress window and close it on every path with what the body put into the result."""
    result: dict[str, Any] = {}
    emit.open_call(tool_name, arguments)
    try:
        yield result
    except BaseException:  # a cancelled or failed stage leaves no window open either
        emit.close_call(tool_name, {**result, "interrupted": True})
        raise
    emit.close_call(tool_name, result)
