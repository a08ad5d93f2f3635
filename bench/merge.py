"""Merge a hundred long hits, and say how long the stage takes.

`.venv/bin/python bench/merge.py [--hits 100] [--characters 4000] [--rounds 30]`. Three libraries in either
language: other texts in each document, neighbours that become longer passages, and texts of which every
second one is nearly a copy. Times are of the processor, since other work on the machine is not its own,
over a catalogue in memory. The ratio is to joining and comparing in the plainest way: every pair of texts,
each cut into words, and every seam by trying all its lengths. The table goes to stderr, one JSON document
to stdout.
"""

import argparse
import asyncio
import dataclasses
import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from langgraph.runtime import Runtime

from headrace.context import Chunk, Context
from headrace.nodes.merge_chunks import merge_chunks
from headrace.text.similarity import containment, jaccard, normalise
from headrace.text.tokens import Tokens
from tests.fakes import World, a_chunk, a_document, a_hit, a_kb, asked

HAN = "差旅报销标准员工每年住宿审批部门天数不得超过会议合同设备检修安全仓库采购验收编号温度压力阀泵管道"
LATIN = "eeeeaaaiiooutnrslcdmphgbfyvkw"
TOKENS = Tokens()


def a_vocabulary(chance: random.Random, language: str) -> list[str]:
    """Words of which some are in every text and most in few, as in what people write."""
    if language == "zh":
        return ["".join(chance.choices(HAN, k=chance.randrange(1, 4))) for _ in range(4_000)]
    return ["".join(chance.choices(LATIN, k=chance.randrange(2, 10))) for _ in range(4_000)]


VOCABULARIES = {language: a_vocabulary(random.Random(3), language) for language in ("zh", "en")}


def sentence(chance: random.Random, language: str) -> str:
    known = VOCABULARIES[language]
    said = [known[int(len(known) ** chance.random()) - 1] for _ in range(chance.randrange(5, 20))]
    return "".join(said) + "。" if language == "zh" else " ".join(said) + ". "


def a_text(chance: random.Random, language: str, characters: int) -> str:
    text = ""
    while len(text) < characters:
        text += sentence(chance, language)
    return text[:characters]


def apart(chance: random.Random, language: str, count: int, characters: int) -> list[Chunk]:
    return [
        a_chunk(f"c{n:03}", a_text(chance, language, characters), document_id=f"d{n:03}")
        for n in range(count)
    ]


def neighbours(chance: random.Random, language: str, count: int, characters: int) -> list[Chunk]:
    chunks: list[Chunk] = []
    end = ""
    for n in range(count):
        text = (end + a_text(chance, language, characters))[:characters]
        chunks.append(a_chunk(f"c{n:03}", text, chunk_index=n))
        end = text[-60:]
    return chunks


def copies(chance: random.Random, language: str, count: int, characters: int) -> list[Chunk]:
    chunks = apart(chance, language, count, characters)
    for n in range(1, count, 2):
        text = chunks[n - 1].text[:-80] + a_text(chance, language, 80)
        chunks[n] = a_chunk(f"c{n:03}", text, document_id=f"d{n:03}")
    return chunks


LIBRARIES: Mapping[str, Callable[[random.Random, str, int, int], list[Chunk]]] = {
    "apart": apart,
    "neighbours": neighbours,
    "copies": copies,
}


def a_world(chunks: Sequence[Chunk]) -> tuple[Context, dict[str, Any]]:
    """What the stage is given: a hit for each chunk, in no order."""
    world = World()
    world.catalogue.all_kbs["kb1"] = a_kb()
    for one in chunks:
        world.catalogue.all_chunks[one.id] = one
        world.catalogue.all_documents.setdefault(one.document_id, a_document(one.document_id))
    chance = random.Random(5)
    hits = [
        a_hit(one.id, score=chance.random(), document_id=one.document_id, chunk_index=one.chunk_index)
        for one in chunks
    ]
    context = dataclasses.replace(world.context(), tokens=TOKENS)
    return context, {"request": asked("差旅 travel", rerank_top_k=100), "ranked": hits}


async def stage_ms(context: Context, state: dict[str, Any]) -> tuple[float, int]:
    given: Any = state
    started = time.process_time()
    update = await merge_chunks(given, Runtime(context=context))
    return (time.process_time() - started) * 1000, len(update.get("merged", []))


def plain_ms(texts: Sequence[str]) -> float:
    started = time.process_time()
    plain = [normalise(text) for text in texts]
    words = [set(TOKENS.content(text)) for text in texts]
    for one, other in combinations(range(len(texts)), 2):
        _ = plain[one] in plain[other] or plain[other] in plain[one]
        _ = jaccard(words[one], words[other]), containment(words[one], words[other])
    for a, b in pairwise(texts):
        next((n for n in range(2_000, 7, -1) if a.endswith(b[:n])), 0)
    return (time.process_time() - started) * 1000


async def measure(hits: int, characters: int, rounds: int) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    for language in ("zh", "en"):
        for name, make in LIBRARIES.items():
            chunks = make(random.Random(1), language, hits, characters)
            context, state = a_world(chunks)
            await stage_ms(context, state)
            times = [await stage_ms(context, state) for _ in range(rounds)]
            spent = sorted(ms for ms, _ in times)
            results.append(
                {
                    "language": language,
                    "library": name,
                    "hits": hits,
                    "passages": times[0][1],
                    "median_ms": round(statistics.median(spent), 2),
                    "p95_ms": round(spent[int(len(spent) * 0.95)], 2),
                    "plain_ms": round(plain_ms([one.text for one in chunks]), 2),
                }
            )
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hits", type=int, default=100)
    parser.add_argument("--characters", type=int, default=4_000)
    parser.add_argument("--rounds", type=int, default=30)
    given = parser.parse_args()
    results = asyncio.run(measure(given.hits, given.characters, given.rounds))
    for one in results:
        one["ratio"] = round(one["plain_ms"] / one["median_ms"], 1)
        print(
            f"{one['language']} {one['library']:<11}{one['hits']:>4} hits -> {one['passages']:>3} passages"
            f"{one['median_ms']:>9.1f} ms{one['p95_ms']:>9.1f} ms p95{one['plain_ms']:>9.0f} ms plain"
            f"{one['ratio']:>7.1f} x",
            file=sys.stderr,
        )
    print(json.dumps({"merge": results}))


if __name__ == "__main__":
    main()
