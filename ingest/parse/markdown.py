"""Markdown: headings, fences, tables and lists as they stand; HTML inside is read, not shown."""

import re
from collections.abc import Iterator
from pathlib import Path

from ..decode import decode
from ..parsed import Block, Parsed, row_line
from . import html

FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
ATX = re.compile(r"^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
UNDERLINE = re.compile(r"^ {0,3}(=+|-+)[ \t]*$")
DELIMITER_ROW = re.compile(r"^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
RULE = re.compile(r"^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$")
ITEM = re.compile(r"^\s*(?:[-*+]|\d{1,9}[.)])[ \t]+")
COMMENT = re.compile(r"<!--.*?-->|\{/\*.*?\*/\}", re.DOTALL)
MODULE_LINE = re.compile(r"^(?:import|export)\s.*(?:from\s+['\"]|=|\{|['\"];?\s*$)")
IMAGE = re.compile(r"!\[([^\]]*)\]\([^)]*\)")
HTML_IMAGE = re.compile(r"<img\b[^>]*?\balt\s*=\s*(?:\"([^\"]*)\"|'([^']*)')[^>]*>", re.IGNORECASE)
# Only names that are elements or, in MDX, components: "<your key>" and "a < b" are text.
TAG = re.compile(
    r"</?(?:a|abbr|b|big|blockquote|br|center|code|dd|del|details|div|dl|dt|em|figcaption|figure|font|h[1-6]|hr|i"
    r"|img|ins|kbd|li|mark|ol|p|picture|pre|q|s|section|small|source|span|strong|sub|summary|sup|table|tbody|td"
    r"|tfoot|th|thead|tr|tt|u|ul|var|video|[A-Z][A-Za-z.]*)(?:\s[^<>]*)?/?>"
)
HTML_TABLE = re.compile(r"^\s*<table\b", re.IGNORECASE)


def parse(path: Path) -> Parsed:
    text, _ = decode(path.read_bytes())
    return parse_text(text, modules=True)


def parse_text(text: str, *, modules: bool = False) -> Parsed:
    """The blocks of a page; `modules` drops the import and export lines of MDX."""
    front, text = _front_matter(text)
    title = re.search(r"^title:\s*[\"']?(.+?)[\"']?\s*$", front, re.MULTILINE)
    blocks = [Block(kind="text", text=front)] if front else []
    blocks.extend(_Scanner(_without_comments(text).split("\n"), modules=modules).blocks())
    return Parsed(title=title[1] if title else None, blocks=blocks)


def _front_matter(text: str) -> tuple[str, str]:
    found = re.match(r"---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|$)", text, re.DOTALL)
    if found and re.match(r"[A-Za-z_][\w-]*\s*:", found[1].lstrip()):
        return found[1].strip(), text[found.end() :]
    return "", text


def _without_comments(text: str) -> str:
    """Comments go, except inside fences, where they are code."""
    parts = re.split(
        r"(^ {0,3}(?:```|~~~).*?(?:^ {0,3}(?:```|~~~)[ \t]*$|\Z))", text, flags=re.DOTALL | re.MULTILINE
    )
    return "".join(part if place % 2 else COMMENT.sub("", part) for place, part in enumerate(parts))


class _Scanner:
    """Reads line by line; what is not yet known to be complete waits in `_lines`."""

    def __init__(self, lines: list[str], *, modules: bool) -> None:
        self._all = lines
        self._at = 0
        self._modules = modules
        self._lines: list[str] = []

    def blocks(self) -> Iterator[Block]:
        while self._at < len(self._all):
            yield from self._next()
        yield from self._flush()

    def _next(self) -> Iterator[Block]:
        line = self._all[self._at]
        if fence := FENCE.match(line):
            yield from self._flush()
            yield Block(kind="code", text=self._fenced(fence[1]))
        elif HTML_TABLE.match(line):
            yield from self._flush()
            yield from html.parse_text(self._until("</table>")).blocks
        elif heading := ATX.match(line):
            yield from self._flush()
            yield from _heading(heading[2] or "", len(heading[1]))
            self._at += 1
        elif (
            self._lines
            and UNDERLINE.match(line)
            and not ITEM.match(self._lines[-1])
            and self._lines[-1].strip()
        ):
            text = self._lines.pop()
            yield from self._flush()
            yield from _heading(text, 1 if line.strip().startswith("=") else 2)
            self._at += 1
        elif self._begins_table(line):
            yield from self._flush()
            yield Block(kind="table", text=self._table())
        else:
            yield from self._plain(line)
            self._at += 1

    def _plain(self, line: str) -> Iterator[Block]:
        if RULE.match(line) or (self._modules and not self._lines and MODULE_LINE.match(line)):
            yield from self._flush()
        elif line.strip():
            self._lines.append(line)
        elif not self._goes_on():
            yield from self._flush()

    def _goes_on(self) -> bool:
        """A list with blank lines between its items is one list."""
        if not self._lines or not ITEM.match(self._lines[0]):
            return False
        rest = (self._all[place] for place in range(self._at + 1, len(self._all)))
        following = next((line for line in rest if line.strip()), "")
        return bool(ITEM.match(following)) or following.startswith(("  ", "\t"))

    def _begins_table(self, line: str) -> bool:
        following = self._all[self._at + 1] if self._at + 1 < len(self._all) else ""
        return "|" in line and "|" in following and bool(DELIMITER_ROW.match(following))

    def _fenced(self, fence: str) -> str:
        end = re.compile(rf"^\s{{0,12}}{re.escape(fence[0])}{{{len(fence)},}}[ \t]*$")
        start = self._at
        self._at += 1
        while self._at < len(self._all) and not end.match(self._all[self._at]):
            self._at += 1
        self._at += 1
        info = self._all[start].strip().lstrip(fence[0]).strip()
        body = "\n".join(
            self._all[start + 1 : self._at - 1] if self._at <= len(self._all) else self._all[start + 1 :]
        )
        return f"{info}\n{body}" if info and not body.strip() else body.strip("\n")

    def _until(self, end: str) -> str:
        start = self._at
        while self._at < len(self._all) and end not in self._all[self._at].lower():
            self._at += 1
        self._at += 1
        return "\n".join(self._all[start : self._at])

    def _table(self) -> str:
        rows = [self._all[self._at]]
        self._at += 2
        while self._at < len(self._all) and "|" in self._all[self._at]:
            rows.append(self._all[self._at])
            self._at += 1
        return "\n".join(row_line([_inline(cell) for cell in _cells(row)]) for row in rows)

    def _flush(self) -> Iterator[Block]:
        lines = [_inline(line) for line in self._lines]
        text = "\n".join(line for line in lines if line.strip())
        self._lines.clear()
        if text:
            yield Block(kind="text", text=text)


def _heading(text: str, level: int) -> Iterator[Block]:
    text = re.sub(r"\s*\{#[\w-]+\}\s*$", "", _inline(text)).strip()
    # Marks of emphasis would stay in every section path below it.
    text = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", re.sub(r"(\*\*|__|`)(.+?)\1", r"\2", text))
    if text:
        yield Block(kind="heading", text=text, level=level)


def _cells(row: str) -> list[str]:
    cells = re.split(r"(?<!\\)\|", row.strip())
    if cells and not cells[0].strip():
        cells = cells[1:]
    if cells and not cells[-1].strip():
        cells = cells[:-1]
    return [cell.replace("\\|", "|").strip() for cell in cells]


def _inline(line: str) -> str:
    """A line without HTML tags and image addresses; what pictures say stays. Inline code is left alone."""
    parts = re.split(r"(`[^`]*`)", line)
    return "".join(part if place % 2 else _plain_inline(part) for place, part in enumerate(parts)).rstrip()


def _plain_inline(text: str) -> str:
    text = HTML_IMAGE.sub(lambda found: found[1] or found[2] or "", IMAGE.sub(r"\1", text))
    return TAG.sub("", text)
