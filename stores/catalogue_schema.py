"""The tables of the catalogue, and how a file comes to have them."""

import sqlite3
from pathlib import Path

import aiosqlite

from ..errors import StartRefused

SCHEMA_VERSION = 1

SCHEMA = """
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
    enabled integer not null
);
create index chunks_of_document on chunks (document_id, chunk_index);
create index chunks_of_kb on chunks (kb_id);
create table schema_version (version integer not null);
"""


def fill(connection: sqlite3.Connection) -> None:
    """Make the tables of a new file."""
    connection.execute("pragma journal_mode = wal")
    version = f"insert into schema_version values ({SCHEMA_VERSION});"
    connection.executescript(f"begin; {SCHEMA} {version} commit;")


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
