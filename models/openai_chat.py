"""Chat models behind an OpenAI-compatible address."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Sequence, Set
from contextlib import aclosing, contextmanager
from copy import copy
from dataclasses import replace
from pathlib import PurePath
from typing import Any, cast

import httpx
import openai
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage

from ..context import ChatMessage, ChatOptions, ChatPiece, ChatPrompt
from ..errors import DependencyFailed, DependencyRefused
from ..settings import Endpoint, Role
from .endpoint import asked_wait, on_one_line
from .openai_pieces import Pieces, ReasoningChatOpenAI, cleaned

CONNECT_S = 10.0
# Pauses before the second and third attempt, seconds.
BACKOFF_S = (0.5, 2.0)
TIMEOUT = "chat_timeout"
SHOWN_OF_A_REFUSAL = 300  # characters of what a server said
# How long an answer that is whole waits for the count of its tokens, seconds.
REST_S = 5.0
# About 100,000 tokens, thinking included: what runs on is a model in a loop.
MOST_CHARACTERS = 400_000


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
        # What a server was found not to take, by model: shared with those of `with_model`.
        self._refuses: dict[str, set[str]] = {}
        self._idle_s = endpoint.idle_s or endpoint.timeout_s
        self._priced = endpoint.input_price is not None and endpoint.output_price is not None
        longest = max(endpoint.timeout_s, self._idle_s)
        timeout = httpx.Timeout(longest, connect=min(CONNECT_S, endpoint.timeout_s))
        self._http = httpx.AsyncClient(
            timeout=timeout,
            trust_env=use_proxies,
            # Compression would hold small pieces back, and what is compressed cannot be cleaned.
            headers={"Accept-Encoding": "identity"},
            event_hooks={"response": [cleaned]},
        )
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
        other._priced = self._priced and model == self._model
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
                match error.__cause__:
                    case openai.APIStatusError(response=response):
                        pause = max(pause, asked_wait(response.headers))
                    case _:
                        pass
            await asyncio.sleep(pause)

    async def _attempt(self, prompt: ChatPrompt, options: ChatOptions) -> AsyncIterator[ChatPiece]:
        with self._translated():
            self._model = self._model or await self._first_model()
            async for piece in self._pieces(prompt, options):
                yield piece

    async def _pieces(self, prompt: ChatPrompt, options: ChatOptions) -> AsyncIterator[ChatPiece]:
        """Some servers reject what others need: they are asked once more without, and never again with."""
        refused = self._refuses.setdefault(self._model, set())
        wanted = [name for name in _extras(options) if name not in refused]
        left_out: list[str] = []
        while True:
            begun = False
            try:
                async for piece in self._call(prompt, options, {*wanted} - {*left_out}):
                    if not begun:
                        refused.update(left_out)  # the server answers without: that was it
                    begun = True
                    yield piece
                return
            except (openai.BadRequestError, openai.UnprocessableEntityError):
                if begun or len(left_out) == len(wanted):
                    raise
                left_out.append(wanted[len(left_out)])

    async def _call(
        self, prompt: ChatPrompt, options: ChatOptions, extras: Set[str]
    ) -> AsyncIterator[ChatPiece]:
        chunks = self._client.astream(
            [_to_langchain(message) for message in prompt.messages],
            model=self._model,
            stream_usage="usage" in extras,
            **_sampling(options),
            **(_thinking(options) if "thinking" in extras else {}),
        )
        read, length, said_anything = Pieces(), 0, False
        async with aclosing(cast(AsyncGenerator[AIMessageChunk], chunks)):
            async for pieces in in_time(chunks, read, first_s=self._endpoint.timeout_s, idle_s=self._idle_s):
                for piece in pieces:
                    said_anything = True
                    length += len(piece.text)
                    yield self._with_cost(piece)
                if length > MOST_CHARACTERS:
                    break
        if not said_anything and not read.finish_reason:
            raise ValueError("a stream without a single piece")
        if unfinished := self._unfinished(read.finish_reason, length):
            yield ChatPiece(kind="unfinished", text=unfinished)

    def _unfinished(self, finish_reason: str | None, length: int) -> str | None:
        """Why half an answer must not pass for a whole. Some servers never say that it is: no failure."""
        if length > MOST_CHARACTERS:
            return f"{self._called} did not come to an end: its answer is cut off."
        match finish_reason:
            case None:
                return f"{self._called} ended without saying that its answer is complete."
            case "length":
                return f"{self._called} cut its answer off at the most tokens that it may have (max_tokens)."
            case "content_filter":
                return f"{self._called} cut its answer off: a content filter stepped in."
            case _:
                return None

    def _with_cost(self, piece: ChatPiece) -> ChatPiece:
        """A provider's own word on the cost holds; the prices are those of the configured model alone."""
        if piece.kind != "usage" or not self._priced or "cost" in piece.usage:
            return piece
        tokens_in, tokens_out = piece.usage.get("prompt_tokens", 0), piece.usage.get("completion_tokens", 0)
        per_million = tokens_in * (self._endpoint.input_price or 0) + tokens_out * (
            self._endpoint.output_price or 0
        )
        return replace(piece, usage={**piece.usage, "cost": per_million / 1_000_000})

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
        except Idle as error:
            limit = "IDLE_S" if self._endpoint.idle_s else "TIMEOUT_S"
            message = f"{where} paused for {self._idle_s:g} s within its answer ({self._setting}_{limit})."
            raise DependencyFailed("chat", message, code=TIMEOUT) from error
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


