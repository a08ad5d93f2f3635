"""The contract of `KeywordIndex`; every adapter is one parameter of `index`."""

import math
import os
import sys
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import anyio
import pytest
import tantivy

from headrace.context import IndexEntry, KeywordIndex
from headrace.errors import DependencyFailed, StartRefused
from headrace.stores.tantivy import SCHEMA_VERSION, TantivyKeywords
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
    hits = await index.search(["kb"], query, limit=5)
    assert hits[0].chunk_id == first
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


@pytest.mark.parametrize("query", ["量子力学", "quantum chromodynamics", "", "😀", "？！"])
async def test_nothing_in_common_is_no_hit(index: KeywordIndex, query: str) -> None:
    assert await index.search(["kb"], query, limit=5) == []


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
    for hit in await index.search(["kb"], query, limit=5):
        assert hit.score > 0


async def test_a_very_long_question_is_searched(index: KeywordIndex) -> None:
    question = "年假有几天 " + "无关的词语 other words " * 2_000
    assert (await index.search(["kb"], question, limit=5))[0].score > 0


async def test_no_more_than_the_limit_comes_back(index: KeywordIndex) -> None:
    assert len(await index.search(["kb"], "leave", limit=1)) == 1
    assert await index.search(["kb"], "leave", limit=0) == []


async def test_a_search_can_be_narrowed_to_documents(index: KeywordIndex) -> None:
    await index.add("kb", [an_entry("other", "年假 leave", document="文档2")])
    whole = {hit.chunk_id: hit.score for hit in await index.search(["kb"], "leave", limit=9)}
    (hit,) = await index.search(["kb"], "leave", limit=9, document_ids=["文档2", "none"])
    assert hit.chunk_id == "other"
    assert hit.score == pytest.approx(whole["other"])
    assert await index.search(["kb"], "leave", limit=9, document_ids=["none"]) == []


QUERY = "带薪年假有几天 annual leave days"


async def test_given_entries_get_the_score_that_a_search_gives_them(index: KeywordIndex) -> None:
    searched = {hit.chunk_id: hit.score for hit in await index.search(["kb"], QUERY, limit=9)}
    scores = await index.scores(["kb"], QUERY, [*TEXTS, "unknown", "leave-zh"])
    assert scores == pytest.approx(searched)
    assert {"leave-zh", "leave-en"} <= set(scores)
    assert "hant" not in scores
    assert await index.scores(["kb"], QUERY, ["leave-en"]) == pytest.approx(
        {"leave-en": searched["leave-en"]}
    )


async def test_scores_of_nothing_are_nothing(index: KeywordIndex) -> None:
    assert await index.scores(["none"], QUERY, ["leave-en"]) == {}
    assert await index.scores(["kb"], QUERY, []) == {}
    assert await index.scores(["kb"], "😀", ["leave-en"]) == {}
    assert await index.scores(["kb"], "量子", ["leave-en", 'x" OR *']) == {}


async def test_terms_tell_in_how_many_entries_each_word_of_a_question_is(
    index: KeywordIndex, tokens: Tokens
) -> None:
    terms = await index.terms(["kb"], "How is sick leave or 病假 or quantum leave handled?")
    common = {tokens.query(word)[0]: count for word, count in {"sick": 1, "leave": 2, "病假": 1}.items()}
    assert terms.entries == len(TEXTS)
    assert {term: terms.frequencies[term] for term in common} == common
    assert terms.frequencies[tokens.query("quantum")[0]] == 0
    assert set(terms.frequencies) == set(tokens.search("sick leave 病假 quantum handled"))


async def test_terms_of_an_empty_index_are_all_unknown(index: KeywordIndex, tokens: Tokens) -> None:
    terms = await index.terms(["none"], "年假 leave")
    assert (terms.entries, set(terms.frequencies.values())) == (0, {0})
    assert set(terms.frequencies) == set(tokens.search("年假 leave"))
    assert (await index.terms(["kb"], "？！")).frequencies == {}


