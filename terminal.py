"""An answer on a terminal: numbers for citation tags, and a list of what they stand for."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.sax.saxutils import unescape

from .api.cleaning import without_controls

TAG = re.compile(r"<(?:kb|web)\s[^<>]*/>")
# What may still become a tag when the next piece comes.
UNFINISHED = re.compile(r"<(?:k|kb|w|we|web|(?:kb|web)\s[^<>]*)?$")
# Characters without a width that turn the direction of what follows or hide in it, and the return of the
# carriage, by which one line writes over another.
_HIDDEN = re.compile(
    "[\r\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
)
ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')


def harmless(text: str) -> str:
    """Text of a document, a model or a file's name as a terminal may get it: it can neither steer it nor
    show as something else than what it is."""
    return _HIDDEN.sub("", without_controls(text))


@dataclass(slots=True)
class CitedText:
    """Turns `<kb …/>` into [1], piece by piece; the same passage keeps its number.

    Control characters go: documents and models must not be able to steer the terminal.
    """

    cited: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    _held: str = ""

    def feed(self, piece: str) -> str:
        text = self._held + piece
        unfinished = UNFINISHED.search(text)
        cut = unfinished.start() if unfinished else len(text)
        self._held = text[cut:]
        return self._numbered(text[:cut])

    def close(self) -> str:
        """What was held back: no tag came of it."""
        held, self._held = self._held, ""
        return self._numbered(held)

    def _numbered(self, text: str) -> str:
        return harmless(TAG.sub(lambda tag: f"[{self._number(tag[0])}]", text))

    def _number(self, tag: str) -> int:
        attributes = _attributes(tag)
        key = _key(attributes)
        known = [_key(one) for one in self.cited]
        if key not in known:
            self.cited.append(attributes)
            return len(self.cited)
        return known.index(key) + 1


def with_names(text: str, names: Mapping[str, str]) -> str:
    """`<kb …/>` as the name of its passage, such as [c1]; of an unknown one, as its title."""

    def name(tag: re.Match[str]) -> str:
        attributes = _attributes(tag[0])
        known = names.get(attributes.get("chunk_id", ""))
        return f"[{known or attributes.get('doc') or attributes.get('title') or attributes.get('url', '?')}]"

    return harmless(TAG.sub(name, text))


def sources(
    cited: Sequence[Mapping[str, str]], references: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """What each number stands for, in order: title, page, section, address, ids."""
    by_id = {reference["id"]: reference for reference in references}
    return [
        _source(number, tag, by_id.get(tag.get("chunk_id", ""), {})) for number, tag in enumerate(cited, 1)
    ]


def source_line(source: Mapping[str, Any]) -> str:
    page = f"p. {source['page']}" if source["page"] else None
    parts = [source["title"], page, source["section"], source["url"]]
    return harmless(f"[{source['number']}] {', '.join(part for part in parts if part)}")


def _source(number: int, tag: Mapping[str, str], reference: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "number": number,
        "title": tag.get("doc") or tag.get("title") or reference.get("knowledge_title") or "",
        "page": reference.get("page") or tag.get("page"),
        "section": reference.get("section"),
        "url": tag.get("url"),
        "knowledge_id": tag.get("knowledge_id"),
        "chunk_id": tag.get("chunk_id"),
    }


def _attributes(tag: str) -> dict[str, str]:
    return {name: unescape(value, {"&quot;": '"'}) for name, value in ATTRIBUTE.findall(tag)}


def _key(attributes: Mapping[str, str]) -> str:
    return attributes.get("chunk_id") or attributes.get("url") or ""
