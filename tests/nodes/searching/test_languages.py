"""Texts in two languages: places kept for the other one, and questions asked in both."""

from typing import Any

import pytest

from headrace.context import Chunk
from headrace.nodes.searching.fusing import Ranked, best_of_wordings
from headrace.nodes.searching.languages import foreign, spoken, with_other_languages
from headrace.text.fusion import COVERAGE_WEIGHTS

from ...fakes import FakeEmbedder, World, a_chunk
from .worlds import add_entry, searched

pytestmark = pytest.mark.anyio

KNOWN = next(iter(COVERAGE_WEIGHTS))


def placed(id: str, text: str, *, score: float, cosine: float, coverage: float = 0.0) -> tuple[Ranked, Chunk]:
    scores = {"vector": cosine, "coverage": coverage}
    return Ranked(id=id, score=score, scores=scores, ranks={"vector": 1}), a_chunk(id, text)


def ids(found: list[tuple[Ranked, Chunk]]) -> list[str]:
    return [one.id for one, _ in found]


def own(coverage: float) -> list[tuple[Ranked, Chunk]]:
    return [
        placed(f"zh{n}", "差旅报销标准", score=1 - n / 20, cosine=0.9, coverage=coverage) for n in range(12)
    ]


FOREIGN = [
    placed("en1", "travel refunds", score=0.03, cosine=0.7),
    placed("en2", "travel rules", score=0.02, cosine=0.8),
    placed("en3", "travel costs", score=0.01, cosine=0.6),
]


def test_where_no_passage_covers_the_question_the_other_language_gets_three_places() -> None:
    found = with_other_languages([*own(0.1), *FOREIGN], ["en"])
    assert {place: id for place, id in enumerate(ids(found), 1) if id.startswith("en")} == {
        4: "en2",
        7: "en1",
        10: "en3",
    }
    assert [one.score for one, _ in found] == sorted((one.score for one, _ in found), reverse=True)


def test_where_one_covers_it_the_other_language_gets_one() -> None:
    assert ids(with_other_languages([*own(0.9), *FOREIGN], ["en"])).index("en2") == 9


def test_without_coverage_it_gets_two() -> None:
    found = ids(with_other_languages([*own(0.0), *FOREIGN], ["en"], covered=False))
    assert [found.index(id) for id in ("en2", "en1")] == [6, 9]


def test_nothing_moves_without_another_language() -> None:
    assert with_other_languages([*own(0.1), *FOREIGN], []) == [*own(0.1), *FOREIGN]
    assert with_other_languages(own(0.1), ["en"]) == own(0.1)
    assert with_other_languages([], ["en"]) == []


def test_a_good_hit_in_the_other_language_keeps_its_place() -> None:
    found = [placed("en", "travel", score=1.0, cosine=0.9), placed("zh", "差旅", score=0.5, cosine=0.8)]
    assert with_other_languages(found, ["en"]) == found


def test_a_few_foreign_words_are_no_language_of_the_texts() -> None:
    assert spoken({"a": {"zh": 990, "en": 3}}) == ["zh"]
    assert spoken({"a": {"zh": 10}, "b": {"en": 90}}) == ["en", "zh"]
    assert spoken({"a": {"": 5}, "b": {}}) == []


def test_a_language_that_the_question_was_translated_into_is_not_foreign() -> None:
    assert foreign(["zh", "en"], "差旅报销") == ["en"]
    assert foreign(["zh", "en"], "travel") == ["zh"]
    assert foreign(["zh", "en"], "差旅报销", ["", "en"]) == []


def test_a_chunk_keeps_the_better_score_and_the_provenance_of_every_wording() -> None:
    one = Ranked(id="a", score=0.6, scores={"vector": 0.6}, ranks={"vector": 2})
    other = Ranked(id="a", score=0.8, scores={"vector": 0.9}, ranks={"vector": 1}, question=a_chunk("q"))
    (best,) = best_of_wordings({"": [one], "en": [other]})
    assert (best.score, best.question) == (0.8, a_chunk("q"))
    assert best.scores == {"vector": 0.6, "vector_en": 0.9}
    assert best.ranks == {"vector": 2, "vector_en": 1}


async def two_languages() -> World:
    world = World(embedder=FakeEmbedder(KNOWN))
    await world.add(
        *(a_chunk(f"zh{n:02}", f"差旅报销 第{n}条", document_id=f"z{n}") for n in range(14)),
        *(a_chunk(f"en{n}", f"travel costs {n} no", document_id=f"e{n}") for n in range(3)),
        a_chunk("answer", "travel refunds are paid in May", document_id="may"),
        model=KNOWN,
    )
    return world


QUESTION: dict[str, Any] = {"query": "差旅报销 no"}


async def test_a_translation_is_searched_too_and_says_so() -> None:
    translations = {"en": "when are travel refunds paid"}
    found = await searched(await two_languages(), "差旅报销何时支付", translations=translations)
    hit = next(hit for hit in found.hits if hit["chunk_id"] == "answer")
    assert hit["ranks"]["vector_en"] == hit["ranks"]["keyword_en"] == 1
    assert (hit["scores"]["vector_en"] or 0) > 0
    assert "keyword" not in hit["ranks"]
    assert (hit["match_type"], found.hits.index(hit) < 2) == ("both", True)
    assert len(found.calls) == 1


async def test_an_empty_translation_is_not_searched() -> None:
    world = await two_languages()
    plain = await searched(world, "差旅报销何时支付")
    empty = await searched(world, "差旅报销何时支付", translations={"en": ""})
    assert empty.hits == plain.hits


async def test_the_other_language_gets_places_where_the_texts_are_in_both() -> None:
    found = (await searched(await two_languages(), **QUESTION)).hits
    places = [place for place, hit in enumerate(found, 1) if hit["chunk_id"].startswith("en")]
    assert places[:1] == [10]


async def test_texts_in_one_language_stay_in_their_order() -> None:
    world = World(embedder=FakeEmbedder(KNOWN))
    await world.add(*(a_chunk(f"en{n:02}", "travel " + "far " * n) for n in range(14)), model=KNOWN)
    await world.add(*(a_chunk(f"x{n}", "travel 差旅", kb_id="other") for n in range(3)), model=KNOWN)
    found = (await searched(world, "差旅 travel")).hits
    assert [hit["chunk_id"] for hit in found] == [f"en{n:02}" for n in range(14)]


async def test_the_nearest_in_the_other_language_are_found_behind_any_number_of_others() -> None:
    world = World(embedder=FakeEmbedder(KNOWN))
    await world.add(*(a_chunk(f"zh{n:03}", f"差旅 x{n}") for n in range(300)), model=KNOWN)
    far = " ".join(f"w{n}" for n in range(60))
    await world.add(*(a_chunk(f"en{n}", f"travel x {far} {far[: n * 9]}") for n in range(8)), model=KNOWN)
    found = (await searched(world, "差旅 x")).hits
    places = [place for place, hit in enumerate(found, 1) if hit["chunk_id"].startswith("en")]
    assert places[0] <= 10
    assert len(found) == 50


async def test_known_questions_in_the_other_language_are_found_too() -> None:
    world = World(embedder=FakeEmbedder(KNOWN))
    for number in range(90):
        await add_entry(world, f"zh{number:02}", f"丢卡 x{number} 怎么办", "卡丢了 x", model=KNOWN)
    await add_entry(world, "en", "x was lost and gone for ever and more words", model=KNOWN)
    found = (await searched(world, "丢卡 x", kb_ids=["faq"])).hits
    assert "en" in [hit["chunk_id"] for hit in found[:10]]
