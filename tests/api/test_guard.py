from collections.abc import Mapping

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from headrace.api.guard import Guard

pytestmark = pytest.mark.anyio


async def get(path: str = "/", any_address: bool = False, /, **headers: str) -> httpx.Response:
    transport = httpx.ASGITransport(an_app(any_address=any_address))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as client:
        return await client.get(
            path, headers={name.replace("_", "-"): value for name, value in headers.items()}
        )


def an_app(*, any_address: bool = False) -> Starlette:
    async def hello(request: Request) -> Response:
        return PlainTextResponse("hello")

    async def bug(request: Request) -> Response:
        raise RuntimeError("secret detail")

    return Starlette(
        routes=[Route("/", hello), Route("/api/v1/x", hello), Route("/bug", bug)],
        middleware=[Middleware(Guard, allowed_hosts=["docs.example", "::2"], any_address=any_address)],
    )


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.0.0.1:8000", "localhost:1", "LOCALHOST", "[::1]:8000", "docs.example", "[::2]:5"],
)
async def test_serves_loopback_and_configured_hosts(host: str) -> None:
    assert (await get(Host=host)).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8000",
        "127.0.0.1.evil.example",
        "10.0.0.1",
        "",
        "user@127.0.0.1",
        "127.0.0.1:x",
    ],
)
async def test_refuses_other_hosts(host: str) -> None:
    answer = await get(Host=host)
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "host_not_allowed"


async def test_a_server_on_all_interfaces_takes_addresses_but_no_names() -> None:
    assert (await get("/", True, Host="192.168.1.5:8000")).status_code == 200
    assert (await get("/", True, Host="evil.example")).status_code == 403


@pytest.mark.parametrize("origin", ["http://127.0.0.1:8000", "HTTP://127.0.0.1:8000"])
async def test_serves_its_own_page(origin: str) -> None:
    assert (await get("/api/v1/x", Origin=origin, Sec_Fetch_Site="same-origin")).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1:8001"},
        {"Origin": "http://localhost:8000"},
        {"Origin": "null"},
        {"Origin": "://127.0.0.1:8000"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
async def test_refuses_pages_of_other_origins_also_to_read(headers: Mapping[str, str]) -> None:
    answer = await get("/api/v1/x", **headers)
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "origin_not_allowed"


async def test_a_link_elsewhere_may_open_the_page_but_not_the_api() -> None:
    link = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
    assert (await get("/", **link)).status_code == 200
    assert (await get("/api/v1/x", **link)).status_code == 403
    assert (await get("/", **link | {"Sec_Fetch_Dest": "iframe"})).status_code == 403


@pytest.mark.parametrize("path", ["/", "/missing", "/bug"])
async def test_every_answer_carries_the_safety_headers(path: str) -> None:
    for answer in (await get(path), await get(path, Host="evil.example")):
        assert "script-src 'self'" in answer.headers["content-security-policy"]
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"


async def test_a_bug_says_nothing_of_its_insides(caplog: pytest.LogCaptureFixture) -> None:
    answer = await get("/bug")
    assert answer.status_code == 500
    assert answer.json()["error"]["code"] == "internal_error"
    assert "secret detail" not in answer.text
    assert "secret detail" in caplog.text
