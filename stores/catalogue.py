"""Knowledge bases, documents and chunks in one SQLite file, changed a transaction at a time."""

import asyncio
import json
import sqlite3
import unicodedata
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiosqlite

from ..context import Chunk, Document, DocumentStatus, KnowledgeBase
from ..databases import look_at, make, opening
from ..errors import BadRequest, Conflict, NotFound
from ..ids import new_id
from .catalogue_faq import FaqTables
from .catalogue_file import (
    INDEXED_AS,
    KB_ROWS,
    KIND,
    SEARCHABLE,
    document_in,
    folded,
    found_document,
    found_kb,
    ids_in,
    kb_in,
    raise_version,
    storable,
    timestamp,
    window,
)
from .catalogue_rows import chunk_row, insert, to_chunk, to_document, to_kb, update
from .catalogue_schema import bring_up_to_date, fill, prepare
from .catalogue_tags import TagTables

NAME_LENGTH = 100
DESCRIPTION_LENGTH = 2_000
TITLE_LENGTH = 500

COUNT_CHUNKS = f"""
update documents set chunk_count = (
    select count(*) from chunks where document_id = documents.id and {SEARCHABLE}
) where id = ?
"""


class SqliteCatalogue(FaqTables, TagTables):
    """`context.SearchCatalogue` and what changes it. Made by `open_catalogue`.

    Whatever it does raises as `CatalogueFile` says.
    """

    def __init__(self, path: Path, writer: aiosqlite.Connection, reader: aiosqlite.Connection) -> None:
        super().__init__(path, writer, reader)
        # By knowledge base, of its version: counting 75,000 chunks for each question would take 8 ms.
        self._languages: dict[str, tuple[int, dict[str, int]]] = {}

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

    async def indexed_chunks(self, entry_ids: Sequence[str]) -> Mapping[str, Chunk]:
        asked = json.dumps([*entry_ids])
        rows = await self._rows(
            "select * from chunks where id in (select value from json_each(?1)) and entry_id = '' "
            "union all "
            "select * from chunks where entry_id in (select value from json_each(?1)) and entry_id <> ''",
            asked,
        )
        return {chunk.indexed_as: chunk for chunk in map(to_chunk, rows)}

    async def questions(self, chunk_ids: Sequence[str]) -> Mapping[str, Sequence[str]]:
        rows = await self._rows(
            "select parent_chunk_id, text from chunks "
            "where parent_chunk_id in (select value from json_each(?)) and kind = 'question' and enabled = 1 "
            "order by chunk_index, id",
            json.dumps([*chunk_ids]),
        )
        found: dict[str, list[str]] = {}
        for row in rows:
            found.setdefault(row["parent_chunk_id"], []).append(row["text"])
        return found

    async def kinds(self, kb_ids: Sequence[str], among: Sequence[str]) -> Mapping[str, set[str]]:
        rows = await self._rows(
            "select kb.value as kb_id, one.value as kind from json_each(?) kb, json_each(?) one "
            "where exists (select 1 from chunks where kb_id = kb.value and kind = one.value "
            "and kind not in ('parent', 'text') and enabled = 1)",  # as its index says
            json.dumps([*kb_ids]),
            json.dumps([*among]),
        )
        found: dict[str, set[str]] = {}
        for row in rows:
            found.setdefault(row["kb_id"], set()).add(row["kind"])
        return found

    async def languages(self, kb_ids: Sequence[str]) -> Mapping[str, Mapping[str, int]]:
        rows = await self._rows(
            "select id, version from knowledge_bases where id in (select value from json_each(?))",
            json.dumps([*kb_ids]),
        )
        versions = {row["id"]: row["version"] for row in rows}
        changed = [id for id, version in versions.items() if self._languages.get(id, (0, {}))[0] != version]
        if changed:
            counts = await self._count_languages(changed)
            self._languages |= {id: (versions[id], counts.get(id, {})) for id in changed}
        return {id: self._languages[id][1] for id in versions if self._languages[id][1]}

    async def _count_languages(self, kb_ids: Sequence[str]) -> dict[str, dict[str, int]]:
        rows = await self._rows(
            "select kb_id, language, count(*) as chunks from chunks "
            f"where kb_id in (select value from json_each(?)) and {SEARCHABLE} group by kb_id, language",
            json.dumps([*kb_ids]),
        )
        found: dict[str, dict[str, int]] = {}
        for row in rows:
            found.setdefault(row["kb_id"], {})[row["language"]] = row["chunks"]
        return found

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
        now = timestamp()
        row: dict[str, Any] = {
            "id": new_id(),
            "tenant_id": tenant_id,
            "name": name,
            "name_key": folded(name),
            "search_key": folded(f"{name}\n{description}"),
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
        return found_kb(kb_id, await self.kbs([kb_id]))

    async def kb_by_name(self, name: str, *, tenant_id: str = "default") -> KnowledgeBase | None:
        """The knowledge base of that name; letter case, width and outer spaces do not matter."""
        key = json.dumps([folded(name.strip())])
        rows = await self._rows(
            f"{KB_ROWS} where tenant_id = ? and name_key in (select value from json_each(?))", tenant_id, key
        )
        return to_kb(rows[0]) if rows else None

    async def list_kbs(
        self, *, page: int = 1, page_size: int = 20, search: str | None = None, tenant_id: str = "default"
    ) -> tuple[list[KnowledgeBase], int]:
        """Newest first, with the number of all that match; `search` looks into name and description."""
        where = "where tenant_id = ? and instr(search_key, ?) > 0"
        given = (tenant_id, storable(folded(search or "")))
        rows = await self._rows(
            f"{KB_ROWS} {where} order by id desc limit ? offset ?", *given, *window(page, page_size)
        )
        return [to_kb(row) for row in rows], await self._count(f"from knowledge_bases {where}", *given)

    async def kbs_of(self, tenant_id: str) -> list[KnowledgeBase]:
        """All of a tenant, oldest first."""
        return [
            to_kb(row) for row in await self._rows(f"{KB_ROWS} where tenant_id = ? order by id", tenant_id)
        ]

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
            old = await kb_in(db, kb_id)
            new_name = old.name if name is None else _good_name(name)
            new_description = old.description if description is None else _good_description(description)
            if folded(new_name) != folded(old.name):
                await _refuse_taken_name(db, old.tenant_id, new_name)
            row = {
                "id": kb_id,
                "name": new_name,
                "name_key": folded(new_name),
                "search_key": folded(f"{new_name}\n{new_description}"),
                "description": new_description,
                "settings": json.dumps(
                    dict(old.settings if settings is None else settings), ensure_ascii=False
                ),
                "updated_at": timestamp(),
            }
            await db.execute(update("knowledge_bases", row), row)
        return await self.get_kb(kb_id)

    async def delete_kb(self, kb_id: str) -> None:
        """Remove it with its documents and chunks. Raises NotFound."""
        async with self._transaction() as db:
            await kb_in(db, kb_id)
            await db.execute("delete from knowledge_bases where id = ?", (kb_id,))

    async def chunk_ids(self, kb_id: str) -> set[str]:
        """What the indexes of this knowledge base should hold: what a search may find, as indexed."""
        rows = await self._rows(
            f"select {INDEXED_AS} as id from chunks where kb_id = ? and {SEARCHABLE}", kb_id
        )
        return {row["id"] for row in rows}

    # --- documents ---

    async def create_document(
        self, *, kb_id: str, title: str, media_type: str, sha256: str, bytes: int
    ) -> Document:
        """A new document, pending, revision 0, without chunks. Raises NotFound for the knowledge base."""
        now = timestamp()
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
            await kb_in(db, kb_id)
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
            "updated_at": timestamp(),
        }
        return await self._change_document(row)

    async def get_document(self, document_id: str) -> Document:
        """Raises NotFound `document_not_found`."""
        return found_document(document_id, await self.documents([document_id]))

    async def list_documents(
        self, kb_id: str, *, page: int = 1, page_size: int = 20, tag_id: str | None = None
    ) -> tuple[list[Document], int]:
        """Newest first, with the number of all; `tag_id` narrows to those that have the tag."""
        where = """where kb_id = ?1
            and (?2 is null or id in (select document_id from document_tags where tag_id = ?2))"""
        rows = await self._rows(
            f"select * from documents {where} order by id desc limit ?3 offset ?4",
            kb_id,
            tag_id,
            *window(page, page_size),
        )
        return [to_document(row) for row in rows], await self._count(f"from documents {where}", kb_id, tag_id)

    async def document_by_hash(self, kb_id: str, sha256: str) -> Document | None:
        """The oldest document of that knowledge base with these bytes that is not being deleted."""
        return await self._one_document("sha256 = ?", kb_id, sha256)

    async def document_by_title(self, kb_id: str, title: str) -> Document | None:
        """The oldest document of that knowledge base with this very title that is not being deleted."""
        return await self._one_document("title = ?", kb_id, storable(title.strip()))

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
            "error": None if error is None else storable(error),
            "updated_at": timestamp(),
        }
        return await self._change_document(row)

    async def publish(self, document_id: str, *, revision: int, chunks: Sequence[Chunk]) -> list[str]:
        """In one transaction: these chunks instead of the old ones, the document ready, the KB a version on.

        `revision` is the document's last one plus 1, or the same again; `chunk_count` counts the
        chunks that are searched. Returns the ids that the indexes are to forget.
        Raises NotFound, and Conflict `stale_revision` when a later revision is already published.
        """
        async with self._transaction() as db:
            document = await document_in(db, document_id)
            if revision < document.revision:
                raise Conflict(f"revision {document.revision} is already published", code="stale_revision")
            old = await ids_in(
                db, f"select {INDEXED_AS} as id from chunks where document_id = ?", document_id
            )
            await db.execute("delete from chunks where document_id = ?", (document_id,))
            rows = [chunk_row(chunk) for chunk in chunks]
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
                "updated_at": timestamp(),
            }
            await db.execute(update("documents", row), row)
            await raise_version(db, document.kb_id)
        kept = {chunk.indexed_as for chunk in chunks}
        return [id for id in old if id not in kept]

    async def remove(self, document_id: str) -> list[str]:
        """In one transaction: the document and its chunks gone, the KB a version on.

        Returns the ids that the indexes are to forget. Raises NotFound.
        """
        async with self._transaction() as db:
            document = await document_in(db, document_id)
            old = await ids_in(
                db, f"select {INDEXED_AS} as id from chunks where document_id = ?", document_id
            )
            await db.execute("delete from documents where id = ?", (document_id,))
            await raise_version(db, document.kb_id)
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
            *window(page, page_size),
        )
        return [to_chunk(row) for row in rows], await self._count(f"from chunks {where}", document_id, kind)

    async def change_chunk(self, chunk: Chunk, *, seen: int) -> Chunk:
        """In one transaction: its text, revision, entry and whether it is enabled, the KB a version on.

        `seen` is the revision that the change was made from. Raises NotFound `chunk_not_found` once its
        document has other chunks, Conflict `chunk_changed` when somebody else was faster.
        """
        row = {
            name: value
            for name, value in chunk_row(chunk).items()
            if name in ("id", "text", "revision", "entry_id", "enabled", "language")
        }
        async with self._transaction() as db:
            if (await _chunk_in(db, chunk.id)).revision != seen:
                raise Conflict("This chunk was changed meanwhile: read it again.", code="chunk_changed")
            await db.execute(update("chunks", row), row)
            await db.execute(COUNT_CHUNKS, (chunk.document_id,))
            await raise_version(db, chunk.kb_id)
            return await _chunk_in(db, chunk.id)

    async def get_chunk(self, chunk_id: str) -> Chunk:
        """Raises NotFound `chunk_not_found`."""
        return _found_chunk(chunk_id, await self.chunks([chunk_id]))

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
            await document_in(db, row["id"])
            await db.execute(update("documents", row), row)
            return await document_in(db, row["id"])


