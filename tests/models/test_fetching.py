import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from headrace.errors import DependencyFailed
from headrace.models.fetching import fetch

CONTENT = bytes(range(256)) * 40
DIGEST = hashlib.sha256(CONTENT).hexdigest()
URL = "http://files.test/模型.zip"


def broken_off(content: bytes) -> Iterator[bytes]:
    yield content
    raise httpx.ReadError("the line broke")


def fetched(
    tmp_path: Path, answer: Callable[[httpx.Request], httpx.Response]
) -> tuple[str, list[tuple[int, int]]]:
    seen: list[tuple[int, int]] = []
    digest = fetch(
        URL,
        tmp_path / "model.zip",
        progress=lambda done, total: seen.append((done, total)),
        transport=httpx.MockTransport(answer),
    )
    return digest, seen


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_comes_whole_with_its_checksum(tmp_path: Path) -> None:
    digest, seen = fetched(tmp_path, lambda request: httpx.Response(200, content=CONTENT))
    assert (digest, seen[-1]) == (DIGEST, (len(CONTENT), len(CONTENT)))
    assert (tmp_path / "model.zip").read_bytes() == CONTENT
    assert names(tmp_path) == ["model.zip"]


def test_it_goes_on_where_the_line_broke(tmp_path: Path) -> None:
    asked: list[str | None] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.headers.get("range"))
        if len(asked) == 1:
            headers = {"etag": '"v1"', "content-length": str(len(CONTENT))}
            return httpx.Response(200, content=broken_off(CONTENT[:1000]), headers=headers)
        assert request.headers["if-range"] == '"v1"'
        headers = {"content-range": f"bytes 1000-{len(CONTENT) - 1}/{len(CONTENT)}"}
        return httpx.Response(206, content=CONTENT[1000:], headers=headers)

    assert fetched(tmp_path, answer)[0] == DIGEST
    assert asked == [None, "bytes=1000-"]


def test_it_begins_again_where_the_server_has_another_file_by_now(tmp_path: Path) -> None:
    tries: list[int] = []

    def answer(request: httpx.Request) -> httpx.Response:
        tries.append(1)
        if len(tries) == 1:
            return httpx.Response(200, content=broken_off(b"old bytes"), headers={"etag": '"v1"'})
        return httpx.Response(200, content=CONTENT, headers={"etag": '"v2"'})

    assert fetched(tmp_path, answer)[0] == DIGEST


def test_another_part_than_was_asked_for_is_not_put_in_its_place(tmp_path: Path) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if "range" in request.headers:
            return httpx.Response(206, content=CONTENT[5:], headers={"content-range": "bytes 5-99/100"})
        return httpx.Response(200, content=broken_off(CONTENT[:1000]), headers={"etag": '"v1"'})

    with pytest.raises(DependencyFailed, match="another part"):
        fetched(tmp_path, answer)


def refusing(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("no network")


def missing(request: httpx.Request) -> httpx.Response:
    return httpx.Response(404)


def always_breaking(request: httpx.Request) -> httpx.Response:
    return httpx.Response(200, content=broken_off(b"x"))


def short(request: httpx.Request) -> httpx.Response:
    return httpx.Response(200, content=iter([b"xx"]), headers={"content-length": "100"})


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (refusing, "no network"),
        (missing, "HTTP 404"),
        (always_breaking, "the line broke"),
        (short, "2 of 100 bytes"),
    ],
)
def test_what_fails_leaves_nothing_behind(
    tmp_path: Path, answer: Callable[[httpx.Request], httpx.Response], says: str
) -> None:
    with pytest.raises(DependencyFailed, match=says) as failed:
        fetched(tmp_path, answer)
    assert failed.value.code == "not_fetched"
    assert URL in failed.value.message
    assert names(tmp_path) == []


@pytest.mark.parametrize(("stated", "good"), [(DIGEST, True), ("0" * 64, False)])
def test_a_checksum_that_the_server_states_is_held_against_the_file(
    tmp_path: Path, stated: str, good: bool
) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.host == "files.test":
            headers = {"location": "http://store.test/x", "x-linked-etag": f'"{stated}"'}
            return httpx.Response(302, headers=headers)
        return httpx.Response(200, content=CONTENT)

    if good:
        assert fetched(tmp_path, answer)[0] == DIGEST
    else:
        with pytest.raises(DependencyFailed, match="checksum"):
            fetched(tmp_path, answer)
    assert names(tmp_path) == (["model.zip"] if good else [])
