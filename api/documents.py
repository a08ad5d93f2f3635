"""Documents of a knowledge base: adding, progress, chunks, removing."""

from collections.abc import AsyncGenerator, Sequence
from typing import Any

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response

from ..context import Document, KnowledgeBase
from ..errors import BadRequest, Unreadable
from ..ingest.formats import format_of
from .answers import listing, success
from .requests import media_type_of, paging, parse
from .schemas import AddDocument
from .shapes import chunk_shape, document_shape
from .stack import Shared, Stack, stack_of
from .stream import event_stream, object_frames
from .upload import INCOMING, uploads


async def add_documents(request: Request[Shared]) -> Response:
    stack = stack_of(request)
    kb = await stack.catalogue.get_kb(request.path_params["kb_id"])
    if media_type_of(request) == "multipart/form-data":
        documents = await _add_files(stack, kb, request)
    else:
        documents = [await _add_text(stack, kb, request)]
    return success(await with_tags(stack, documents), status=202)


async def list_documents(request: Request[Shared]) -> Response:
    stack = stack_of(request)
    kb = await stack.catalogue.get_kb(request.path_params["kb_id"])
    page, page_size = paging(request)
    tag_id = await known_tag(stack, request)
    documents, total = await stack.catalogue.list_documents(
        kb.id, page=page, page_size=page_size, tag_id=tag_id
    )
    return listing(await with_tags(stack, documents), total=total, page=page, page_size=page_size)


async def get_document(request: Request[Shared]) -> Response:
    stack = stack_of(request)
    document = await stack.catalogue.get_document(request.path_params["document_id"])
    return success((await with_tags(stack, [document]))[0])


async def delete_document(request: Request[Shared]) -> Response:
    stack = stack_of(request)
    document = await stack.catalogue.get_document(request.path_params["document_id"])
    await stack.ingestion.delete(document.id)
    return success({"id": document.id})


async def document_events(request: Request[Shared]) -> Response:
    stack = stack_of(request)
    document = await stack.catalogue.get_document(request.path_params["document_id"])
    return event_stream(object_frames(_shapes(stack, document.id), closing=stack.closing))


async def document_chunks(request: Request[Shared]) -> Response:
    stack = stack_of(request)
    document = await stack.catalogue.get_document(request.path_params["document_id"])
    page, page_size = paging(request)
    kind = request.query_params.get("kind") or None
    chunks, total = await stack.catalogue.document_chunks(
        document.id, page=page, page_size=page_size, kind=kind
    )
    return listing([chunk_shape(one) for one in chunks], total=total, page=page, page_size=page_size)


async def _add_files(stack: Stack, kb: KnowledgeBase, request: Request[Shared]) -> list[Document]:
    limit = int(stack.settings.upload_limit_mb * 1024 * 1024)
    folder = stack.settings.data / INCOMING
    async with uploads(request, folder=folder, limit=limit) as files:
        # All or none: a list that was taken in half would have to be told apart by the client.
        for file in files:
            if not file.size:
                raise Unreadable(f"{file.name} is empty.", code="empty_document")
            await run_sync(format_of, file.name, file.path)
        return [await stack.ingestion.add(kb, name=file.name, content=file.path) for file in files]


async def _add_text(stack: Stack, kb: KnowledgeBase, request: Request[Shared]) -> Document:
    limit = int(stack.settings.upload_limit_mb * 1024 * 1024)
    body = await parse(request, AddDocument, limit=limit)
    if body.url is not None:
        raise BadRequest(
            "Addresses cannot be read yet: download the page and upload the file.", code="not_supported"
        )
    if not body.text or not body.text.strip():
        raise BadRequest("The text is empty: send {title, text}, or a file.", code="empty_text")
    if not body.title:
        raise BadRequest("The text has no title: send {title, text}.", code="empty_title")
    return await stack.ingestion.add_text(kb, title=body.title, text=body.text)


async def _shapes(stack: Stack, document_id: str) -> AsyncGenerator[dict[str, Any]]:
    async for document in stack.ingestion.watch(document_id):
        yield (await with_tags(stack, [document]))[0]


async def with_tags(stack: Stack, documents: Sequence[Document]) -> list[dict[str, Any]]:
    """The documents as they stand on the wire."""
    tags = await stack.catalogue.tags_of([one.id for one in documents])
    return [document_shape(one, tags.get(one.id, ())) for one in documents]


async def known_tag(stack: Stack, request: Request[Shared]) -> str | None:
    """`?tag_id=`. Raises NotFound `tag_not_found`."""
    tag_id = request.query_params.get("tag_id")
    return (await stack.catalogue.get_tag(tag_id)).id if tag_id else None
