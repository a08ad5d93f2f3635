"""`VectorIndex` over Chroma in a folder of this machine."""

import hashlib
import logging
import math
import sqlite3
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from anyio.to_thread import run_sync

from ..context import IndexEntry, Scored
from ..errors import DependencyFailed, DependencyRefused
from ..text.language import LANGUAGES, language_of
from .chroma_files import clear_unused, fault_of, set_aside

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection
    from numpy.typing import NDArray

T = TypeVar("T")

NAME = "vector store"

# Small enough that a search which arrives during an ingest waits for one batch only (0.2 s).
BATCH = 500
# SQLite takes at most 32,766 parameters in a statement.
FILTER_BATCH = 10_000
# Asked for beyond the limit, so that entries of equal score are cut off by their id and not by chance; where
# those are not enough, up to so many.
TIES, MOST_TIES = 16, 2_000
DECIMALS = 6

# Chroma's defaults (100, 100, 16) find .98 of the exact ten nearest of 7.5k vectors, .94 of 75k.
HNSW = {"space": "cosine", "ef_construction": 200, "ef_search": 200, "max_neighbors": 24}

# A collection for each language, so that the nearest in one are found as fast as the nearest of all: a filter
# takes 10 ms over 7,500 entries and 130 over 75,000. The one without a language is that of earlier versions.
PARTS = ("", *LANGUAGES)

log = logging.getLogger(__name__)


