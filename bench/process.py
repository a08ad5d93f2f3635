"""A real server process under a measurement, and a stand-in for its model server beside it."""

import asyncio
import contextlib
import os
import re
import resource
import sys
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from starlette.applications import Starlette

from headrace.serving import Serving, bind, url_of

API = "/api/v1"
# Every answer is made, and no model is asked for anything beside it.
ALONE = {"HEADRACE_ANSWER_CACHE_ENABLED": "false", "HEADRACE_SUGGESTIONS_ENABLED": "false"}
START_LIMIT_S = 120.0
STOP_LIMIT_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A running server: its process, its address, a client."""

    pid: int
    url: str
    http: httpx.AsyncClient

    async def call(self, method: str, path: str, **given: Any) -> Any:
        answer = await self.http.request(method, API + path, **given)
        body = answer.json()
        if not body["success"]:
            raise SystemExit(f"{method} {path}: {body['error']}")
        return body["data"]

    def resident_kib(self) -> int:
        return self._status("VmRSS")

    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def open_files(self) -> int:
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))

    def _status(self, name: str) -> int:
        found = re.search(
            rf"^{name}:\s+(\d+) kB$", Path(f"/proc/{self.pid}/status").read_text(), re.MULTILINE
        )
        assert found is not None
        return int(found[1])


@contextlib.asynccontextmanager
async def a_server(folder: Path, environment: Mapping[str, str]) -> AsyncGenerator[Server]:
    """`headrace serve` over the folder until the end of the block; its log lies beside the folder."""
    with folder.with_suffix(".log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "headrace.cli", "--data", folder, "serve", "--port", "0"),
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
            env={**os.environ, **ALONE, **environment},
        )
    try:
        url = await asyncio.wait_for(_address(process), START_LIMIT_S)
        async with httpx.AsyncClient(base_url=url, timeout=60, trust_env=False) as http:
            yield Server(pid=process.pid, url=url, http=http)
    finally:
        if process.returncode is None:
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), STOP_LIMIT_S)
        except TimeoutError:
            process.kill()
            await process.wait()


@contextlib.asynccontextmanager
async def beside(app: Starlette) -> AsyncGenerator[str]:
    """Serve an app in this process; gives its address."""
    with contextlib.closing(bind("127.0.0.1", 0)) as sock:
        ready = asyncio.Event()
        app.state.closing = asyncio.Event()
        serving = Serving(app, sock, on_ready=ready.set)
        task = asyncio.create_task(serving.run_app())
        await ready.wait()
        try:
            yield url_of("127.0.0.1", sock.getsockname()[1])
        finally:
            serving.should_exit = True
            await task


def allow_files(wanted: int) -> None:
    """Let this process have so many files open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    if hard != resource.RLIM_INFINITY and hard < wanted:
        raise SystemExit(f"{wanted} open files are needed, {hard} are allowed: see ulimit -n.")
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


async def _address(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    async for line in process.stdout:
        if found := re.search(rb"http://\S+", line):
            return found[0].decode().rstrip("/")
    raise SystemExit("The server did not start.")
