"""What a fork may change of the state: values by channel, checked deeply against the types of state.py."""

from collections.abc import Iterator, Mapping
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints, is_typeddict

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, create_model

from ..context import Catalogue
from ..errors import BadRequest
from ..settings import LONGEST_NAME, listed
from ..state import RagState

# Channels that nobody may set, and what to do instead.
NOT_CHANGED = {
    "request": "change settings or prompts instead",
    "timings": "a fork takes its own times",
    "cached": "it only tells what was not computed again",
    "budget": "it is counted anew by a fork from assemble_context",
}
# Channels that hold hits; those of earlier answers are in `history`.
HITS = ("chunk_hits", "hits", "ranked", "merged", "selected")
# What a checkpoint can hold of a whole number.
LEAST, MOST = -(2**63), 2**63 - 1


def checked_state(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Raises BadRequest (bad_state) that names the channel: unknown, not to be set, or of another type."""
    for channel, value in changes.items():
        if channel in NOT_CHANGED:
            raise _bad(channel, f"it cannot be set: {NOT_CHANGED[channel]}")
        if channel not in _hints():
            known = ", ".join(name for name in _hints() if name not in NOT_CHANGED)
            raise _bad(channel, f"there is no such channel, there are {known}")
        try:
            _checker(channel).validate_python(value, strict=True)
        except ValidationError as error:
            faults = error.errors(include_input=False, include_url=False)
            raise _bad(channel, listed([_fault(one["loc"], one["msg"]) for one in faults])) from error
        if not _fits(value):
            raise _bad(channel, "it holds a whole number of more than 64 bits")
    return dict(changes)


async def require_homes(state: Mapping[str, Any], catalogue: Catalogue) -> None:
    """Every hit of a known chunk names the document that the chunk is of: by that name runs are found when
    the document is erased. Raises BadRequest (bad_state).
    """
    hits = [*_hits(state)]
    chunks = await catalogue.chunks([*{hit["chunk_id"] for _, hit in hits}])
    for channel, hit in hits:
        chunk = chunks.get(hit["chunk_id"])
        if chunk and (chunk.document_id, chunk.kb_id) != (hit["document_id"], hit["kb_id"]):
            raise _bad(
                channel,
                f"the chunk {chunk.id} is of document_id {chunk.document_id} in kb_id {chunk.kb_id}",
            )


def _hits(state: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """With the channel of each."""
    for channel in HITS:
        yield from ((channel, hit) for hit in state.get(channel, []))
    for turn in state.get("history", []):
        yield from (("history", hit) for hit in turn["references"])


@cache
def _hints() -> dict[str, Any]:
    return get_type_hints(RagState)


@cache
def _checker(channel: str) -> TypeAdapter[Any]:
    return TypeAdapter(_checkable(_hints()[channel]))


def _checkable(hint: Any) -> Any:
    """The same type with a model in the place of each TypedDict: pydantic refuses those of `typing` before
    Python 3.12, and lets fields through that they do not have.
    """
    if is_typeddict(hint):
        return _model(hint)
    parts = get_args(hint)
    if not parts or get_origin(hint) is Literal:
        return hint
    checkable = tuple(_checkable(part) for part in parts)
    made_of: Any = get_origin(hint)
    return cast(Any, Union)[checkable] if made_of is UnionType else made_of[checkable]


@cache
def _model(shape: Any) -> type[BaseModel]:
    needed: frozenset[str] = shape.__required_keys__
    fields = {
        name: (_checkable(hint), ... if name in needed else None)
        for name, hint in get_type_hints(shape).items()
    }
    config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
    return create_model(shape.__name__, __config__=config, **cast(Any, fields))


def _fits(value: Any) -> bool:
    match value:
        case int():
            return LEAST <= value <= MOST
        case list():
            return all(map(_fits, cast("list[Any]", value)))
        case dict():
            return all(map(_fits, cast("dict[str, Any]", value).values()))
        case _:
            return True


def _fault(place: tuple[int | str, ...], reason: str) -> str:
    where = ".".join(map(str, place))
    return f"{where}: {reason}" if where else reason


def _bad(channel: str, why: str) -> BadRequest:
    channel = channel[:LONGEST_NAME]
    return BadRequest(f"state {channel!r}: {why}", code="bad_state", details={"channel": channel})
