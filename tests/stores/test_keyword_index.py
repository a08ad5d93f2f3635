"""The contract of `KeywordIndex`; every adapter is one parameter of `index`."""

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from headrace.context import KeywordIndex
from headrace.errors import DependencyFailed, StartRefused
from headrace.stores.tantivy import TantivyKeywords
from headrace.text.tokens import Tokens

from .contract import TEXTS, an_entry, ids_of

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def tokens() -> Tokens:
    return Tokens()


@pytest.fixture(params=[TantivyKeywords])
async def index(
    request: pytest.FixtureRequest, tmp_path: Path, tokens: Tokens
) -> AsyncIterator[KeywordIndex]:
    opened = request.param(tmp_path / "keywords", tokens)
    await opened.add("kb", [an_entry(id, text) for id, text in TEXTS.items()])
    yield opened
    await opened.close()


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("年假有几天？", "leave-zh"),
        ("病假要交什么证明", "sick-zh"),
        ("How many days of annual leave do employees get?", "leave-en"),
        ("reporting sickness to managers", "sick-en"),
        ("台湾的软件信息系统", "hant"),
    ],
)
async def test_the_passage_with_the_words_of_the_question_comes_first(
    index: KeywordIndex, query: str, first: str
) -> None:
    hits = await index.search("kb", query, limit=5)
    assert hits[0].chunk_id == first
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


@pytest.mark.parametrize("query", ["量子力学", "quantum chromodynamics", "", "😀", "？！"])
async def test_nothing_in_common_is_no_hit(index: KeywordIndex, query: str) -> None:
    assert await index.search("kb", query, limit=5) == []


@pytest.mark.parametrize(
    "query",
    [
        '"annual',
        "tokens:leave AND (",
        "leave -annual",
        "chunk_id:sick-en",
        "[a TO z]",
        "年假^9 OR *",
        "\0 leave",
        "\\",
    ],
)
async def test_no_question_is_a_syntax(index: KeywordIndex, query: str) -> None:
    for hit in await index.search("kb", query, limit=5):
        assert hit.score > 0


async def test_a_very_long_question_is_searched(index: KeywordIndex) -> None:
    assert (await index.search("kb", "年假有几天 " + "无关的词语 other words " * 2_000, limit=5))[0].score > 0


async def test_no_more_than_the_limit_comes_back(index: KeywordIndex) -> None:
    assert len(await index.search("kb", "leave", limit=1)) == 1
    assert await index.search("kb", "leave", limit=0) == []


async def test_a_search_can_be_narrowed_to_documents(index: KeywordIndex) -> None:
    await index.add("kb", [an_entry("other", "年假 leave", document="文档2")])
    whole = {hit.chunk_id: hit.score for hit in await index.search("kb", "leave", limit=9)}
    (hit,) = await index.search("kb", "leave", limit=9, document_ids=["文档2", "none"])
    assert hit.chunk_id == "other"
    assert hit.score == pytest.approx(whole["other"])
    assert await index.search("kb", "leave", limit=9, document_ids=["none"]) == []


async def test_what_was_never_written_is_empty(index: KeywordIndex) -> None:
    assert await index.search("none", "年假", limit=5) == []
    assert await index.ids("none") == set()
    await index.delete("none", ["a"])
    await index.drop("none")
    await index.add("none", [])
    assert await index.ids("none") == set()


async def test_adding_an_id_again_replaces_it(index: KeywordIndex) -> None:
    await index.add("kb", [an_entry("leave-zh", "旧内容"), an_entry("leave-zh", "合同续签 contract renewal")])
    assert ids_of(await index.search("kb", "合同", limit=5)) == ["leave-zh"]
    assert await index.search("kb", "旧内容", limit=5) == []
    assert await index.ids("kb") == set(TEXTS)


async def test_deleted_entries_are_not_found(index: KeywordIndex) -> None:
    await index.delete("kb", ["leave-en", "unknown"])
    await index.delete("kb", [])
    assert ids_of(await index.search("kb", "annual", limit=5)) == []
    assert await index.ids("kb") == set(TEXTS) - {"leave-en"}


