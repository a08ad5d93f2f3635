"""The tables of the catalogue, and how a file comes to have them."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import aiosqlite

from ..errors import StartRefused
from ..migrations import migrate
from ..text.language import language_of

SCHEMA_VERSION = 2

# What version 2 brought, for files made since and for those that came from version 1.
ADDED = """
create unique index chunks_by_entry on chunks (entry_id) where entry_id <> '';
create index questions_of_chunk on chunks (parent_chunk_id) where kind = 'question';
create index chunks_by_kind on chunks (kb_id, kind) where kind not in ('parent', 'text') and enabled = 1;
create index chunks_by_language on chunks (kb_id, language) where kind <> 'parent' and enabled = 1;
create table faq_entries (
    id text primary key references documents (id) on delete cascade,
    kb_id text not null references knowledge_bases (id) on delete cascade,
    question text not null,
    similar_questions text not null,   -- JSON, as the next two
    negative_questions text not null,
    answers text not null,
    answer_strategy text not null,
    search_key text not null,          -- questions and answers, folded
    enabled integer not null,
    revision integer not null,
    created_at text not null,
    updated_at text not null
) without rowid;
create index faq_entries_of_kb on faq_entries (kb_id, id);
create table faq_questions (           -- the standard and similar ones, folded: each belongs to one entry
    kb_id text not null,
    key text not null,
    entry_id text not null references faq_entries (id) on delete cascade,
    primary key (kb_id, key)
) without rowid;
create index faq_questions_of_entry on faq_questions (entry_id);
create table tags (
    id text primary key,
    kb_id text not null references knowledge_bases (id) on delete cascade,
    name text not null,
    name_key text not null,            -- folded
    unique (kb_id, name_key)
) without rowid;
create table document_tags (
    tag_id text not null references tags (id) on delete cascade,
    document_id text not null references documents (id) on delete cascade,
    primary key (tag_id, document_id)
) without rowid;
create index tags_of_document on document_tags (document_id);
"""

SCHEMA = f"""
create table knowledge_bases (
    id text primary key,
    tenant_id text not null,
    name text not null,
    name_key text not null,    -- what makes two names the same: width and case folded
    search_key text not null,  -- name and description, folded the same way
    description text not null,
    kind text not null,
    settings text not null,    -- JSON
    embedding_model text not null,
    version integer not null,
    created_at text not null,
    updated_at text not null,
    store text not null default 'embedded', -- which engine has its index entries
    unique (tenant_id, name_key)
);
create table documents (
    id text primary key,
    kb_id text not null references knowledge_bases (id) on delete cascade,
    title text not null,
    media_type text not null,
    sha256 text not null,
    bytes integer not null,
    status text not null,
    error text,
    revision integer not null,  -- the published one; 0 before the first
    chunk_count integer not null,
    stage text not null,
    done integer not null,
    total integer not null,
    created_at text not null,
    updated_at text not null
);
create index documents_of_kb on documents (kb_id, id);
create index documents_by_hash on documents (sha256);
create index documents_by_status on documents (status);
create table chunks (
    id text primary key,
    kb_id text not null references knowledge_bases (id) on delete cascade,
    document_id text not null references documents (id) on delete cascade,
    revision integer not null,
    kind text not null,
    chunk_index integer not null,
    text text not null,
    page integer,
    boxes text not null,        -- JSON
    section text,
    pre_chunk_id text,
    next_chunk_id text,
    parent_chunk_id text,
    enabled integer not null,
    entry_id text not null default '',  -- its id in the indexes where that is another one
    language text not null default '',
    images text not null default '[]'   -- JSON
);
create index chunks_of_document on chunks (document_id, chunk_index);
create index chunks_of_kb on chunks (kb_id);
{ADDED}
create table schema_version (version integer not null);
"""


# From each version to the next. What a step does stays as it is for good: such files are out there.
STEPS: Mapping[int, str] = {
    1: f"""
        alter table knowledge_bases add column store text not null default 'embedded';
        alter table chunks add column entry_id text not null default '';
        alter table chunks add column language text not null default '';
        alter table chunks add column images text not null default '[]';
        update chunks set language = language_of(text);
        {ADDED}
    """,
}


def fill(connection: sqlite3.Connection) -> None:
    """Make the tables of a new file."""
    connection.execute("pragma journal_mode = wal")
    version = f"insert into schema_version values ({SCHEMA_VERSION});"
    connection.executescript(f"begin; {SCHEMA} {version} commit;")


def bring_up_to_date(path: Path) -> None:
    """Take an older file to today's version; a copy of it stays beside it. Any other is left alone.

    Raises StartRefused when it cannot be copied or changed, and then it is as it was.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        (version,) = connection.execute("select version from schema_version").fetchone()
        if version < SCHEMA_VERSION:
            connection.create_function("language_of", 1, language_of, deterministic=True)
            migrate(connection, path, stored=version, wanted=SCHEMA_VERSION, steps=STEPS)


async def prepare(db: aiosqlite.Connection, path: Path) -> None:
    """Set the connection up. Raises StartRefused for a newer schema."""
    db.row_factory = sqlite3.Row
    await db.execute("pragma foreign_keys = on")
    # Zeros in place of what is deleted.
    await db.execute_fetchall("pragma secure_delete = on")
    await db.execute_fetchall("pragma journal_mode = wal")
    await db.execute("pragma synchronous = normal")
    ((version,),) = await db.execute_fetchall("select version from schema_version")
    if version > SCHEMA_VERSION:
        raise StartRefused(
            f"{path} was written by a newer headrace (schema {version}, this one knows {SCHEMA_VERSION}): "
            "install that version, or use another data folder",
            details={"found": version, "known": SCHEMA_VERSION},
        )
