"""Chat models behind an OpenAI-compatible address."""

import asyncio
from collections.abc import AsyncIterator, Generator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from pathlib import PurePath
from typing import Any

import httpx
import openai
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_openai.chat_models.base import BaseChatOpenAI

from ..context import ChatMessage, ChatOptions, ChatPiece, ChatPrompt
from ..errors import DependencyFailed, DependencyRefused
from ..settings import Endpoint, Role
from ..state import Usage
from .endpoint import on_one_line

CONNECT_S = 10.0
# Pauses before the second and third attempt, seconds.
BACKOFF_S = (0.5, 2.0)
TIMEOUT = "chat_timeout"
SHOWN_OF_A_REFUSAL = 300  # characters of what a server said


class ReasoningChatOpenAI(BaseChatOpenAI):
    """The stock client reads only what the official API sends; others stream reasoning beside the content."""

    def _convert_chunk_to_generation_chunk(
        self, chunk: dict[str, Any], default_chunk_class: type, base_generation_info: dict[str, Any] | None
    ) -> ChatGenerationChunk | None:
        converted = super()._convert_chunk_to_generation_chunk(
            chunk, default_chunk_class, base_generation_info
        )
        match chunk:
            case {"choices": [{"delta": {"reasoning_content": str(text)}}, *_]} if text and converted:
                converted.message.additional_kwargs["reasoning"] = text
            case {"choices": [{"delta": {"reasoning": str(text)}}, *_]} if text and converted:
                converted.message.additional_kwargs["reasoning"] = text
            case _:
                pass
        return converted


class OpenAIChat:
    """A chat model behind an OpenAI-compatible server (`context.ChatModel`).

    Without a model name the server's first model is used. `endpoint.timeout_s` is the longest silence,
    before the first piece and between pieces. What fails before the first piece is tried three times,
    but for silence: waiting as long again would only be slower. `called` is the subject of error
    messages, which reach people who may not know the address.
    """

    generates = True

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        role: Role,
        context_tokens: int,
        backoff_s: Sequence[float] = BACKOFF_S,
        called: str | None = None,
        use_proxies: bool = True,
    ) -> None:
        self.context_tokens = context_tokens
        self._endpoint = endpoint
        self._setting = f"HEADRACE_{role.upper()}"
        self._called = called or f"The chat model at {self._setting}_BASE_URL"
        self._backoff_s = tuple(backoff_s)
        self._model = endpoint.model
        self._counts_usage = True
        timeout = httpx.Timeout(endpoint.timeout_s, connect=min(CONNECT_S, endpoint.timeout_s))
        self._http = httpx.AsyncClient(timeout=timeout, trust_env=use_proxies)
        self._client = ReasoningChatOpenAI(
            model=endpoint.model or "unknown",
            base_url=endpoint.base_url,
            # A callable keeps the library from opening a second, synchronous client.
            api_key=self._key,
            max_retries=0,
            http_async_client=self._http,
            timeout=timeout,  # without it the library switches the limits of the HTTP client off
            stream_chunk_timeout=None,  # `in_time` instead
            use_responses_api=False,
        )

    @property
    def name(self) -> str:
        return model_name(self._model)

    async def aclose(self) -> None:
        await self._http.aclose()

    def with_model(self, model: str) -> "OpenAIChat":
        """Another model of the same server, over the same connections: closing one closes all."""
        other = copy(self)
        other._model = model
        return other

    async def models(self) -> list[str]:
        """The ids of the server's models. Raises DependencyFailed, DependencyRefused."""
        with self._translated():
            listed = await self._client.root_async_client.models.list()
            return [str(model.id) for model in listed.data]

    async def stream(self, prompt: ChatPrompt, options: ChatOptions) -> AsyncIterator[ChatPiece]:
        """Raises DependencyFailed, or DependencyRefused with the setting to look at."""
        for pause in (*self._backoff_s, None):
            begun = False
            try:
                async for piece in self._attempt(prompt, options):
                    begun = True
                    yield piece
                return
            except DependencyFailed as error:
                # A refusal stays a refusal; what is merely down may come back.
                if begun or pause is None or isinstance(error, DependencyRefused) or error.code == TIMEOUT:
                    raise
            await asyncio.sleep(pause)

    async def _attempt(self, prompt: ChatPrompt, options: ChatOptions) -> AsyncIterator[ChatPiece]:
        with self._translated():
            self._model = self._model or await self._first_model()
            async for piece in self._pieces(prompt, options):
                yield piece

    async def _pieces(self, prompt: ChatPrompt, options: ChatOptions) -> AsyncIterator[ChatPiece]:
        begun = False
        try:
            async for piece in self._call(prompt, options):
                begun = True
                yield piece
        except (openai.BadRequestError, openai.UnprocessableEntityError):
            if begun or not self._counts_usage:
                raise
            # Some servers reject `stream_options`; they are asked once more without, and never again with.
            self._counts_usage = False
            async for piece in self._call(prompt, options):
                yield piece

    async def _call(self, prompt: ChatPrompt, options: ChatOptions) -> AsyncIterator[ChatPiece]:
        chunks = self._client.astream(
            [_to_langchain(message) for message in prompt.messages],
            model=self._model,
            stream_usage=self._counts_usage,
            **_sampling(options),
        )
        said_anything = finished = False
        whole = {"answer": WholeCharacters(), "thinking": WholeCharacters()}
        async for chunk in in_time(chunks, self._endpoint.timeout_s):
            finished = finished or bool(chunk.response_metadata.get("finish_reason"))
            for piece in _to_pieces(chunk):
                said_anything = True
                yield replace(piece, text=whole[piece.kind].feed(piece.text)) if piece.text else piece
        if not said_anything:
            raise ValueError("a stream without a single piece")
        if not finished:
            # Some servers never say it, so this is no failure; but half an answer must not pass for a whole.
            message = f"{self._called} ended without saying that its answer is complete."
            yield ChatPiece(kind="unfinished", text=message)

    async def _first_model(self) -> str:
        models = await self.models()
        if not models:
            raise ValueError("no models")
        return models[0]

    async def _key(self) -> str:
        key = self._endpoint.api_key
        # The client insists on a key; servers that need none ignore it.
        return key.get_secret_value() if key else "none"

    @contextmanager
    def _translated(self) -> Generator[None]:
        where = self._called
        try:
            yield
        except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
            message = f"{where} refused the key: check {self._setting}_API_KEY."
            raise DependencyRefused("chat", message, code="chat_unauthorized") from error
        except (openai.APITimeoutError, TimeoutError, httpx.TimeoutException) as error:
            message = f"{where} was silent for {self._endpoint.timeout_s:g} s ({self._setting}_TIMEOUT_S)."
            raise DependencyFailed("chat", message, code=TIMEOUT) from error
        except (openai.RateLimitError, openai.InternalServerError) as error:
            raise DependencyFailed("chat", f"{where} cannot answer now: {self._said(error)}") from error
        except openai.APIStatusError as error:
            raise DependencyRefused("chat", f"{where} refused the request: {self._said(error)}") from error
        except (openai.APIConnectionError, httpx.HTTPError) as error:
            raise DependencyFailed("chat", f"{where} cannot be reached.", code="chat_unreachable") from error
        except (
            openai.APIResponseValidationError,
            ValueError,
            TypeError,
            KeyError,
            IndexError,
            AttributeError,
        ) as error:
            # The library reads a stream without looking: whatever is not one breaks it somewhere.
            message = f"{where} did not answer like an OpenAI-compatible server: check the address."
            raise DependencyRefused("chat", message, code="chat_unreadable") from error
        except openai.APIError as error:
            raise DependencyFailed("chat", f"{where} broke off: {self._said(error)}") from error

    def _said(self, error: openai.APIError) -> str:
        # Shortened last: half a key would not be recognised.
        return self._endpoint.without_secrets(on_one_line(error.message))[:SHOWN_OF_A_REFUSAL]


