"""The file of the catalogue: two connections, one that writes and one that reads, and how both are used."""

import sqlite3
import unicodedata
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiosqlite
import anyio

from ..context import Document, KnowledgeBase
from ..databases import damaged, is_damage
from ..errors import DependencyFailed, NotFound
from .catalogue_rows import to_document, to_kb

KIND = "catalogue"

KB_ROWS = """
select *, (select count(*) from documents where kb_id = knowledge_bases.id) as document_count
from knowledge_bases
"""

# Parents are context for the chunks below them and are never searched themselves.
SEARCHABLE = "kind <> 'parent' and enabled = 1"
INDEXED_AS = "iif(entry_id = '', id, entry_id)"

# How long one who changes the file waits for another, which is sqlite3's default; and for readers to let go
# of the log, while nobody else can change anything. Our own reads take a few milliseconds.
BUSY_TIMEOUT_MS = 5000
READERS_WAIT_MS = 500


class CatalogueFile:
    """What the tables of the catalogue share. A change is visible to readers once its call has returned.

    Raises DependencyFailed when the file cannot be read or written, Damaged where a part of it is broken.
    """

    def __init__(self, path: Path, writer: aiosqlite.Connection, reader: aiosqlite.Connection) -> None:
        self._path = path
        self._writer = writer
        self._reader = reader
        self._writing = anyio.Lock()

    async def rewrite(self) -> bool:
        """Write the whole file anew: nothing is left of what was removed, nor in copies of older versions.

        Changes wait meanwhile. Whether the log could be emptied too: not while another program reads it.
        """
        for copy in self._path.parent.glob(f"{self._path.name}.v*"):
            copy.unlink()
        async with self._writing:
            with self._translated():
                await self._writer.execute("vacuum")
                await self._writer.execute_fetchall(f"pragma busy_timeout = {READERS_WAIT_MS}")
                ((busy, *_),) = await self._writer.execute_fetchall("pragma wal_checkpoint(truncate)")
                await self._writer.execute_fetchall(f"pragma busy_timeout = {BUSY_TIMEOUT_MS}")
        return not busy

    async def _rows(self, sql: str, *values: Any) -> list[sqlite3.Row]:
        with self._translated():
            return [*await self._reader.execute_fetchall(sql, values)]

    @contextmanager
    def _translated(self) -> Generator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if is_damage(error):
                raise damaged(self._path, KIND, error) from error
            raise DependencyFailed(
                "catalogue", f"the catalogue cannot be read or written: {error}"
            ) from error

    async def _count(self, from_where: str, *values: Any) -> int:
        (row,) = await self._rows(f"select count(*) {from_where}", *values)
        return row[0]

    @asynccontextmanager
    async def _transaction(self) -> AsyncGenerator[aiosqlite.Connection]:
        with self._translated():
            async with self._writing:
                try:
                    await self._writer.execute("begin immediate")
                    yield self._writer
                    await self._writer.commit()
                except BaseException:
                    # Queued to the connection's thread by the call itself, so it also runs when
                    # this task is cancelled again while it waits; without a transaction it does nothing.
                    await self._writer.rollback()
                    raise


async def ids_in(db: aiosqlite.Connection, sql: str, *values: Any) -> list[str]:
    return [row["id"] for row in await db.execute_fetchall(sql, values)]


async def kb_in(db: aiosqlite.Connection, kb_id: str) -> KnowledgeBase:
    rows = await db.execute_fetchall(f"{KB_ROWS} where id = ?", (storable(kb_id),))
    return found_kb(kb_id, {kb.id: kb for kb in map(to_kb, rows)})


async def document_in(db: aiosqlite.Connection, document_id: str) -> Document:
    rows = await db.execute_fetchall("select * from documents where id = ?", (storable(document_id),))
    return found_document(document_id, {document.id: document for document in map(to_document, rows)})


async def raise_version(db: aiosqlite.Connection, kb_id: str) -> None:
    await db.execute(
        "update knowledge_bases set version = version + 1, updated_at = ? where id = ?", (timestamp(), kb_id)
    )


def found_kb(kb_id: str, found: Mapping[str, KnowledgeBase]) -> KnowledgeBase:
    if kb_id not in found:
        raise NotFound(
            f"There is no knowledge base {kb_id[:40]!r}: it may have been deleted.",
            code="kb_not_found",
            details={"knowledge_base_id": kb_id},
        )
    return found[kb_id]


def found_document(document_id: str, found: Mapping[str, Document]) -> Document:
    if document_id not in found:
        raise NotFound(
            f"There is no document {document_id[:40]!r}: it may have been deleted.",
            code="document_not_found",
            details={"knowledge_id": document_id},
        )
    return found[document_id]


def storable(text: str) -> str:
    # SQLite's own functions stop at NUL, and a lone surrogate has no UTF-8.
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def window(page: int, page_size: int) -> tuple[int, int]:
    size = max(1, page_size)
    return size, (max(1, page) - 1) * size


def timestamp() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
