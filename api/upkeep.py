"""Upkeep of the data folder: giving space back, and erasing what somebody wants gone."""

from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import Response

from ..errors import BadRequest
from .answers import success
from .requests import media_type_of, parse
from .schemas import Collect, Erase
from .stack import Shared, stack_of


async def collect(request: Request[Shared]) -> Response:
    # Everything in the body has a default: `curl -X POST` alone is a whole request.
    body = await parse(request, Collect) if media_type_of(request) else Collect(dry_run=False)
    collected = await stack_of(request).retention.collect(dry_run=body.dry_run)
    return success({**asdict(collected), "freed_bytes": collected.freed_bytes})


async def clear_caches(request: Request[Shared]) -> Response:
    return success({"cleared": stack_of(request).caches.clear()})


async def erase(request: Request[Shared]) -> Response:
    stack, body = stack_of(request), await parse(request, Erase)
    match body.session_id, body.knowledge_id:
        case str(session_id), None:
            removed = await stack.erasure.session(session_id)
        case None, str(document_id):
            document = (await stack.catalogue.documents([document_id])).get(document_id)
            removed = await stack.erasure.document(document_id, document.kb_id if document else None)
        case _:
            raise BadRequest(
                "Name either a session_id or a knowledge_id: one of them, not both.", code="bad_subject"
            )
    # What was on its way while it was erased is not kept either.
    stack.caches.clear()
    return success({"removed": removed})
