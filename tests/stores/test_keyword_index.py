"""The contract of `KeywordIndex`, which every adapter in `contract.KEYWORDS` passes."""

import math
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean

import anyio
import anyio.lowlevel
import pytest

from headrace.context import IndexEntry, KeywordIndex, QueryTerms, Scored
from headrace.errors import DependencyFailed
from headrace.text.tokens import Tokens

from .contract import KEYWORDS, ODD, TEXTS, OpenKeywords, an_entry, ids_of, shared_tokens

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def tokens() -> Tokens:
    return shared_tokens()


@pytest.fixture(params=[*KEYWORDS])
async def index(
    request: pytest.FixtureRequest, tmp_path: Path, tokens: Tokens
) -> AsyncIterator[KeywordIndex]:
    async with KEYWORDS[request.param](tmp_path / "keywords", tokens) as opened:
        await opened.add("kb", [an_entry(id, text) for id, text in TEXTS.items()])
        yield opened


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


def plain_bm25(
    kbs: Mapping[str, Mapping[str, str]], question: str, tokens: Tokens, *, terms: QueryTerms | None = None
) -> dict[str, float]:
    """BM25 with k1 = 0.6, b = 0.75 and no factor before it, as the formula is written: how rare a token is
    counts over all texts (or as `terms` says), the mean length over those of one knowledge base."""
    bags = {kb: {id: Counter(tokens.index(text)) for id, text in texts.items()} for kb, texts in kbs.items()}
    every = [bag for texts in bags.values() for bag in texts.values()]
    scores: dict[str, float] = {}
    for token in tokens.search(question):
        holding = terms.frequencies[token] if terms else sum(token in bag for bag in every)
        entries = terms.entries if terms else len(every)
        rarity = math.log(1 + (entries - holding + 0.5) / (holding + 0.5))
        for texts in bags.values():
            average = fmean(bag.total() for bag in texts.values())
            for id, bag in texts.items():
                if bag[token]:
                    damped = bag[token] + 0.6 * (0.25 + 0.75 * bag.total() / average)
                    scores[id] = scores.get(id, 0.0) + rarity * bag[token] / damped
    return scores


# Short, since engines keep the lengths of longer texts only about.
BM25_KBS = {
    "kb-hr": {
        "a": "年假 leave 第1条",
        "b": "年假 年假 年假 病假 annual leave rules",
        "c": "病假证明 sick leave",
        "d": "leave leave leave of absence",
    },
    "kb-it": {
        "e": "软件 software 年假",
        "f": "信息系统 information systems for everybody and their leave",
        "g": "病假",
        "h": "资讯",
        "i": "系统 systems",
    },
}
BM25_QUESTION = "年假 病假 leave systems 量子"


async def bm25_index(index: KeywordIndex) -> None:
    for kb, texts in BM25_KBS.items():
        await index.add(kb, [an_entry(id, text) for id, text in texts.items()])


def scored(hits: Sequence[Scored]) -> dict[str, float]:
    return {hit.chunk_id: hit.score for hit in hits}


@pytest.mark.parametrize("kbs", [["kb-hr"], ["kb-it", "kb-hr"], ["kb-hr", "none", "kb-it", "kb-hr"]])
async def test_scores_are_those_of_the_formula_over_all_knowledge_bases_that_are_searched(
    index: KeywordIndex, tokens: Tokens, kbs: list[str]
) -> None:
    await bm25_index(index)
    terms = await index.terms(kbs, BM25_QUESTION)
    texts = {kb: BM25_KBS[kb] for kb in kbs if kb in BM25_KBS}
    expected = {
        id: score * terms.saturation for id, score in plain_bm25(texts, BM25_QUESTION, tokens).items()
    }
    hits = await index.search(kbs, BM25_QUESTION, limit=20)
    assert scored(hits) == pytest.approx(expected, rel=1e-4)
    assert ids_of(hits) == sorted(expected, key=lambda id: (-expected[id], id))
    assert await index.scores(kbs, BM25_QUESTION, [*expected, "unknown"]) == pytest.approx(expected, rel=1e-4)


async def test_terms_of_other_places_decide_how_rare_a_word_is(index: KeywordIndex, tokens: Tokens) -> None:
    await bm25_index(index)
    own = await index.terms(["kb-it"], BM25_QUESTION)
    elsewhere = QueryTerms(
        entries=own.entries + 1_000,
        frequencies={token: count + 17 * n for n, (token, count) in enumerate(own.frequencies.items())},
        saturation=own.saturation,
    )
    found = plain_bm25({"kb-it": BM25_KBS["kb-it"]}, BM25_QUESTION, tokens, terms=elsewhere)
    expected = {id: score * own.saturation for id, score in found.items()}
    hits = await index.search(["kb-it"], BM25_QUESTION, limit=20, terms=elsewhere)
    assert scored(hits) == pytest.approx(expected, rel=1e-4)
    scores = await index.scores(["kb-it"], BM25_QUESTION, [*expected], terms=elsewhere)
    assert scores == pytest.approx(expected, rel=1e-4)


