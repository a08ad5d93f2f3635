"""One JSON request to a model server, tried again where that can help, its failures in our words."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import anyio
import httpx

from ..errors import DependencyFailed, DependencyRefused
from ..settings import Endpoint

TRIES = 3
# Statuses of servers that are busy, restarting or rate-limiting.
TRANSIENT = frozenset((408, 425, 429, 500, 502, 503, 504))
LONGEST_WAIT_S = 10.0
# A batch of embeddings of the largest models takes a tenth of it.
MOST_BYTES = 32 * 1024 * 1024
NO_ROUTE = "endpoint_no_route"  # code of a 404


@dataclass(frozen=True, slots=True)
class Answer:
    """A response, read whole."""

    status: int
    headers: httpx.Headers
    body: bytes

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


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
                answer = await self._send(path, body)
            except DependencyRefused:
                raise
            except DependencyFailed as failure:
                if isinstance(failure.__cause__, httpx.TimeoutException | TimeoutError):
                    raise  # waiting as long again would only be slower
                wait = 0.0
            else:
                if answer.status not in TRANSIENT:
                    return self._parsed(answer)
                wait = asked_wait(answer.headers)
            await anyio.sleep(max(wait, self._backoff_s * 2 ** (attempt - 1)))
        return self._parsed(await self._send(path, body))

    async def _send(self, path: str, body: Mapping[str, Any]) -> Answer:
        url = self._endpoint.base_url + path
        try:
            # The client's own limit is for each piece: a server that drips would be waited for for ever.
            async with (
                asyncio.timeout(self._endpoint.timeout_s),
                self._client.stream("POST", url, json=body, headers=self._headers()) as response,
            ):
                return Answer(response.status_code, response.headers, await self._read(response))
        except (httpx.TimeoutException, TimeoutError) as error:
            raise self._failed(
                f"did not answer within {self._endpoint.timeout_s:g} s: "
                f"try again, or raise {self._setting('TIMEOUT_S')}"
            ) from error
        except httpx.DecodingError as error:
            raise self.refused(f"its answer is garbled, check {self._setting('BASE_URL')}") from error
        except httpx.TransportError as error:
            raise self._failed(
                f"cannot be reached: check that it runs, and {self._setting('BASE_URL')}"
            ) from error
        except (httpx.InvalidURL, UnicodeError) as error:
            settings = f"{self._setting('BASE_URL')} and {self._setting('API_KEY')}"
            raise self.refused(f"check {settings}") from error

    async def _read(self, response: httpx.Response) -> bytes:
        body = bytearray()
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > MOST_BYTES:
                raise self.refused(f"its answer is longer than {MOST_BYTES // 1024**2} MB")
        return bytes(body)

    def refused(self, what: str, *, code: str | None = None) -> DependencyRefused:
        """An answer that is of no use, and what to do about it."""
        return DependencyRefused(self._role, f"the {self._role} endpoint cannot be used: {what}", code=code)

    async def aclose(self) -> None:
        await self._client.aclose()

    def _headers(self) -> dict[str, str]:
        key = self._endpoint.api_key
        return {"Authorization": f"Bearer {key.get_secret_value()}"} if key else {}

    def _parsed(self, answer: Answer) -> Any:
        status = answer.status
        if status in TRANSIENT:
            raise self._failed(f"is busy or down (HTTP {status}): try again later")
        if status in (401, 403):
            raise self.refused(f"it did not accept the key (HTTP {status}), check {self._setting('API_KEY')}")
        if status == 404:
            raise self.refused(
                f"it knows no such route or model (HTTP 404), check {self._setting('BASE_URL')} "
                f"and {self._setting('MODEL')}",
                code=NO_ROUTE,
            )
        if not answer.is_success:
            raise self.refused(f"it answered HTTP {status}{self._reason(answer)}")
        try:
            return json.loads(answer.body)
        except (ValueError, RecursionError) as error:
            raise self.refused(f"its answer is no JSON, check {self._setting('BASE_URL')}") from error

    def _reason(self, answer: Answer) -> str:
        try:
            match json.loads(answer.body):
                case (
                    {"error": {"message": str(message)}} | {"message": str(message)} | {"error": str(message)}
                ):
                    pass
                case _:
                    return ""
        except (ValueError, RecursionError):
            return ""
        return f": {self._endpoint.without_secrets(on_one_line(message))[:200]}"

    def _failed(self, what: str) -> DependencyFailed:
        return DependencyFailed(self._role, f"the {self._role} endpoint {what}")

    def _setting(self, name: str) -> str:
        return f"HEADRACE_{self._role.upper()}_{name}"


def on_one_line(message: str) -> str:
    """What a server says, as it can be shown, stored and logged.

    Half a character, or one that steers a terminal, would break what it stands in.
    """
    shown = "".join(character if character.isprintable() else " " for character in message)
    return " ".join(shown.split())


def asked_wait(headers: Mapping[str, str]) -> float:
    """For how many seconds a busy server asks to be left alone, as far as we are willing to wait."""
    value = headers.get("retry-after", "")
    return min(float(value), LONGEST_WAIT_S) if value.isdecimal() else 0.0