@asynccontextmanager
async def open_catalogue(path: Path) -> AsyncGenerator[SqliteCatalogue]:
    """Open or create the file; both connections and their threads end with the block.

    Raises StartRefused when the file is no catalogue, damaged, not writable, or of a newer program.
    """
    await asyncio.to_thread(_look_at_and_make, path)
    async with AsyncExitStack() as connections:
        with opening(path, KIND):
            writer = await connections.enter_async_context(aiosqlite.connect(path, isolation_level=None))
            await prepare(writer, path)
            reader = await connections.enter_async_context(aiosqlite.connect(path, isolation_level=None))
            reader.row_factory = sqlite3.Row
            await reader.execute("pragma query_only = on")
        yield SqliteCatalogue(path, writer, reader)


def _look_at_and_make(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    look_at(path, KIND, holds="the knowledge bases")
    if not path.exists():
        make(path, KIND, fill)
    with opening(path, KIND):
        bring_up_to_date(path)


async def _chunk_in(db: aiosqlite.Connection, chunk_id: str) -> Chunk:
    rows = await db.execute_fetchall("select * from chunks where id = ?", (chunk_id,))
    return _found_chunk(chunk_id, {chunk.id: chunk for chunk in map(to_chunk, rows)})


def _found_chunk(chunk_id: str, found: Mapping[str, Chunk]) -> Chunk:
    if chunk_id not in found:
        raise NotFound(
            f"There is no chunk {chunk_id[:40]!r}: its document may have been deleted or replaced.",
            code="chunk_not_found",
            details={"id": chunk_id},
        )
    return found[chunk_id]


async def _refuse_taken_name(db: aiosqlite.Connection, tenant_id: str, name: str) -> None:
    taken = await db.execute_fetchall(
        "select 1 from knowledge_bases where tenant_id = ? and name_key = ?", (tenant_id, folded(name))
    )
    if taken:
        raise Conflict(
            f"There is already a knowledge base named {name!r}: choose another name.", code="kb_name_taken"
        )


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
    if description != storable(description):
        raise BadRequest("A description cannot hold NUL or lone surrogates.", code="bad_description")
    return description


def _good_title(title: str) -> str:
    title = title.strip()
    if not 1 <= len(title) <= TITLE_LENGTH:
        raise BadRequest(f"A title has 1 to {TITLE_LENGTH} characters.", code="bad_title")
    if title != storable(title):
        raise BadRequest("A title cannot hold NUL or lone surrogates.", code="bad_title")
    return title
