"""Entries of FAQ knowledge bases."""

from dataclasses import replace

from starlette.requests import Request
from starlette.responses import Response

from ..errors import BadRequest
from ..ingest.faq import FaqDraft
from .answers import listing, success
from .documents import known_tag
from .requests import paging, parse
from .schemas import AddFaqEntry, ChangeFaqEntry, DeleteFaqEntries, EnableFaqEntries
from .shapes import faq_shape
from .stack import Shared, stack_of

# An entry may have two thousand questions, of up to three bytes a character.
ENTRY_LIMIT = 8 * 1024 * 1024


async def create_entry(request: Request[Shared]) -> Response:
    body = await parse(request, AddFaqEntry, limit=ENTRY_LIMIT)
    entry = await stack_of(request).faq.add(request.path_params["kb_id"], FaqDraft(**body.model_dump()))
    return success(faq_shape(entry), status=201)


async def list_entries(request: Request[Shared]) -> Response:
    stack = stack_of(request)
    page, page_size = paging(request)
    entries, total = await stack.faq.list(
        request.path_params["kb_id"],
        search=request.query_params.get("search") or None,
        tag_id=await known_tag(stack, request),
        enabled=_enabled(request),
        page=page,
        page_size=page_size,
    )
    return listing([faq_shape(one) for one in entries], total=total, page=page, page_size=page_size)


async def get_entry(request: Request[Shared]) -> Response:
    return success(faq_shape(await stack_of(request).faq.get(request.path_params["entry_id"])))


async def change_entry(request: Request[Shared]) -> Response:
    body = await parse(request, ChangeFaqEntry, limit=ENTRY_LIMIT)
    given = body.model_dump(exclude_none=True)
    entry = await stack_of(request).faq.update(
        request.path_params["entry_id"], lambda draft: replace(draft, **given)
    )
    return success(faq_shape(entry))


async def delete_entry(request: Request[Shared]) -> Response:
    stack = stack_of(request)
    entry = await stack.faq.get(request.path_params["entry_id"])
    await stack.faq.remove(entry.kb_id, [entry.id])
    return success({"id": entry.id})


async def delete_entries(request: Request[Shared]) -> Response:
    body = await parse(request, DeleteFaqEntries)
    deleted = await stack_of(request).faq.remove(request.path_params["kb_id"], body.ids)
    return success({"deleted": deleted})


async def enable_entries(request: Request[Shared]) -> Response:
    body = await parse(request, EnableFaqEntries)
    changed = await stack_of(request).faq.set_enabled(request.path_params["kb_id"], body.ids, body.enabled)
    return success({"changed": changed})


def _enabled(request: Request[Shared]) -> bool | None:
    given = request.query_params.get("enabled") or None
    if given not in (None, "true", "false"):
        raise BadRequest("enabled is true or false.", code="bad_enabled")
    return None if given is None else given == "true"
