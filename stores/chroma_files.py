"""What lies in Chroma's folder beside what it holds: memory of this process, and dropped indexes."""

import shutil
import sqlite3
import struct
import uuid
from contextlib import closing
from pathlib import Path

# hnswlib's header: version, an offset, places, elements, bytes of an element.
HEADER = struct.Struct("<iQQQQ")
KNOWN_VERSION = 1
LENGTH_BYTES = 4  # of an element in length.bin
PIECE = bytes(1 << 20)


DATABASE = "chroma.sqlite3"


def fault_of(folder: Path) -> str | None:
    """Why nothing can be read from the folder's database, where there is one and that is so."""
    database = folder / DATABASE
    if not database.exists():
        return None
    try:
        _segments(database)
    except sqlite3.DatabaseError as error:
        # Neither one that is locked or may not be read, nor one that Chroma has not yet filled.
        broken = error.sqlite_errorcode in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)
        return f"{database}: {error}" if broken else None
    return None


def set_aside(folder: Path) -> Path:
    """Make room for a new one. Returns where the old one is; an older one of these is gone."""
    aside = folder.with_name(f"{folder.name}.aside")
    if aside.exists():
        shutil.rmtree(aside)
    for index in _indexes(folder):
        _clear(index)
    folder.rename(aside)
    folder.mkdir(mode=0o700)
    return aside


def clear_unused(folder: Path) -> None:
    """Zeros in the places of each index that hold no element; no folder of an index that is gone.

    hnswlib writes its whole buffer, also where it has never put anything: there stands what the process had
    in that memory before, and questions and passages were found in it. Nobody may have the folder open.
    """
    try:
        segments = _segments(folder / DATABASE)
    except sqlite3.Error:
        return  # Chroma says what is wrong with it, or makes it
    for index in _indexes(folder):
        if index.name in segments:
            _clear(index)
        else:
            shutil.rmtree(index)


def _indexes(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_dir() and _is_uuid(path.name)]


def _segments(database: Path) -> set[str]:
    with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        return {id for (id,) in connection.execute("select id from segments")}


def _clear(index: Path) -> None:
    header = index / "header.bin"
    if not header.exists() or header.stat().st_size < HEADER.size:
        return
    version, _, places, elements, element_bytes = HEADER.unpack_from(header.read_bytes())
    if version == KNOWN_VERSION and elements <= places:
        for name, size in (("data_level0.bin", element_bytes), ("length.bin", LENGTH_BYTES)):
            file = index / name
            # Of another length it is of a format that we do not know.
            if file.exists() and file.stat().st_size == places * size:
                _zero(file, elements * size)


def _zero(path: Path, start: int) -> None:
    with path.open("r+b") as file:
        file.seek(start)
        while piece := file.read(len(PIECE)):
            if any(piece):
                file.seek(-len(piece), 1)
                file.write(PIECE[: len(piece)])


def _is_uuid(name: str) -> bool:
    try:
        return str(uuid.UUID(name)) == name
    except ValueError:
        return False
