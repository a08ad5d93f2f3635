"""`Reranker` over HTTP, in the form that Jina, Cohere and most local servers share."""

from collections.abc import Sequence
from typing import Any

import httpx

from ..errors import DependencyRefused
from ..settings import Endpoint
from .endpoint import NO_ROUTE, EndpointClient
from .rerank_answers import nothing_scored, scores_in

ROUTES = ("/rerank", "/v1/rerank")


class HttpReranker:
    """`POST {base_url}/rerank`: `{model, query, documents}` to `results[{index, relevance_score}]`.

    Where there is no such route `/v1/rerank` is tried, and kept to once it has answered.
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
        self._routes = ROUTES[:1] if endpoint.base_url.endswith("/v1") else ROUTES

    @property
    def name(self) -> str:
        return self._model or "rerank"

    async def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """As the server gave them, NaN where it did not. Raises DependencyFailed or DependencyRefused."""
        if not passages:
            return []
        body = {"query": query, "documents": [*passages], "top_n": len(passages), "return_documents": False}
        answer = await self._posted({"model": self._model, **body} if self._model else body)
        scores = scores_in(answer, len(passages))
        if nothing_scored(scores):
            raise self._client.refused("its answer holds no scores")
        return scores

    async def aclose(self) -> None:
        await self._client.aclose()

    async def _posted(self, body: dict[str, Any]) -> Any:
        missing: DependencyRefused | None = None
        for route in self._routes:
            try:
                answer = await self._client.post(route, body)
            except DependencyRefused as error:
                if error.code != NO_ROUTE:
                    raise
                missing = missing or error
            else:
                self._routes = (route,)
                return answer
        assert missing is not None
        raise missing