async def test_what_was_deleted_makes_no_word_more_common(index: KeywordIndex, tokens: Tokens) -> None:
    await index.add("del", [an_entry(f"n{n}", f"leave 第{n}条 年假") for n in range(30)])
    await index.add("del", [an_entry("病", "病假 第99条 年假")])
    await index.delete("del", [f"n{n}" for n in range(20)])
    kept = {f"n{n}": f"leave 第{n}条 年假" for n in range(20, 30)} | {"病": "病假 第99条 年假"}
    terms = await index.terms(["del"], "病假 年假 leave")
    [leave] = tokens.search("leave")
    assert (terms.entries, terms.frequencies[leave], terms.frequencies["年"]) == (11, 10, 11)
    expected = plain_bm25({"del": kept}, "病假 年假 leave", tokens)
    hits = await index.search(["del"], "病假 年假 leave", limit=50)
    # The mean length may still have them in it.
    assert scored(hits) == pytest.approx(
        {id: score * terms.saturation for id, score in expected.items()}, rel=0.02
    )


async def test_a_search_can_be_narrowed_to_kinds(index: KeywordIndex) -> None:
    entries = [
        an_entry(kind, "年假 leave", kind=kind, document=f"d-{kind}") for kind in ("text", "question", "图")
    ]
    await index.add("kinds", entries)
    assert ids_of(await index.search(["kinds"], "年假", limit=5, kinds=["question"])) == ["question"]
    assert ids_of(await index.search(["kinds"], "年假", limit=5, kinds=["text", "图"])) == ["text", "图"]
    assert len(await index.search(["kinds"], "年假", limit=5)) == 3
    assert await index.search(["kinds"], "年假", limit=5, kinds=["none"]) == []
    both = await index.search(["kinds"], "年假", limit=5, kinds=["text", "图"], document_ids=["d-图"])
    assert ids_of(both) == ["图"]


async def test_a_search_can_be_narrowed_to_very_many_documents(index: KeywordIndex) -> None:
    await index.add("many", [an_entry(f"c{n}", document=f"d{n}") for n in range(50)])
    documents = [f"d{n}" for n in range(40, 40_000)]
    hits = await index.search(["many"], "年假", limit=20, document_ids=documents)
    assert ids_of(hits) == [f"c{n}" for n in range(40, 50)]


async def test_the_best_of_several_knowledge_bases_come_first_and_ties_go_by_id(index: KeywordIndex) -> None:
    await index.add("one", [an_entry("b", "leave"), an_entry("a", "leave")])
    await index.add("two", [an_entry("c", "leave"), an_entry("z", "病")])
    assert ids_of(await index.search(["one", "two"], "leave 病", limit=3)) == ["z", "a", "b"]


async def test_equal_scores_come_in_the_order_of_ids_also_where_the_limit_cuts(index: KeywordIndex) -> None:
    ids = [f"c{n:03}" for n in range(150)]
    await index.add("ties", [an_entry(id, "合同 contract") for id in reversed(ids)])
    await index.add("ties", [an_entry("z", "合同 contract contract")])
    assert ids_of(await index.search(["ties"], "contract", limit=6)) == ["z", *ids[:5]]


async def test_adding_the_same_again_changes_nothing(index: KeywordIndex) -> None:
    before = await index.search(["kb"], QUERY, limit=9)
    terms = await index.terms(["kb"], QUERY)
    await index.add("kb", [an_entry(id, text) for id, text in TEXTS.items()])
    assert await index.search(["kb"], QUERY, limit=9) == before
    assert await index.terms(["kb"], QUERY) == terms


@pytest.mark.parametrize("text", ODD.values(), ids=[*ODD])
async def test_every_text_is_indexed_and_every_question_is_searched(index: KeywordIndex, text: str) -> None:
    await index.add("odd", [an_entry("odd", text), an_entry("other", "完全不同 entirely different")])
    assert await index.ids("odd") == {"odd", "other"}
    hits = await index.search(["odd", "kb"], text, limit=5)
    terms = await index.terms(["odd", "kb"], text)
    assert terms.entries == len(TEXTS) + 2
    # Found by itself, where there is a word in it.
    assert ("odd" in ids_of(hits)) == bool(terms.frequencies)
    scores = await index.scores(["odd"], text, ["odd"], terms=terms)
    assert scores == pytest.approx({hit.chunk_id: hit.score for hit in hits if hit.chunk_id == "odd"})
    await index.delete("odd", ["odd"])
    assert await index.ids("odd") == {"other"}


