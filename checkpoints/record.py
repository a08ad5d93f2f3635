"""Whether a run still has its record: what it told, and the state of its stages."""

import sqlite3
import zlib
from collections.abc import Iterable, Iterator

from ..errors import Gone
from .run_rows import Kept, RunRow, read_run
from .saver import COMPRESSED
from .schema import THREAD_TABLES

WITH_RECORD: tuple[Kept, ...] = ("all", "last")


def require_record(row: RunRow) -> None:
    """Raises Gone (run_trimmed, run_erased) where nothing is left but the message."""
    where = {"session_id": row.session_id, "message_id": row.message_id, "kept": row.kept}
    match row.kept:
        case "nothing":
            raise Gone(
                "The record of this run was removed to keep the journal under its size (journal_limit_mb); "
                "its answer is still among the messages of its session.",
                code="run_trimmed",
                details=where,
            )
        case "erased":
            raise Gone(
                "The record of this run was erased, together with a document that it had read.",
                code="run_erased",
                details=where,
            )
        case _:
            return


def read_recorded_run(connection: sqlite3.Connection, *, run_id: str) -> RunRow:
    """A run that has its record. Raises NotFound (run_not_found), Gone (run_trimmed, run_erased)."""
    row = read_run(connection, run_id=run_id)
    require_record(row)
    return row


def texts_of_record(connection: sqlite3.Connection, run_id: str) -> Iterator[bytes]:
    """Everything stored of a run, uncompressed, but for its kept passages: what can mention an id.

    The message is of it, since it outlives the rest.
    """
    for table in THREAD_TABLES:
        for type, body in connection.execute(
            f"select type, body from {table} where thread_id = ?", (run_id,)
        ):
            yield zlib.decompress(body) if type.startswith(COMPRESSED) else body
    for (body,) in connection.execute("select body from events where run_id = ?", (run_id,)):
        yield body.encode()
    for content, references in connection.execute(
        "select content, refs from messages where run_id = ? and role = 'assistant'", (run_id,)
    ):
        yield content.encode()
        yield references.encode()


def unmentioned(connection: sqlite3.Connection, run_id: str, hashes: Iterable[str]) -> set[str]:
    """Those of the passages that neither the states nor the events or the message of a run refer to."""
    left = set(hashes)
    for text in texts_of_record(connection, run_id):
        left = {hash for hash in left if hash.encode() not in text}
    return left
