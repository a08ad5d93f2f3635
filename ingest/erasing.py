"""A document removed so that no file of the catalogue, the indexes or the originals holds a text of it."""

import contextlib
from collections.abc import Mapping, Sequence

from ..context import SearchStore, store_of
from ..errors import Conflict, NotFound
from .entries import unembedded
from .pipeline import Ingestion
from .ports import ClearableVectors, RewritableCatalogue


class ErasedDocuments:
    """What `Ingestion.delete` does, and then the files anew in which deleting only marks what is deleted.

    The vector index keeps the numbers of what was deleted until their places are used again.
    """

    def __init__(
        self,
        ingestion: Ingestion,
        catalogue: RewritableCatalogue,
        stores: Mapping[str, SearchStore],
        on_disk: Sequence[ClearableVectors],
    ) -> None:
        """`on_disk` are those vector indexes that are files of this folder."""
        self._ingestion = ingestion
        self._catalogue = catalogue
        self._stores = stores
        self._on_disk = on_disk

    async def erase(self, document_id: str, kb_id: str) -> int:
        """Returns how many searched chunks it had. One that is gone already leaves only the files to do.

        Raises Conflict (folder_in_use) when all is removed, but a log could not be emptied, and
        DependencyFailed while the store is not configured or fails.
        """
        found = (await self._catalogue.documents([document_id])).get(document_id)
        with contextlib.suppress(NotFound):
            await self._ingestion.delete(document_id)
        async with self._ingestion.indexing:
            if kb := (await self._catalogue.kbs([kb_id])).get(kb_id):
                ids = sorted(await self._catalogue.chunk_ids(kb_id))
                keywords = store_of(self._stores, kb).keywords
                await keywords.rewrite(kb_id, unembedded(self._catalogue, ids))
        if not await self._catalogue.rewrite():
            raise Conflict(
                "Everything was removed, but another program is reading catalogue.sqlite, so its log could "
                "not be emptied: close it (a notebook?) and send the same request again.",
                code="folder_in_use",
            )
        return found.chunk_count if found else 0

    async def clear_unused(self) -> None:
        """The files of the vector indexes without what is no part of them."""
        for vectors in self._on_disk:
            await vectors.clear_unused()
