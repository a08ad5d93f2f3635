"""The chunks behind index entries, each read once in a search; the catalogue is the truth."""

from collections.abc import Iterable, Sequence

from ...context import Chunk, Context
from .targets import QUESTION


class Chunks:
    """What the catalogue says of entries that an index found.

    An entry that it lacks, or that is switched off there, is no hit; the context is told of it.
    """

    def __init__(self, context: Context) -> None:
        self._catalogue = context.catalogue
        self._stale = context.stale
        self._homes: dict[str, Sequence[str]] = {}  # where an entry was found: it may be any of these
        self._by_entry: dict[str, Chunk | None] = {}
        self._by_id: dict[str, Chunk | None] = {}

    def found(self, kb_ids: Sequence[str], entry_ids: Iterable[str]) -> None:
        self._homes.update(dict.fromkeys(entry_ids, kb_ids))

    async def load(self, entry_ids: Iterable[str]) -> None:
        """Read entries, and the chunks that questions among them stand for."""
        wanted = [id for id in dict.fromkeys(entry_ids) if id not in self._by_entry and id not in self._by_id]
        if not wanted:
            return
        chunks = await self._catalogue.indexed_chunks(wanted)
        read = {id: chunk if chunk.enabled else None for id, chunk in chunks.items()}
        self._by_entry |= {id: read.get(id) for id in wanted}
        self._by_id |= {chunk.id: chunk for chunk in read.values() if chunk}
        self._report([id for id in wanted if read.get(id) is None])
        parents = {self.owner(id) for id in wanted if self.is_question(id)} - self._by_id.keys()
        if parents:
            behind = await self._catalogue.chunks([*parents])
            self._by_id |= {
                id: found if (found := behind.get(id)) and found.enabled else None for id in parents
            }

    def owner(self, entry_id: str) -> str:
        """The chunk that an entry counts for; one that was not read counts for itself."""
        chunk = self._by_entry.get(entry_id)
        if chunk is None:
            return entry_id
        return chunk.parent_chunk_id or chunk.id if chunk.kind == QUESTION else chunk.id

    def is_question(self, entry_id: str) -> bool:
        chunk = self._by_entry.get(entry_id)
        return chunk is not None and chunk.kind == QUESTION

    def entry(self, entry_id: str) -> Chunk | None:
        return self._by_entry.get(entry_id)

    def known(self, id: str) -> bool:
        """Whether it was read, as the id of an entry or of a chunk."""
        return id in self._by_id or id in self._by_entry

    def get(self, id: str) -> Chunk | None:
        """The chunk of this id, or of the entry of this id: the hit. None if it is gone or switched off."""
        return self._by_id[id] if id in self._by_id else self._by_entry.get(id)

    def present(self, entry_ids: Iterable[str]) -> set[str]:
        """The chunks that entries which were read count for."""
        owners = {self.owner(id) for id in entry_ids if self._by_entry.get(id)}
        return {id for id in owners if self.get(id)}

    def _report(self, entry_ids: Sequence[str]) -> None:
        by_home: dict[str, list[str]] = {}
        for id in entry_ids:
            for kb_id in self._homes.get(id, ()):
                by_home.setdefault(kb_id, []).append(id)
        for kb_id, gone in by_home.items():
            self._stale(kb_id, gone)
