"""Vectors kept between measurements, so that only the first one waits for the model."""

import hashlib
import os
import sqlite3
from array import array
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..context import Embedder

Embed = Callable[[Sequence[str]], Awaitable[list[list[float]]]]
BATCH = 64


def cache_file() -> Path:
    """Where the vectors are kept: in the user's cache folder, by the XDG rules."""
    return (
        Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "headrace" / "embeddings.sqlite"
    )


class CachedEmbedder:
    """`context.Embedder` that asks the one below only for texts it has not seen. Keys are hashes."""

    def __init__(self, below: Embedder, connection: sqlite3.Connection) -> None:
        self._below = below
        self._connection = connection

    @property
    def model(self) -> str:
        return self._below.model

    async def embed_queries(self, texts: Sequence[str]) -> list[list[float]]:
        return await self._embedded("query", texts, self._below.embed_queries)

    async def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        return await self._embedded("passage", texts, self._below.embed_passages)

    async def _embedded(self, kind: str, texts: Sequence[str], embed: Embed) -> list[list[float]]:
        keys = [self._key(kind, text) for text in texts]
        found = {key: vector for key in keys if (vector := self._kept(key))}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        for start in range(0, len(missing), BATCH):
            batch = dict([*missing.items()][start : start + BATCH])
            vectors = await embed([*batch.values()])
            found |= dict(zip(batch, vectors, strict=True))
            with self._connection:
                rows = [(key, array("f", found[key]).tobytes()) for key in batch]
                self._connection.executemany("insert or replace into vectors values (?, ?)", rows)
        return [found[key] for key in keys]

    def _key(self, kind: str, text: str) -> bytes:
        return hashlib.sha256("\0".join([self.model, kind, text]).encode("utf-8", "surrogatepass")).digest()

    def _kept(self, key: bytes) -> list[float]:
        row = self._connection.execute("select vector from vectors where key = ?", (key,)).fetchone()
        vector = array("f")
        vector.frombytes(row[0] if row else b"")
        return vector.tolist()


@contextmanager
def opened_cache(path: Path) -> Generator[sqlite3.Connection]:
    """Open or create the file. Two measurements at once may share it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=60)
    try:
        with connection:
            connection.execute("create table if not exists vectors (key blob primary key, vector blob)")
        yield connection
    finally:
        connection.close()
