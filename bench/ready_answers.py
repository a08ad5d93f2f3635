"""How often a known question gets its stored answer, and another one a wrong one.

    .venv/bin/python bench/ready_answers.py TASKS [--threshold 0.9]

TASKS is a folder as `scripts/quality` takes it; its banks of questions are indexed as real knowledge bases,
and each of their questions is looked up as `match_ready_answer` does. Vectors come from the cache of
`headrace eval`. Of questions that a bank holds: right and wrong answers; of others: answers at all. An entry
without an answer gets one, since it would never answer. The table goes to stderr, JSON to stdout.
"""

import argparse
import asyncio
import dataclasses
import json
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from headrace.api.questions import asked_for_search
from headrace.api.schemas import Search
from headrace.evaluation.embeddings import cache_file, opened_vectors
from headrace.evaluation.files import Corpus
from headrace.evaluation.indexing import Indexed, index
from headrace.evaluation.suite import ListedTask, read_list
from headrace.graph.quiet import PassingPassages, SilentEmitter
from headrace.nodes.readying.standard import standard_answer
from headrace.server import open_stack
from headrace.settings import load_settings
from headrace.stores.caches import CachedEmbedder


async def measured(folder: Path, task: ListedTask, threshold: float) -> dict[str, Any]:
    corpus = answering(task.read_corpus(folder))
    with TemporaryDirectory(prefix="headrace-bench-") as data, opened_vectors(cache_file()) as vectors:
        async with open_stack(load_settings(data=Path(data))) as stack:
            embedder = CachedEmbedder(stack.embedder, vectors)
            plain = stack.context(SilentEmitter())
            async with stack.ingestion.indexing:
                indexed = await index(
                    corpus, stack, plain.stores["embedded"], embedder, cut=False, progress=silently
                )
            context = dataclasses.replace(
                plain, embedder=embedder, passages=PassingPassages(plain.passages), caches=None
            )
            counts = Counter[str]()
            questions = task.read_questions(folder)
            for query in questions.queries:
                body = Search(
                    query=query.text,
                    knowledge_base_ids=[indexed.kb.id],
                    top_k=None,
                    trace=False,
                    settings={"standard_answers_enabled": True, "faq_direct_answer_threshold": threshold},
                )
                ready = await standard_answer(await asked_for_search(stack, body), context)
                rows = rows_of(indexed, ready["hits"][0]["chunk_id"]) if ready else set[str]()
                counts[judged(rows, questions.grades.get(query.id, {}), answered=ready is not None)] += 1
    return {"bank": task.name, "threshold": threshold, **counts}


def silently(what: str, done: int, of: int) -> None:
    """No bar: a bank is indexed from kept vectors."""


def answering(corpus: Corpus) -> Corpus:
    entries = [row.model_copy(update={"answers": row.answers or ["–"]}) for row in corpus.entries]
    return dataclasses.replace(corpus, entries=entries)


def rows_of(indexed: Indexed, entry_id: str) -> set[str]:
    return {row for row, entry in indexed.faq.items() if entry.id == entry_id}


def judged(rows: set[str], grades: Mapping[str, int], *, answered: bool) -> str:
    wanted = {id for id, grade in grades.items() if grade}
    if not wanted:
        return "false" if answered else "left"
    if not answered:
        return "missed"
    return "right" if rows & wanted else "wrong"


def line(row: Mapping[str, Any]) -> str:
    held = sum(row.get(name, 0) for name in ("right", "wrong", "missed"))
    others = sum(row.get(name, 0) for name in ("false", "left"))
    shares = [row.get(name, 0) / held for name in ("right", "wrong")]
    shares.append(row.get("false", 0) / max(1, others))
    return f"{row['bank']:16} {held:5} {shares[0]:7.3f} {shares[1]:7.3f} {others:7} {shares[2]:7.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tasks", type=Path)
    parser.add_argument("--threshold", type=float, default=0.9)
    options = parser.parse_args()
    banks = [task for task in read_list(options.tasks) if task.faq]
    rows = [asyncio.run(measured(options.tasks, task, options.threshold)) for task in banks]
    print("bank              held   right   wrong  others   false", file=sys.stderr)
    for row in rows:
        print(line(row), file=sys.stderr)
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
