"""Knowledge bases, documents and chunks in one SQLite file, changed a transaction at a time."""

import asyncio
import json
import sqlite3
import unicodedata
from collections.abc import AsyncGenerator, Generator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiosqlite
import anyio

from ..context import Chunk, Document, DocumentStatus, KnowledgeBase
from ..databases import damaged, is_damage, look_at, make, opening
from ..errors import BadRequest, Conflict, DependencyFailed, NotFound
from ..ids import new_id
from .catalogue_rows import chunk_row, insert, to_chunk, to_document, to_kb, update
from .catalogue_schema import fill, prepare

KIND = "catalogue"
NAME_LENGTH = 100
DESCRIPTION_LENGTH = 2_000
TITLE_LENGTH = 500

KB_ROWS = """
select *, (select count(*) from documents where kb_id = knowledge_bases.id) as document_count
from knowledge_bases
"""

# How long one who changes the file waits for another, which is sqlite3's default; and for readers to let go
# of the log, while nobody else can change anything. Our own reads take a few milliseconds.
BUSY_TIMEOUT_MS = 5000
READERS_WAIT_MS = 500

# Parents are context for the chunks below them and are never searched themselves.
SEARCHABLE = "kind <> 'parent' and enabled = 1"


class SqliteCatalogue:
    """`context.Catalogue` and what changes it. Made by `open_catalogue`.

    One connection writes, one reads; a change is visible to readers once its call has returned.
    Raises DependencyFailed when the file cannot be read or written, Damaged where a part of it is broken.
    """

    def __init__(self, path: Path, writer: aiosqlite.Connection, reader: aiosqlite.Connection) -> None:
        self._path = path
        self._writer = writer
        self._reader = reader
        self._writing = anyio.Lock()

    # --- what a run reads ---

    async def kbs(self, ids: Sequence[str]) -> Mapping[str, KnowledgeBase]:
        rows = await self._rows(f"{KB_ROWS} where id in (select value from json_each(?))", json.dumps([*ids]))
        return {kb.id: kb for kb in map(to_kb, rows)}

    async def documents(self, ids: Sequence[str]) -> Mapping[str, Document]:
        rows = await self._rows(
            "select * from documents where id in (select value from json_each(?))", json.dumps([*ids])
        )
        return {document.id: document for document in map(to_document, rows)}

    async def chunks(self, ids: Sequence[str]) -> Mapping[str, Chunk]:
        rows = await self._rows(
            "select * from chunks where id in (select value from json_each(?))", json.dumps([*ids])
        )
        return {chunk.id: chunk for chunk in map(to_chunk, rows)}

    # --- knowledge bases ---

    async def create_kb(
        self,
        *,
        name: str,
        description: str = "",
        kind: str = "document",
        settings: Mapping[str, Any] | None = None,
        embedding_model: str,
        tenant_id: str = "default",
    ) -> KnowledgeBase:
        """Raises Conflict `kb_name_taken`, and BadRequest for an impossible name, description or kind."""
        name, description = _good_name(name), _good_description(description)
        if kind not in ("document", "faq"):
            raise BadRequest("kind: document or faq", code="bad_kind")
        now = _now()
        row: dict[str, Any] = {
            "id": new_id(),
            "tenant_id": tenant_id,
            "name": name,
            "name_key": _folded(name),
            "search_key": _folded(f"{name}\n{description}"),
            "description": description,
            "kind": kind,
            "settings": json.dumps(dict(settings or {}), ensure_ascii=False),
            "embedding_model": embedding_model,
            "version": 1,
            "created_at": now,
            "updated_at": now,
        }
        async with self._transaction() as db:
            await _refuse_taken_name(db, tenant_id, name)
            await db.execute(insert("knowledge_bases", row), row)
        return await self.get_kb(row["id"])

    async def get_kb(self, kb_id: str) -> KnowledgeBase:
        """Raises NotFound `kb_not_found`."""
        return _found_kb(kb_id, await self.kbs([kb_id]))

    async def kb_by_name(self, name: str, *, tenant_id: str = "default") -> KnowledgeBase | None:
        """The knowledge base of that name; letter case, width and outer spaces do not matter."""
        key = json.dumps([_folded(name.strip())])
        rows = await self._rows(
            f"{KB_ROWS} where tenant_id = ? and name_key in (select value from json_each(?))", tenant_id, key
        )
        return to_kb(rows[0]) if rows else None

    async def list_kbs(
        self, *, page: int = 1, page_size: int = 20, search: str | None = None, tenant_id: str = "default"
    ) -> tuple[list[KnowledgeBase], int]:
        """Newest first, with the number of all that match; `search` looks into name and description."""
        where = "where tenant_id = ? and instr(search_key, ?) > 0"
        given = (tenant_id, _storable(_folded(search or "")))
        rows = await self._rows(
            f"{KB_ROWS} {where} order by id desc limit ? offset ?", *given, *_window(page, page_size)
        )
        return [to_kb(row) for row in rows], await self._count(f"from knowledge_bases {where}", *given)

    async def update_kb(
        self,
        kb_id: str,
        *,
        name: str | None = None,
        description: str | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> KnowledgeBase:
        """Change what is given; `settings` replaces all settings. Raises as `create_kb` and `get_kb`."""
        async with self._transaction() as db:
            old = await _kb_in(db, kb_id)
            new_name = old.name if name is None else _good_name(name)
            new_description = old.description if description is None else _good_description(description)
            if _folded(new_name) != _folded(old.name):
                await _refuse_taken_name(db, old.tenant_id, new_name)
            row = {
                "id": kb_id,
                "name": new_name,
                "name_key": _folded(new_name),
                "search_key": _folded(f"{new_name}\n{new_description}"),
                "description": new_description,
                "settings": json.dumps(
                    dict(old.settings if settings is None else settings), ensure_ascii=False
                ),
                "updated_at": _now(),
            }
            await db.execute(update("knowledge_bases", row), row)
        return await self.get_kb(kb_id)

    async def delete_kb(self, kb_id: str) -> None:
        """Remove it with its documents and chunks. Raises NotFound."""
        async with self._transaction() as db:
            await _kb_in(db, kb_id)
            await db.execute("delete from knowledge_bases where id = ?", (kb_id,))

    async def chunk_ids(self, kb_id: str) -> set[str]:
        """Ids of the chunks that a search may find: what the indexes of this knowledge base should hold."""
        rows = await self._rows(f"select id from chunks where kb_id = ? and {SEARCHABLE}", kb_id)
        return {row["id"] for row in rows}

    # --- documents ---

    async def create_document(
        self, *, kb_id: str, title: str, media_type: str, sha256: str, bytes: int
    ) -> Document:
        """A new document, pending, revision 0, without chunks. Raises NotFound for the knowledge base."""
        now = _now()
        row: dict[str, Any] = {
            "id": new_id(),
            "kb_id": kb_id,
            "title": _good_title(title),
            "media_type": media_type,
            "sha256": sha256,
            "bytes": bytes,
            "status": "pending",
            "error": None,
            "revision": 0,
            "chunk_count": 0,
            "stage": "",
            "done": 0,
            "total": 0,
            "created_at": now,
            "updated_at": now,
        }
        async with self._transaction() as db:
            await _kb_in(db, kb_id)
            await db.execute(insert("documents", row), row)
        return await self.get_document(row["id"])

    async def replace_document(
        self, document_id: str, *, media_type: str, sha256: str, bytes: int
    ) -> Document:
        """The document gets another original and is pending again.

        Its published chunks stay searchable, and `revision` stays theirs, until the next `publish`.
        """
        row = {
            "id": document_id,
            "media_type": media_type,
            "sha256": sha256,
            "bytes": bytes,
            "status": "pending",
            "error": None,
            "stage": "",
            "done": 0,
            "total": 0,
            "updated_at": _now(),
        }
        return await self._change_document(row)

    async def get_document(self, document_id: str) -> Document:
        """Raises NotFound `document_not_found`."""
        return _found_document(document_id, await self.documents([document_id]))

    async def list_documents(
        self, kb_id: str, *, page: int = 1, page_size: int = 20
    ) -> tuple[list[Document], int]:
        """Newest first, with the number of all."""
        rows = await self._rows(
            "select * from documents where kb_id = ? order by id desc limit ? offset ?",
            kb_id,
            *_window(page, page_size),
        )
        return [to_document(row) for row in rows], await self._count("from documents where kb_id = ?", kb_id)

    async def document_by_hash(self, kb_id: str, sha256: str) -> Document | None:
        """The oldest document of that knowledge base with these bytes that is not being deleted."""
        return await self._one_document("sha256 = ?", kb_id, sha256)

    async def document_by_title(self, kb_id: str, title: str) -> Document | None:
        """The oldest document of that knowledge base with this very title that is not being deleted."""
        return await self._one_document("title = ?", kb_id, _storable(title.strip()))

    async def documents_in(self, *statuses: DocumentStatus) -> list[Document]:
        """All documents in one of these states, oldest first."""
        rows = await self._rows(
            "select * from documents where status in (select value from json_each(?)) order by id",
            json.dumps(statuses),
        )
        return [to_document(row) for row in rows]

    async def files_in_use(self, hashes: Iterable[str]) -> set[str]:
        """Those of the sha256 that some document still has as its original."""
        rows = await self._rows(
            "select distinct sha256 from documents where sha256 in (select value from json_each(?))",
            json.dumps([*hashes]),
        )
        return {row["sha256"] for row in rows}

    async def set_progress(
        self,
        document_id: str,
        *,
        status: DocumentStatus,
        stage: str,
        done: int,
        total: int,
        error: str | None = None,
    ) -> Document:
        """How far a document is. Raises NotFound once it has been removed."""
        row = {
            "id": document_id,
            "status": status,
            "stage": stage,
            "done": done,
            "total": total,
            "error": None if error is None else _storable(error),
            "updated_at": _now(),
        }
        return await self._change_document(row)

    async def publish(self, document_id: str, *, revision: int, chunks: Sequence[Chunk]) -> list[str]:
        """In one transaction: these chunks instead of the old ones, the document ready, the KB a version on.

        `revision` is the document's last one plus 1, or the same again; `chunk_count` counts the
        chunks that are searched. Returns the ids of the chunks that are gone, for the indexes.
        Raises NotFound, and Conflict `stale_revision` when a later revision is already published.
        """
        async with self._transaction() as db:
            document = await _document_in(db, document_id)
            if revision < document.revision:
                raise Conflict(f"revision {document.revision} is already published", code="stale_revision")
            old = await _ids(db, "select id from chunks where document_id = ?", document_id)
            await db.execute("delete from chunks where document_id = ?", (document_id,))
            rows = [chunk_row(chunk, document) for chunk in chunks]
            if rows:
                await db.executemany(insert("chunks", rows[0]), rows)
            searched = sum(chunk.kind != "parent" and chunk.enabled for chunk in chunks)
            row = {
                "id": document_id,
                "status": "ready",
                "error": None,
                "revision": revision,
                "chunk_count": searched,
                "stage": "ready",
                "done": searched,
                "total": searched,
                "updated_at": _now(),
            }
            await db.execute(update("documents", row), row)
            await _raise_version(db, document.kb_id)
        kept = {chunk.id for chunk in chunks}
        return [id for id in old if id not in kept]

    async def remove(self, document_id: str) -> list[str]:
        """In one transaction: the document and its chunks gone, the KB a version on.

        Returns the ids of the chunks that are gone, for the indexes. Raises NotFound.
        """
        async with self._transaction() as db:
            document = await _document_in(db, document_id)
            old = await _ids(db, "select id from chunks where document_id = ?", document_id)
            await db.execute("delete from documents where id = ?", (document_id,))
            await _raise_version(db, document.kb_id)
        return old

    async def document_chunks(
        self, document_id: str, *, page: int = 1, page_size: int = 20, kind: str | None = None
    ) -> tuple[list[Chunk], int]:
        """In the order of the text, with the number of all; `kind` narrows to one kind."""
        where = "where document_id = ?1 and (?2 is null or kind = ?2)"
        rows = await self._rows(
            f"select * from chunks {where} order by chunk_index, kind, id limit ?3 offset ?4",
            document_id,
            kind,
            *_window(page, page_size),
        )
        return [to_chunk(row) for row in rows], await self._count(f"from chunks {where}", document_id, kind)

    # --- how ---

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

    async def _one_document(self, condition: str, kb_id: str, value: str) -> Document | None:
        rows = await self._rows(
            f"select * from documents where kb_id = ? and status <> 'deleting' and {condition} "
            "order by id limit 1",
            kb_id,
            value,
        )
        return to_document(rows[0]) if rows else None

    async def _change_document(self, row: Mapping[str, Any]) -> Document:
        async with self._transaction() as db:
            await _document_in(db, row["id"])
            await db.execute(update("documents", row), row)
            return await _document_in(db, row["id"])

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


@asynccontextmanager
async def open_catalogue(path: Path) -> AsyncGenerator[SqliteCatalogue]:
    """Open or create the file; both connections and their threads end with the block.

    Raises StartRefused when the file is no catalogue, damaged, not writable, or of a newer program.
    """
    await asyncio.to_thread(_look_at_or_make, path)
    async with AsyncExitStack() as connections:
        with opening(path, KIND):
            writer = await connections.enter_async_context(aiosqlite.connect(path, isolation_level=None))
            await prepare(writer, path)
            reader = await connections.enter_async_context(aiosqlite.connect(path, isolation_level=None))
            reader.row_factory = sqlite3.Row
            await reader.execute("pragma query_only = on")
        yield SqliteCatalogue(path, writer, reader)


def _look_at_or_make(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    look_at(path, KIND, holds="the knowledge bases")
    if not path.exists():
        make(path, KIND, fill)


async def _ids(db: aiosqlite.Connection, sql: str, *values: Any) -> list[str]:
    return [row["id"] for row in await db.execute_fetchall(sql, values)]


async def _kb_in(db: aiosqlite.Connection, kb_id: str) -> KnowledgeBase:
    rows = await db.execute_fetchall(f"{KB_ROWS} where id = ?", (_storable(kb_id),))
    return _found_kb(kb_id, {kb.id: kb for kb in map(to_kb, rows)})


async def _document_in(db: aiosqlite.Connection, document_id: str) -> Document:
    rows = await db.execute_fetchall("select * from documents where id = ?", (_storable(document_id),))
    return _found_document(document_id, {document.id: document for document in map(to_document, rows)})


async def _raise_version(db: aiosqlite.Connection, kb_id: str) -> None:
    await db.execute(
        "update knowledge_bases set version = version + 1, updated_at = ? where id = ?", (_now(), kb_id)
    )


async def _refuse_taken_name(db: aiosqlite.Connection, tenant_id: str, name: str) -> None:
    taken = await db.execute_fetchall(
        "select 1 from knowledge_bases where tenant_id = ? and name_key = ?", (tenant_id, _folded(name))
    )
    if taken:
        raise Conflict(
            f"There is already a knowledge base named {name!r}: choose another name.", code="kb_name_taken"
        )


def _found_kb(kb_id: str, found: Mapping[str, KnowledgeBase]) -> KnowledgeBase:
    if kb_id not in found:
        raise NotFound(
            f"There is no knowledge base {kb_id[:40]!r}: it may have been deleted.",
            code="kb_not_found",
            details={"knowledge_base_id": kb_id},
        )
    return found[kb_id]


def _found_document(document_id: str, found: Mapping[str, Document]) -> Document:
    if document_id not in found:
        raise NotFound(
            f"There is no document {document_id[:40]!r}: it may have been deleted.",
            code="document_not_found",
            details={"knowledge_id": document_id},
        )
    return found[document_id]


# --- values ---


def _good_name(name: str) -> str:
    name = name.strip()
    if not 1 <= len(name) <= NAME_LENGTH:
        raise BadRequest(f"The name of a knowledge base has 1 to {NAME_LENGTH} characters.", code="bad_name")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in name):
        raise BadRequest("The name of a knowledge base cannot hold control characters.", code="bad_name")
    return name


def _good_description(description: str) -> str:
    if len(description) > DESCRIPTION_LENGTH:
        raise BadRequest(
            f"A description has at most {DESCRIPTION_LENGTH} characters.", code="bad_description"
        )
    if description != _storable(description):
        raise BadRequest("A description cannot hold NUL or lone surrogates.", code="bad_description")
    return description


def _good_title(title: str) -> str:
    title = title.strip()
    if not 1 <= len(title) <= TITLE_LENGTH:
        raise BadRequest(f"A title has 1 to {TITLE_LENGTH} characters.", code="bad_title")
    if title != _storable(title):
        raise BadRequest("A title cannot hold NUL or lone surrogates.", code="bad_title")
    return title


def _storable(text: str) -> str:
    # SQLite's own functions stop at NUL, and a lone surrogate has no UTF-8.
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _window(page: int, page_size: int) -> tuple[int, int]:
    size = max(1, page_size)
    return size, (max(1, page) - 1) * size


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
