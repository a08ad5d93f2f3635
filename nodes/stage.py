"""What every node has in common: its time is taken."""

from collections.abc import Awaitable, Callable
from functools import wraps
from time import perf_counter
from typing import Protocol

from langgraph.runtime import Runtime

from ..context import Context
from ..state import RagState, Update


class Node(Protocol):
    """What LangGraph calls: it finds the arguments by their names."""

    def __call__(self, state: RagState, runtime: Runtime[Context]) -> Awaitable[Update]: ...


def stage(node: Callable[[RagState, Runtime[Context]], Awaitable[Update]]) -> Node:
    """Write the node's duration in milliseconds into `timings` under the node's name."""
    name = getattr(node, "__name__", "")

    # `wraps` keeps the node's own name and types, which LangGraph reads.
    @wraps(node)
    async def timed(state: RagState, runtime: Runtime[Context]) -> Update:
        started = perf_counter()
        update = await node(state, runtime)
        return {**update, "timings": {name: round((perf_counter() - started) * 1000, 3)}}

    return timed
