"""`Reranker` over HTTP, in the form that Jina, Cohere and most local servers share."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import httpx

from ..settings import Endpoint, Settings
from .endpoint import EndpointClient


class HttpReranker:
    """`POST {base_url}/rerank`: `{model, query, documents}` to `results[{index, relevance_score}]`.

    A passage that the server left out scores 0.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        backoff_s: float = 0.5,
    ) -> None:
        self._model = endpoint.model
        self._client = EndpointClient(endpoint, "rerank", transport=transport, backoff_s=backoff_s)

    @property
    def name(self) -> str:
        return self._model or "rerank"

    async def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """One score per passage, in order, on [0,1]. Raises DependencyFailed or DependencyRefused."""
        if not passages:
            return []
        body = {"query": query, "documents": [*passages], "top_n": len(passages), "return_documents": False}
        answer = await self._client.post("/rerank", {"model": self._model, **body} if self._model else body)
        found = _scores(_results(answer), len(passages))
        if not found:
            raise self._client.refused("its answer holds no scores")
        scale = _scale(found.values())
        return [scale(found[place]) if place in found else 0.0 for place in range(len(passages))]

    async def aclose(self) -> None:
        await self._client.aclose()


def _results(answer: Any) -> list[Any]:
    match answer:
        case {"results": [*items]} | {"data": [*items]} | {"output": {"results": [*items]}} | [*items]:
            return items
        case _:
            return []


def _scores(items: Sequence[Any], count: int) -> dict[int, float]:
    scores: dict[int, float] = {}
    for item in items:
        match item:
            case {"index": int(place), "relevance_score": int() | float() as score} if 0 <= place < count:
                pass
            case {"index": int(place), "score": int() | float() as score} if 0 <= place < count:
                pass
            case _:
                continue
        if math.isfinite(score):
            scores[place] = max(float(score), scores.get(place, -math.inf))
    return scores


def _scale(scores: Iterable[float]) -> Callable[[float], float]:
    # Some servers return logits. One value outside [0,1] shows it, and then all of them are.
    if all(0.0 <= score <= 1.0 for score in scores):
        return float
    return _sigmoid


def _sigmoid(logit: float) -> float:
    # Two forms, so that neither exponent overflows.
    if logit >= 0:
        return 1.0 / (1.0 + math.exp(-logit))
    return math.exp(logit) / (1.0 + math.exp(logit))


def make_reranker(settings: Settings) -> HttpReranker | None:
    """The reranker of the settings; None where none is set, and the fused scores stand."""
    endpoint = settings.endpoint("rerank")
    return HttpReranker(endpoint) if endpoint else None
