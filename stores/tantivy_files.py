"""Folders of keyword indexes on the disk: of which make each is, whether it is whole, how one is replaced."""

import json
import re
import shutil
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import StartRefused

# 2: kinds of entries. 3: each token twice; indexes say which tokens they hold.
LAYOUT = 3
VERSION, MARK = "schema_version", "made_with"
# Beside an index: one that is being written, the one it replaces, one that cannot be used. No id has a dot.
NEW, OLD, ASIDE = ".new", ".old", ".aside"
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
# How a file of tantivy ends: JSON with its checksum, the length of that, a number that says so.
_ENDING = struct.Struct("<II")
_MAGIC = 1337
_PIECE = 1 << 20


def path_of(folder: Path, kb_id: str) -> Path:
    """Raises ValueError for what is no id, such as a way out of the folder."""
    if not _ID.fullmatch(kb_id):
        raise ValueError(f"not an id: {kb_id!r}")
    return folder / kb_id


def kb_ids(folder: Path) -> set[str]:
    """Knowledge bases that have an index, or had one that cannot be used."""
    names = (path.name.removesuffix(ASIDE) for path in folder.glob("*") if path.is_dir())
    return {name for name in names if _ID.fullmatch(name)}


def check_version(folder: Path) -> None:
    """Raises StartRefused when a newer version has written here."""
    # Empty: a crash came between making the file and writing into it.
    found = _version(folder) or str(LAYOUT)
    if not found.isdecimal() or int(found) > LAYOUT:
        raise StartRefused(
            f"{folder} was written by a newer headrace (schema {found}, this one knows {LAYOUT}): "
            "install that version, or use another data folder"
        )


def settle(folder: Path) -> None:
    """One index under each name: after a kill between two renames the new one, which is whole then."""
    for old in folder.glob(f"*{OLD}"):
        path, new = old.with_suffix(""), old.with_suffix(NEW)
        if new.exists() and not path.exists():
            new.rename(path)
        shutil.rmtree(old)
    for new in folder.glob(f"*{NEW}"):
        shutil.rmtree(new)
    for aside in folder.glob(f"*{ASIDE}"):
        if has_index(aside.with_suffix("")):
            shutil.rmtree(aside)


def has_index(path: Path) -> bool:
    return (path / "meta.json").exists()


def is_aside(path: Path) -> bool:
    """Whether there is no index because it could not be used, and is to be made again."""
    return not has_index(path) and beside(path, ASIDE).exists()


def beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def make(path: Path, made_with: str) -> None:
    """An empty folder for an index of this make."""
    remove(path)
    path.mkdir(parents=True)
    (path / MARK).write_text(f"{made_with}\n", encoding="utf-8")
    if _version(path.parent) != str(LAYOUT):
        (path.parent / VERSION).write_text(f"{LAYOUT}\n", encoding="utf-8")


def is_made_with(path: Path, made_with: str) -> bool:
    mark = path / MARK
    return mark.exists() and mark.read_text(encoding="utf-8").strip() == made_with


def set_aside(path: Path) -> None:
    """Out of the way, until there is a new one."""
    aside = beside(path, ASIDE)
    remove(aside)
    if path.exists():
        path.rename(aside)
    else:
        aside.mkdir(parents=True)


def replace(path: Path) -> None:
    """The new index in place of the old one, which a search that has it open reads on."""
    old = beside(path, OLD)
    if path.exists():
        path.rename(old)
    beside(path, NEW).rename(path)
    for left in (old, beside(path, ASIDE)):
        shutil.rmtree(left, ignore_errors=True)


def remove(path: Path) -> None:
    if path.exists():
        shutil.rmtree(path)


def broken_file(path: Path) -> str | None:
    """A file of the index that is not what was written, by the checksums that tantivy leaves unread."""
    return next((file.name for file in _files(path) if not _is_whole(file)), None)


def counted_entries(path: Path) -> int:
    """Entries in the files of an index, with those that are only marked as deleted."""
    return sum(segment["max_doc"] for segment in _segments(path))


def _segments(path: Path) -> list[Any]:
    return json.loads((path / "meta.json").read_bytes())["segments"]


def _files(path: Path) -> Iterator[Path]:
    # A process that was killed leaves files beside these, which count for nothing and need not be whole.
    for segment in _segments(path):
        name, deletes = segment["segment_id"].replace("-", ""), segment["deletes"]
        deleted = f"{name}.{deletes['opstamp']}.del" if deletes else ""
        for file in path.glob(f"{name}.*"):
            if file.suffix != ".del" or file.name == deleted:
                yield file


def _version(folder: Path) -> str:
    file = folder / VERSION
    return file.read_text(encoding="utf-8").strip() if file.exists() else ""


def _is_whole(file: Path) -> bool:
    size = file.stat().st_size
    with file.open("rb") as bytes_of:
        bytes_of.seek(max(0, size - _ENDING.size))
        ending = bytes_of.read()
        if len(ending) < _ENDING.size:
            return False
        length, magic = _ENDING.unpack(ending)
        body = size - _ENDING.size - length
        if magic != _MAGIC or body < 0:
            return False
        bytes_of.seek(body)
        try:
            expected = json.loads(bytes_of.read(length))["crc"]
        except (ValueError, KeyError, TypeError):
            return False
        bytes_of.seek(0)
        found = 0
        while body and (piece := bytes_of.read(min(body, _PIECE))):
            found, body = zlib.crc32(piece, found), body - len(piece)
    return found == expected
