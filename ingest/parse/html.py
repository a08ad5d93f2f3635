"""HTML: what a reader sees, without scripts and menus."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ..decode import declared_encoding, decode
from ..parsed import Block, Parsed, row_line
from .markup import Element, html_tree

UNSEEN = {
    "script", "style", "template", "noscript", "svg", "canvas", "iframe", "object", "embed", "head", "map",
    "input", "select", "option", "button", "datalist", "audio", "video", "source", "track", "link", "meta",
}  # fmt: skip
HEADINGS = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}
APART = {
    "address", "article", "aside", "blockquote", "body", "center", "dd", "details", "dialog", "div", "dl",
    "dt", "fieldset", "figcaption", "figure", "footer", "form", "header", "hgroup", "hr", "html", "legend",
    "li", "main", "nav", "ol", "p", "section", "summary", "tbody", "td", "tfoot", "th", "thead", "tr", "ul",
    "caption",
}  # fmt: skip
LONG_ENOUGH_CAPTION = 8  # shorter alternative texts are "logo", "icon" and the like
CJK = "\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef"


def parse(path: Path) -> Parsed:
    data = path.read_bytes()
    text, _ = decode(data, declared=declared_encoding(data))
    return parse_text(text)


def parse_text(text: str) -> Parsed:
    """The blocks of a page that is already text."""
    root = html_tree(text)
    if root is None:
        return Parsed(blocks=[])
    title = root.findtext(".//head/title") or root.findtext(".//title")
    blocks = [*_Reader(menus=False).blocks(root)]
    if not any(block.text.strip() for block in blocks):
        # A page that is nothing but menus is still better read than refused.
        blocks = [*_Reader(menus=True).blocks(root)]
    return Parsed(title=title, blocks=blocks)


class _Reader:
    """Walks a tree without recursion limits biting: text piles up until something stands apart."""

    def __init__(self, *, menus: bool) -> None:
        self._menus = menus
        self._pile: list[str] = []
        self._found: list[Block] = []

    def blocks(self, root: Element) -> Iterator[Block]:
        self._walk(root)
        self._flush()
        return iter(_joined_lists(self._found))

    def _walk(self, root: Element) -> None:
        # Pages nest thousands deep; a stack of our own has no limit.
        stack: list[tuple[Element, bool]] = [(root, False)]
        while stack:
            element, leaving = stack.pop()
            if leaving:
                self._leave(element)
                continue
            if self._is_whole(element):
                self._add_tail(element)
                continue
            self._enter(element)
            stack.append((element, True))
            stack.extend((child, False) for child in reversed(element))

    def _is_whole(self, element: Element) -> bool:
        """Take in, or leave out, an element together with all below it."""
        tag = element.tag
        if not isinstance(tag, str) or tag in UNSEEN or element.get("hidden") is not None:
            return True
        if not self._menus and (tag == "nav" or element.get("role") == "navigation"):
            self._flush()
            return True
        if tag in HEADINGS:
            self._add("heading", _line(_text_in(element)), level=HEADINGS[tag])
        elif tag in ("pre", "textarea", "xmp"):
            self._add("code", "".join(element.itertext()).strip("\n"))
        elif tag == "table" and not _is_layout(element):
            for block in _table(element):
                self._add(block.kind, block.text)
        elif tag == "math":
            self._pile.append(element.get("alttext") or _text_in(element))
        elif tag == "img":
            self._add_image(element)
        else:
            return False
        return True

    def _enter(self, element: Element) -> None:
        tag = element.tag
        if tag in APART:
            self._flush()
        if tag == "li":
            self._pile.append("- ")
        elif tag == "br":
            self._pile.append("\0")
        if element.text:
            self._pile.append(element.text)

    def _leave(self, element: Element) -> None:
        if element.tag in APART:
            self._flush()
        self._add_tail(element)

    def _add_tail(self, element: Element) -> None:
        if element.tail:
            self._pile.append(element.tail)

    def _add_image(self, element: Element) -> None:
        text = _line(element.get("alt") or "")
        if len(text) >= LONG_ENOUGH_CAPTION:
            self._add("image_caption", text)

    def _add(self, kind: Any, text: str, *, level: int = 0) -> None:
        self._flush()
        if text.strip():
            self._found.append(Block(kind=kind, text=text, level=level))

    def _flush(self) -> None:
        lines = [_line(line) for line in "".join(self._pile).split("\0")]
        self._pile.clear()
        text = "\n".join(line for line in lines if line)
        if text and text != "-":
            self._found.append(Block(kind="text", text=text))


def _joined_lists(blocks: Iterable[Block]) -> list[Block]:
    """Items that follow each other become one block: a list is one thought."""
    joined: list[Block] = []
    for block in blocks:
        last = joined[-1] if joined else None
        if (
            last
            and last.kind == block.kind == "text"
            and block.text.startswith("- ")
            and last.text.startswith("- ")
        ):
            joined[-1] = Block(kind="text", text=f"{last.text}\n{block.text}")
        else:
            joined.append(block)
    return joined


def _text_in(element: Element) -> str:
    """Text below an element, unseen parts left out."""
    pieces: list[str] = [element.text or ""]
    for child in element:
        if isinstance(child.tag, str) and child.tag not in UNSEEN:
            apart = " " if child.tag in APART or child.tag == "br" else ""
            alt = child.get("alt") or "" if child.tag == "img" else ""
            pieces.append(apart + alt + _text_in(child) + apart)
        pieces.append(child.tail or "")
    return "".join(pieces)


def _line(text: str) -> str:
    text = " ".join(text.replace("\0", " ").split())
    # A line break in the source between two Chinese characters is no space.
    return re.sub(rf"(?<=[{CJK}]) (?=[{CJK}])", "", text)


def _is_layout(table: Element) -> bool:
    """A table that only arranges the page: it holds other tables, headings or a single cell."""
    if (
        any(next(table.iter(tag), None) is not None for tag in HEADINGS)
        or sum(1 for _ in table.iter("table")) > 1
    ):
        return True
    return table.get("role") == "presentation" or sum(1 for _ in table.iter("td", "th")) <= 1


def _table(table: Element) -> Iterator[Block]:
    caption = table.find("caption")
    if caption is not None:
        yield Block(kind="text", text=_line(_text_in(caption)))
    rows = [_cells(row) for row in table.iter("tr")]
    lines = [row_line(cells) for cells in rows if any(cell.strip() for cell in cells)]
    yield Block(kind="table", text="\n".join(lines))


def _cells(row: Element) -> list[str]:
    return [_line(_text_in(cell)) for cell in row if cell.tag in ("td", "th")]
