"""Hybrid search over fakes: what is asked of the stores, and what comes out."""

import asyncio
from typing import Any

import pytest

from headrace.context import Chunk, Scored
from headrace.errors import Conflict, DependencyFailed
from headrace.nodes.searching.hybrid import Search, candidates, hybrid_search, passing, with_other_language
from headrace.text.fusion import COVERAGE_WEIGHTS, Fused

from ...fakes import FakeEmbedder, FakeKeywords, FakeVectors, World, a_chunk

pytestmark = pytest.mark.anyio


async def a_world() -> World:
    world = World()
    await world.add(
        a_chunk("c1", "travel expenses are refunded", document_id="rules", page=3, section="2 > 2.1"),
        a_chunk("c2", "annual leave is fifteen days", document_id="leave"),
        a_chunk("c3", "差旅报销标准", document_id="zh", kb_id="kb2"),
    )
    return world


async def found(world: World, query: str, **parts: object) -> list[str]:
    result = await hybrid_search(world.context(), Search(query=query, **{"kb_ids": ["kb1"], **parts}))  # pyright: ignore[reportArgumentType]
    return [hit["chunk_id"] for hit in result.hits]


async def test_a_hit_says_how_and_where_it_was_found() -> None:
    world = await a_world()
    result = await hybrid_search(world.context(), Search(query="travel expenses", kb_ids=["kb1"]))
    hit = result.hits[0]
    assert (hit["chunk_id"], hit["match_type"], hit["ranks"]) == ("c1", "both", {"vector": 1, "keyword": 1})
    assert hit["score"] == hit["scores"]["fused"] == 1.0
    assert hit["scores"]["keyword"] == 2.0
    assert (hit["source"]["page"], hit["source"]["section"]) == (3, "2 > 2.1")


async def test_the_embedding_of_the_question_is_recorded_without_the_address_of_its_model() -> None:
    world = World(embedder=FakeEmbedder("m@http://10.0.0.5:9000/v1"))
    await world.add(a_chunk("c1", "差旅报销标准"), model="m@http://10.0.0.5:9000/v1")
    [call] = (await hybrid_search(world.context(), Search(query="差旅", kb_ids=["kb1"]))).calls
    assert (call["role"], call["model"], call["error"]) == ("embedding", "m", None)


KNOWN = next(iter(COVERAGE_WEIGHTS))


async def a_measured_world() -> World:
    """The same with an embedding model whose weight of coverage is known."""
    world = World(embedder=FakeEmbedder(KNOWN))
    await world.add(
        a_chunk("c1", "travel expenses are refunded", document_id="rules"),
        a_chunk("c2", "annual leave is fifteen days", document_id="leave"),
        a_chunk("c3", "差旅报销标准", document_id="zh", kb_id="kb2"),
        model=KNOWN,
    )
    return world


async def test_with_a_known_model_the_score_is_cosine_and_coverage() -> None:
    result = await hybrid_search(
        (await a_measured_world()).context(), Search(query="travel cost", kb_ids=["kb1"])
    )
    hit = result.hits[0]
    assert (hit["chunk_id"], hit["match_type"], hit["ranks"]) == ("c1", "both", {"vector": 1, "keyword": 1})
    scores = {name: score or 0.0 for name, score in hit["scores"].items()}
    assert 0 < scores["coverage"] < 1
    assert 0 < scores["vector"] < 1
    assert scores["keyword"] == 1.0
    weight = COVERAGE_WEIGHTS[KNOWN]
    expected = (scores["vector"] + weight * scores["coverage"]) / (1 + weight)
    assert hit["score"] == scores["fused"] == pytest.approx(expected, abs=1e-6)


async def test_a_hit_of_one_channel_is_scored_by_both() -> None:
    world = await a_measured_world()
    world.vectors = OneNearest()
    await world.vectors.add(
        "kb1", KNOWN, [*(await a_measured_world()).vectors.entries["kb1", KNOWN].values()]
    )
    search = Search(query="travel annual leave days", kb_ids=["kb1"])
    hits = {hit["chunk_id"]: hit for hit in (await hybrid_search(world.context(), search)).hits}
    assert hits["c1"]["match_type"] == "keyword"
    assert 0 < (hits["c1"]["scores"]["vector"] or 0) < (hits["c2"]["scores"]["vector"] or 0)