async def test_no_term_is_in_more_entries_than_there_are(index: KeywordIndex) -> None:
    await index.add("kb2", [an_entry(f"n{n}", "年假 leave") for n in range(20)])
    await index.delete("kb2", [f"n{n}" for n in range(1, 20)])
    terms = await index.terms(["kb2"], "年假 leave")
    assert terms.entries == 1
    assert all(count <= 1 for count in terms.frequencies.values())


async def test_a_score_is_a_share_of_what_the_rarity_of_the_words_allows(index: KeywordIndex) -> None:
    await index.add("kb", [an_entry("full", "leave " * 3_000)])
    terms = await index.terms(["kb"], "leave")
    (count,) = terms.frequencies.values()
    most = terms.saturation * math.log(1 + (terms.entries - count + 0.5) / (count + 0.5))
    scores = [hit.score for hit in await index.search(["kb"], "leave", limit=9)]
    assert len(scores) == 3
    assert all(0 < score <= most for score in scores)
    assert scores[0] == pytest.approx(most, rel=0.05)


async def test_what_was_never_written_is_empty(index: KeywordIndex) -> None:
    assert await index.search(["none"], "年假", limit=5) == []
    assert await index.ids("none") == set()
    await index.delete("none", ["a"])
    await index.drop("none")
    await index.add("none", [])
    assert await index.ids("none") == set()


async def test_adding_an_id_again_replaces_it(index: KeywordIndex) -> None:
    await index.add("kb", [an_entry("leave-zh", "旧内容"), an_entry("leave-zh", "合同续签 contract renewal")])
    assert ids_of(await index.search(["kb"], "合同", limit=5)) == ["leave-zh"]
    assert await index.search(["kb"], "旧内容", limit=5) == []
    assert await index.ids("kb") == set(TEXTS)


async def test_deleted_entries_are_not_found(index: KeywordIndex) -> None:
    await index.delete("kb", ["leave-en", "unknown"])
    await index.delete("kb", [])
    assert ids_of(await index.search(["kb"], "annual", limit=5)) == []
    assert await index.ids("kb") == set(TEXTS) - {"leave-en"}


async def test_knowledge_bases_are_kept_apart(index: KeywordIndex) -> None:
    await index.add("kb2", [an_entry("b", "年假 leave")])
    assert ids_of(await index.search(["kb2"], "年假", limit=5)) == ["b"]
    await index.drop("kb2")
    assert await index.search(["kb2"], "年假", limit=5) == []
    assert await index.ids("kb") == set(TEXTS)
    await index.add("kb2", [an_entry("c", "年假 leave")])
    assert await index.ids("kb2") == {"c"}


async def test_only_some_knowledge_bases_can_be_kept(index: KeywordIndex) -> None:
    for kb in ("kb2", "kb3"):
        await index.add(kb, [an_entry("b", "年假 leave")])
    await index.keep_only({"kb", "kb3", "new"})
    assert [await index.ids(kb) for kb in ("kb", "kb2", "kb3")] == [set(TEXTS), set(), {"b"}]
    assert await index.search(["kb2"], "年假", limit=5) == []
    await index.keep_only(set())
    assert await index.ids("kb") == set()


async def test_equal_scores_come_in_the_order_of_ids(index: KeywordIndex) -> None:
    await index.add("kb2", [an_entry(id, "合同 contract") for id in ("c", "a", "b")])
    assert ids_of(await index.search(["kb2"], "contract", limit=5)) == ["a", "b", "c"]


async def test_changes_at_once_are_all_kept_and_searches_go_on(index: KeywordIndex) -> None:
    async with anyio.create_task_group() as tasks:
        for number in range(8):
            tasks.start_soon(index.add, "kb", [an_entry(f"n{number}", f"报告{number} report")])
            tasks.start_soon(index.add, f"kb-{number}", [an_entry("x", "报告")])
        for _ in range(10):
            assert (await index.search(["kb"], "年假", limit=1))[0].chunk_id == "leave-zh"
    assert await index.ids("kb") == {*TEXTS, *(f"n{number}" for number in range(8))}
    assert len(await index.search(["kb"], "report", limit=20)) >= 8


