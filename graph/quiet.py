"""What a search runs with instead of a journal: nobody reads its events, and its texts end with it."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..context import Passages
from ..state import Hit
from ..text.signature import text_hash


class SilentEmitter:
    """Takes events and forgets them (`context.Emitter`)."""

    def __call__(
        self, response_type: str, content: str = "", *, data: Mapping[str, Any] | None = None, **top: Any
    ) -> None:
        return

    def new_segment(self) -> int:
        return 1

    def open_call(self, tool_name: str, arguments: Mapping[str, Any]) -> None:
        return

    def close_call(self, tool_name: str, result: Mapping[str, Any]) -> None:
        return


class PassingPassages:
    """Texts made by a search, in memory, over the passages that are there (`context.Passages`)."""

    def __init__(self, below: Passages) -> None:
        self._below = below
        self._texts: dict[str, str] = {}

    async def read(self, hits: Sequence[Hit]) -> list[str | None]:
        own = [self._texts.get(hit.get("passage", "")) for hit in hits]
        others = await self._below.read([hit for hit, text in zip(hits, own, strict=True) if text is None])
        rest = iter(others)
        return [text if text is not None else next(rest) for text in own]

    async def keep(self, texts: Sequence[str]) -> list[str]:
        hashes = [text_hash(text) for text in texts]
        self._texts.update(zip(hashes, texts, strict=True))
        return hashes
