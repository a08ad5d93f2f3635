"""Plain text: paragraphs, and the headings that numbers and Chinese chapter marks give away."""

from collections.abc import Iterator
from pathlib import Path

from ..decode import decode
from ..headings import is_heading_line
from ..parsed import Block, Parsed


def parse(path: Path) -> Parsed:
    text, _ = decode(path.read_bytes())
    return Parsed(blocks=[*blocks_of(text)])


def blocks_of(text: str) -> Iterator[Block]:
    paragraph: list[str] = []
    for line in text.split("\n"):
        if is_heading_line(line):
            yield from _paragraph(paragraph)
            yield Block(kind="text", text=line.strip())
        elif line.strip():
            paragraph.append(line.rstrip())
        else:
            yield from _paragraph(paragraph)
    yield from _paragraph(paragraph)


def _paragraph(lines: list[str]) -> Iterator[Block]:
    if lines:
        yield Block(kind="text", text="\n".join(lines))
    lines.clear()
