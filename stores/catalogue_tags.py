"""Tags of a knowledge base, and the documents that have them."""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence

import aiosqlite

from ..context import Tag
from ..errors import BadRequest, Conflict, NotFound
from ..ids import new_id
from ..text.labels import good_label, label_key
from .catalogue_file import CatalogueFile, document_in, ids_in, kb_in, raise_version, storable, window

MOST_TAGS = 50  # of one document

TAG_ROWS = """
select *, (select count(*) from document_tags where tag_id = tags.id) as document_count from tags
"""


class TagTables(CatalogueFile):
    """Tags and what is tagged. Each change raises the version of the knowledge base: what a search that is
    narrowed to tags finds may be something else."""

    async def create_tag(self, kb_id: str, name: str) -> Tag:
        """Raises NotFound, BadRequest `bad_tag_name`, Conflict `tag_name_taken`."""
        name = good_label(name)
        async with self._transaction() as db:
            kb = await kb_in(db, kb_id)
            await _refuse_taken_name(db, kb.id, name)
            (tag_id,) = await tags_named(db, kb.id, [name])
            await raise_version(db, kb.id)
        return await self.get_tag(tag_id)

    async def rename_tag(self, tag_id: str, name: str) -> Tag:
        """Raises as `create_tag`, and NotFound `tag_not_found`."""
        name = good_label(name)
        async with self._transaction() as db:
            tag = await _tag_in(db, tag_id)
            if label_key(name) != label_key(tag.name):
                await _refuse_taken_name(db, tag.kb_id, name)
            values = (name, label_key(name), tag.id)
            await db.execute("update tags set name = ?, name_key = ? where id = ?", values)
            await raise_version(db, tag.kb_id)
        return await self.get_tag(tag_id)

    async def delete_tag(self, tag_id: str) -> None:
        """The tag gone, also from its documents. Raises NotFound `tag_not_found`."""
        async with self._transaction() as db:
            tag = await _tag_in(db, tag_id)
            await db.execute("delete from tags where id = ?", (tag.id,))
            await raise_version(db, tag.kb_id)

    async def get_tag(self, tag_id: str) -> Tag:
        """Raises NotFound `tag_not_found`."""
        return _found(tag_id, await self.tags([tag_id]))

    async def tags(self, ids: Sequence[str]) -> Mapping[str, Tag]:
        """Unknown ids are left out."""
        rows = await self._rows(
            f"{TAG_ROWS} where id in (select value from json_each(?))", json.dumps([*ids])
        )
        return {tag.id: tag for tag in map(_to_tag, rows)}

    async def list_tags(self, kb_id: str, *, page: int = 1, page_size: int = 20) -> tuple[list[Tag], int]:
        """By name, with the number of all."""
        rows = await self._rows(
            f"{TAG_ROWS} where kb_id = ? order by name_key, id limit ? offset ?",
            kb_id,
            *window(page, page_size),
        )
        return [_to_tag(row) for row in rows], await self._count("from tags where kb_id = ?", kb_id)

    async def set_document_tags(self, document_id: str, tag_ids: Sequence[str]) -> None:
        """In one transaction: these tags and no others, the KB a version on.

        Raises NotFound for the document or a tag, BadRequest `tag_of_other_kb`, `too_many_tags`.
        """
        wanted = [*dict.fromkeys(tag_ids)]
        refuse_many(wanted)
        async with self._transaction() as db:
            document = await document_in(db, document_id)
            for tag_id in wanted:
                if (await _tag_in(db, tag_id)).kb_id != document.kb_id:
                    raise BadRequest(
                        f"Tag {tag_id} is one of another knowledge base than the document.",
                        code="tag_of_other_kb",
                        details={"tag_id": tag_id},
                    )
            await set_tags(db, document.id, wanted)
            await raise_version(db, document.kb_id)

    async def tags_of(self, document_ids: Sequence[str]) -> Mapping[str, Sequence[Tag]]:
        """The tags of each document that has some, by name."""
        rows = await self._rows(
            f"select document_id, tag.* from document_tags join ({TAG_ROWS}) tag on tag.id = tag_id "
            "where document_id in (select value from json_each(?)) order by name_key, tag.id",
            json.dumps([*document_ids]),
        )
        found: dict[str, list[Tag]] = {}
        for row in rows:
            found.setdefault(row["document_id"], []).append(_to_tag(row))
        return found

    async def tagged_documents(self, tag_ids: Sequence[str]) -> Mapping[str, Sequence[str]]:
        rows = await self._rows(
            "select distinct tags.kb_id, document_id from document_tags join tags on tags.id = tag_id "
            "where tag_id in (select value from json_each(?)) order by document_id",
            json.dumps([*tag_ids]),
        )
        found: dict[str, list[str]] = {}
        for row in rows:
            found.setdefault(row["kb_id"], []).append(row["document_id"])
        return found


async def tags_named(db: aiosqlite.Connection, kb_id: str, names: Iterable[str]) -> list[str]:
    """The ids of the tags of these names, in their order; those that are not there are made.

    Raises BadRequest `bad_tag_name`, `too_many_tags`.
    """
    wanted = {label_key(name): name for name in map(good_label, names)}
    refuse_many([*wanted])
    rows = [(new_id(), kb_id, name, key) for key, name in wanted.items()]
    await db.executemany("insert into tags values (?, ?, ?, ?) on conflict do nothing", rows)
    sql = "select id from tags where kb_id = ? and name_key = ?"
    return [id for key in wanted for id in await ids_in(db, sql, kb_id, key)]


async def set_tags(db: aiosqlite.Connection, document_id: str, tag_ids: Iterable[str]) -> None:
    """These tags and no others."""
    await db.execute("delete from document_tags where document_id = ?", (document_id,))
    rows = [(tag_id, document_id) for tag_id in tag_ids]
    await db.executemany("insert into document_tags (tag_id, document_id) values (?, ?)", rows)


def refuse_many(tags: Sequence[str]) -> None:
    if len(tags) > MOST_TAGS:
        raise BadRequest(
            f"A document has at most {MOST_TAGS} tags.", code="too_many_tags", details={"limit": MOST_TAGS}
        )


async def _tag_in(db: aiosqlite.Connection, tag_id: str) -> Tag:
    rows = await db.execute_fetchall(f"{TAG_ROWS} where id = ?", (storable(tag_id),))
    return _found(tag_id, {tag.id: tag for tag in map(_to_tag, rows)})


async def _refuse_taken_name(db: aiosqlite.Connection, kb_id: str, name: str) -> None:
    taken = await ids_in(db, "select id from tags where kb_id = ? and name_key = ?", kb_id, label_key(name))
    if taken:
        raise Conflict(
            f"There is already a tag named {name!r} in this knowledge base.",
            code="tag_name_taken",
            details={"id": taken[0]},
        )


def _found(tag_id: str, found: Mapping[str, Tag]) -> Tag:
    if tag_id not in found:
        raise NotFound(
            f"There is no tag {tag_id[:40]!r}: it may have been deleted.",
            code="tag_not_found",
            details={"tag_id": tag_id},
        )
    return found[tag_id]


def _to_tag(row: sqlite3.Row) -> Tag:
    return Tag(id=row["id"], kb_id=row["kb_id"], name=row["name"], document_count=row["document_count"])
