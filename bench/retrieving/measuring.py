"""What every system under `bench/retrieval.py` is given, and what it tells: no package of any of them."""

import json
import resource
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

TOP = 10  # hits that are asked for, and that each retriever of a peer hands on
WARM_UP = 5  # questions that are not counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Units and questions with their vectors (float32, one row each), which lie in files."""

    ids: Sequence[str]
    texts: Sequence[str]
    vectors: Any
    queries: Sequence[tuple[str, str]]  # id, text
    query_vectors: Any


def given() -> Given:
    """From the folder that the command line names."""
    folder = Path(sys.argv[1])
    units, queries = (_lines(folder / f"{name}.jsonl") for name in ("units", "queries"))
    return Given(
        ids=[unit["id"] for unit in units],
        texts=[unit["text"] for unit in units],
        vectors=np.load(folder / "units.npy", mmap_mode="r"),
        queries=[(query["id"], query["text"]) for query in queries],
        query_vectors=np.load(folder / "queries.npy", mmap_mode="r"),
    )


class Measured:
    """Times of the questions, and what was found."""

    def __init__(self, system: str, version: str) -> None:
        self._told: dict[str, Any] = {"system": system, "version": version}
        self._ms: list[float] = []
        self._found: dict[str, Sequence[str]] = {}

    def indexed_in(self, seconds: float) -> None:
        self._told["index_s"] = round(seconds, 1)

    def ask(self, one: Given, search: Callable[[str, list[float]], Sequence[str]]) -> None:
        """Every question after the other; `search` takes its text and vector, and gives ids, best first."""
        for place in range(min(WARM_UP, len(one.queries))):
            search(one.queries[place][1], one.query_vectors[place].tolist())
        for (id, text), row in zip(one.queries, one.query_vectors, strict=True):
            vector = row.tolist()
            started = perf_counter()
            found = search(text, vector)
            self.note(id, found, (perf_counter() - started) * 1000)

    def note(self, id: str, found: Sequence[str], ms: float) -> None:
        self._ms.append(ms)
        self._found[id] = [*found[:TOP]]

    def tell(self, **more: Any) -> None:
        """One JSON document to stdout."""
        ordered = sorted(self._ms)
        told = self._told | {
            "p50_ms": round(statistics.median(ordered), 2),
            "p95_ms": round(ordered[max(0, -(-95 * len(ordered) // 100) - 1)], 2),
            "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
            "found": self._found,
        }
        print(json.dumps(told | more))


def _lines(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
