"""A model's stream taken apart: reasoning, a refusal to answer, and the answer with its citations."""

import re
from collections.abc import Mapping
from typing import Literal

from .citations import CitationExpander
from .resources import ResourceExpander

# `unopened`: what was taken for the answer so far was reasoning, whose beginning the model did not mark.
Kind = Literal["thinking", "answer"]
Step = Literal["thinking", "answer", "unopened"]

_THINK_TAG = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)
_THINK_TAGS = ("<think>", "</think>", "<thinking>", "</thinking>")
_DECLINE = re.compile(r"<\s?/?\s?decline\s?/?\s?>", re.IGNORECASE)
_DECLINE_BEGUN = re.compile(
    r"<\s?/?\s?(d(e(c(l(i(n(e(\s?/?\s?)?)?)?)?)?)?)?)?", re.IGNORECASE
)  # every beginning of the tag


def without_thinking(text: str) -> str:
    """A stored answer without `<think>…</think>`, also where it was never closed."""
    splitter = ThinkSplitter(opened=True)
    parts = [*splitter.feed(text), *splitter.close()]
    return "".join(part for step, part in parts if step == "answer").strip()


class ThinkSplitter:
    """Separates `<think>` text from the answer, wherever the stream is split.

    Inside reasoning the tags are counted. Where the count is never made up for, and nothing else was said,
    what follows the last closing tag is the answer. A closing tag on a line of its own that nothing opened
    ends reasoning too, since templates put the opening one into the prompt; not where `opened` says that
    the text is known to hold both.
    """

    def __init__(self, *, opened: bool = False) -> None:
        self._held = ""
        self._depth = 0
        self._opened = opened
        self._answer: list[str] = []  # as it was told, until reasoning is opened
        self._answered = False
        self._since_closing: list[str] | None = None  # reasoning behind the last closing tag

    def feed(self, piece: str) -> list[tuple[Step, str]]:
        return self._read(self._held + piece, ended=False)

    def close(self) -> list[tuple[Step, str]]:
        parts = self._read(self._held, ended=True)
        if not self._answered and self._since_closing and (rest := "".join(self._since_closing)).strip():
            parts.append(("answer", rest))
        return parts

    def _read(self, text: str, *, ended: bool) -> list[tuple[Step, str]]:
        parts: list[tuple[Step, str]] = []
        self._held = ""
        position = 0
        for found in _THINK_TAG.finditer(text):
            parts += self._text(text[position : found.start()])
            parts += self._closed() if found[1] else self._open()
            position = found.end()
        start = text.rfind("<", position)
        if ended or start < 0 or not _begins(text[start:]):
            start = len(text)
        self._held = text[start:]
        return [*parts, *self._text(text[position:start])]

    def _text(self, text: str) -> list[tuple[Step, str]]:
        if not text:
            return []
        if self._depth:
            if self._since_closing is not None:
                self._since_closing.append(text)
            return [("thinking", text)]
        self._answered = self._answered or not text.isspace()
        if not self._opened:
            self._answer.append(text)
        return [("answer", text)]

    def mark_opened(self) -> None:
        """There is reasoning: what was said so far is no part of it."""
        self._opened = True
        self._answer.clear()

    def _open(self) -> list[tuple[Step, str]]:
        self.mark_opened()
        self._depth += 1
        return []

    def _closed(self) -> list[tuple[Step, str]]:
        if self._depth:
            self._depth -= 1
            self._since_closing = [] if self._depth else None
            return []
        if self._opened:
            return []
        # The first one decides, or a model that writes a thousand of them would be read a thousand times.
        said = "".join(self._answer)
        self.mark_opened()
        if not _stands_alone(said):
            return []
        self._answered = False
        return [("unopened", "")]


def _begins(text: str) -> bool:
    return any(tag.startswith(text.lower()) for tag in _THINK_TAGS)


def _stands_alone(before: str) -> bool:
    """Whether a tag behind this text is on a line of its own, and not in a listing."""
    return bool(before.strip()) and before.rstrip(" ").endswith("\n") and before.count("```") % 2 == 0


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
        position = 0
        self._held = ""
        while (start := text.find("<", position)) >= 0:
            shown.append(self._text(text[position:start]))
            if found := _DECLINE.match(text, start):
                self.declined = self.declined or not self._begun
                position = found.end()
            elif not ended and _DECLINE_BEGUN.fullmatch(text, start):
                self._held = text[start:]
                return "".join(shown)
            else:
                shown.append(self._text("<"))
                position = start + 1
        shown.append(self._text(text[position:]))
        return "".join(shown)

    def _text(self, text: str) -> str:
        # White space before the first word is dropped: models put blank lines after their reasoning.
        text = text if self._begun else text.lstrip()
        self._begun = self._begun or bool(text)
        return text


class AnswerDecoder:
    """All decoders in a row: what a model sends in, what a reader may see out.

    Reasoning may cite nothing: tags in it are removed.
    """

    def __init__(self, tags: Mapping[str, str], resources: Mapping[str, str] | None = None) -> None:
        self._tags = tags
        self._resources = resources or {}
        self._think = ThinkSplitter()
        self._decline = DeclineGate()
        self._answer = _Expander(tags, self._resources)
        self._reasoning = _Expander({}, self._resources)

    @property
    def declined(self) -> bool:
        return self._decline.declined

    def feed(self, piece: str) -> list[tuple[Step, str]]:
        """Parts to show now; none of them is empty, but for `unopened`."""
        return self._decode(self._think.feed(piece))

    def feed_thinking(self, piece: str) -> list[tuple[Step, str]]:
        """The same for reasoning that came beside the answer."""
        self._think.mark_opened()
        return _told([("thinking", self._reasoning.feed(piece))])

    def close(self) -> list[tuple[Step, str]]:
        """Whatever was held back."""
        rest = self._decode(self._think.close())
        last = self._answer.feed(self._decline.close()) + self._answer.close()
        return [*rest, *_told([("thinking", self._reasoning.close()), ("answer", last)])]

    def _decode(self, parts: list[tuple[Step, str]]) -> list[tuple[Step, str]]:
        return _told([(step, self._shown(step, text)) for step, text in parts])

    def _shown(self, step: Step, text: str) -> str:
        match step:
            case "answer":
                return self._answer.feed(self._decline.feed(text))
            case "thinking":
                return self._reasoning.feed(text)
            case "unopened":
                self._decline = DeclineGate()
                self._answer = _Expander(self._tags, self._resources)
                return ""


class _Expander:
    """Addresses first: they hold nothing that could become a tag, while a title may look like a handle."""

    def __init__(self, tags: Mapping[str, str], resources: Mapping[str, str]) -> None:
        self._resources = ResourceExpander(resources)
        self._citations = CitationExpander(tags)

    def feed(self, piece: str) -> str:
        return self._citations.feed(self._resources.feed(piece))

    def close(self) -> str:
        return self._citations.feed(self._resources.close()) + self._citations.close()


def _told(parts: list[tuple[Step, str]]) -> list[tuple[Step, str]]:
    return [part for part in parts if part[1] or part[0] == "unopened"]
