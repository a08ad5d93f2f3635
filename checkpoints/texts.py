"""Texts made or quoted during a run, each stored once under its hash."""

import hashlib
import sqlite3
import zlib
from collections.abc import Iterable, Sequence
from functools import partial

from langgraph.config import get_config

from .journal import Journal


class KeptTexts:
    """What a past run shows stays as it was, also when the chunk it came from is edited or gone."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    async def keep(self, texts: Sequence[str]) -> list[str]:
        """Store texts durably. Returns their sha256 in hex, in order.

        Called from a node, they belong to its run and go with it; kept outside a run they stay.
        """
        hashes = [hash_of(text) for text in texts]
        if texts:
            bodies = {hash: _encoded(text) for hash, text in zip(hashes, texts, strict=True)}
            await self._journal.write(partial(_insert, bodies=bodies, run_id=_current_run()))
        return hashes

    async def read(self, hashes: Sequence[str]) -> dict[str, str]:
        """Texts by hash; those that are gone are left out."""
        return await self._journal.read(partial(read_texts, hashes=hashes)) if hashes else {}


def hash_of(text: str) -> str:
    return hashlib.sha256(_encoded(text)).hexdigest()


def read_texts(connection: sqlite3.Connection, hashes: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for hash in set(hashes):
        row = connection.execute("select body from passages where hash = ?", (hash,)).fetchone()
        if row is not None:
            found[hash] = zlib.decompress(row[0]).decode("utf-8", "surrogatepass")
    return found


def _encoded(text: str) -> bytes:
    # Half of a surrogate pair gets into texts through broken parsers; keeping one must not fail a run.
    return text.encode("utf-8", "surrogatepass")


def _insert(connection: sqlite3.Connection, *, bodies: dict[str, bytes], run_id: str | None) -> None:
    for hash, body in bodies.items():
        if connection.execute("select 1 from passages where hash = ?", (hash,)).fetchone() is None:
            connection.execute("insert into passages values (?, ?)", (hash, zlib.compress(body)))
        if run_id is not None:
            connection.execute("insert or ignore into passage_uses values (?, ?)", (hash, run_id))


def _current_run() -> str | None:
    try:
        run_id = get_config().get("metadata", {}).get("run_id")
    except RuntimeError:  # not inside a node
        return None
    return str(run_id) if run_id else None
