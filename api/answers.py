"""The envelope of every JSON answer, and how errors become one."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ..errors import HeadraceError

logger = logging.getLogger(__name__)

HTTP_CODES = {404: "route_not_found", 405: "method_not_allowed"}
HTTP_MESSAGES = {
    404: "There is nothing at this address. The routes are listed at /openapi.json.",
    405: "This address does not know that method.",
}


def success(data: object, *, status: int = 200) -> JSONResponse:
    return JSONResponse({"success": True, "data": data}, status_code=status)


def listing(data: Sequence[object], *, total: int, page: int, page_size: int) -> JSONResponse:
    return JSONResponse({"success": True, "data": data, "total": total, "page": page, "page_size": page_size})


def failure(
    status: int,
    code: str,
    message: str,
    *,
    details: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    error = {"code": code, "message": message, "details": dict(details or {})}
    return JSONResponse({"success": False, "error": error}, status_code=status, headers=headers)


def on_headrace_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HeadraceError)
    if error.status >= 500:
        logger.warning("%s %s: %s", request.method, request.url.path, error.message, exc_info=error)
    return failure(error.status, error.code, error.message, details=error.details)


def on_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = error.status_code
    message = HTTP_MESSAGES.get(status, error.detail)
    return failure(status, HTTP_CODES.get(status, "http_error"), message, headers=error.headers)


def internal_error() -> JSONResponse:
    """What a person sees of a bug: nothing of its insides. The log has the rest."""
    return failure(500, "internal_error", "Something went wrong here; the server's log says what. Try again.")
