"""What one route is: enough to serve it and to describe it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A method and a path, who answers, and the shape of what is sent."""

    method: str
    path: str
    endpoint: Callable[[Request[Any]], Awaitable[Response]]
    summary: str
    body: type[BaseModel] | None = None
    status: int = 200
    query: tuple[str, ...] = ()
    paged: bool = False
    files: bool = False
    streams: Literal["only", "default"] | None = None
    serves: tuple[str, ...] = ()  # media types of a file that it answers with, instead of JSON

    def route(self, *, below: str = "") -> Route:
        return Route(self.path.removeprefix(below), self.endpoint, methods=[self.method])
