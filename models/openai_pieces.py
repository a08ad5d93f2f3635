"""What an OpenAI-compatible server streams, as pieces of an answer."""

import codecs
import math
from collections.abc import AsyncIterator
from typing import Any, cast

import httpx
from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk
from langchain_openai.chat_models.base import BaseChatOpenAI

from ..context import ChatPiece
from ..state import Usage

# How a reply that a provider marks as a refusal begins, so that the run counts as declined (`decoding`).
DECLINED = "<decline/>"
MOST_TOKENS = 10**9


class ReasoningChatOpenAI(BaseChatOpenAI):
    """The stock client reads only what an answer needs; servers stream more beside it."""

    def _convert_chunk_to_generation_chunk(
        self, chunk: dict[str, Any], default_chunk_class: type, base_generation_info: dict[str, Any] | None
    ) -> ChatGenerationChunk | None:
        converted = super()._convert_chunk_to_generation_chunk(
            chunk, default_chunk_class, base_generation_info
        )
        if converted:
            converted.message.additional_kwargs.update(_beside(chunk))
        return converted


def _beside(chunk: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    match chunk:
        case {"choices": [{"delta": {"reasoning_content": str(text)}}, *_]} if text:
            found["reasoning"] = text
        case {"choices": [{"delta": {"reasoning": str(text)}}, *_]} if text:
            found["reasoning"] = text
        case _:
            pass
    match chunk:
        case {"choices": [{"delta": {"refusal": str(text)}}, *_]} if text:
            found["refusal"] = text
        case _:
            pass
    match chunk:
        case {"usage": {"cost": int(cost) | float(cost)}} if math.isfinite(cost) and cost >= 0:
            found["cost"] = float(cost)
        case _:
            pass
    return found


class Pieces:
    """Chunks of one stream to pieces. Characters that were cut in two come whole, with their second half."""

    def __init__(self) -> None:
        self.finish_reason: str | None = None
        self._whole = {"answer": WholeCharacters(), "thinking": WholeCharacters()}
        self._refused = False

    def read(self, chunk: AIMessageChunk) -> list[ChatPiece]:
        match chunk.response_metadata.get("finish_reason"):
            case str(reason) if reason:
                self.finish_reason = self.finish_reason or reason
            case _:
                pass
        return [*self._thinking(chunk), *self._answer(chunk), *_usage(chunk)]

    def _thinking(self, chunk: AIMessageChunk) -> list[ChatPiece]:
        text = chunk.additional_kwargs.get("reasoning")
        parts = [text] if isinstance(text, str) else _parts(chunk.content, "thinking")
        return [ChatPiece(kind="thinking", text=self._whole["thinking"].feed(part)) for part in parts if part]

    def _answer(self, chunk: AIMessageChunk) -> list[ChatPiece]:
        parts = [chunk.content] if isinstance(chunk.content, str) else _parts(chunk.content, "text")
        match chunk.additional_kwargs.get("refusal"):
            case str(refusal):
                parts.append(refusal if self._refused else DECLINED + refusal)
                self._refused = True
            case _:
                pass
        return [ChatPiece(kind="answer", text=self._whole["answer"].feed(part)) for part in parts if part]


def _parts(content: Any, kind: str) -> list[str]:
    """Texts of that kind where a server sends a list of parts; one of `thinking` may hold a list again."""
    texts: list[str] = []
    for part in cast(list[Any], content if isinstance(content, list) else []):
        match part:
            case {"type": "text", "text": str(text)} if kind == "text":
                texts.append(text)
            case {"type": "thinking", "thinking": str(text)} if kind == "thinking":
                texts.append(text)
            case {"type": "thinking", "thinking": inner} if kind == "thinking":
                texts += _parts(inner, "text")
            case _:
                pass
    return texts


def _usage(chunk: AIMessageChunk) -> list[ChatPiece]:
    if not (counted := chunk.usage_metadata):
        return []
    # A server that cannot count says 0 and 0, or nonsense that could not be stored.
    if not (0 < counted["input_tokens"] <= MOST_TOKENS and 0 <= counted["output_tokens"] <= MOST_TOKENS):
        return []
    usage = Usage(prompt_tokens=counted["input_tokens"], completion_tokens=counted["output_tokens"])
    match chunk.additional_kwargs.get("cost"):
        case float(cost):
            usage["cost"] = cost
        case _:
            pass
    return [ChatPiece(kind="usage", usage=usage)]


class WholeCharacters:
    """Joins characters that a server has cut in two: JSON may write those beyond U+FFFF as two escapes.

    A half without its other becomes U+FFFD, and nothing at the end: it has no UTF-8 and could not be stored.
    """

    def __init__(self) -> None:
        self._half = ""

    def feed(self, piece: str) -> str:
        text, self._half = self._half + piece, ""
        if "\ud800" <= text[-1:] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class CleanStream(httpx.AsyncByteStream):
    """A body as UTF-8, wherever it was cut: bytes that are none become U+FFFD, not an error."""

    def __init__(self, stream: httpx.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        async for piece in self._stream:
            yield decoder.decode(piece).encode()
        yield decoder.decode(b"", final=True).encode()

    async def aclose(self) -> None:
        await self._stream.aclose()


async def cleaned(response: httpx.Response) -> None:
    """An event hook of the HTTP client. A compressed body is left as it is: its bytes are no text."""
    stream = response.stream
    if "content-encoding" not in response.headers and isinstance(stream, httpx.AsyncByteStream):
        response.stream = CleanStream(stream)
