"""What a request says: its JSON body, its paging, its numbers. All limits on bodies are here."""

import re
from collections.abc import AsyncIterator
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json
from starlette.requests import Request

from ..errors import BadRequest, Malformed, TooLarge, UnsupportedFormat
from ..settings import listed

JSON_LIMIT = 1024 * 1024
MAX_PAGE_SIZE = 1000
MAX_PAGE = 1_000_000

AnyBody = TypeVar("AnyBody", bound=BaseModel)


async def parse(request: Request[Any], schema: type[AnyBody], *, limit: int = JSON_LIMIT) -> AnyBody:
    """The body as `schema`. Raises UnsupportedFormat (415), TooLarge (413), Malformed (400)."""
    media_type = media_type_of(request)
    if media_type != "application/json":
        raise UnsupportedFormat(
            f"Send JSON with the header Content-Type: application/json (this was {media_type or 'nothing'}).",
            code="unsupported_media_type",
        )
    try:
        # Not json.loads: this one refuses lone surrogates and endless nesting.
        sent = from_json(await read_body(request, limit=limit), allow_inf_nan=False)
    except ValueError as error:
        raise Malformed(f"The body is not JSON: {error}.") from error
    if not isinstance(sent, dict):
        raise Malformed("The body must be a JSON object.")
    try:
        return schema.model_validate(sent)
    except ValidationError as error:
        raise Malformed(_explain(error, schema)) from error


def media_type_of(request: Request[Any]) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def read_body(request: Request[Any], *, limit: int) -> bytes:
    body = bytearray()
    stream = request.stream()
    async for piece in stream:
        body += piece
        if len(body) > limit:
            await let_go(stream, most=limit)
            raise TooLarge(f"The body is larger than {limit} bytes.", details={"limit": limit})
    return bytes(body)


async def let_go(rest: AsyncIterator[bytes], *, most: int) -> None:
    """Read on without keeping anything, up to `most` bytes.

    A client that is still sending when the connection closes sees a broken pipe, not the answer.
    """
    async for piece in rest:
        most -= len(piece)
        if most < 0:
            return


def paging(request: Request[Any], *, default_size: int = 20) -> tuple[int, int]:
    """`?page=&page_size=`, from 1. Raises BadRequest."""
    return (
        _number(request, "page", default=1, most=MAX_PAGE),
        _number(request, "page_size", default=default_size, most=MAX_PAGE_SIZE),
    )


def _number(request: Request[Any], name: str, *, default: int, most: int) -> int:
    text = request.query_params.get(name, str(default))
    if not re.fullmatch(r"[0-9]{1,9}", text) or not 1 <= int(text) <= most:
        raise BadRequest(f"{name} must be a whole number from 1 to {most}.", code="bad_page")
    return int(text)


def event_id(request: Request[Any]) -> int:
    """The last event a client has seen: the Last-Event-ID header, or ?after=; 0 is none.

    The header wins: a browser that reconnects by itself sends it, with the address it first called.
    """
    text = request.headers.get("last-event-id") or request.query_params.get("after") or "0"
    if not re.fullmatch(r"[0-9]{1,15}", text):
        raise Malformed(
            "Last-Event-ID (or after) must be the id of an event: a whole number.", code="bad_event_id"
        )
    return int(text)


def compact(request: Request[Any]) -> bool:
    """`?compact=1`: without what a later reset voids. Raises Malformed."""
    text = request.query_params.get("compact", "0")
    if text not in ("0", "1"):
        raise Malformed("compact must be 0 or 1.", code="bad_compact")
    return text == "1"


def _sent_as(schema: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in schema.model_fields.items()]


def _explain(error: ValidationError, schema: type[BaseModel]) -> str:
    return listed(
        [
            f"unknown field {'.'.join(map(str, one['loc']))!r}, known are {', '.join(_sent_as(schema))}"
            if one["type"] == "extra_forbidden"
            # Lengths are checked after cleaning, where pydantic no longer knows that it was text.
            else f"{'.'.join(map(str, one['loc'])) or 'body'}: "
            f"{one['msg'].replace('items after validation', 'characters')}"
            for one in error.errors(include_input=False, include_url=False)
        ]
    )
