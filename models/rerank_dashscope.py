"""`Reranker` over DashScope's own form of HTTP."""

from collections.abc import Sequence
from dataclasses import replace

import httpx

from ..settings import Endpoint
from .endpoint import EndpointClient
from .rerank_answers import nothing_scored, scores_in

API = "/api/v1"
ROUTE = "/services/rerank/text-rerank/text-rerank"


class DashScopeReranker:
    """`{model, input: {query, documents}, parameters}` to `output.results[{index, relevance_score}]`.

    The address may end with the host, with `/api/v1`, or with the whole route.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        backoff_s: float = 0.5,
    ) -> None:
        self._model = endpoint.model
        base = endpoint.base_url.removesuffix(ROUTE).removesuffix(API)
        whole = replace(endpoint, base_url=base + API)
        self._client = EndpointClient(whole, "rerank", transport=transport, backoff_s=backoff_s)

    @property
    def name(self) -> str:
        return self._model or "rerank"

    async def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """As the server gave them, NaN where it did not. Raises DependencyFailed or DependencyRefused."""
        if not passages:
            return []
        body = {
            "model": self._model,
            "input": {"query": query, "documents": [*passages]},
            "parameters": {"top_n": len(passages), "return_documents": False},
        }
        scores = scores_in(await self._client.post(ROUTE, body), len(passages))
        if nothing_scored(scores):
            raise self._client.refused("its answer holds no scores")
        return scores

    async def aclose(self) -> None:
        await self._client.aclose()
