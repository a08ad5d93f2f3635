"""A passage as a reranker should read it: words without the marks around them."""

import re
from collections.abc import Callable
from functools import reduce

_CODE_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*$\n?", re.MULTILINE)
_COMMENT = re.compile(r"<!--.{0,2000}?-->", re.DOTALL)
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_BLOCK_TAG = re.compile(r"</?(?:p|div|br|tr|li|ul|ol|table|h[1-6])\b[^<>]*>", re.IGNORECASE)
_CELL_END = re.compile(r"</t[dh]>\s*(?=<t[dh]\b)", re.IGNORECASE)
_ADDRESS = r"\([^()\n]{0,2000}(?:\([^()\n]{0,200}\)[^()\n]{0,200}){0,5}\)"  # may hold (pairs)
_IMAGE = re.compile(rf"!\[[^\[\]\n]*\](?:{_ADDRESS}|\[[^\[\]\n]*\])")
_LINK = re.compile(rf"\[([^\[\]\n]+)\]{_ADDRESS}")
_URL = re.compile(r"<?\b(?:https?|ftp)://[^\s<>\"'，。；、！？（）《》【】\u4e00-\u9fff]+>?", re.IGNORECASE)
_TABLE_ROW = re.compile(r"^[ \t]*\|(.*)$", re.MULTILINE)
_LINE_MARK = re.compile(
    r"^(?:[ \t]*(?:#{1,6}(?=[ \t])|>|[-*+](?=[ \t])|\d{1,3}[.)](?=[ \t])))+[ \t]*", re.MULTILINE
)
_BOLD = re.compile(r"(\*\*|__)(?=\S)(.{1,500}?)(?<=\S)\1")
_STRUCK = re.compile(r"~~(?=\S)(.{1,500}?)(?<=\S)~~")
_INLINE_CODE = re.compile(r"`+([^`\n]+)`+")
_BLANK_LINES = re.compile(r"\n\s*\n+")


def clean_passage(text: str) -> str:
    """For scoring only: nobody is shown the result."""
    return reduce(lambda cleaned, step: step(cleaned), STEPS, text)


def drop_fences(text: str) -> str:
    """Code fences and `$$` go, what they hold stays."""
    return _CODE_FENCE.sub("", text).replace("$$", "")


def drop_tags(text: str) -> str:
    """HTML goes, its text stays; cells become comma-joined, blocks stay on their lines."""
    text = _CELL_END.sub(", ", _COMMENT.sub("", text))
    return _TAG.sub("", _BLOCK_TAG.sub("\n", text))


def drop_images(text: str) -> str:
    """`![…](…)` goes."""
    return _IMAGE.sub("", text)


def keep_link_texts(text: str) -> str:
    """`[text](address)` becomes `text`."""
    return _LINK.sub(r"\1", text)


def drop_urls(text: str) -> str:
    """Bare addresses go."""
    return _URL.sub("", text)


def flatten_tables(text: str) -> str:
    """Rules go, `| a | b |` becomes `a, b`."""
    lines = [line for line in text.split("\n") if not _is_table_rule(line)]
    return _TABLE_ROW.sub(_row_as_list, "\n".join(lines))


def drop_marks(text: str) -> str:
    """Heading, quote, list, bold and inline code marks go."""
    text = _LINE_MARK.sub("", text)
    return _INLINE_CODE.sub(r"\1", _STRUCK.sub(r"\1", _BOLD.sub(r"\2", text)))


def collapse_blank_lines(text: str) -> str:
    """No empty lines, no space at the ends."""
    return _BLANK_LINES.sub("\n", text).strip()


# Every pattern is bounded: documents are not trusted, and a lazy match over a whole passage is quadratic.
# Links after images, which hold one; addresses after both; marks after tables, whose cells may be bold.
STEPS: tuple[Callable[[str], str], ...] = (
    drop_fences,
    drop_tags,
    drop_images,
    keep_link_texts,
    drop_urls,
    flatten_tables,
    drop_marks,
    collapse_blank_lines,
)


def _is_table_rule(line: str) -> bool:
    return "--" in line and set(line) <= set("|:- \t")


def _row_as_list(row: re.Match[str]) -> str:
    cells = [cell.strip() for cell in row[1].replace(r"\|", "／").split("|")]
    return ", ".join(cell for cell in cells if cell)
