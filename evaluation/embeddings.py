"""Vectors kept between measurements, so that only the first one waits for the model."""

import os
import sqlite3
from array import array
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

BATCH = 64


def cache_file() -> Path:
    """Where the vectors are kept: in the user's cache folder, by the XDG rules."""
    return (
        Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "headrace" / "embeddings.sqlite"
    )


class VectorsInFile:
    """`stores.caches.KeptVectors` in a file that several measurements at once may share."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    async def get_many(
        self, keys: Sequence[bytes], compute: Callable[[Sequence[bytes]], Awaitable[Sequence[list[float]]]]
    ) -> tuple[list[list[float]], int]:
        found = {key: vector for key in keys if (vector := self._kept(key))}
        missing = [key for key in dict.fromkeys(keys) if key not in found]
        for start in range(0, len(missing), BATCH):
            # What is stopped half-way has kept the batches before.
            batch = missing[start : start + BATCH]
            vectors = await compute(batch)
            self._keep(batch, vectors)
            found |= dict(zip(batch, vectors, strict=True))
        return [found[key] for key in keys], len(missing)

    def _keep(self, keys: Sequence[bytes], vectors: Sequence[Sequence[float]]) -> None:
        rows = [(key, array("f", vector).tobytes()) for key, vector in zip(keys, vectors, strict=True)]
        with self._connection:
            self._connection.executemany("insert or replace into vectors values (?, ?)", rows)

    def _kept(self, key: bytes) -> list[float]:
        row = self._connection.execute("select vector from vectors where key = ?", (key,)).fetchone()
        vector = array("f")
        vector.frombytes(row[0] if row else b"")
        return vector.tolist()


@contextmanager
def opened_vectors(path: Path) -> Generator[VectorsInFile]:
    """Open or create the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=60)
    try:
        with connection:
            connection.execute("create table if not exists vectors (key blob primary key, vector blob)")
        yield VectorsInFile(connection)
    finally:
        connection.close()
