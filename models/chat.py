"""Which model answers, and which one rewrites questions."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..context import ChatModel, Embedder, Prompts, Tokens
from ..errors import BadRequest, DependencyFailed
from ..settings import EXTRACTIVE, LONGEST_NAME, Settings
from .extractive import ExtractiveChat

if TYPE_CHECKING:
    from .gguf import GgufChat
    from .openai_chat import OpenAIChat

# A local model reads about a hundred tokens a second on one core: a longer prompt keeps a person waiting.
GGUF_CONTEXT = 3072
# A server that takes longer to list its models is believed to have the one that is asked for.
LISTING_S = 5.0
MOST_LISTED = 20


class ChatModels:
    """The models that may answer: those of a server if one is set, else a local file; and always the
    extractive answerer. Connections are opened once, whichever of a server's models answers.

    Raises StartRefused when the local file or the package that runs it is missing.
    """

    def __init__(self, settings: Settings, embedder: Embedder, tokens: Tokens, prompts: Prompts) -> None:
        self._configured = settings.chat_model or None
        self._embedder = embedder
        self._tokens = tokens
        self._prompts = prompts
        self._server = _server(settings)
        self._file = _file(settings) if self._server is None else None
        self._listed: dict[str, str] = {}  # a server's models as they were last listed: id by name for people

    def chosen(self, name: str | None = None, prompts: Prompts | None = None) -> ChatModel:
        """The model of that name, by default the configured one; `prompts` are those of the run.

        Raises BadRequest (bad_setting) where it is not to be had.
        """
        name = name or self._configured
        if name == EXTRACTIVE:
            return self._extractive(prompts)
        if name is None or name == self._configured:
            return self._server or self._file or self._extractive(prompts)
        if self._server:
            return self._server.with_model(self._listed.get(name, name))
        if self._file and name == self._file.name:
            return self._file
        raise self._unavailable(name, [self._file.name, EXTRACTIVE] if self._file else [EXTRACTIVE])

    async def require(self, name: str | None) -> None:
        """Raises BadRequest (bad_setting) that says which models there are.

        A server that does not list its models may have any: the answer will tell.
        """
        if not name or self._server is None:
            self.chosen(name)
        elif name not in (self._configured, EXTRACTIVE, *self._known()):
            await self._list(self._server)
            if self._listed and name not in self._known():
                raise self._unavailable(name, [*self._listed, EXTRACTIVE])

    async def aclose(self) -> None:
        for model in (self._server, self._file):
            if model:
                await model.aclose()

    def _extractive(self, prompts: Prompts | None) -> ExtractiveChat:
        return ExtractiveChat(self._embedder, self._tokens, prompts or self._prompts)

    def _known(self) -> list[str]:
        return [*self._listed, *self._listed.values()]

    async def _list(self, server: "OpenAIChat") -> None:
        from .openai_chat import model_name

        try:
            async with asyncio.timeout(LISTING_S):
                self._listed = {model_name(id): id for id in await server.models()}
        except (DependencyFailed, TimeoutError):
            self._listed = {}

    def _unavailable(self, name: str, names: Sequence[str]) -> BadRequest:
        more = f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
        return BadRequest(
            f"chat_model: there is no model {name[:LONGEST_NAME]!r} here, "
            f"there is {', '.join(names[:MOST_LISTED])}{more}",
            code="bad_setting",
            details={"setting": "chat_model", "available": list(names)},
        )


def make_understand(settings: Settings) -> ChatModel | None:
    """The model that rewrites questions: the one set for it, else the chat server's.

    None with a local file or without any model: the rules rewrite better than half a billion
    parameters and take no time.
    """
    for role in ("understand", "chat"):
        if endpoint := settings.endpoint(role):
            from .openai_chat import OpenAIChat

            return OpenAIChat(endpoint, role=role, context_tokens=settings.chat_context)
    return None


def _server(settings: Settings) -> "OpenAIChat | None":
    if not (endpoint := settings.endpoint("chat")):
        return None
    # The client library takes a second to import, which a start without a model need not wait for.
    from .openai_chat import OpenAIChat

    return OpenAIChat(endpoint, role="chat", context_tokens=settings.chat_context)


def _file(settings: Settings) -> "GgufChat | None":
    if not settings.chat_gguf:
        return None
    from .gguf import GgufChat

    wanted = settings.chat_context if "chat_context" in settings.model_fields_set else GGUF_CONTEXT
    return GgufChat(settings.chat_gguf, context_tokens=wanted, timeout_s=settings.chat_timeout_s)
