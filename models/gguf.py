"""A local GGUF model in this process, asked through its own loopback server."""

import asyncio
import os
import secrets
from collections.abc import AsyncIterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from ..context import ChatOptions, ChatPiece, ChatPrompt
from ..errors import DependencyFailed, StartRefused
from ..settings import Endpoint
from .openai_chat import OpenAIChat


class GgufChat:
    """A model file (`context.ChatModel`); loaded at the first question, released by `aclose`.

    Raises StartRefused when the file or the extra `local` is missing.
    """

    generates = True

    def __init__(self, file: Path, *, context_tokens: int, timeout_s: float) -> None:
        self.name = file.name.removesuffix(".gguf")
        self.context_tokens = context_tokens
        self._file = file.expanduser()
        self._timeout_s = timeout_s
        self._loading = asyncio.Lock()
        self._server: Any = None
        self._client: OpenAIChat | None = None
        if find_spec("xllamacpp") is None:
            raise StartRefused(
                "HEADRACE_CHAT_GGUF needs the extra `local`: pip install 'headrace[local]'",
                code="extra_missing",
            )
        if not self._file.is_file():
            raise StartRefused(f"HEADRACE_CHAT_GGUF: there is no file {self._file}", code="model_missing")

    async def stream(self, prompt: ChatPrompt, options: ChatOptions) -> AsyncIterator[ChatPiece]:
        """Raises DependencyFailed when the file cannot be loaded or the model does not answer."""
        async with self._loading:
            self._client = self._client or await self._loaded()
        async for piece in self._client.stream(prompt, options):
            yield piece

    async def aclose(self) -> None:
        client, self._client = self._client, None
        if client:
            await client.aclose()
        # The server stops when its last reference goes.
        self._server = None

    async def _loaded(self) -> OpenAIChat:
        key = secrets.token_urlsafe(24)
        try:
            self._server = await asyncio.to_thread(_serve, self._file, self.context_tokens, key)
        except RuntimeError as error:
            raise DependencyFailed("chat", f"The model file {self._file.name} cannot be loaded.") from error
        endpoint = Endpoint(
            base_url=f"{self._server.listening_address}/v1",
            api_key=SecretStr(key),
            model=self.name,
            timeout_s=self._timeout_s,
        )
        return OpenAIChat(
            endpoint,
            role="chat",
            context_tokens=self.context_tokens,
            called=f"The model file HEADRACE_CHAT_GGUF={self._file.name}",
            use_proxies=False,
        )


def _serve(file: Path, context_tokens: int, key: str) -> Any:
    xllamacpp: Any = import_module("xllamacpp")  # a large library, and an extra
    params: Any = xllamacpp.CommonParams()
    params.model.path = str(file)
    params.n_ctx = context_tokens
    params.n_parallel = 1
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [key]
    params.ui = False
    params.verbosity = 0
    params.warmup = False
    # Both this pool and the embedder's spin while they wait: with a thread per core the two of them
    # slow each other down by an order of magnitude.
    threads = max(1, (os.cpu_count() or 2) - 1)
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    return xllamacpp.Server(params)
