"""One JSON request to a model server, tried again where that can help, its failures in our words."""

from collections.abc import Mapping
from typing import Any

import anyio
import httpx

from ..errors import DependencyFailed, DependencyRefused
from ..settings import Endpoint

TRIES = 3
# Statuses of servers that are busy, restarting or rate-limiting.
TRANSIENT = frozenset((408, 425, 429, 500, 502, 503, 504))
LONGEST_WAIT_S = 10.0


class EndpointClient:
    """Posts to one `Endpoint`. `role` names it in messages and in the settings: HEADRACE_<ROLE>_…"""

    def __init__(
        self,
        endpoint: Endpoint,
        role: str,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        backoff_s: float = 0.5,
    ) -> None:
        self._endpoint = endpoint
        self._role = role
        self._backoff_s = backoff_s
        self._client = httpx.AsyncClient(transport=transport, timeout=endpoint.timeout_s)

    async def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """The parsed answer. Raises DependencyFailed when there was none, DependencyRefused for a no."""
        for attempt in range(1, TRIES):
            try:
                response = await self._send(path, body)
            except DependencyRefused:
                raise
            except DependencyFailed as failure:
                if isinstance(failure.__cause__, httpx.TimeoutException):
                    raise  # waiting as long again would only be slower
                wait = 0.0
            else:
                if response.status_code not in TRANSIENT:
                    return self._parsed(response)
                wait = _asked_wait(response)
            await anyio.sleep(max(wait, self._backoff_s * 2 ** (attempt - 1)))
        return self._parsed(await self._send(path, body))

    async def _send(self, path: str, body: Mapping[str, Any]) -> httpx.Response:
        try:
            return await self._client.post(self._endpoint.base_url + path, json=body, headers=self._headers())
        except httpx.TimeoutException as error:
            raise self._failed(
                f"did not answer within {self._endpoint.timeout_s:g} s: "
                f"try again, or raise {self._setting('TIMEOUT_S')}"
            ) from error
        except httpx.TransportError as error:
            raise self._failed(
                f"cannot be reached: check that it runs, and {self._setting('BASE_URL')}"
            ) from error
        except (httpx.InvalidURL, UnicodeError) as error:
            settings = f"{self._setting('BASE_URL')} and {self._setting('API_KEY')}"
            raise self.refused(f"check {settings}") from error

    def refused(self, what: str) -> DependencyRefused:
        """An answer that is of no use, and what to do about it."""
        return DependencyRefused(self._role, f"the {self._role} endpoint cannot be used: {what}")

    async def aclose(self) -> None:
        await self._client.aclose()

    def _headers(self) -> dict[str, str]:
        key = self._endpoint.api_key
        return {"Authorization": f"Bearer {key.get_secret_value()}"} if key else {}

    def _parsed(self, response: httpx.Response) -> Any:
        status = response.status_code
        if status in TRANSIENT:
            raise self._failed(f"is busy or down (HTTP {status}): try again later")
        if status in (401, 403):
            raise self.refused(f"it did not accept the key (HTTP {status}), check {self._setting('API_KEY')}")
        if status == 404:
            raise self.refused(
                f"it knows no such route or model (HTTP 404), check {self._setting('BASE_URL')} "
                f"and {self._setting('MODEL')}"
            )
        if not response.is_success:
            raise self.refused(f"it answered HTTP {status}{self._reason(response)}")
        try:
            return response.json()
        except ValueError as error:
            raise self.refused(f"its answer is no JSON, check {self._setting('BASE_URL')}") from error

    def _reason(self, response: httpx.Response) -> str:
        try:
            match response.json():
                case (
                    {"error": {"message": str(message)}} | {"message": str(message)} | {"error": str(message)}
                ):
                    pass
                case _:
                    return ""
        except ValueError:
            return ""
        return f": {self._endpoint.without_secrets(message)[:200]}"

    def _failed(self, what: str) -> DependencyFailed:
        return DependencyFailed(self._role, f"the {self._role} endpoint {what}")

    def _setting(self, name: str) -> str:
        return f"HEADRACE_{self._role.upper()}_{name}"


def _asked_wait(response: httpx.Response) -> float:
    value = response.headers.get("retry-after", "")
    return min(float(value), LONGEST_WAIT_S) if value.isdecimal() else 0.0
