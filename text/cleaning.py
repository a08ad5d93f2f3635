"""A passage as a reranker should read it: words without the marks around them."""

import re
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from functools import reduce

_CODE_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*$\n?", re.MULTILINE)
_COMMENT = re.compile(r"<!--.{0,2000}?-->", re.DOTALL)
_ATTRIBUTES = r"""(?:\s+[\w:@.-]+(?:\s*=\s*(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>=]+))?)*\s*"""
_TAG = re.compile(rf"<(?P<closing>/?)(?P<name>[a-zA-Z][\w:.-]*){_ATTRIBUTES}(?P<empty>/?)>")
_BLOCK_TAG = re.compile(rf"</?(?:p|(?i:div|br|tr|li|ul|ol|table|h[1-6]))\b{_ATTRIBUTES}/?>")
_CELL_END = re.compile(r"</t[dh]>\s*(?=<t[dh]\b)", re.IGNORECASE)
# Names that are a tag wherever they stand; `vector<int>` has another. So has XML, which closes them.
_HTML = frozenset(
    """
    a abbr article aside b blockquote body br button caption center code col colgroup dd del details div dl
    dt em figcaption figure font footer form h1 h2 h3 h4 h5 h6 head header hr html i iframe img input ins kbd
    label li link main mark meta nav ol p pre s script section small span strike strong style sub summary sup
    svg table tbody td tfoot th thead title tr tt u ul video
    """.split()
)
_ADDRESS = r"\([^()\n]{0,2000}(?:\([^()\n]{0,200}\)[^()\n]{0,200}){0,5}\)"  # may hold (pairs)
_IMAGE = re.compile(rf"!\[[^\[\]\n]*\](?:{_ADDRESS}|\[[^\[\]\n]*\])")
_LINK = re.compile(rf"(?<![A-Za-z0-9_)\]])\[([^\[\]\n]+)\]{_ADDRESS}")  # `calls[i](x)` is none
_URL = re.compile(r"<?\b(?:https?|ftp)://[^\s<>\"'，。；、！？（）《》【】\u4e00-\u9fff]+>?", re.IGNORECASE)
_TABLE_ROW = re.compile(r"^[ \t]*\|(.*)$", re.MULTILINE)
_LINE_MARK = re.compile(
    r"^(?:[ \t]*(?:#{1,6}(?=[ \t])|>|[-*+](?=[ \t])|\d{1,3}[.)](?=[ \t])))+[ \t]*", re.MULTILINE
)
_BOLD = re.compile(r"(?<![A-Za-z0-9_)\]])(\*\*|__)(?=\S)(.{1,500}?)(?<=\S)\1(?![A-Za-z0-9_(])")  # not 2**n**m
_STRUCK = re.compile(r"~~(?=\S)(.{1,500}?)(?<=\S)~~")
_INLINE_CODE = re.compile(r"`+([^`\n]+)`+")
_BLANK_LINES = re.compile(r"\n\s*\n+")
_ANY_MARK = re.compile(r"[<>\[\]*_~`#|$!-]+")

# Marks within marks: two rounds for what people write, more for what is broken.
ROUNDS = 6


def clean_passage(text: str) -> str:
    """For scoring only: nobody is shown the result. Cleaning it again changes nothing.

    What stands in code and formulas is cleaned like all else, by rules that leave their words alone. A
    text whose marks lie deeper in each other than anybody writes loses all characters that marks are of.
    """
    for _ in range(ROUNDS):
        cleaned = reduce(lambda done, step: step(done), STEPS, text)
        if cleaned == text:
            return cleaned
        text = cleaned
    words = _URL.sub("", _ANY_MARK.sub(" ", text)).split()
    return _LINE_MARK.sub("", " ".join(words))


def drop_fences(text: str) -> str:
    """Code fences and `$$` go, what they hold stays."""
    return _CODE_FENCE.sub("", text).replace("$$", "")


def drop_tags(text: str) -> str:
    """HTML goes, its text stays; cells become comma-joined, blocks stay on their lines."""
    text = _CELL_END.sub(", ", _COMMENT.sub("", text))
    text = _BLOCK_TAG.sub("\n", text)
    closed = {tag["name"] for tag in _TAG.finditer(text) if tag["closing"]}
    return _TAG.sub(lambda tag: "" if _is_markup(tag, closed) else tag[0], text)


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


def _is_markup(tag: re.Match[str], closed: AbstractSet[str]) -> bool:
    name = tag["name"]
    # One capital letter is a type in code: `List<A>`.
    known = name in _HTML or (len(name) > 1 and name.lower() in _HTML)
    return bool(tag["empty"]) or name in closed or known


def _is_table_rule(line: str) -> bool:
    return "--" in line and set(line) <= set("|:- \t")


def _row_as_list(row: re.Match[str]) -> str:
    cells = [cell.strip() for cell in row[1].replace(r"\|", "／").split("|")]
    return ", ".join(cell for cell in cells if cell)