class OneNearest(FakeVectors):
    async def search(self, *given: Any, **named: Any) -> list[Scored]:
        return (await super().search(*given, **named))[:1]


async def test_words_are_rare_or_common_over_all_knowledge_bases_in_scope() -> None:
    world = await a_measured_world()
    await world.add(*(a_chunk(f"d{n}", "报销", kb_id="kb2") for n in range(20)), model=KNOWN)

    async def coverage(*kb_ids: str) -> float:
        result = await hybrid_search(world.context(), Search(query="travel 报销", kb_ids=kb_ids))
        return next(hit["scores"]["coverage"] or 0.0 for hit in result.hits if hit["chunk_id"] == "c1")

    # 报销 is unheard of in the first one, common with the second: missing it weighs less.
    assert 0 < await coverage("kb1") < await coverage("kb1", "kb2") < 1


async def test_a_question_in_another_language_is_not_covered_by_the_name_they_share() -> None:
    world = World(embedder=FakeEmbedder(KNOWN))
    await world.add(a_chunk("c1", "LS 水轮机 的 保修"), a_chunk("c2", "年假"), model=KNOWN)
    query = "How many months of warranty does the LS turbine have"
    (hit,) = (await hybrid_search(world.context(), Search(query=query, kb_ids=["kb1"]))).hits
    assert 0 < (hit["scores"]["coverage"] or 0) < 0.15


@pytest.mark.parametrize("partial_ok", [True, False])
async def test_scores_that_cannot_be_completed_fail_their_knowledge_base(partial_ok: bool) -> None:
    world = await a_measured_world()
    world.keywords.failing.add("kb2")
    search = Search(query="travel 报销", kb_ids=["kb1", "kb2"], partial_ok=partial_ok)
    if not partial_ok:
        with pytest.raises(DependencyFailed, match="keyword"):
            await hybrid_search(world.context(), search)
        return
    result = await hybrid_search(world.context(), search)
    assert [hit["chunk_id"] for hit in result.hits] == ["c1"]
    assert [failure.dependency for failure in result.failures] == ["keyword index"]


async def test_several_knowledge_bases_are_searched_together() -> None:
    assert set(await found(await a_world(), "travel 报销", kb_ids=["kb1", "kb2"])) == {"c1", "c3"}


async def test_a_knowledge_base_out_of_scope_is_not_searched() -> None:
    assert await found(await a_world(), "报销", kb_ids=["kb1"]) == []


async def test_named_documents_narrow_the_search_to_them() -> None:
    world = await a_world()
    assert await found(world, "travel days", document_ids=["leave"]) == ["c2"]
    assert await found(world, "travel 报销", kb_ids=["kb1", "kb2"], document_ids=["zh"]) == ["c3"]


async def test_a_document_alone_brings_its_knowledge_base() -> None:
    assert await found(await a_world(), "报销", kb_ids=[], document_ids=["zh"]) == ["c3"]


async def test_a_document_of_a_knowledge_base_out_of_scope_is_not_searched() -> None:
    assert await found(await a_world(), "报销", kb_ids=["kb1"], document_ids=["zh"]) == []


async def test_thresholds_drop_weak_candidates_and_say_so() -> None:
    world = await a_world()
    search = Search(query="travel expenses", kb_ids=["kb1"], vector_threshold=1.0, keyword_threshold=5.0)
    result = await hybrid_search(world.context(), search)
    assert result.hits == []
    assert {departure["reason"] for departure in result.departures} == {"below_keyword_threshold"}


async def test_a_candidate_over_one_threshold_stays() -> None:
    world = await a_world()
    result = await hybrid_search(
        world.context(), Search(query="travel expenses", kb_ids=["kb1"], vector_threshold=1.0)
    )
    assert [(hit["chunk_id"], hit["match_type"]) for hit in result.hits] == [("c1", "keyword")]
    assert result.departures == []


async def test_thresholds_do_not_hold_for_documents_the_user_named() -> None:
    assert await found(await a_world(), "travel", document_ids=["rules"], keyword_threshold=9.0) == ["c1"]


async def test_a_chunk_that_the_catalogue_lost_or_disabled_is_no_hit() -> None:
    world = await a_world()
    del world.catalogue.all_chunks["c1"]
    result = await hybrid_search(world.context(), Search(query="travel expenses", kb_ids=["kb1"]))
    assert result.hits == []
    assert [(left["chunk_id"], left["reason"]) for left in result.departures] == [("c1", "gone")]


