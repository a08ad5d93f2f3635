"""Keeps foreign hosts and foreign web pages out, and puts the safety headers on every answer."""

import ipaddress
import logging
from collections.abc import Sequence
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import Forbidden
from .answers import failure, internal_error

logger = logging.getLogger(__name__)

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
PORTS = {"http": 80, "https": 443}


class Guard:
    """ASGI middleware; the outermost, so that refusals and failures carry the headers too.

    A name in `Host` must be loopback or configured: else a page on a name that resolves to 127.0.0.1
    would count as the same origin. Addresses cannot be rebound, so a server that is bound to all
    interfaces (`any_address`) takes them.
    """

    def __init__(self, app: ASGIApp, *, allowed_hosts: Sequence[str], any_address: bool) -> None:
        self._app = app
        self._allowed = {host.strip().strip("[]").lower() for host in allowed_hosts}
        self._any_address = any_address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        started = False

        async def send_guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            self._check(scope)
            await self._app(scope, receive, send_guarded)
        except Forbidden as error:
            await failure(error.status, error.code, error.message)(scope, receive, send_guarded)
        except ClientDisconnect:
            logger.debug("the client left: %s", scope["path"])
        except Exception:
            logger.exception("%s %s failed", scope["method"], scope["path"])
            if started:
                raise
            await internal_error()(scope, receive, send_guarded)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        host = ",".join(headers.getlist("host"))
        if not self._is_ours(host):
            raise Forbidden(
                f"Host {host!r} is not served here. Use http://127.0.0.1, or name the host in "
                f"HEADRACE_ALLOWED_HOSTS.",
                code="host_not_allowed",
            )
        if _is_foreign(headers, host) and not _is_page_visit(scope, headers):
            raise Forbidden("Requests from other web pages are refused.", code="origin_not_allowed")

    def _is_ours(self, host: str) -> bool:
        name = host_name(host)
        if name is None:
            return False
        if name == "localhost" or name in self._allowed:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or self._any_address


def host_name(host: str) -> str | None:
    """The name or address in a Host header, without port and brackets; None when it is not one."""
    try:
        parts = urlsplit(f"//{host}")
        parts.port  # noqa: B018  # raises on a port that is not a number
    except ValueError:
        return None
    return parts.hostname if parts.netloc == host and not parts.username else None


def _is_foreign(headers: Headers, host: str) -> bool:
    if headers.get("sec-fetch-site") in ("cross-site", "same-site"):
        return True
    return not all(_is_same_origin(origin, host) for origin in headers.getlist("origin"))


def _is_same_origin(origin: str, host: str) -> bool:
    # A proxy may end TLS, so the scheme may differ from ours: it only gives the port its default.
    try:
        theirs, ours = urlsplit(origin), urlsplit(f"//{host}")
        default = PORTS[theirs.scheme]
        return (theirs.hostname, theirs.port or default) == (ours.hostname, ours.port or default)
    except (ValueError, KeyError):
        return False


def _is_page_visit(scope: Scope, headers: Headers) -> bool:
    """Somebody followed a link here: a new page opens, the one that held the link sees nothing of it."""
    return (
        scope["method"] == "GET"
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
        and "origin" not in headers
        and not scope["path"].startswith("/api/")
    )
