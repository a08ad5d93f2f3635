"""Answers in the envelopes of the API."""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

MAX_PAGE = 1000
Json = dict[str, Any]


def success(data: Any, *, status: int = 200) -> Response:
    return JSONResponse({"success": True, "data": data}, status_code=status)


def failure(status: int, code: str, message: str, **details: Any) -> Response:
    error = {"code": code, "message": message, "details": details}
    return JSONResponse({"success": False, "error": error}, status_code=status)


def listing(items: list[Json], request: Request) -> Response:
    page = int(request.query_params.get("page", 1))
    size = min(int(request.query_params.get("page_size", 20)), MAX_PAGE)
    part = items[(page - 1) * size : page * size]
    return JSONResponse({"success": True, "data": part, "total": len(items), "page": page, "page_size": size})