async def test_entries_are_there_after_reopening(tmp_path: Path, tokens: Tokens) -> None:
    first = TantivyKeywords(tmp_path, tokens)
    await first.add("kb", [an_entry("a", "年假 C++")])
    await first.close()
    assert ids_of(await TantivyKeywords(tmp_path, tokens).search(["kb"], "c++", limit=5)) == ["a"]


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
        await TantivyKeywords(tmp_path, tokens).search(["kb"], "年假", limit=5)
    assert failed.value.dependency == "keywords"


async def test_an_id_is_never_a_path(tmp_path: Path, tokens: Tokens) -> None:
    (tmp_path / "precious").mkdir()
    with pytest.raises(DependencyFailed):
        await TantivyKeywords(tmp_path / "keywords", tokens).drop("../precious")
    assert (tmp_path / "precious").exists()


async def test_a_version_that_a_crash_left_unwritten_is_written_with_the_next_index(
    tmp_path: Path, tokens: Tokens
) -> None:
    (tmp_path / "schema_version").touch()
    await TantivyKeywords(tmp_path, tokens).add("kb", [an_entry("a", "年假")])
    assert (tmp_path / "schema_version").read_text(encoding="utf-8") == f"{SCHEMA_VERSION}\n"


async def test_what_is_no_index_is_left_where_it_is(tmp_path: Path, tokens: Tokens) -> None:
    (tmp_path / "lost+found").mkdir()
    await TantivyKeywords(tmp_path, tokens).keep_only(set())
    assert (tmp_path / "lost+found").exists()


def test_a_folder_of_a_newer_version_is_refused(tmp_path: Path, tokens: Tokens) -> None:
    (tmp_path / "schema_version").write_text("999\n", encoding="utf-8")
    with pytest.raises(StartRefused, match="newer"):
        TantivyKeywords(tmp_path, tokens)


async def texts_in(*entries: IndexEntry) -> AsyncIterator[Sequence[IndexEntry]]:
    yield entries


def segment_terms(folder: Path, tokens: Tokens, text: str) -> set[str]:
    """Terms of a text that some segment's dictionary still holds, deleted entries' too."""
    index = tantivy.Index.open(str(folder))
    searcher = index.searcher()
    return {term for term in tokens.words(text) if searcher.doc_freq("tokens", term)}


async def test_an_index_that_is_written_anew_holds_no_term_of_what_was_deleted(
    tmp_path: Path, tokens: Tokens
) -> None:
    index = TantivyKeywords(tmp_path, tokens)
    await index.add("kb", [an_entry(id, text) for id, text in TEXTS.items()])
    await index.delete("kb", ["sick-zh", "hant"])
    gone = "医院 软体工程师 臺灣的軟體工程師"
    assert segment_terms(tmp_path / "kb", tokens, gone)

    await index.rewrite("kb", texts_in(an_entry("leave-zh", TEXTS["leave-zh"])))
    assert segment_terms(tmp_path / "kb", tokens, gone) == set()
    assert await index.ids("kb") == {"leave-zh"}
    assert ids_of(await index.search(["kb"], "年假", limit=5)) == ["leave-zh"]
    await index.add("kb", [an_entry("new", "年假 again")])
    assert len(await index.search(["kb"], "年假", limit=5)) == 2


async def test_an_index_that_never_was_is_written_anew_as_an_empty_one(
    tmp_path: Path, tokens: Tokens
) -> None:
    index = TantivyKeywords(tmp_path, tokens)
    await index.rewrite("kb", texts_in())
    assert (await index.ids("kb"), await index.search(["kb"], "年假", limit=5)) == (set(), [])


@pytest.mark.parametrize("killed", ["while writing", "between the renames", "while removing the old one"])
async def test_a_kill_while_an_index_is_written_anew_leaves_one_whole_index(
    tmp_path: Path, tokens: Tokens, killed: str
) -> None:
    index = TantivyKeywords(tmp_path, tokens)
    await index.add("kb", [an_entry("old", "旧 old 年假")])
    await index.add("new", [an_entry("new", "新 new 年假")])
    await index.close()
    if killed != "while writing":
        (tmp_path / "kb").rename(tmp_path / "kb.old")
    (tmp_path / "new").rename(tmp_path / "kb.new")
    if killed == "while removing the old one":
        (tmp_path / "kb.new").rename(tmp_path / "kb")

    again = TantivyKeywords(tmp_path, tokens)
    assert await again.ids("kb") == ({"old"} if killed == "while writing" else {"new"})
    assert sorted(os.listdir(tmp_path)) == ["kb", "schema_version"]


