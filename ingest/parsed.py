"""What a parser makes of a file: blocks in reading order, and JSON for the way out of its process."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

BlockKind = Literal["heading", "text", "table", "code", "image_caption"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One heading, paragraph, list, table, piece of code or caption.

    `level` is a heading's depth from 1, 0 for all else. A table's text is one line per row, cells
    between bars, the first line its header. `page` counts from 1 (a slide is a page). A box is
    [page, left, top, right, bottom] in points from the top left.
    """

    kind: BlockKind
    text: str
    level: int = 0
    page: int | None = None
    boxes: Sequence[Sequence[float]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """A whole file; `title` is what the file calls itself, if it does."""

    blocks: Sequence[Block]
    title: str | None = None


def to_json(parsed: Parsed) -> dict[str, Any]:
    return {"title": parsed.title, "blocks": [asdict(block) for block in parsed.blocks]}


def from_json(value: dict[str, Any]) -> Parsed:
    return Parsed(title=value["title"], blocks=[Block(**block) for block in value["blocks"]])


def row_line(cells: Sequence[str]) -> str:
    """A table row as one line; what would break the line or the row is made harmless."""
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "¦") for cell in cells) + " |"
