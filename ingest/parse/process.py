"""The parser as the rest of the program sees it: a worker process, kept warm, and killed when needed."""

import json
import logging
import os
import sys
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import Any, Protocol

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream
from anyio.to_thread import run_sync

from ...errors import Unreadable
from ...settings import Settings
from .. import faq_files
from ..faq_files import FaqFile, FaqFormat
from ..formats import Format
from ..parsed import Parsed, from_json

FILES_PER_WORKER = 200  # memory that libraries keep goes back with the process
LENGTH_BYTES = 4
PASSED_ON = (
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "PYTHONPATH",
    "PYTHONHOME",
    "LD_LIBRARY_PATH",
    "TMPDIR",
)
LARGEST_ANSWER = 512 * 1024 * 1024

log = logging.getLogger(__name__)


class Parser(Protocol):
    """A file to blocks. Raises Unreadable with a reason for a person."""

    async def parse(self, path: Path, name: str, format: Format) -> Parsed: ...

    async def close(self) -> None: ...


class ParserProcess:
    """`Parser` in a worker process: one file at a time, the process started with the first.

    A worker that takes too long, dies or answers nonsense is killed and the file is Unreadable;
    the next file gets a new worker, as it does after one that took much memory. Limits:
    `parse_timeout_s`, `parse_memory_mb`.
    """

    def __init__(self, settings: Settings) -> None:
        self._timeout_s = settings.parse_timeout_s
        self._memory_mb = settings.parse_memory_mb
        self._turn = anyio.Lock()
        self._worker: _Worker | None = None

    async def parse(self, path: Path, name: str, format: Format) -> Parsed:
        async with self._turn:
            answer = await self._ask({"path": str(path), "name": name, "format": format})
        match answer:
            case {"parsed": parsed}:
                return await run_sync(from_json, parsed)
            case _:
                raise _refusal(answer)

    async def read_faq(self, path: Path, format: FaqFormat) -> FaqFile:
        """FAQ entries of a file. Raises Unreadable as `parse` does."""
        async with self._turn:
            answer = await self._ask({"path": str(path), "faq": format})
        match answer:
            case {"faq": file}:
                return await run_sync(faq_files.from_json, file)
            case _:
                raise _refusal(answer)

    async def close(self) -> None:
        """End the idle worker; one that is parsing ends when the call that waits for it is cancelled."""
        if self._worker is not None:
            worker, self._worker = self._worker, None
            await worker.end()

    async def _ask(self, request: dict[str, Any]) -> Any:
        if self._worker is None or self._worker.files >= FILES_PER_WORKER or not self._worker.alive:
            await self.close()
            self._worker = await _start(self._memory_mb, self._timeout_s)
        worker, self._worker = self._worker, None  # until it has answered, it is not fit for another file
        try:
            with anyio.fail_after(self._timeout_s):
                answer = await worker.ask(request)
        except TimeoutError as error:
            await worker.end()
            raise Unreadable(
                f"parsing took longer than {self._timeout_s:g} seconds and was stopped", code="parse_timeout"
            ) from error
        except (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError, ValueError) as error:
            await worker.end()
            log.warning("parser worker died", extra={"returncode": worker.returncode})
            raise Unreadable("the parser crashed on this file", code="parser_failed") from error
        except BaseException:
            await worker.end()
            raise
        match answer:
            case {"spent": False}:
                self._worker = worker
            case _:
                await worker.end()
        return answer


def _refusal(answer: Any) -> Unreadable:
    match answer:
        case {"error": {"message": str(message), "code": str(code)}}:
            return Unreadable(message, code=code)
        case _:
            return Unreadable("the parser gave no answer", code="parser_failed")


async def _start(memory_mb: int, timeout_s: float) -> "_Worker":
    # -P: the folder the server was started in must not shadow modules; -B: it cannot write bytecode.
    command = [sys.executable, "-P", "-B", "-m", "headrace.ingest.worker", str(memory_mb), str(timeout_s)]
    # Files are untrusted: what reads them has no business with the keys in our environment.
    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return _Worker(
        await anyio.open_process(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=environment)
    )


class _Worker:
    def __init__(self, process: Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.files = 0
        self._process = process
        self._stdin = process.stdin
        self._stdout = BufferedByteReceiveStream(process.stdout)

    @property
    def alive(self) -> bool:
        return self._process.returncode is None

    @property
    def returncode(self) -> int | None:
        return self._process.returncode

    async def ask(self, request: dict[str, Any]) -> Any:
        self.files += 1
        body = json.dumps(request).encode("ascii")
        await self._stdin.send(len(body).to_bytes(LENGTH_BYTES, "big") + body)
        length = int.from_bytes(await self._stdout.receive_exactly(LENGTH_BYTES), "big")
        if length > LARGEST_ANSWER:
            raise ValueError("too long an answer")
        answer = await self._stdout.receive_exactly(length)
        # A whole book takes a second to read: not on the loop, where others wait.
        return await run_sync(json.loads, answer)

    async def end(self) -> None:
        # Shielded: a cancelled caller must not leave the process behind.
        with anyio.CancelScope(shield=True):
            if self._process.returncode is None:
                self._process.kill()
            await self._process.aclose()
