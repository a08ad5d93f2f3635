"""Hybrid search over fakes: what is asked of the stores, and what comes out."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from headrace.context import Scored
from headrace.errors import Conflict
from headrace.nodes.searching.hybrid import hybrid_search
from headrace.nodes.searching.search import Search
from headrace.text.fusion import COVERAGE_WEIGHTS

from ...fakes import FakeEmbedder, FakeVectors, World, a_chunk
from .worlds import found, searched

pytestmark = pytest.mark.anyio


async def a_world() -> World:
    world = World()
    await world.add(
        a_chunk("c1", "travel expenses are refunded", document_id="rules", page=3, section="2 > 2.1"),
        a_chunk("c2", "annual leave is fifteen days", document_id="leave"),
        a_chunk("c3", "差旅报销标准", document_id="zh", kb_id="kb2"),
    )
    return world


async def test_a_hit_says_how_and_where_it_was_found() -> None:
    world = await a_world()
    result = await hybrid_search(world.context(), Search(query="travel expenses", kb_ids=["kb1"]))
    hit = result.hits[0]
    assert (hit["chunk_id"], hit["match_type"]) == ("c1", "both")
    assert hit["ranks"] == {"vector": 1, "keyword": 1, "fused": 1}
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
    assert (hit["chunk_id"], hit["match_type"]) == ("c1", "both")
    assert hit["ranks"] == {"vector": 1, "keyword": 1, "fused": 1}
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


async def test_what_the_catalogue_lacks_or_has_switched_off_is_no_hit_and_reported() -> None:
    world, told = await a_world(), dict[str, list[str]]()

    def stale(kb_id: str, entry_ids: Sequence[str]) -> None:
        told[kb_id] = sorted(entry_ids)

    del world.catalogue.all_chunks["c1"]
    off = world.catalogue.all_chunks["c2"]
    world.catalogue.all_chunks["c2"] = replace(off, enabled=False)
    result = await searched(replace(world.context(), stale=stale), "travel expenses annual leave")
    assert result.hits == []
    assert {(left["chunk_id"], left["reason"]) for left in result.departures} == {
        ("c1", "gone"),
        ("c2", "gone"),
    }
    assert told == {"kb1": ["c1", "c2"]}


async def test_chunks_that_are_gone_leave_no_gap() -> None:
    world = World()
    await world.add(*(a_chunk(f"c{n}", "travel " + "far " * n) for n in range(12)))
    for n in range(9):
        del world.catalogue.all_chunks[f"c{n}"]
    assert await found(world, "travel", match_count=3) == ["c9", "c10", "c11"]


async def test_an_edited_chunk_is_found_by_its_new_entry_alone() -> None:
    world = World()
    await world.add(a_chunk("c1", "差旅报销标准", revision=2, entry_id="entry-2"))
    hit = (await searched(world, "差旅")).hits[0]
    assert (hit["chunk_id"], hit["chunk_revision"]) == ("c1", 2)


async def test_tags_narrow_the_search_like_documents() -> None:
    world = await a_world()
    world.catalogue.tags = {"hr": ["leave"], "all": ["rules", "leave", "zh"]}
    assert await found(world, "travel days", tag_ids=["hr"]) == ["c2"]
    assert set(await found(world, "travel days 报销", kb_ids=[], tag_ids=["hr", "all"])) == {"c1", "c2", "c3"}
    assert await found(world, "travel days", tag_ids=["hr"], keyword_threshold=9.0) == ["c2"]


async def test_documents_and_tags_together_are_documents_with_the_tags() -> None:
    world = await a_world()
    world.catalogue.tags = {"hr": ["leave"], "none": []}
    assert await found(world, "travel days", document_ids=["leave", "rules"], tag_ids=["hr"]) == ["c2"]
    assert await found(world, "travel days", document_ids=["rules"], tag_ids=["hr"]) == []


async def test_a_tag_that_no_document_has_finds_nothing() -> None:
    world = await a_world()
    world.catalogue.tags = {"none": []}
    assert await found(world, "travel", tag_ids=["none"]) == []


async def test_a_question_made_for_a_text_counts_for_the_text() -> None:
    world = await a_measured_world()
    ask = a_chunk("q1", "how are trips paid", kind="question", parent_chunk_id="c1", document_id="rules")
    await world.add(ask, model=KNOWN)
    hits = (await searched(world, "how are trips paid")).hits
    assert [hit["chunk_id"] for hit in hits] == ["c1"]
    assert (hits[0]["kind"], hits[0].get("question")) == ("text", "q1")
    assert hits[0]["score"] == pytest.approx(1.0)


async def test_a_text_that_matches_better_itself_is_found_as_itself() -> None:
    world = await a_measured_world()
    ask = a_chunk("q1", "who pays travel", kind="question", parent_chunk_id="c1", document_id="rules")
    await world.add(ask, model=KNOWN)
    hit = (await searched(world, "travel expenses are refunded")).hits[0]
    assert (hit["chunk_id"], hit.get("question")) == ("c1", None)


async def test_tables_and_images_keep_a_few_places_beside_the_texts() -> None:
    world = World()
    await world.add(*(a_chunk(f"t{n:02}", f"travel cost {n}") for n in range(60)))
    far = " ".join(f"w{n}" for n in range(9))
    await world.add(*(a_chunk(f"m{n}", f"travel {far}", kind="table") for n in range(8)))
    hits = (await searched(world, "travel cost", match_count=5)).hits
    assert [hit["kind"] for hit in hits] == ["text"] * 5 + ["table"] * 5
    assert [hit["score"] for hit in hits] == sorted((hit["score"] for hit in hits), reverse=True)


async def test_where_there_are_no_tables_none_are_asked_for() -> None:
    world = await a_world()
    await found(world, "travel")
    assert world.keywords.asked == ["travel"]


async def test_fusion_by_rank_can_be_asked_for() -> None:
    by_rank = (await searched(await a_measured_world(), "travel cost", fusion="rrf")).hits[0]
    assert by_rank["score"] == 1.0
    assert by_rank["scores"]["coverage"] is None
    by_coverage = (await searched(await a_measured_world(), "travel cost", fusion="coverage")).hits[0]
    assert by_coverage["scores"]["coverage"]


async def test_a_model_of_unknown_scale_is_fused_by_rank_whatever_is_asked_for() -> None:
    assert (await searched(await a_world(), "travel cost", fusion="coverage")).hits[0]["score"] == 1.0


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