class ChromaVectors:
    """Collections per knowledge base, embedding model and language. Scores are 1 - cosine distance, on [0,1].

    The client is opened on first use: loading it takes 0.9 s and 160 MB. A folder whose database cannot be
    read is set aside then, and ingestion makes the vectors again.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._opening = threading.Lock()
        self._client: ClientAPI | None = None
        self._turns = threading.Condition()
        self._users = 0
        self._resting = False

    async def add(self, kb_id: str, model: str, entries: Sequence[IndexEntry]) -> None:
        if len(lengths := {len(entry.vector) for entry in entries}) > 1 or 0 in lengths:
            raise _other_dimensions(min(lengths), max(lengths))
        for batch in _batches([*{entry.chunk_id: entry for entry in entries}.values()], BATCH):
            await self._run(lambda batch=batch: self._add(kb_id, model, batch))

    async def delete(self, kb_id: str, model: str, chunk_ids: Sequence[str]) -> None:
        for batch in _batches(chunk_ids, BATCH):
            await self._run(lambda batch=batch: self._delete(kb_id, model, batch))

    async def drop(self, kb_id: str) -> None:
        await self._run(lambda: self._drop(lambda name: name.startswith(_prefix(kb_id))))

    async def keep_only(self, kb_ids: set[str]) -> None:
        kept = tuple(map(_prefix, kb_ids))
        await self._run(lambda: self._drop(lambda name: not name.startswith(kept)))

    async def ids(self, kb_id: str, model: str) -> set[str]:
        return await self._run(lambda: self._ids(kb_id, model))

    async def search(
        self,
        kb_ids: Sequence[str],
        model: str,
        vector: Sequence[float],
        *,
        limit: int,
        document_ids: Sequence[str] = (),
        kinds: Sequence[str] = (),
        languages: Sequence[str] = (),
    ) -> list[Scored]:
        filters = [_where(batch, kinds) for batch in _batches(document_ids, FILTER_BATCH)]

        def nearest() -> list[Scored]:
            found = [
                hit
                for kb_id in dict.fromkeys(kb_ids)
                for where in filters or [_where((), kinds)]
                for collection in self._collections(kb_id, model, languages).values()
                for hit in _search(collection, vector, limit, where)
            ]
            return sorted(found, key=lambda hit: (-hit.score, hit.chunk_id))[: max(0, limit)]

        return await self._run(nearest)

    async def scores(
        self, kb_ids: Sequence[str], model: str, vector: Sequence[float], chunk_ids: Sequence[str]
    ) -> dict[str, float]:
        found: dict[str, float] = {}
        for kb_id in dict.fromkeys(kb_ids):
            for batch in _batches([*dict.fromkeys(chunk_ids)], BATCH):
                found |= await self._run(lambda id=kb_id, batch=batch: self._scores(id, model, vector, batch))
        return found

    async def clear_unused(self) -> None:
        """Free the files of what is not part of an index (`chroma_files`). Searches wait for it."""
        await run_sync(_translating, self._rest)

    async def close(self) -> None:
        await run_sync(self._close)

    async def _run(self, work: Callable[[], T]) -> T:
        return await run_sync(_translating, lambda: self._using(work))

    # --- in a worker thread ---

    def _using(self, work: Callable[[], T]) -> T:
        with self._turns:
            self._turns.wait_for(lambda: not self._resting)
            self._users += 1
        try:
            return work()
        finally:
            with self._turns:
                self._users -= 1
                self._turns.notify_all()

    def _rest(self) -> None:
        """Close while nobody uses it; whoever comes next opens it again."""
        with self._turns:
            self._turns.wait_for(lambda: not self._resting)
            self._resting = True
            self._turns.wait_for(lambda: self._users == 0)
        try:
            self._close()
        finally:
            with self._turns:
                self._resting = False
                self._turns.notify_all()

    def _opened(self) -> "ClientAPI":
        with self._opening:
            if self._client is None:
                import chromadb
                from chromadb.config import Settings

                self._folder.mkdir(parents=True, exist_ok=True)
                if fault := fault_of(self._folder):
                    log.warning(
                        "the vectors are made again from the catalogue, the folder of before is %s: %s",
                        set_aside(self._folder),
                        fault,
                    )
                clear_unused(self._folder)
                self._client = chromadb.PersistentClient(
                    path=str(self._folder), settings=Settings(anonymized_telemetry=False)
                )
            return self._client

    def _close(self) -> None:
        with self._opening:
            if self._client is not None:
                self._client.close()  # pyright: ignore[reportAttributeAccessIssue]  # a Client, by its public type only an API
            self._client = None
            if not self._users:
                clear_unused(self._folder)

    def _collections(self, kb_id: str, model: str, languages: Sequence[str] = ()) -> "dict[str, Collection]":
        """Those that there are, by language."""
        found = {one: self._collection(_name(kb_id, model, one)) for one in languages or PARTS}
        return {language: collection for language, collection in found.items() if collection}

    def _collection(self, name: str) -> "Collection | None":
        from chromadb.errors import NotFoundError

        try:
            # Without `embedding_function=None` Chroma would download a model of its own.
            return self._opened().get_collection(name, embedding_function=None)
        except NotFoundError:
            return None

    def _add(self, kb_id: str, model: str, entries: Sequence[IndexEntry]) -> None:
        by_language: dict[str, list[IndexEntry]] = {}
        for entry in entries:
            by_language.setdefault(entry.language or language_of(entry.text), []).append(entry)
        for language, own in by_language.items():
            self._upsert(_name(kb_id, model, language), own)
            for other, collection in self._collections(kb_id, model).items():
                if other != language:
                    _delete(collection, [entry.chunk_id for entry in own])

    def _upsert(self, name: str, entries: Sequence[IndexEntry]) -> None:
        collection = self._opened().get_or_create_collection(
            name,
            embedding_function=None,
            configuration={"hnsw": HNSW},  # pyright: ignore[reportArgumentType]
        )
        with _naming_dimensions(collection, len(entries[0].vector)):
            collection.upsert(
                ids=[entry.chunk_id for entry in entries],
                embeddings=[[*entry.vector] for entry in entries],
                metadatas=[{"document_id": entry.document_id, "kind": entry.kind} for entry in entries],
            )

    def _delete(self, kb_id: str, model: str, chunk_ids: Sequence[str]) -> None:
        for collection in self._collections(kb_id, model).values():
            _delete(collection, chunk_ids)

    def _drop(self, is_meant: Callable[[str], bool]) -> None:
        client = self._opened()
        for collection in client.list_collections():
            if is_meant(collection.name):
                client.delete_collection(collection.name)

    def _ids(self, kb_id: str, model: str) -> set[str]:
        collections = self._collections(kb_id, model).values()
        return {id for collection in collections for id in collection.get(include=[])["ids"]}

    def _scores(
        self, kb_id: str, model: str, vector: Sequence[float], chunk_ids: Sequence[str]
    ) -> dict[str, float]:
        found: dict[str, float] = {}
        for collection in self._collections(kb_id, model).values():
            if missing := [id for id in chunk_ids if id not in found]:
                found |= _scores(collection, vector, missing)
        return found


def _delete(collection: "Collection", chunk_ids: Sequence[str]) -> None:
    if there := collection.get(ids=[*chunk_ids], include=[])["ids"]:
        collection.delete(ids=there)


def _search(collection: "Collection", vector: Sequence[float], limit: int, where: Any) -> list[Scored]:
    if limit < 1:
        return []
    asked = limit + TIES
    while True:
        with _naming_dimensions(collection, len(vector)):
            hits = _nearest(collection, vector, asked, where)
        if len(hits) < asked or hits[-1].score < hits[limit - 1].score or asked > limit + MOST_TIES:
            return hits
        asked *= 4


def _scores(collection: "Collection", vector: Sequence[float], chunk_ids: Sequence[str]) -> dict[str, float]:
    found = collection.get(ids=[*chunk_ids], include=["embeddings"])
    if not found["ids"]:
        return {}
    stored = np.asarray(found["embeddings"], dtype=np.float32)
    if stored.shape[1] != len(vector):
        raise _other_dimensions(stored.shape[1], len(vector))
    cosines = _cosines(stored, np.asarray(vector, dtype=np.float32))
    return {id: cosine for id, cosine in zip(found["ids"], cosines, strict=True) if math.isfinite(cosine)}


def _nearest(collection: "Collection", vector: Sequence[float], count: int, where: Any) -> list[Scored]:
    found = collection.query(
        query_embeddings=[[*vector]], n_results=count, where=where, include=["distances"]
    )
    distances = (found["distances"] or [[]])[0]
    return [
        Scored(chunk_id=id, score=round(min(1.0, max(0.0, 1.0 - distance)), DECIMALS))
        for id, distance in zip(found["ids"][0], distances, strict=True)
        if math.isfinite(distance)
    ]


@contextmanager
def _naming_dimensions(collection: "Collection", given: int) -> Generator[None]:
    """Chroma says the same of its own errors and of vectors that cannot be compared."""
    from chromadb.errors import InvalidArgumentError

    try:
        yield
    except (InvalidArgumentError, IndexError) as error:  # the latter for a vector without a number
        stored = collection.get(limit=1, include=["embeddings"])["embeddings"]
        if stored is not None and len(stored) and len(stored[0]) != given:
            raise _other_dimensions(len(stored[0]), given) from error
        raise


def _where(document_ids: Sequence[str], kinds: Sequence[str]) -> Any:
    conditions: list[Any] = []
    if document_ids:
        conditions.append({"document_id": {"$in": [*document_ids]}})
    if kinds:
        conditions.append({"kind": {"$in": [*kinds]}})
    return {"$and": conditions} if len(conditions) > 1 else (conditions or [None])[0]


def _other_dimensions(stored: int, given: int) -> DependencyRefused:
    return DependencyRefused(
        NAME,
        f"The stored vectors have {stored} dimensions, the one given has {given}: the knowledge base was "
        f"indexed with another embedding model.",
        code="dimension_mismatch",
    )


def _cosines(stored: "NDArray[np.float32]", vector: "NDArray[np.float32]") -> list[float]:
    """On [0,1], as the scores of a search; NaN where there is no direction."""
    lengths = np.linalg.norm(stored, axis=1) * np.linalg.norm(vector)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.clip(stored @ vector / lengths, 0.0, 1.0).astype(np.float64).round(DECIMALS).tolist()


def _prefix(kb_id: str) -> str:
    # Collection names hold letters, digits, dots, dashes and underscores only; ids need not.
    return hashlib.sha256(kb_id.encode()).hexdigest()[:32] + "-"


def _name(kb_id: str, model: str, language: str) -> str:
    name = _prefix(kb_id) + hashlib.sha256(model.encode()).hexdigest()[:16]
    return f"{name}-{language}" if language else name


def _batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _translating(work: Callable[[], T]) -> T:
    with _translated():
        return work()


@contextmanager
def _translated() -> Generator[None]:
    from chromadb.errors import ChromaError

    try:
        yield
    except (ChromaError, sqlite3.Error, OSError) as error:
        raise DependencyFailed(NAME, f"The vector store (Chroma) did not answer: {error}") from error
