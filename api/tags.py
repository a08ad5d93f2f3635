"""Tags of a knowledge base, and the tags of a document."""

from starlette.requests import Request
from starlette.responses import Response

from .answers import listing, success
from .documents import with_tags
from .requests import paging, parse
from .schemas import NameTag, SetTags
from .shapes import tag_shape
from .stack import Shared, stack_of


async def create_tag(request: Request[Shared]) -> Response:
    body = await parse(request, NameTag)
    tag = await stack_of(request).catalogue.create_tag(request.path_params["kb_id"], body.name)
    return success(tag_shape(tag), status=201)


async def list_tags(request: Request[Shared]) -> Response:
    stack = stack_of(request)
    kb = await stack.catalogue.get_kb(request.path_params["kb_id"])
    page, page_size = paging(request)
    tags, total = await stack.catalogue.list_tags(kb.id, page=page, page_size=page_size)
    return listing([tag_shape(one) for one in tags], total=total, page=page, page_size=page_size)


async def rename_tag(request: Request[Shared]) -> Response:
    body = await parse(request, NameTag)
    return success(
        tag_shape(await stack_of(request).catalogue.rename_tag(request.path_params["tag_id"], body.name))
    )


async def delete_tag(request: Request[Shared]) -> Response:
    stack, tag_id = stack_of(request), request.path_params["tag_id"]
    await stack.catalogue.delete_tag(tag_id)
    return success({"id": tag_id})


async def set_document_tags(request: Request[Shared]) -> Response:
    stack, body = stack_of(request), await parse(request, SetTags)
    document = await stack.catalogue.get_document(request.path_params["document_id"])
    await stack.catalogue.set_document_tags(document.id, body.tag_ids)
    return success((await with_tags(stack, [document]))[0])
