"""Which reranker there is, by the settings and by what lies on disk."""

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from ..context import ChatModel, Prompts, Reranker
from ..errors import StartRefused
from ..settings import Settings
from .model_folders import best_of, folders_in, missing_in
from .rerank_dashscope import DashScopeReranker
from .rerank_http import HttpReranker
from .rerank_listwise import ListwiseReranker

RerankKind = Literal["none", "http", "dashscope", "flashrank", "llm"]
FLASHRANK = "flashrank"


def rerank_kind(settings: Settings) -> RerankKind:
    """What `HEADRACE_RERANK` names; `auto` is a server if one is set, else a model on disk, else none."""
    if settings.rerank != "auto":
        return settings.rerank
    if settings.rerank_base_url:
        return "http"
    return "flashrank" if find_spec(FLASHRANK) and local_model(settings) else "none"


def local_model(settings: Settings) -> Path | None:
    """The folder of the model that is set, else of the most capable one on disk; None where there is none."""
    folder = flashrank_folder(settings)
    if settings.rerank_model:
        return next((found for found in folders_in(folder) if found.name == settings.rerank_model), None)
    return best_of(folders_in(folder))


def flashrank_folder(settings: Settings) -> Path:
    """Where models for FlashRank lie, each in a folder of its own."""
    return settings.models_folder / FLASHRANK


def make_reranker(
    settings: Settings, *, chat: ChatModel | None = None, prompts: Prompts | None = None
) -> Reranker | None:
    """The reranker of the settings; None where none is set, and the scores of the search stand.

    `chat` is the model that orders passages where that is wanted. Raises StartRefused when what was asked
    for by name cannot be had, with what to do about it.
    """
    kind = rerank_kind(settings)
    made: Mapping[RerankKind, Callable[[], Reranker | None]] = {
        "none": lambda: None,
        "http": lambda: _http(settings),
        "dashscope": lambda: _dashscope(settings),
        "flashrank": lambda: _flashrank(settings),
        "llm": lambda: _listwise(settings, chat, prompts),
    }
    return made[kind]()


def _http(settings: Settings) -> HttpReranker:
    endpoint = settings.endpoint("rerank")
    if endpoint is None:
        raise _without_address("http")
    return HttpReranker(endpoint)


def _dashscope(settings: Settings) -> DashScopeReranker:
    endpoint = settings.endpoint("rerank")
    if endpoint is None:
        raise _without_address("dashscope")
    if not endpoint.model:
        raise StartRefused("HEADRACE_RERANK=dashscope needs HEADRACE_RERANK_MODEL.", code="model_missing")
    return DashScopeReranker(endpoint)


def _without_address(kind: RerankKind) -> StartRefused:
    return StartRefused(f"HEADRACE_RERANK={kind} needs HEADRACE_RERANK_BASE_URL.", code="address_missing")


def _flashrank(settings: Settings) -> Reranker:
    if find_spec(FLASHRANK) is None:
        raise StartRefused(
            "HEADRACE_RERANK=flashrank needs the extra `rerank`: pip install 'headrace[rerank]'",
            code="extra_missing",
        )
    folder = local_model(settings)
    if folder is None:
        raise StartRefused(f"HEADRACE_RERANK=flashrank: {no_model(settings)}", code="model_missing")
    if missing := missing_in(folder):
        raise StartRefused(
            f"HEADRACE_RERANK=flashrank: {folder} lacks {', '.join(missing)}", code="model_missing"
        )
    from .rerank_flashrank import FlashRankReranker

    return FlashRankReranker(folder)


def no_model(settings: Settings) -> str:
    """What is not there, and how it gets there."""
    folder, name = flashrank_folder(settings), settings.rerank_model
    pulled = name or "NAME"
    there = f"there is no model {name!r}" if name else "there is no model"
    return (
        f"{there} in {folder}. `headrace models pull {pulled}` fetches one (`headrace models list` has the "
        f"names); or unpack {pulled}.zip there, so that its files lie in {folder / pulled}"
    )


def _listwise(settings: Settings, chat: ChatModel | None, prompts: Prompts | None) -> ListwiseReranker:
    if chat is None or prompts is None or not chat.generates:
        raise StartRefused(
            "HEADRACE_RERANK=llm needs a chat model: set HEADRACE_CHAT_BASE_URL or HEADRACE_CHAT_GGUF, or "
            "HEADRACE_UNDERSTAND_BASE_URL.",
            code="model_missing",
        )
    return ListwiseReranker(chat, prompts, timeout_s=settings.rerank_timeout_s)
