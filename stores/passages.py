"""The texts of a run by reference: from the catalogue, or from what the journal keeps by hash."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from ..context import Catalogue, Chunk
from ..state import Hit


class KeptTexts(Protocol):
    """Texts by the sha256 of their content, durable once `keep` has returned."""

    async def keep(self, texts: Sequence[str]) -> list[str]: ...

    async def read(self, hashes: Sequence[str]) -> Mapping[str, str]: ...


class RunPassages:
    """`context.Passages`."""

    def __init__(self, catalogue: Catalogue, kept: KeptTexts) -> None:
        self._catalogue = catalogue
        self._kept = kept

    async def read(self, hits: Sequence[Hit]) -> list[str | None]:
        hashes = {hit["passage"] for hit in hits if "passage" in hit}
        ids = {hit["chunk_id"] for hit in hits if "passage" not in hit}
        kept = await self._kept.read(sorted(hashes))
        chunks = await self._catalogue.chunks(sorted(ids))
        return [_text(hit, kept, chunks) for hit in hits]

    async def keep(self, texts: Sequence[str]) -> list[str]:
        return await self._kept.keep(texts) if texts else []


def _text(hit: Hit, kept: Mapping[str, str], chunks: Mapping[str, Chunk]) -> str | None:
    if "passage" in hit:
        return kept.get(hit["passage"])
    chunk = chunks.get(hit["chunk_id"])
    # An edited chunk keeps its id: its new text is not what this hit was found by.
    return chunk.text if chunk and chunk.revision == hit["chunk_revision"] else None
