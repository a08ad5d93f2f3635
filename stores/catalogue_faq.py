"""The entries of FAQ knowledge bases: rows beside the documents that they are."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import aiosqlite

from ..context import Chunk, FaqEntry
from ..errors import NotFound
from ..text.signature import text_hash
from ..text.similarity import signature
from .catalogue_file import (
    INDEXED_AS,
    CatalogueFile,
    folded,
    ids_in,
    kb_in,
    raise_version,
    storable,
    timestamp,
    window,
)
from .catalogue_rows import chunk_row, insert, to_faq_entry, upsert
from .catalogue_tags import set_tags, tags_named

MEDIA_TYPE = "application/x-headrace-faq"
TITLE_LENGTH = 500

FAQ_ROWS = """
select *, (
    select json_group_array(name) from (
        select name from document_tags join tags on tags.id = tag_id
        where document_id = faq_entries.id order by name_key
    )
) as tags from faq_entries
"""


class FaqTables(CatalogueFile):
    """Entries, and which entry each question belongs to."""

    async def faq_entries(self, ids: Sequence[str]) -> Mapping[str, FaqEntry]:
        rows = await self._rows(
            f"{FAQ_ROWS} where id in (select value from json_each(?))", json.dumps([*ids])
        )
        return {entry.id: entry for entry in map(to_faq_entry, rows)}

    async def faq_entry(self, entry_id: str) -> FaqEntry:
        """Raises NotFound `faq_entry_not_found`."""
        found = await self.faq_entries([entry_id])
        if entry_id not in found:
            raise _no_entry(entry_id)
        return found[entry_id]

    async def list_faq(
        self,
        kb_id: str,
        *,
        search: str | None = None,
        tag_id: str | None = None,
        enabled: bool | None = None,
        page: int = 1,
        page_size: int = 20,
    ) -> tuple[list[FaqEntry], int]:
        """Newest first, with the number of all that match; `search` looks into questions and answers."""
        where = """where kb_id = ?1 and instr(search_key, ?2) > 0 and (?3 is null or enabled = ?3)
            and (?4 is null or id in (select document_id from document_tags where tag_id = ?4))"""
        given = (kb_id, storable(folded(search or "")), None if enabled is None else int(enabled), tag_id)
        rows = await self._rows(
            f"{FAQ_ROWS} {where} order by id desc limit ?5 offset ?6", *given, *window(page, page_size)
        )
        return [to_faq_entry(row) for row in rows], await self._count(f"from faq_entries {where}", *given)

    async def faq_ids(self, kb_id: str) -> list[str]:
        """All entries of a knowledge base, oldest first."""
        rows = await self._rows("select id from faq_entries where kb_id = ? order by id", kb_id)
        return [row["id"] for row in rows]

    async def faq_questions(self, kb_id: str, signatures: Sequence[str]) -> Mapping[str, str]:
        """By the signature of a standard or similar question the entry that has it."""
        rows = await self._rows(
            "select key, entry_id from faq_questions where kb_id = ? "
            "and key in (select value from json_each(?))",
            kb_id,
            json.dumps([*signatures]),
        )
        return {row["key"]: row["entry_id"] for row in rows}

    async def write_faq(
        self, kb_id: str, written: Sequence[tuple[FaqEntry, Sequence[Chunk]]]
    ) -> list[FaqEntry]:
        """In one transaction: these entries with their chunks as they are now, the KB a version on.

        An entry without `created_at` is new. Tags that are not there yet are made. Raises NotFound for an
        entry that has been removed. The caller sees to it that no question is also one of another entry.
        """
        if not written:
            return []
        now = timestamp()
        async with self._transaction() as db:
            kb = await kb_in(db, kb_id)
            await _refuse_removed(db, [entry for entry, _ in written if entry.created_at])
            entries = [entry for entry, _ in written]
            await _replace_rows(db, written, now)
            await _replace_questions(db, kb.id, entries)
            for entry in entries:
                await set_tags(db, entry.id, await tags_named(db, kb.id, entry.tags))
            await raise_version(db, kb.id)
            return [entry for one in entries for entry in await _entry_in(db, one.id)]

    async def remove_faq(self, kb_id: str, entry_ids: Sequence[str]) -> tuple[list[str], list[str]]:
        """In one transaction: those of the entries that this knowledge base has gone, the KB a version on.

        Returns the entries that were there, and the ids that the indexes are to forget.
        """
        asked = json.dumps([*entry_ids])
        async with self._transaction() as db:
            there = await ids_in(
                db,
                "select id from faq_entries where kb_id = ? and id in (select value from json_each(?))",
                kb_id,
                asked,
            )
            these = "in (select value from json_each(?))"
            values = json.dumps(there)
            gone = await ids_in(
                db, f"select {INDEXED_AS} as id from chunks where document_id {these}", values
            )
            await db.execute(f"delete from documents where id {these}", (values,))
            if there:
                await raise_version(db, kb_id)
        return there, gone


async def _refuse_removed(db: aiosqlite.Connection, entries: Iterable[FaqEntry]) -> None:
    for entry in entries:
        if not await db.execute_fetchall("select 1 from faq_entries where id = ?", (entry.id,)):
            raise _no_entry(entry.id)


async def _entry_in(db: aiosqlite.Connection, entry_id: str) -> list[FaqEntry]:
    rows = await db.execute_fetchall(f"{FAQ_ROWS} where id = ?", (entry_id,))
    return [*map(to_faq_entry, rows)]


async def _replace_rows(
    db: aiosqlite.Connection, written: Sequence[tuple[FaqEntry, Sequence[Chunk]]], now: str
) -> None:
    # Changed where they are: to delete a row and put it back would take all that hangs on it along.
    documents = [_document_row(entry, chunks, now) for entry, chunks in written]
    await db.executemany(upsert("documents", documents[0]), documents)
    entries = [_entry_row(entry, now) for entry, _ in written]
    await db.executemany(upsert("faq_entries", entries[0]), entries)
    await db.executemany("delete from chunks where document_id = ?", [(entry.id,) for entry, _ in written])
    rows = [chunk_row(chunk) for _, chunks in written for chunk in chunks]
    await db.executemany(insert("chunks", rows[0]), rows)


async def _replace_questions(db: aiosqlite.Connection, kb_id: str, entries: Sequence[FaqEntry]) -> None:
    # All of them go before the first comes: two entries may have changed places.
    await db.executemany("delete from faq_questions where entry_id = ?", [(entry.id,) for entry in entries])
    rows = {
        (kb_id, signature(question), entry.id)
        for entry in entries
        for question in (entry.question, *entry.similar_questions)
    }
    await db.executemany("insert into faq_questions values (?, ?, ?)", rows)


def _document_row(entry: FaqEntry, chunks: Sequence[Chunk], now: str) -> dict[str, Any]:
    content = json.dumps(_content(entry), ensure_ascii=False)
    searched = sum(chunk.enabled for chunk in chunks)
    return {
        "id": entry.id,
        "kb_id": entry.kb_id,
        "title": entry.question[:TITLE_LENGTH],
        "media_type": MEDIA_TYPE,
        "sha256": text_hash(content),
        "bytes": len(content.encode()),
        "status": "ready",
        "error": None,
        "revision": entry.revision,
        "chunk_count": searched,
        "stage": "ready",
        "done": searched,
        "total": searched,
        "created_at": entry.created_at or now,
        "updated_at": now,
    }


def _entry_row(entry: FaqEntry, now: str) -> dict[str, Any]:
    texts = (entry.question, *entry.similar_questions, *entry.answers)
    return {
        "id": entry.id,
        "kb_id": entry.kb_id,
        "question": entry.question,
        "similar_questions": _json(entry.similar_questions),
        "negative_questions": _json(entry.negative_questions),
        "answers": _json(entry.answers),
        "answer_strategy": entry.answer_strategy,
        "search_key": folded("\n".join(texts)),
        "enabled": int(entry.enabled),
        "revision": entry.revision,
        "created_at": entry.created_at or now,
        "updated_at": now,
    }


def _content(entry: FaqEntry) -> dict[str, Any]:
    """What stands in place of the bytes of a file."""
    return {
        "question": entry.question,
        "similar_questions": [*entry.similar_questions],
        "negative_questions": [*entry.negative_questions],
        "answers": [*entry.answers],
        "answer_strategy": entry.answer_strategy,
    }


def _json(texts: Sequence[str]) -> str:
    return json.dumps([*texts], ensure_ascii=False)


def _no_entry(entry_id: str) -> NotFound:
    return NotFound(
        f"There is no FAQ entry {entry_id[:40]!r}: it may have been deleted.",
        code="faq_entry_not_found",
        details={"id": entry_id},
    )
