"""FlashRank's own code over a tiny model that is made here."""

import logging
import os
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

pytest.importorskip("flashrank", reason="the extra `rerank` is not installed")
pytest.importorskip("onnx", reason="without onnx no model can be made for this test")

from headrace.errors import DependencyFailed
from headrace.models.rerank_flashrank import BATCH, FlashRankReranker

from .tiny_reranker import write_model

pytestmark = pytest.mark.anyio

PASSAGES = ["发票", "年假十天", "Sick leave", "How many days of annual leave do I get? Ten days."]


@pytest.fixture
async def tiny(tmp_path: Path) -> AsyncGenerator[FlashRankReranker]:
    reranker = FlashRankReranker(write_model(tmp_path / "tiny"))
    yield reranker
    await reranker.aclose()


@pytest.mark.parametrize(
    ("query", "best", "worst"), [("年假几天？", 1, 0), ("How many days of leave do I get?", 3, 0)]
)
async def test_scores_tell_how_well_each_passage_fits(
    tiny: FlashRankReranker, query: str, best: int, worst: int
) -> None:
    scores = await tiny.scores(query, PASSAGES)
    assert scores.index(max(scores)) == best
    assert scores[best] > 0.7
    assert scores[worst] == min(scores) < 0.1


async def test_a_model_with_two_outputs_is_read_as_no_and_yes(tmp_path: Path) -> None:
    one = FlashRankReranker(write_model(tmp_path / "one"))
    two = FlashRankReranker(write_model(tmp_path / "two", columns=2))
    first, second = await one.scores("年假", PASSAGES), await two.scores("年假", PASSAGES)
    assert (
        [score > 0.5 for score in first] == [score > 0.5 for score in second] == [False, True, False, False]
    )
    await one.aclose()
    await two.aclose()


async def test_scores_keep_their_places_over_several_batches(tiny: FlashRankReranker) -> None:
    texts = [f"{'text ' * (n % 5)} {'年假' if n % 3 == 0 else '发票'}" for n in range(BATCH * 2 + 3)]
    scores = await tiny.scores("年假", texts)
    assert [score > 0.5 for score in scores] == [n % 3 == 0 for n in range(len(texts))]


@pytest.mark.parametrize("text", ["", " ", "\ud800", "\0", "\u200b", "年" * 100_000, "🙂", "سلام"])
async def test_any_text_can_be_scored(tiny: FlashRankReranker, text: str) -> None:
    [score] = await tiny.scores("年假", [text])
    assert 0 <= score <= 1
    assert len(await tiny.scores(text, PASSAGES)) == len(PASSAGES)


async def test_no_passages_load_nothing(tmp_path: Path) -> None:
    assert await FlashRankReranker(tmp_path / "none").scores("年假", []) == []


async def test_loading_it_sets_up_no_logging(tiny: FlashRankReranker) -> None:
    before = [*logging.getLogger().handlers], logging.getLogger().level
    await tiny.scores("年假", PASSAGES)
    assert ([*logging.getLogger().handlers], logging.getLogger().level) == before


@pytest.mark.parametrize("file", ["overlap.onnx", "tokenizer.json", "config.json"])
@pytest.mark.parametrize("content", [b"", b"not a model", None])
async def test_a_broken_file_is_a_failure_with_its_model_s_name(
    tmp_path: Path, file: str, content: bytes | None
) -> None:
    folder = write_model(tmp_path / "broken")
    if content is None:
        (folder / file).unlink()
    else:
        (folder / file).write_bytes(content)
    reranker = FlashRankReranker(folder)
    with pytest.raises(DependencyFailed, match="reranking model broken cannot be loaded"):
        await reranker.scores("年假", PASSAGES)
    await reranker.aclose()


async def test_a_folder_that_is_gone_is_a_failure_and_nothing_is_fetched(tmp_path: Path) -> None:
    reranker = FlashRankReranker(tmp_path / "ms-marco-TinyBERT-L-2-v2")
    with pytest.raises(DependencyFailed, match="cannot be loaded"):
        await reranker.scores("年假", PASSAGES)
    await reranker.aclose()
    assert os.listdir(tmp_path) == []