async def test_a_text_of_100_000_characters_is_found_by_its_last_words(index: KeywordIndex) -> None:
    text = "年假规定 leave rules " * 5_900 + "结尾处的鹦鹉 parrot"
    assert len(text) > 100_000
    await index.add("kb", [an_entry("long", text)])
    assert ids_of(await index.search(["kb"], "鹦鹉", limit=5)) == ["long"]
    assert ids_of(await index.search(["kb"], "parrots", limit=5)) == ["long"]


@pytest.mark.parametrize("unit", ["年假有几天和病假", "annual leave of {n} days "])
async def test_a_question_of_10_000_characters_has_a_bounded_number_of_terms(
    index: KeywordIndex, unit: str
) -> None:
    question = "".join(unit.replace("{n}", f"word{n}") for n in range(2_000))[:10_000]
    assert len((await index.terms(["kb"], question)).frequencies) <= 512
    assert ids_of(await index.search(["kb"], question, limit=1))[0] in TEXTS


async def test_nothing_is_outdated_in_an_index_that_was_just_made(index: KeywordIndex) -> None:
    assert await index.outdated() == set()


class OtherTokens(Tokens):
    """Words backwards: nothing that was indexed by other ones is found."""

    def __init__(self) -> None:
        super().__init__()
        self.version += " backwards"

    def index(self, text: str) -> list[str]:
        return [token[::-1] + "~" for token in super().index(text)]

    def search(self, text: str) -> list[str]:
        return [token[::-1] + "~" for token in super().search(text)]


async def batches_of(*batches: Sequence[IndexEntry]) -> AsyncIterator[Sequence[IndexEntry]]:
    for batch in batches:
        yield batch


@pytest.mark.parametrize("opened", KEYWORDS.values(), ids=[*KEYWORDS])
async def test_an_index_of_other_tokens_is_outdated_until_it_is_written_anew(
    tmp_path: Path, tokens: Tokens, opened: OpenKeywords
) -> None:
    async with opened(tmp_path, tokens) as old:
        await old.add("kb", [an_entry("a", "年假 leave")])
        await old.add("kb2", [an_entry("b", "年假 leave")])
    async with opened(tmp_path, OtherTokens()) as index:
        assert await index.outdated() == {"kb", "kb2"}
        assert await index.ids("kb") == {"a"}
        assert await index.search(["kb"], "leave", limit=5) == []
        await index.rewrite("kb", batches_of([an_entry("a", "年假 leave")], [an_entry("c", "病假 leave")]))
        assert await index.outdated() == {"kb2"}
        assert set(ids_of(await index.search(["kb"], "leave", limit=5))) == {"a", "c"}
    async with opened(tmp_path, OtherTokens()) as again:
        assert await again.outdated() == {"kb2"}


async def test_an_index_is_written_anew_while_it_is_searched(index: KeywordIndex) -> None:
    async def batches() -> AsyncIterator[Sequence[IndexEntry]]:
        yield [an_entry("new", "年假 rewritten")]
        assert ids_of(await index.search(["kb"], "带薪年假", limit=1)) == ["leave-zh"]
        yield [an_entry("other", "年假 other")]

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(index.rewrite, "kb", batches())
        await anyio.lowlevel.checkpoint()
        tasks.start_soon(index.add, "kb", [an_entry("waited", "年假 waited")])
    assert await index.ids("kb") == {"new", "other", "waited"}


async def test_an_index_that_could_not_be_written_anew_stays_as_it_was(index: KeywordIndex) -> None:
    async def failing() -> AsyncIterator[Sequence[IndexEntry]]:
        yield [an_entry("new", "年假")]
        raise DependencyFailed("catalogue", "down")

    with pytest.raises(DependencyFailed, match="down"):
        await index.rewrite("kb", failing())
    assert await index.ids("kb") == set(TEXTS)
    await index.rewrite("kb", batches_of([an_entry("new", "年假")]))
    assert await index.ids("kb") == {"new"}


async def test_an_index_that_never_was_is_written_anew_as_an_empty_one(index: KeywordIndex) -> None:
    await index.rewrite("empty", batches_of())
    assert (await index.ids("empty"), await index.search(["empty"], "年假", limit=5)) == (set(), [])


@pytest.mark.parametrize("opened", KEYWORDS.values(), ids=[*KEYWORDS])
async def test_entries_are_there_after_reopening(
    tmp_path: Path, tokens: Tokens, opened: OpenKeywords
) -> None:
    async with opened(tmp_path, tokens) as first:
        await first.add("kb", [an_entry("a", "年假 C++"), an_entry("b", "年假 C++")])
        await first.delete("kb", ["b"])
    async with opened(tmp_path, tokens) as again:
        assert ids_of(await again.search(["kb"], "c++", limit=5)) == ["a"]
        assert await again.ids("kb") == {"a"}
