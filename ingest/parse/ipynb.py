"""Jupyter notebooks: Markdown and code cells in order, with what they printed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import Unreadable
from ..decode import decode
from ..parsed import Block, Parsed
from . import markdown


def parse(path: Path) -> Parsed:
    try:
        match json.loads(decode(path.read_bytes())[0]):
            case {"cells": [*cells]}:
                return Parsed(blocks=[block for cell in cells for block in _blocks(cell)])
            case _:
                pass
    except json.JSONDecodeError:
        pass
    raise Unreadable("this is not a notebook that can be read", code="damaged_document")


def _blocks(cell: Any) -> Iterator[Block]:
    match cell:
        case {"cell_type": "code", "source": source}:
            yield Block(kind="code", text=_joined(source))
            for output in cell.get("outputs", []):
                yield Block(kind="code", text=_printed(output))
        case {"source": source}:
            yield from markdown.parse_text(_joined(source)).blocks
        case _:
            pass


def _printed(output: Any) -> str:
    match output:
        case {"text": text}:
            return _joined(text)
        case {"data": {"text/plain": text}}:
            return _joined(text)
        case _:
            return ""


def _joined(source: Any) -> str:
    match source:
        case [*lines]:
            return "".join(map(str, lines))
        case _:
            return str(source)