async def test_another_embedding_model_is_refused_before_any_search() -> None:
    world = World()
    await world.add(a_chunk("c1", "text"), model="older")
    with pytest.raises(Conflict) as refused:
        await found(world, "text")
    assert refused.value.code == "embedding_model_mismatch"
    assert refused.value.details == {
        "knowledge_base_id": "kb1",
        "indexed_with": "older",
        "configured": "fake-embedder",
    }
    assert world.keywords.asked == []


async def test_one_failed_store_fails_the_search() -> None:
    world = await a_world()
    world.vectors.failing.add("kb2")
    with pytest.raises(DependencyFailed):
        await found(world, "travel 报销", kb_ids=["kb1", "kb2"])


async def test_partial_results_are_possible_on_request() -> None:
    world = await a_world()
    world.vectors.failing.add("kb2")
    search = Search(query="travel 报销", kb_ids=["kb1", "kb2"], partial_ok=True)
    result = await hybrid_search(world.context(), search)
    assert [hit["chunk_id"] for hit in result.hits] == ["c1"]
    assert [failure.dependency for failure in result.failures] == ["vector store"]


async def test_when_every_store_fails_partial_results_are_an_error_too() -> None:
    world = await a_world()
    world.vectors.failing |= {"kb1", "kb2"}
    with pytest.raises(DependencyFailed):
        await found(world, "travel", kb_ids=["kb1", "kb2"], partial_ok=True)


async def test_a_store_that_hangs_is_given_up() -> None:
    world = await a_world()
    world.keywords = HangingKeywords()
    with pytest.raises(DependencyFailed, match="keyword index"):
        await found(world, "travel", store_timeout_s=0.01)


class HangingKeywords(FakeKeywords):
    async def search(self, *given: Any, **named: Any) -> list[Scored]:
        await asyncio.Event().wait()
        return []


@pytest.mark.parametrize(
    ("match_count", "kbs", "wanted"),
    [(50, 1, 250), (5, 1, 50), (50, 2, 500), (100, 1, 500), (0, 1, 250), (-1, 1, 250), (5, 3, 150)],
)
def test_more_candidates_are_recalled_than_are_kept(match_count: int, kbs: int, wanted: int) -> None:
    assert candidates(match_count, kbs) == wanted


def test_only_candidates_that_had_a_place_are_told_of() -> None:
    scored = [Scored(chunk_id=f"c{number}", score=0.5) for number in range(20)]
    search = Search(query="q", kb_ids=[], match_count=3, vector_threshold=0.9)
    kept, departures = passing({"vector": scored, "keyword": []}, search)
    assert (kept["vector"], len(departures)) == ([], 3)


def placed(id: str, text: str, *, score: float, cosine: float) -> tuple[Fused, Chunk]:
    return Fused(chunk_id=id, score=score, scores={"vector": cosine}, ranks={"vector": 1}), a_chunk(id, text)


def test_two_of_the_first_ten_places_are_kept_for_the_other_language() -> None:
    own = [placed(f"zh{n}", "差旅报销标准", score=1 - n / 20, cosine=0.9) for n in range(12)]
    foreign = [
        placed("en1", "travel refunds", score=0.02, cosine=0.7),
        placed("en2", "travel rules", score=0.01, cosine=0.8),
    ]
    found = with_other_language("差旅报销", [*own, *foreign])
    assert [one.chunk_id for one, _ in found].index("en2") == 6
    assert [one.chunk_id for one, _ in found].index("en1") == 9
    assert [one.score for one, _ in found] == sorted((one.score for one, _ in found), reverse=True)


def test_one_language_alone_stays_as_it_is() -> None:
    own = [placed(f"en{n}", "travel", score=1 - n / 20, cosine=0.9) for n in range(12)]
    assert with_other_language("travel", own) == own
    assert with_other_language("差旅", own) == own


def test_a_good_hit_in_the_other_language_keeps_its_place() -> None:
    found = [placed("en", "travel", score=1.0, cosine=0.9), placed("zh", "差旅", score=0.5, cosine=0.8)]
    assert with_other_language("差旅", found) == found
