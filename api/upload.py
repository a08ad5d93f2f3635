"""Multipart uploads, written to disk as they arrive and cut off at the limit."""

import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import anyio.to_thread
from python_multipart import MultipartParser
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header
from starlette.requests import Request

from ..errors import BadRequest, Malformed, TooLarge
from ..ingest.formats import clean_name
from .requests import let_go

INCOMING = "incoming"  # in the data folder: what arrives is on the disk where it will stay
MAX_FILES = 200
MAX_PARTS = 1000  # other fields are read over; each still takes time
MAX_IGNORED = 1024 * 1024  # bytes in them
FIELD = "file"
MAX_VALUE = 1000  # bytes of a field that is asked for


@dataclass(slots=True)
class Upload:
    """One file of the request: what it is called, and where its bytes are until the request ends."""

    name: str
    path: Path
    size: int = 0


@asynccontextmanager
async def uploads(
    request: Request[Any], *, folder: Path, limit: int, fields: dict[str, str] | None = None
) -> AsyncGenerator[list[Upload]]:
    """All files of the request, in a place below `folder` that is gone after the block.

    `limit` is in bytes, for each file. The values of the fields named in `fields` are put there.

    Raises TooLarge (413), Malformed (400), BadRequest (422) when there is no file.
    """
    _, options = parse_options_header(request.headers.get("content-type"))
    boundary = options.get(b"boundary")
    if not boundary:
        raise Malformed("A multipart body needs its boundary in the Content-Type header.")
    with tempfile.TemporaryDirectory(dir=folder, prefix="upload-") as place:
        parts = _Parts(Path(place), limit, fields if fields is not None else {})
        try:
            await _receive(request, boundary, parts)
        finally:
            parts.close()
        parts.read_values()
        if not parts.files:
            raise BadRequest(f"There is no file in the field {FIELD!r}.", code="no_file")
        yield parts.files


async def _receive(request: Request[Any], boundary: bytes, parts: "_Parts") -> None:
    stream = request.stream()
    try:
        parser = MultipartParser(boundary, parts.callbacks())  # pyright: ignore[reportArgumentType]
        async for piece in stream:
            # Parsing writes to disk; a piece is at most a few hundred kilobytes.
            await anyio.to_thread.run_sync(parser.write, piece)
        parser.finalize()
    except FormParserError as error:
        raise Malformed(f"The multipart body cannot be read: {error}.") from error
    except BadRequest:
        await let_go(stream, most=2 * parts.limit)
        raise
    if not parts.ended:
        raise Malformed("The multipart body ends too early.")


@dataclass(slots=True)
class _Parts:
    """Callbacks of the parser, and what they have seen so far."""

    folder: Path
    limit: int
    fields: dict[str, str]
    files: list[Upload] = field(default_factory=list[Upload])
    ended: bool = False
    _parts: int = 0
    _ignored: int = 0
    _values: dict[str, bytearray] = field(default_factory=dict[str, bytearray])
    _field: str = ""
    _header_name: bytes = b""
    _header_value: bytes = b""
    _disposition: bytes = b""
    _writing: IO[bytes] | None = None

    def callbacks(self) -> dict[str, Any]:
        return {
            "on_part_begin": self._on_part_begin,
            "on_header_field": self._on_header_field,
            "on_header_value": self._on_header_value,
            "on_header_end": self._on_header_end,
            "on_headers_finished": self._on_headers_finished,
            "on_part_data": self._on_part_data,
            "on_part_end": self.close,
            "on_end": self._on_end,
        }

    def close(self) -> None:
        if self._writing:
            self._writing.close()
            self._writing = None

    def read_values(self) -> None:
        """Raises Malformed."""
        for name, value in self._values.items():
            try:
                self.fields[name] = value.decode("utf-8")
            except UnicodeDecodeError as error:
                raise Malformed(f"The field {name!r} is not UTF-8 text.") from error

    def _on_part_begin(self) -> None:
        self._disposition = b""
        self._field = ""
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise TooLarge(
                f"More than {MAX_PARTS} parts in one request: send the files alone.",
                details={"limit": MAX_PARTS},
            )

    def _on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._header_name += data[start:end]

    def _on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._header_value += data[start:end]

    def _on_header_end(self) -> None:
        if self._header_name.lower() == b"content-disposition":
            self._disposition = self._header_value
        self._header_name = self._header_value = b""

    def _on_headers_finished(self) -> None:
        _, options = parse_options_header(self._disposition)
        name = options.get(b"name", b"").decode("utf-8", "replace")
        if name in self.fields and b"filename" not in options:
            self._field = name
            self._values[name] = bytearray()
        if name != FIELD or b"filename" not in options:
            return
        if len(self.files) >= MAX_FILES:
            raise TooLarge(
                f"More than {MAX_FILES} files in one request: send several requests.",
                details={"limit": MAX_FILES},
            )
        # Browsers write a quote in a name as %22, and escape nothing else that a name may keep.
        name = clean_name(options[b"filename"].decode("utf-8", "replace").replace("%22", '"'))
        upload = Upload(name, self.folder / str(len(self.files)))
        self.files.append(upload)
        self._writing = upload.path.open("xb")

    def _on_part_data(self, data: bytes, start: int, end: int) -> None:
        if self._field:
            self._take_value(data[start:end])
        if not self._writing:
            return self._ignore(end - start)
        upload = self.files[-1]
        upload.size += end - start
        if upload.size > self.limit:
            raise TooLarge(
                f"{upload.name!r} is larger than {self.limit / 1024 / 1024:g} MB. Split the file, or raise "
                f"HEADRACE_UPLOAD_LIMIT_MB.",
                code="upload_too_large",
                details={"limit": self.limit, "name": upload.name},
            )
        self._writing.write(data[start:end])

    def _take_value(self, data: bytes) -> None:
        value = self._values[self._field]
        value += data
        if len(value) > MAX_VALUE:
            raise TooLarge(
                f"The field {self._field!r} is longer than {MAX_VALUE} bytes.", details={"limit": MAX_VALUE}
            )

    def _ignore(self, size: int) -> None:
        self._ignored += size
        if self._ignored > MAX_IGNORED:
            raise TooLarge(
                f"More than {MAX_IGNORED} bytes outside of files: send files in the field {FIELD!r} alone.",
                details={"limit": MAX_IGNORED},
            )

    def _on_end(self) -> None:
        self.ended = True
