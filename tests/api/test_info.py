import re

import httpx

from headrace.api.routes import CALLS, OPS

from ..running import API, data, refused


def test_says_what_it_is_made_of(client: httpx.Client) -> None:
    info = data(client.get(f"{API}/info"))
    assert info["chat"]["generates"] is False
    assert info["embedding"]["model"]
    assert info["limits"] == {"question_characters": 10_000, "upload_mb": 1}
    assert {"pdf", "docx", "txt"} <= set(info["formats"])
    assert info["samples"] == {"knowledge_base_id": None}


def test_is_up_and_ready(client: httpx.Client) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ready"}


def test_openapi_lists_every_route_and_resolves_every_reference(client: httpx.Client) -> None:
    described = client.get("/openapi.json").json()
    listed = {(method.upper(), path) for path, calls in described["paths"].items() for method in calls}
    assert listed == {(call.method, call.path) for call in [*OPS, *CALLS]}
    references = re.findall(r'"\$ref": ?"#/components/schemas/(\w+)"', client.get("/openapi.json").text)
    assert references
    assert set(references) <= set(described["components"]["schemas"])


def test_serves_the_page_with_a_strict_policy(client: httpx.Client) -> None:
    answer = client.get("/")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/html")
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    assert client.get("/app.js").headers["content-type"].startswith("text/javascript")


def test_files_outside_the_page_are_not_served(client: httpx.Client) -> None:
    for path in ("/../server.py", "/%2e%2e/server.py", "/..%2fserver.py"):
        assert client.get(path).status_code == 404


def test_missing_addresses_and_wrong_methods_answer_in_the_envelope(client: httpx.Client) -> None:
    refused(client.get("/nope"), 404, "route_not_found")
    refused(client.get(f"{API}/nope"), 404, "route_not_found")
    refused(client.delete(f"{API}/search"), 405, "method_not_allowed")
    refused(client.post("/"), 405, "method_not_allowed")
    assert "POST" in client.get(f"{API}/search").headers["allow"]


def test_pages_elsewhere_can_neither_read_nor_write(client: httpx.Client) -> None:
    foreign = {"Origin": "http://evil.example"}
    refused(client.get(f"{API}/sessions", headers=foreign), 403, "origin_not_allowed")
    refused(client.post(f"{API}/sessions", json={}, headers=foreign), 403, "origin_not_allowed")
    refused(client.options(f"{API}/sessions", headers=foreign), 403, "origin_not_allowed")
    refused(client.get(f"{API}/sessions", headers={"Host": "rebound.example"}), 403, "host_not_allowed")
    own = str(client.base_url).rstrip("/")
    assert client.get(f"{API}/sessions", headers={"Origin": own}).status_code == 200
