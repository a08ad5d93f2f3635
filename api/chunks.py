"""Single chunks: read, edited, and kept from being found."""

from starlette.requests import Request
from starlette.responses import Response

from .answers import success
from .requests import parse
from .schemas import ChangeChunk
from .shapes import chunk_shape
from .stack import Shared, stack_of


async def get_chunk(request: Request[Shared]) -> Response:
    chunk = await stack_of(request).catalogue.get_chunk(request.path_params["chunk_id"])
    return success(chunk_shape(chunk))


async def change_chunk(request: Request[Shared]) -> Response:
    body = await parse(request, ChangeChunk)
    chunk = await stack_of(request).edits.change(
        request.path_params["chunk_id"], text=body.content, enabled=body.enabled
    )
    return success(chunk_shape(chunk))
