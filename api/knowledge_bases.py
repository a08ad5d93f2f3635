"""Knowledge bases."""

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from ..settings import effective_knobs
from .answers import listing, success
from .requests import paging, parse
from .schemas import CreateKnowledgeBase, UpdateKnowledgeBase
from .shapes import kb_shape
from .stack import Shared, Stack, stack_of


async def create_kb(request: Request[Shared]) -> Response:
    stack = stack_of(request)
    body = await parse(request, CreateKnowledgeBase)
    await _check_settings(stack, body.settings)
    kb = await stack.catalogue.create_kb(
        name=body.name,
        description=body.description,
        kind=body.kind,
        settings=body.settings,
        embedding_model=stack.embedder.model,
    )
    return success(kb_shape(kb), status=201)


async def list_kbs(request: Request[Shared]) -> Response:
    page, page_size = paging(request)
    search = request.query_params.get("search") or None
    kbs, total = await stack_of(request).catalogue.list_kbs(page=page, page_size=page_size, search=search)
    return listing([kb_shape(kb) for kb in kbs], total=total, page=page, page_size=page_size)


async def get_kb(request: Request[Shared]) -> Response:
    return success(kb_shape(await stack_of(request).catalogue.get_kb(request.path_params["kb_id"])))


async def update_kb(request: Request[Shared]) -> Response:
    stack = stack_of(request)
    body = await parse(request, UpdateKnowledgeBase)
    await _check_settings(stack, body.settings or {})
    kb = await stack.catalogue.update_kb(
        request.path_params["kb_id"], name=body.name, description=body.description, settings=body.settings
    )
    return success(kb_shape(kb))


async def delete_kb(request: Request[Shared]) -> Response:
    stack, kb_id = stack_of(request), request.path_params["kb_id"]
    await stack.catalogue.get_kb(kb_id)
    await stack.ingestion.delete_kb(kb_id)
    return success({"id": kb_id})


async def _check_settings(stack: Stack, settings: Mapping[str, Any]) -> None:
    """Raises BadRequest (bad_setting) that names the setting."""
    knobs = effective_knobs(stack.settings.knobs(), [], settings)
    await stack.chats.require(knobs.chat_model)