async def test_knowledge_bases_are_kept_apart(index: KeywordIndex) -> None:
    await index.add("kb2", [an_entry("b", "年假 leave")])
    assert ids_of(await index.search("kb2", "年假", limit=5)) == ["b"]
    await index.drop("kb2")
    assert await index.search("kb2", "年假", limit=5) == []
    assert await index.ids("kb") == set(TEXTS)
    await index.add("kb2", [an_entry("c", "年假 leave")])
    assert await index.ids("kb2") == {"c"}


async def test_equal_scores_come_in_the_order_of_ids(index: KeywordIndex) -> None:
    await index.add("kb2", [an_entry(id, "合同 contract") for id in ("c", "a", "b")])
    assert ids_of(await index.search("kb2", "contract", limit=5)) == ["a", "b", "c"]


async def test_changes_at_once_are_all_kept_and_searches_go_on(index: KeywordIndex) -> None:
    async with anyio.create_task_group() as tasks:
        for number in range(8):
            tasks.start_soon(index.add, "kb", [an_entry(f"n{number}", f"报告{number} report")])
            tasks.start_soon(index.add, f"kb-{number}", [an_entry("x", "报告")])
        for _ in range(10):
            assert (await index.search("kb", "年假", limit=1))[0].chunk_id == "leave-zh"
    assert await index.ids("kb") == {*TEXTS, *(f"n{number}" for number in range(8))}
    assert len(await index.search("kb", "report", limit=20)) >= 8


async def test_entries_are_there_after_reopening(tmp_path: Path, tokens: Tokens) -> None:
    first = TantivyKeywords(tmp_path, tokens)
    await first.add("kb", [an_entry("a", "年假 C++")])
    await first.close()
    assert ids_of(await TantivyKeywords(tmp_path, tokens).search("kb", "c++", limit=5)) == ["a"]


async def test_a_writer_that_was_killed_blocks_nobody(tmp_path: Path, tokens: Tokens) -> None:
    keywords = TantivyKeywords(tmp_path, tokens)
    await keywords.add("kb", [an_entry("kept", "年假")])
    script = (
        "import os, sys, tantivy\n"
        "index = tantivy.Index.open(sys.argv[1])\n"
        "writer = index.writer(15_000_000, 1)\n"
        "writer.add_document(tantivy.Document(chunk_id='half', document_id='d', tokens='年假'))\n"
        "os._exit(9)"
    )
    command = [sys.executable, "-X", "utf8", "-c", script, str(tmp_path / "kb")]
    ran = await anyio.run_process(command, check=False)
    assert ran.returncode == 9
    assert (tmp_path / "kb" / ".tantivy-writer.lock").exists() or os.name == "nt"

    again = TantivyKeywords(tmp_path, tokens)
    await again.add("kb", [an_entry("new", "年假")])
    assert await again.ids("kb") == {"kept", "new"}


async def test_a_broken_index_is_an_error_that_names_the_store(tmp_path: Path, tokens: Tokens) -> None:
    first = TantivyKeywords(tmp_path, tokens)
    await first.add("kb", [an_entry("a")])
    (tmp_path / "kb" / "meta.json").write_text("{", encoding="utf-8")
    with pytest.raises(DependencyFailed) as failed:
        await TantivyKeywords(tmp_path, tokens).search("kb", "年假", limit=5)
    assert failed.value.dependency == "keywords"


async def test_an_id_is_never_a_path(tmp_path: Path, tokens: Tokens) -> None:
    (tmp_path / "precious").mkdir()
    with pytest.raises(DependencyFailed):
        await TantivyKeywords(tmp_path / "keywords", tokens).drop("../precious")
    assert (tmp_path / "precious").exists()


def test_a_folder_of_a_newer_version_is_refused(tmp_path: Path, tokens: Tokens) -> None:
    (tmp_path / "schema_version").write_text("999\n", encoding="utf-8")
    with pytest.raises(StartRefused, match="newer"):
        TantivyKeywords(tmp_path, tokens)
