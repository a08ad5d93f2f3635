"""Citations: short aliases on the way to the model, public tags on the way back."""

import re
from collections.abc import Mapping
from html import escape, unescape

from ...context import Document
from ...state import Hit

# Longest tag that is recognised, and so the most that is ever held back from a reader.
TAG_LIMIT = 240

_REF = re.compile(r"<\s?/?\s?ref(?=[\s/>])[^<>]{0,200}>", re.IGNORECASE)
_REF_BEGUN = re.compile(r"<\s?/?\s?(r(e(f([\s/][^<>]{0,200})?)?)?)?", re.IGNORECASE)
# Public tags are ours to write: a model or a document that types one must not be able to forge a source.
# A reference of more than the recognised length is text too. So is the beginning of a tag before a
# reference: where that one is removed, what stands around it would close up to a tag: `<<ref id="x"/>kb …`.
_FORGED = re.compile(
    r"<(?=\s?/?\s?(?:(?:kb|web)(?![\w-])|ref[\s/>]|(?:kb?|we?b?|re?f?)?<\s?/?\s?ref[\s/>]))", re.IGNORECASE
)
_FORGED_BEGUN = re.compile(
    r"<\s?/?\s?(kb?|w(e(b)?)?|r(e(f)?)?)?(<\s?/?\s?(r(e(f)?)?)?)?", re.IGNORECASE
)  # every beginning of those
_IDS = re.compile(r"""\bids?\s*=\s*(?:"([^"]*)"|'([^']*)'|[“‘]([^”’]*)[”’]|([^\s"'/>]+))""", re.IGNORECASE)
_BETWEEN_IDS = re.compile(r"[\s,;，、；\[\]【】]+")
_PUBLIC = re.compile(r"<(?:kb|web)\s[^<>]*/>")
_TITLE = re.compile(r'<kb doc="([^"]*)"')


def aliases_for(hits: list[Hit]) -> dict[str, str]:
    """Alias to chunk id, c1 first, in the order in which the passages are shown."""
    return {f"c{number}": hit["chunk_id"] for number, hit in enumerate(hits, start=1)}


def public_tags(
    aliases: Mapping[str, str], hits: list[Hit], documents: Mapping[str, Document]
) -> dict[str, str]:
    """The tag that stands in an answer for each alias."""
    by_chunk = {hit["chunk_id"]: hit for hit in hits}
    return {
        alias: public_tag(by_chunk[chunk_id], documents)
        for alias, chunk_id in aliases.items()
        if chunk_id in by_chunk
    }


def public_tag(hit: Hit, documents: Mapping[str, Document]) -> str:
    """`<kb doc="…" knowledge_id="…" chunk_id="…" page="…"/>`; the page only where it is known."""
    document = documents.get(hit["document_id"])
    attributes = {
        "doc": document.title if document else "",
        "knowledge_id": hit["document_id"],
        "chunk_id": hit["chunk_id"],
    }
    page = hit["source"]["page"]
    if page is not None:
        attributes["page"] = str(page)
    # A line break inside an attribute would end a Markdown line in the middle of a tag.
    return "<kb " + " ".join(f'{k}="{escape(" ".join(v.split()))}"' for k, v in attributes.items()) + "/>"


def harmless(text: str) -> str:
    """A text that people wrote, to be shown as an answer: what looks like a citation in it is text."""
    return _FORGED.sub("&lt;", text)


def without_tags(answer: str) -> str:
    """An answer as history: its tags hold internal ids, which no model should see or repeat."""
    return _PUBLIC.sub("", answer)


def cited_titles(answer: str) -> list[str]:
    """Titles of the documents that an answer cites, each once, in order."""
    return list(dict.fromkeys(unescape(title) for title in _TITLE.findall(answer) if title))


class CitationExpander:
    """Turns `<ref id="c1"/>` into public tags in a stream, wherever the stream is split.

    Aliases that are not known are removed: a wrong source is worse than none. Public tags in the
    input are made harmless. Only what may still become a tag is held back, at most TAG_LIMIT characters.
    """

    def __init__(self, tags: Mapping[str, str]) -> None:
        self._tags = tags
        self._held = ""

    def feed(self, piece: str) -> str:
        """What can be shown now."""
        return self._read(self._held + piece, ended=False)

    def close(self) -> str:
        """What was held back: a reference that never ended is dropped, other text is shown."""
        return self._read(self._held, ended=True)

    def _read(self, text: str, *, ended: bool) -> str:
        shown: list[str] = []
        position = 0
        self._held = ""
        while (start := text.find("<", position)) >= 0:
            shown.append(text[position:start])
            if found := _REF.match(text, start):
                shown.append(self._expand(found[0]))
                position = found.end()
            elif _may_become_tag(text, start):
                if not ended:
                    self._held = text[start:]
                    return "".join(shown)
                shown.append(_unfinished(text[start:]))
                position = len(text)
            else:
                shown.append("&lt;" if _FORGED.match(text, start) else "<")
                position = start + 1
        shown.append(text[position:])
        return "".join(shown)

    def _expand(self, tag: str) -> str:
        found = _IDS.search(tag)
        ids = next((group for group in found.groups() if group is not None), "") if found else ""
        known = dict.fromkeys(alias.lower() for alias in _BETWEEN_IDS.split(ids))
        return "".join(self._tags.get(alias, "") for alias in known)


def _may_become_tag(text: str, start: int) -> bool:
    return bool(_REF_BEGUN.fullmatch(text, start) or _FORGED_BEGUN.fullmatch(text, start))


def _unfinished(tail: str) -> str:
    if re.match(r"<\s?/?\s?ref[\s/]", tail, re.IGNORECASE):
        return ""
    return _FORGED.sub("&lt;", tail)
