"""What this server is and whether it can work."""

import asyncio
import logging
from importlib.metadata import PackageNotFoundError, version

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ..context import model_name
from ..errors import DependencyFailed
from ..ingest.formats import SUPPORTED
from .answers import failure, success
from .schemas import MAX_QUESTION
from .stack import Shared, Stack, stack_of

logger = logging.getLogger(__name__)

SAMPLES_KB = "samples"
READY_TIMEOUT_S = 20.0  # the first check loads the embedding model


def program_version() -> str:
    try:
        return version("headrace")
    except PackageNotFoundError:  # run from a tree that was never installed
        return "0"


async def info(request: Request[Shared]) -> Response:
    stack = stack_of(request)
    samples = await stack.catalogue.kb_by_name(SAMPLES_KB)
    return success(
        {
            "name": "headrace",
            "version": program_version(),
            "chat": {"model": stack.chat.name, "generates": stack.chat.generates},
            "understand": {"model": stack.understand.name} if stack.understand else None,
            "embedding": {"model": model_name(stack.embedder.model)},
            "rerank": {"model": stack.reranker.name} if stack.reranker else None,
            "caches": stack.caches.counters(),
            "limits": {
                "question_characters": MAX_QUESTION,
                "upload_mb": stack.settings.upload_limit_mb,
            },
            "formats": sorted(SUPPORTED),
            "samples": {"knowledge_base_id": samples.id if samples else None},
        }
    )


async def healthz(request: Request[Shared]) -> Response:
    return JSONResponse({"status": "ok"})


async def readyz(request: Request[Shared]) -> Response:
    """200 when stores and embedder answer, else 503 with the name of the first that does not."""
    stack = stack_of(request)
    for name, check in (("journal", _journal), ("catalogue", _catalogue), ("embedder", _embedder)):
        try:
            async with asyncio.timeout(READY_TIMEOUT_S):
                await check(stack)
        except (TimeoutError, OSError, DependencyFailed) as error:
            logger.warning("not ready: %s: %s", name, error)
            return failure(503, "not_ready", f"The {name} does not answer.", details={"part": name})
    return JSONResponse({"status": "ready"})


async def _journal(stack: Stack) -> None:
    await stack.sessions.list(page=1, page_size=1)


async def _catalogue(stack: Stack) -> None:
    await stack.catalogue.list_kbs(page=1, page_size=1)


async def _embedder(stack: Stack) -> None:
    await stack.embedder.embed_queries(["ready?"])
