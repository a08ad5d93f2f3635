"""A model's stream taken apart: reasoning, a refusal to answer, and the answer with its citations."""

import re
from collections.abc import Mapping
from typing import Literal

from .citations import CitationExpander

Kind = Literal["thinking", "answer"]

_THINK = re.compile(r"<think(?:ing)?>(.*?)(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_THINK_TAG = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)
_THINK_TAGS = ("<think>", "</think>", "<thinking>", "</thinking>")
_DECLINE = re.compile(r"<\s?/?\s?decline\s?/?\s?>", re.IGNORECASE)
_DECLINE_BEGUN = re.compile(
    r"<\s?/?\s?(d(e(c(l(i(n(e(\s?/?\s?)?)?)?)?)?)?)?)?", re.IGNORECASE
)  # every beginning of the tag


def without_thinking(text: str) -> str:
    """A stored answer without `<think>…</think>`, also where it was never closed."""
    return _THINK_TAG.sub("", _THINK.sub("", text)).strip()


class ThinkSplitter:
    """Separates `<think>` text from the answer, wherever the stream is split."""

    def __init__(self) -> None:
        self._held = ""
        self._kind: Kind = "answer"

    def feed(self, piece: str) -> list[tuple[Kind, str]]:
        return self._read(self._held + piece, ended=False)

    def close(self) -> list[tuple[Kind, str]]:
        return self._read(self._held, ended=True)

    def _read(self, text: str, *, ended: bool) -> list[tuple[Kind, str]]:
        parts: list[tuple[Kind, str]] = []
        self._held = ""
        while found := _THINK_TAG.search(text):
            parts.append((self._kind, text[: found.start()]))
            self._kind = "answer" if found[1] else "thinking"
            text = text[found.end() :]
        start = text.rfind("<")
        if not ended and start >= 0 and any(tag.startswith(text[start:].lower()) for tag in _THINK_TAGS):
            text, self._held = text[:start], text[start:]
        parts.append((self._kind, text))
        return [part for part in parts if part[1]]


class DeclineGate:
    """Takes `<decline/>` out of a stream; `declined` is true when the answer began with it."""

    def __init__(self) -> None:
        self.declined = False
        self._begun = False
        self._held = ""

    def feed(self, piece: str) -> str:
        return self._read(self._held + piece, ended=False)

    def close(self) -> str:
        return self._read(self._held, ended=True)

    def _read(self, text: str, *, ended: bool) -> str:
        shown: list[str] = []
        self._held = ""
        while (start := text.find("<")) >= 0:
            shown.append(self._text(text[:start]))
            if found := _DECLINE.match(text, start):
                self.declined = self.declined or not self._begun
                text = text[found.end() :]
            elif not ended and _DECLINE_BEGUN.fullmatch(text, start):
                self._held = text[start:]
                return "".join(shown)
            else:
                shown.append(self._text("<"))
                text = text[start + 1 :]
        shown.append(self._text(text))
        return "".join(shown)

    def _text(self, text: str) -> str:
        # White space before the first word is dropped: models put blank lines after their reasoning.
        text = text if self._begun else text.lstrip()
        self._begun = self._begun or bool(text)
        return text


class AnswerDecoder:
    """All decoders in a row: what a model sends in, what a reader may see out."""

    def __init__(self, tags: Mapping[str, str]) -> None:
        self._think = ThinkSplitter()
        self._decline = DeclineGate()
        self._citations = CitationExpander(tags)

    @property
    def declined(self) -> bool:
        return self._decline.declined

    def feed(self, piece: str) -> list[tuple[Kind, str]]:
        """Parts to show now; none of them is empty."""
        return self._decode(self._think.feed(piece))

    def close(self) -> list[tuple[Kind, str]]:
        """Whatever was held back."""
        rest = self._decode(self._think.close())
        last = self._citations.feed(self._decline.close()) + self._citations.close()
        return [*rest, ("answer", last)] if last else rest

    def _decode(self, parts: list[tuple[Kind, str]]) -> list[tuple[Kind, str]]:
        decoded: list[tuple[Kind, str]] = [
            (kind, self._citations.feed(self._decline.feed(text)) if kind == "answer" else text)
            for kind, text in parts
        ]
        return [part for part in decoded if part[1]]
