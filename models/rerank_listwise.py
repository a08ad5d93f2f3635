"""`Reranker` by a chat model that puts numbered passages in order."""

import asyncio
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from ..context import ChatMessage, ChatModel, ChatOptions, ChatPrompt, Prompts
from ..errors import DependencyFailed, DependencyRefused
from ..text.language import language_of
from .rerank_answers import LEFT_OUT

# Passages of one question to the model. Windows overlap by half, from the last passages to the first, so
# that a good one can rise through all of them (Sun et al. 2023, "Is ChatGPT Good at Search?").
WINDOW = 20
LEAST_WINDOW = 4
PASSAGE_TOKENS = 400
LEAST_PASSAGE_TOKENS = 80
PROMPT_TOKENS = 400  # what stands around passages and question
ANSWER_TOKENS = 800
QUERY_CHARACTERS = 1_000
# An order says nothing about how good the last of the helpful ones is; well over the usual thresholds.
LEAST_SCORE = 0.5

_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_CHAIN = re.compile(r"[\[【(（]?\d{1,4}[\]】)）]?(?:\s*>\s*[\[【(（]?\d{1,4}[\]】)）]?)+")
_LIST = re.compile(r"\[[^\[\]]*\]|\[\s*\{.*?\}\s*\]", re.DOTALL)
_BRACKETED = re.compile(r"[\[【]\s*(\d{1,4})\s*[\]】]")
_NUMBER = re.compile(r"(?<![\w.])\d{1,4}(?![\w.]*\d)")


class ListwiseReranker:
    """The passages that a chat model names, first to last from 1 down to .5; NaN for those it leaves out.

    `timeout_s` is for all questions to the model together. The model is closed by whom it belongs to.
    """

    def __init__(self, chat: ChatModel, prompts: Prompts, *, timeout_s: float) -> None:
        self._chat = chat
        self._prompts = prompts
        self._timeout_s = timeout_s

    @property
    def name(self) -> str:
        return self._chat.name

    async def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """Raises what the model raises, DependencyFailed when it takes too long, and DependencyRefused
        when it names no passage."""
        try:
            async with asyncio.timeout(self._timeout_s):
                order, helpful = await self._ordered(query[:QUERY_CHARACTERS], passages)
        except TimeoutError as error:
            message = f"{self.name} took more than {self._timeout_s:g} s to order the passages."
            raise DependencyFailed("rerank", f"{message} (HEADRACE_RERANK_TIMEOUT_S)") from error
        scores = [LEFT_OUT] * len(passages)
        for place, passage in enumerate(order):
            if passage in helpful:
                scores[passage] = 1.0 - (1.0 - LEAST_SCORE) * place / len(passages)
        return scores

    async def _ordered(self, query: str, passages: Sequence[str]) -> tuple[list[int], set[int]]:
        """Places of the passages, best first, and those that the model has last found helpful."""
        order, helpful = list(range(len(passages))), set[int]()
        budget = self._chat.context_tokens - PROMPT_TOKENS - ANSWER_TOKENS - 2 * tokens_in(query)
        size = min(WINDOW, max(LEAST_WINDOW, budget // LEAST_PASSAGE_TOKENS))
        share = max(LEAST_PASSAGE_TOKENS // 2, min(PASSAGE_TOKENS, budget // size))
        for window in windows(len(passages), size):
            shown = order[window]
            named = await self._named(query, [cut(passages[place], share) for place in shown])
            first = [shown[number] for number in named]
            order[window] = [*first, *(place for place in shown if place not in first)]
            helpful = (helpful - {*shown}) | {*first}
        return order, helpful

    async def _named(self, query: str, passages: Sequence[str]) -> list[int]:
        language = language_of(query)
        # On one line each, so that none can pass for two.
        numbered = "\n".join(f"[{n}] {' '.join(text.split())}" for n, text in enumerate(passages, start=1))
        asked = {"query": query, "passages": numbered, "count": str(len(passages))}
        system = self._prompts.text("rerank", language=language)
        user = self._prompts.text("rerank", "user", language=language, **asked)
        prompt = ChatPrompt(
            messages=[ChatMessage(role="system", content=system), ChatMessage(role="user", content=user)],
            question=query,
            language=language,
        )
        # No limit on what it writes: one that thinks first would be cut off before it names any.
        options = ChatOptions(temperature=0)
        pieces = [piece.text async for piece in self._chat.stream(prompt, options) if piece.kind == "answer"]
        if named := ranking_in("".join(pieces), len(passages)):
            return named
        raise DependencyRefused("rerank", f"{self.name} named none of the passages that it was to order.")


def windows(count: int, size: int) -> Iterator[slice]:
    """Slices of a list, from its end to its beginning, each over half of the one before."""
    end = count
    while end > 0:
        start = max(0, end - size)
        yield slice(start, end)
        if start == 0:
            return
        end -= max(1, size // 2)


def ranking_in(answer: str, count: int) -> list[int]:
    """Places (from 0) that an answer names, in its order, each once; empty where it names none.

    Read are, the first that there is: `[3] > [1]`, a JSON list of numbers or of objects with one, numbers in
    brackets, and any numbers in running text.
    """
    said = _THOUGHT.sub("", answer)
    chains = sorted((chain[0] for chain in _CHAIN.finditer(said)), key=len, reverse=True)
    numbers = [*map(int, re.findall(r"\d+", chains[0]))] if chains else []
    numbers = _usable(numbers, count) or _usable(_listed(said), count)
    numbers = numbers or _usable(map(int, _BRACKETED.findall(said)), count)
    return numbers or _usable(map(int, _NUMBER.findall(said)), count)


def _listed(said: str) -> list[int]:
    longest: list[int] = []
    for found in _LIST.finditer(said):
        try:
            items: Any = json.loads(found[0])
        except ValueError:
            continue
        numbers = [number for item in items if (number := _numbered(item)) is not None]
        longest = max(longest, numbers, key=len)
    return longest if len(longest) > 1 else []


def _numbered(item: Any) -> int | None:
    match item:
        case bool():
            return None
        case int():
            return item
        case str() if found := re.search(r"\d{1,4}", item):
            return int(found[0])
        case (
            {"index": int(number)} | {"id": int(number)} | {"passage": int(number)} | {"number": int(number)}
        ):
            return number
        case _:
            return None


def _usable(numbers: Any, count: int) -> list[int]:
    return [*dict.fromkeys(number - 1 for number in numbers if 1 <= number <= count)]


def tokens_in(text: str) -> int:
    """At least as many tokens as a tokeniser makes: one per Han character, three letters to one."""
    wide = sum(character > "\u2e7f" for character in text)
    return wide + (len(text) - wide) // 3 + 1


def cut(text: str, tokens: int) -> str:
    """The beginning of a text that makes no more than so many tokens."""
    while (size := tokens_in(text)) > tokens:
        text = text[: max(0, min(len(text) - 1, len(text) * tokens // size))]
    return text
