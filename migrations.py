"""How an older file becomes one of today: a copy is laid aside, then all steps are taken at once or none."""

import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from .errors import StartRefused


def migrate(
    connection: sqlite3.Connection, path: Path, *, stored: int, wanted: int, steps: Mapping[int, str]
) -> None:
    """Take the file from version `stored` to `wanted`; it was copied to `<name>.v<stored>` before.

    Killed at any moment, the file is of one of the two versions, and opening it again goes on from there.
    Raises StartRefused when there is no room for the copy, or a step fails: the file is as it was then.
    """
    _copy(connection, path.with_name(f"{path.name}.v{stored}"))
    script = "".join(steps[version] for version in range(stored, wanted))
    try:
        connection.executescript(
            f"begin immediate; {script} update schema_version set version = {wanted}; commit;"
        )
    except sqlite3.Error as error:
        if connection.in_transaction:
            connection.execute("rollback")
        raise StartRefused(
            f"{path} could not be taken from version {stored} to {wanted}: {error}. It is as it was; the "
            f"program that wrote it can go on with it.",
            code="migration_failed",
        ) from error


def _copy(connection: sqlite3.Connection, copy: Path) -> None:
    """Whole under its name or not there. One that an interrupted start has left is made again: an older
    program may have written to the file since."""
    unfinished = copy.with_name(f"{copy.name}.part")
    unfinished.unlink(missing_ok=True)
    try:
        # Not by copying files: the newest changes may still lie in the write-ahead log.
        with closing(sqlite3.connect(unfinished)) as target:
            connection.backup(target)
        _sync(unfinished)
        unfinished.replace(copy)
        _sync(copy.parent)
    except (sqlite3.Error, OSError) as error:
        unfinished.unlink(missing_ok=True)
        raise StartRefused(
            f"{copy} could not be written: {error}. An older file is changed once there is a copy: "
            "make room, then start again.",
            code="migration_failed",
        ) from error


def _sync(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
