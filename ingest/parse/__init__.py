"""Files to blocks, one module per format. Runs in the worker process; each parser is loaded on first use."""

import zlib
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from zipfile import BadZipFile

from ...errors import Unreadable
from ..formats import Format, format_of
from ..parsed import Block, Parsed

Parser = Callable[[Path], Parsed]


def parse(path: Path, name: str, format: Format | None = None) -> Parsed:
    """The blocks of a file that have text. `name` tells the format where it is not given.

    Raises Unreadable with a reason for a person, and UnsupportedFormat.
    """
    if path.stat().st_size == 0:
        raise Unreadable("the file is empty", code="empty_document")
    parser: Parser = import_module(f"{__name__}.{format or format_of(name, path)}").parse
    try:
        parsed = parser(path)
    except (BadZipFile, zlib.error, EOFError) as error:  # of a part that is read late
        raise Unreadable("the file is damaged: it cannot be unpacked", code="damaged_document") from error
    blocks = [block for block in parsed.blocks if block.text.strip()]
    if not blocks:
        raise Unreadable("no text found in this file", code="empty_document")
    return Parsed(title=_title(parsed.title, blocks), blocks=blocks)


def _title(own: str | None, blocks: Sequence[Block]) -> str | None:
    if own and own.strip():
        return " ".join(own.split())[:255]
    return next(
        (" ".join(b.text.split())[:255] for b in blocks if b.kind == "heading" and b.level == 1), None
    )
