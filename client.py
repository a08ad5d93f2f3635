"""The server's API from a command line: one blocking client, and where to find the server."""

import contextlib
import json
from collections.abc import Generator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx

from .errors import HeadraceError, NotFound
from .folder import FolderTaken, running_owner
from .serving import bind, serving_in_thread, url_of
from .settings import Settings
from .text.labels import label_key

API = "/api/v1"
# A model may think long before its first word; keep-alives come every ten seconds.
TIMEOUT = httpx.Timeout(60, connect=10, write=60, pool=10)


class Client:
    """Calls below /api/v1. Every refusal is raised as a HeadraceError with the server's own words."""

    def __init__(self, url: str) -> None:
        self.url = url
        # The server is on this machine: a proxy from the environment does not know it.
        self._http = httpx.Client(base_url=url, timeout=TIMEOUT, trust_env=False)

    def close(self) -> None:
        self._http.close()

    def call(self, method: str, path: str, **given: Any) -> Any:
        """The `data` of the answer; `given` goes to httpx (json, params, files)."""
        with self._translated():
            return _data(self._http.request(method, API + path, **given))

    def download(self, path: str, **params: str) -> bytes:
        """The file at an address that answers with one."""
        with self._translated():
            response = self._http.get(API + path, params=params)
            if response.status_code >= 400:
                _data(response)
            return response.content

    def all(self, path: str, **params: Any) -> Iterator[dict[str, Any]]:
        """The entries of every page of a list."""
        page = 1
        while entries := self.call("GET", path, params={**params, "page": page, "page_size": 200}):
            yield from entries
            page += 1

    def events(
        self, method: str, path: str, *, json: Mapping[str, Any] | None = None
    ) -> Iterator[dict[str, Any]]:
        """The objects of an event stream, as they come.

        A server that is killed ends the stream as one that closes does: the end event is missing.
        """
        begun = False
        with self._translated(), self._http.stream(method, API + path, json=json) as response:
            if response.status_code >= 400:
                response.read()
                _data(response)
            try:
                for one in _objects(response.iter_bytes()):
                    begun = True
                    yield one
            except (httpx.ReadError, httpx.RemoteProtocolError):
                if not begun:
                    raise

    def kb_there(self, name: str) -> dict[str, Any] | None:
        """The knowledge base of that name."""
        return self._kb_among(self.all("/knowledge-bases"), name)

    def kb_named(self, name: str) -> dict[str, Any]:
        """Raises NotFound that names the ones there are."""
        kbs = list(self.all("/knowledge-bases"))
        if kb := self._kb_among(kbs, name):
            return kb
        there = (
            ", ".join(repr(kb["name"]) for kb in kbs)
            or "none yet; `headrace ingest PATH --kb NAME` makes one"
        )
        raise NotFound(f"There is no knowledge base {name!r}. There are: {there}.", code="kb_not_found")

    def tag_named(self, kb: Mapping[str, Any], name: str) -> dict[str, Any]:
        """Raises NotFound that names the ones there are."""
        tags = list(self.all(f"/knowledge-bases/{kb['id']}/tags"))
        for tag in tags:
            if label_key(tag["name"]) == label_key(name.strip()):
                return tag
        there = ", ".join(repr(tag["name"]) for tag in tags) or "none yet"
        raise NotFound(
            f"There is no tag {name!r} in {kb['name']!r}. There are: {there}.", code="tag_not_found"
        )

    def document_named(self, kb: Mapping[str, Any], name: str) -> dict[str, Any]:
        """By id or title, of an FAQ entry by its question. Raises NotFound."""
        found = [
            document
            for document in self.all(f"/knowledge-bases/{kb['id']}/documents")
            if document["id"] == name or document["title"].casefold() == name.strip().casefold()
        ]
        if not found:
            raise NotFound(f"There is no document {name!r} in {kb['name']!r}.", code="document_not_found")
        return found[0]

    @staticmethod
    def _kb_among(kbs: Iterable[dict[str, Any]], name: str) -> dict[str, Any] | None:
        wanted = name.strip().casefold()
        return next((kb for kb in kbs if kb["name"].casefold() == wanted), None)

    @contextlib.contextmanager
    def _translated(self) -> Generator[None]:
        try:
            yield
        except httpx.TimeoutException as error:
            raise HeadraceError(f"The server at {self.url} did not answer in time.") from error
        except httpx.HTTPError as error:
            raise HeadraceError(f"The server at {self.url} does not answer: {error}.") from error


@contextlib.contextmanager
def reach(settings: Settings) -> Generator[Client]:
    """The server that owns the data folder; if there is none, one in this process for the block."""
    owner = running_owner(settings.data)
    if owner is None:
        try:
            with _own_server(settings) as url, contextlib.closing(Client(url)) as client:
                yield client
            return
        except FolderTaken as taken:  # somebody else was faster
            if taken.owner is None:
                raise
            owner = taken.owner
    with contextlib.closing(Client(owner.url)) as client:
        yield client


@contextlib.contextmanager
def _own_server(settings: Settings) -> Generator[str]:
    from .server import create_app  # takes seconds to import, and most commands find a server running

    with contextlib.closing(bind("127.0.0.1", 0)) as sock:
        url = url_of("127.0.0.1", sock.getsockname()[1])
        # Who wants to look at a run, or to know what `gc` would remove, must find it there.
        with serving_in_thread(create_app(settings, url=url, collecting=False), sock):
            yield url


def _data(response: httpx.Response) -> Any:
    try:
        body: Any = response.json()
    except ValueError:
        body = {}
    match body:
        case {"success": True, "data": data}:
            return data
        case {"error": {"code": str(code), "message": str(message), **rest}}:
            raise HeadraceError(message, code=code, details=rest.get("details"))
        case _:
            raise HeadraceError(f"{response.url} is no headrace server: it answered {response.status_code}.")


def _objects(pieces: Iterator[bytes]) -> Iterator[dict[str, Any]]:
    # Not httpx's iter_lines: it also breaks lines at characters that are text here.
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                yield json.loads(line[5:])


def files_below(paths: list[Path]) -> list[Path]:
    """Files as given, and those in folders at any depth; what starts with a dot is left out there."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += [
                file
                for file in sorted(path.rglob("*"))
                if file.is_file() and not any(part.startswith(".") for part in file.relative_to(path).parts)
            ]
        else:
            found.append(path)
    return list(dict.fromkeys(found))
