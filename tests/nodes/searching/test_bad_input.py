"""Questions that nobody would ask, knowledge bases with nothing in them, over the real tokens and indexes."""

import dataclasses
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from headrace.context import Context, IndexEntry, SearchStore
from headrace.stores.chroma import ChromaVectors
from headrace.stores.tantivy import TantivyKeywords
from headrace.text.fusion import COVERAGE_WEIGHTS
from headrace.text.tokens import Tokens

from ...fakes import FakeEmbedder, World, a_chunk, a_kb, bag
from .worlds import searched

pytestmark = pytest.mark.anyio

KNOWN = next(iter(COVERAGE_WEIGHTS))
TEXTS = {
    "zh": "差旅报销标准为每晚 450 元。",
    "en": "Travel expenses are refunded within thirty days.",
    "short": "。",
    "invisible": "\u200b\u200d",
}


@asynccontextmanager
async def over_real_stores(folder: Path) -> AsyncGenerator[Context]:
    world, tokens = World(embedder=FakeEmbedder(KNOWN)), Tokens()
    vectors, keywords = ChromaVectors(folder / "vectors"), TantivyKeywords(folder / "keywords", tokens)
    for id, text in TEXTS.items():
        chunk = a_chunk(id, text, document_id=id)
        await world.add(chunk, model=KNOWN)
        entry = IndexEntry(chunk_id=id, document_id=id, text=text, vector=bag(text + " x"))
        await vectors.add("kb1", KNOWN, [entry])
        await keywords.add("kb1", [entry])
    world.catalogue.all_kbs["empty"] = a_kb("empty", model=KNOWN)
    stores = {"embedded": SearchStore(vectors=vectors, keywords=keywords)}
    yield dataclasses.replace(world.context(), stores=stores, tokens=tokens)
    await vectors.close()
    await keywords.close()


QUESTIONS = (
    "的是什么吗",
    "what is the of and",
    "差",
    "？！…",
    "😀🎉",
    "ما هي سياسة السفر؟",
    "出張費の払い戻しはどうなりますか",
    "\u200b",
    "travel 差旅 " * 1_250,
    "\ud800 broken",
    "a" * 10_000,
)


@pytest.mark.parametrize("expand", [True, False])
async def test_any_question_is_answered_in_order(tmp_path: Path, expand: bool) -> None:
    async with over_real_stores(tmp_path) as context:
        for question in QUESTIONS:
            hits = (await searched(context, question, expand=expand, match_count=3)).hits
            scores = [hit["score"] for hit in hits]
            assert scores == sorted(scores, reverse=True), ascii(question[:20])
            assert all(0 <= score <= 1 for score in scores), ascii(question[:20])


async def test_one_han_character_finds_the_text_that_has_it(tmp_path: Path) -> None:
    async with over_real_stores(tmp_path) as context:
        hits = (await searched(context, "旅")).hits
    assert hits[0]["chunk_id"] == "zh"


async def test_a_knowledge_base_with_nothing_in_it_has_no_hits(tmp_path: Path) -> None:
    async with over_real_stores(tmp_path) as context:
        for kb_ids in (["empty"], ["no such"], []):
            found = await searched(context, "travel 差旅", kb_ids=kb_ids, expand=True)
            assert (found.hits, found.departures, found.failures) == ([], [], [])


@pytest.mark.parametrize("missing", ["vectors", "keywords"])
async def test_while_an_index_is_made_anew_the_other_one_answers(missing: str) -> None:
    world = World(embedder=FakeEmbedder(KNOWN))
    await world.add(a_chunk("c1", "差旅报销 travel"), a_chunk("c2", "年假 leave"), model=KNOWN)
    getattr(world, missing).entries.clear()
    hits = (await searched(world, "travel 差旅")).hits
    assert hits[0]["chunk_id"] == "c1"
