"""A large file over HTTP, taken up where the line broke, and whole or not at all."""

import hashlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import httpx

from ..errors import DependencyFailed

TRIES = 4
TIMEOUT_S = 30.0  # of silence
MOST_BYTES = 4 * 1024**3
PARTIAL = 206
# Where the bytes lie elsewhere than they are asked for, the first answer may say what they are.
CHECKSUM_HEADER = "x-linked-etag"

Progress = Callable[[int, int], object]  # bytes so far, and of how many (0: unknown)


def fetch(url: str, to: Path, *, progress: Progress, transport: httpx.BaseTransport | None = None) -> str:
    """Write what lies at `url` to `to`; returns its sha256.

    The file is there once it is whole: until then its bytes lie beside it, and go when it fails. Raises
    DependencyFailed (not_fetched): no network, a refusal, another length or checksum than was told.
    """
    part = to.with_name(f".{to.name}.part")
    try:
        with httpx.Client(follow_redirects=True, timeout=TIMEOUT_S, transport=transport) as client:
            return _Download(client, url, part, progress).into(to)
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        raise _failed(url, str(error) or type(error).__name__) from error
    finally:
        part.unlink(missing_ok=True)


class _Download:
    """The tries of one file: each begins where the last one ended, if the server still has the same bytes."""

    def __init__(self, client: httpx.Client, url: str, part: Path, progress: Progress) -> None:
        self._client = client
        self._url = url
        self._part = part
        self._progress = progress
        self._total = 0
        self._version = ""
        self._checksum = ""

    def into(self, to: Path) -> str:
        self._part.unlink(missing_ok=True)
        for attempt in range(1, TRIES + 1):
            try:
                self._read()
            except httpx.TransportError:
                # What has not begun will not go better at once.
                if attempt == TRIES or not self._part.exists():
                    raise
            else:
                break
        digest = self._checked()
        self._part.replace(to)
        return digest

    def _read(self) -> None:
        with self._client.stream("GET", self._url, headers=self._resuming()) as response:
            if not response.is_success:
                raise _failed(self._url, f"HTTP {response.status_code}")
            going_on = response.status_code == PARTIAL
            have = self._part.stat().st_size if going_on else 0
            if going_on and not response.headers.get("content-range", "").startswith(f"bytes {have}-"):
                raise _failed(self._url, "the server sent another part than it was asked for")
            self._note(response, have)
            with self._part.open("ab" if going_on else "wb") as file:
                for piece in response.iter_bytes():
                    file.write(piece)
                    have += len(piece)
                    if have > MOST_BYTES:
                        raise _failed(self._url, f"it is larger than {MOST_BYTES // 1024**3} GB")
                    self._progress(have, self._total)

    def _resuming(self) -> Mapping[str, str]:
        # Compressed bytes could not be counted on.
        plain = {"Accept-Encoding": "identity"}
        if not self._version or not self._part.exists():
            return plain
        return {**plain, "Range": f"bytes={self._part.stat().st_size}-", "If-Range": self._version}

    def _note(self, response: httpx.Response, have: int) -> None:
        length = response.headers.get("content-length", "")
        self._total = have + int(length) if length.isdecimal() else 0
        etag = response.headers.get("etag", "")
        self._version = "" if etag.startswith("W/") else etag
        for answer in (*response.history, response):
            stated = answer.headers.get(CHECKSUM_HEADER, "").strip('"')
            if re.fullmatch(r"[0-9a-f]{64}", stated):
                self._checksum = stated

    def _checked(self) -> str:
        size = self._part.stat().st_size
        if self._total and size != self._total:
            raise _failed(self._url, f"{size:,} of {self._total:,} bytes came")
        with self._part.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if self._checksum and digest != self._checksum:
            raise _failed(self._url, "its checksum is another than the server states")
        return digest


def _failed(url: str, why: str) -> DependencyFailed:
    return DependencyFailed("download", f"{url} could not be fetched: {why}.", code="not_fetched")