async def in_time(
    chunks: AsyncIterator[AIMessageChunk], read: Pieces, *, first_s: float, idle_s: float
) -> AsyncIterator[list[ChatPiece]]:
    """The pieces as they come, until the provider or the stream says that it is the end.

    A chunk that says nothing, and there are servers that send those for ever, does not count as an answer.
    Raises TimeoutError when there is no word for `first_s`, or Idle when the next one takes over `idle_s`.
    """
    # The client's own limit waits with `asyncio.wait_for`, which before Python 3.12 loses a cancellation that
    # comes together with a chunk: a stopped answer went on (https://github.com/python/cpython/issues/86296).
    now = asyncio.get_running_loop().time
    until, begun = now() + first_s, False
    while True:
        ended = read.finish_reason is not None
        try:
            async with asyncio.timeout_at(until):
                chunk = await anext(chunks, None)
        except (TimeoutError, openai.APIError, httpx.HTTPError) as error:
            if ended:
                return  # the answer is whole, whatever became of the connection
            if begun and isinstance(error, TimeoutError):
                raise Idle from error
            raise
        if chunk is None:
            return
        pieces = read.read(chunk)
        if not ended:
            said = any(piece.text for piece in pieces)
            begun = begun or said
            until = now() + REST_S if read.finish_reason else now() + idle_s if said else until
        yield pieces


class Idle(TimeoutError):
    """An answer that has begun does not go on."""


def model_name(model: str) -> str:
    """A model's id for people; of a path only the file's name."""
    if model.startswith(("/", "~", ".")) or "\\" in model or model.endswith(".gguf"):
        return PurePath(model.replace("\\", "/")).name.removesuffix(".gguf")
    return model or "chat model"


def _extras(options: ChatOptions) -> list[str]:
    """What not every server takes, the likeliest to be refused first."""
    return ["usage"] if options.thinking is None else ["thinking", "usage"]


def _thinking(options: ChatOptions) -> dict[str, Any]:
    # The first as vLLM, SGLang and llama.cpp have it, the second as DashScope and SiliconFlow do; each
    # ignores the other's.
    asked = options.thinking
    return {"extra_body": {"chat_template_kwargs": {"enable_thinking": asked}, "enable_thinking": asked}}


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