def plain_bm25(texts: Mapping[str, str], question: str, tokens: Tokens) -> dict[str, float]:
    """BM25 with k1 = 0.6 and b = 0.75, over all texts at once."""
    bags = {id: Counter(tokens.index(text)) for id, text in texts.items()}
    average = fmean(bag.total() for bag in bags.values())
    scores = dict.fromkeys(texts, 0.0)
    for token in tokens.search(question):
        holding = sum(token in bag for bag in bags.values())
        rarity = math.log1p((len(bags) - holding + 0.5) / (holding + 0.5))
        for id, bag in bags.items():
            damped = bag[token] + 0.6 * (0.25 + 0.75 * bag.total() / average)
            scores[id] += rarity * 2.2 * bag[token] / damped
    return {id: score for id, score in scores.items() if score}


async def test_scores_of_several_knowledge_bases_are_those_of_one_that_holds_all(
    index: KeywordIndex, tokens: Tokens
) -> None:
    # Of one length each, since an index knows the mean length of its own entries only.
    texts = {f"{kb}-{n}": f"年假 leave 第{n}条" for kb in ("甲", "b") for n in range(5)} | {
        "b-9": "年假 病假 第9条"
    }
    for kb in ("甲", "b"):
        of_kb = {id: text for id, text in texts.items() if id.startswith(kb)}
        await index.add(f"kb-{ord(kb)}", [an_entry(id, text) for id, text in of_kb.items()])
    kbs, question = [f"kb-{ord(kb)}" for kb in ("甲", "b")], "年假 病假 leave 3"
    expected = plain_bm25(texts, question, tokens)
    found = {hit.chunk_id: hit.score for hit in await index.search(kbs, question, limit=20)}
    assert found == pytest.approx(expected, rel=0.02)
    alone = await index.search(kbs[1:], question, limit=20, terms=await index.terms(kbs, question))
    assert {hit.chunk_id: hit.score for hit in alone} == pytest.approx(
        {id: score for id, score in expected.items() if id.startswith("b")}, rel=0.02
    )


async def test_deleted_entries_do_not_make_a_word_more_common(index: KeywordIndex, tokens: Tokens) -> None:
    await index.add("del", [an_entry(f"n{n}", f"leave 第{n}条") for n in range(30)])
    await index.add("del", [an_entry("病", "病假 第99条")])
    await index.delete("del", [f"n{n}" for n in range(20)])
    kept = {f"n{n}": f"leave 第{n}条" for n in range(20, 30)} | {"病": "病假 第99条"}
    [hit] = await index.search(["del"], "病假", limit=5)
    assert hit.score == pytest.approx(plain_bm25(kept, "病假", tokens)["病"], rel=0.05)


async def test_a_search_can_be_narrowed_to_kinds(index: KeywordIndex) -> None:
    entries = [replace(an_entry(kind, "年假 leave"), kind=kind) for kind in ("text", "question", "图")]
    await index.add("kinds", entries)
    assert ids_of(await index.search(["kinds"], "年假", limit=5, kinds=["question"])) == ["question"]
    assert len(await index.search(["kinds"], "年假", limit=5, kinds=["text", "图"])) == 2
    assert len(await index.search(["kinds"], "年假", limit=5)) == 3


async def test_the_best_of_several_knowledge_bases_come_first_and_ties_go_by_id(index: KeywordIndex) -> None:
    await index.add("one", [an_entry("b", "leave"), an_entry("a", "leave")])
    await index.add("two", [an_entry("c", "leave"), an_entry("z", "病")])
    assert ids_of(await index.search(["one", "two"], "leave 病", limit=3)) == ["z", "a", "b"]
