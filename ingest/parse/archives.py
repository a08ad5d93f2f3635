"""Zip containers opened only after a look at what they would unpack to."""

import re
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from ...errors import Unreadable

# Office files of real work unpack to 3 to 40 times their size; deflate alone can reach 1,000 times.
LARGEST_TOTAL = 400 * 1024 * 1024
LARGEST_RATIO = 150
RATIO_COUNTS_FROM = 1024 * 1024  # small parts may be repetitive: they do no harm
MOST_PARTS = 20_000

# Neither Office nor EPUB files have a use for entities of their own, which is what the attacks are made of.
ENTITIES = re.compile(rb"<!ENTITY|<\0!\0E\0N\0T\0I\0T\0Y|\0<\0!\0E\0N\0T\0I\0T\0Y", re.IGNORECASE)
XML_PARTS = (".xml", ".rels", ".xhtml", ".html", ".htm", ".opf", ".ncx", ".vml")


@contextmanager
def opened_archive(path: Path) -> Generator[zipfile.ZipFile]:
    """The container, found harmless. Raises Unreadable for bombs, attacks, passwords and damage."""
    try:
        with zipfile.ZipFile(path) as archive:
            _refuse_bomb(archive, path.stat().st_size)
            _refuse_entities(archive)
            yield archive
    except (zipfile.BadZipFile, NotImplementedError) as error:
        raise Unreadable("the file is damaged: it cannot be unpacked", code="damaged_document") from error
    except RuntimeError as error:
        if "encrypted" not in str(error):
            raise
        raise Unreadable("the file is encrypted; save it without a password", code="encrypted") from error


def _refuse_bomb(archive: zipfile.ZipFile, size: int) -> None:
    parts = archive.infolist()
    total = sum(part.file_size for part in parts)
    steep = any(
        part.file_size > RATIO_COUNTS_FROM and part.file_size > LARGEST_RATIO * max(1, part.compress_size)
        for part in parts
    )
    # The whole is measured against the file too: parts of a bomb may share the same bytes.
    if len(parts) > MOST_PARTS or total > LARGEST_TOTAL or steep or _is_steep(total, size):
        raise Unreadable(
            f"the file unpacks to {total // 1024:,} KB from {size // 1024:,} KB: refused as an archive bomb",
            code="archive_bomb",
        )


def _is_steep(unpacked: int, packed: int) -> bool:
    return unpacked > RATIO_COUNTS_FROM and unpacked > LARGEST_RATIO * max(1, packed)


def _refuse_entities(archive: zipfile.ZipFile) -> None:
    for part in archive.infolist():
        if part.filename.lower().endswith(XML_PARTS) and ENTITIES.search(archive.read(part)):
            raise Unreadable("the file declares XML entities: refused as an attack", code="xml_entities")
