"""Vectors kept between measurements, so that only the first one waits for the model."""

import os
import sqlite3
from array import array
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..context import Embedder
from ..stores import caches

BATCH = 64


def cache_file() -> Path:
    """Where the vectors are kept: in the user's cache folder, by the XDG rules."""
    return (
        Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "headrace" / "embeddings.sqlite"
    )


class CachedEmbedder(caches.CachedEmbedder):
    """As that of a server, over a file instead of memory."""

    def __init__(self, below: Embedder, connection: sqlite3.Connection) -> None:
        super().__init__(below, VectorsInFile(connection))


class VectorsInFile:
    """`stores.caches.KeptVectors`. What is computed is stored batch by batch, for whoever stops half way."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    async def get_many(
        self, keys: Sequence[bytes], compute: Callable[[Sequence[bytes]], Awaitable[Sequence[list[float]]]]
    ) -> tuple[list[list[float]], int]:
        found = {key: vector for key in keys if (vector := self._kept(key))}
        missing = [key for key in dict.fromkeys(keys) if key not in found]
        for start in range(0, len(missing), BATCH):
            batch = missing[start : start + BATCH]
            found |= dict(zip(batch, await compute(batch), strict=True))
            with self._connection:
                rows = [(key, array("f", found[key]).tobytes()) for key in batch]
                self._connection.executemany("insert or replace into vectors values (?, ?)", rows)
        return [found[key] for key in keys], len(missing)

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