async def in_time(chunks: AsyncIterator[AIMessageChunk], seconds: float) -> AsyncIterator[AIMessageChunk]:
    """The chunks as they come. Raises TimeoutError when the next one takes longer than `seconds`."""
    # The client's own limit waits with `asyncio.wait_for`, which before Python 3.12 loses a cancellation that
    # comes together with a chunk: a stopped answer went on (https://github.com/python/cpython/issues/86296).
    while True:
        async with asyncio.timeout(seconds):
            chunk = await anext(chunks, None)
        if chunk is None:
            return
        yield chunk


class WholeCharacters:
    """Joins characters that a server has cut in two: JSON may write those beyond U+FFFF as two escapes.

    A half without its other becomes U+FFFD, and nothing at the end: it has no UTF-8 and could not be stored.
    """

    def __init__(self) -> None:
        self._half = ""

    def feed(self, piece: str) -> str:
        text, self._half = self._half + piece, ""
        if "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def model_name(model: str) -> str:
    """A model's id for people; of a path only the file's name."""
    if model.startswith(("/", "~", ".")) or "\\" in model or model.endswith(".gguf"):
        return PurePath(model.replace("\\", "/")).name.removesuffix(".gguf")
    return model or "chat model"


def _to_langchain(message: ChatMessage) -> BaseMessage:
    match message.role:
        case "system":
            return SystemMessage(message.content)
        case "user":
            return HumanMessage(message.content)
        case "assistant":
            return AIMessage(message.content)


def _sampling(options: ChatOptions) -> dict[str, Any]:
    given = {
        "temperature": options.temperature,
        "top_p": options.top_p,
        "seed": options.seed,
        "max_tokens": options.max_tokens,
    }
    return {name: value for name, value in given.items() if value is not None}


def _to_pieces(chunk: AIMessageChunk) -> list[ChatPiece]:
    pieces: list[ChatPiece] = []
    match chunk.additional_kwargs.get("reasoning"):
        case str(text) if text:
            pieces.append(ChatPiece(kind="thinking", text=text))
        case _:
            pass
    match chunk.content:
        case str(text) if text:
            pieces.append(ChatPiece(kind="answer", text=text))
        case _:
            pass
    if counted := chunk.usage_metadata:
        usage = Usage(prompt_tokens=counted["input_tokens"], completion_tokens=counted["output_tokens"])
        pieces.append(ChatPiece(kind="usage", usage=usage))
    return pieces
