"""Each chunk and each text once, with everything known about how it was found."""

import pytest
from langgraph.runtime import Runtime

from headrace.nodes.collect_results import by_chunk, by_content, collect_results

from ..fakes import World, a_chunk, a_hit, asked

pytestmark = pytest.mark.anyio


def test_the_better_score_of_a_chunk_stays_with_the_ranks_of_both() -> None:
    by_vector = a_hit(
        score=0.6, match_type="vector", ranks={"vector": 1}, scores={"vector": 0.8, "keyword": None}
    )
    by_keyword = a_hit(
        score=0.4, match_type="keyword", ranks={"keyword": 2}, scores={"vector": None, "keyword": 7.0}
    )
    [hit] = by_chunk([by_keyword, by_vector])
    assert (hit["score"], hit["match_type"]) == (0.6, "both")
    assert hit["ranks"] == {"vector": 1, "keyword": 2}
    assert hit["scores"] == {"vector": 0.8, "keyword": 7.0}


def test_a_known_question_stays_one_however_else_it_was_found() -> None:
    asked_for = a_hit(score=0.9, kind="faq", match_type="faq", question="q1")
    [hit] = by_chunk([a_hit(score=0.5, match_type="keyword", ranks={"keyword": 4}), asked_for])
    assert (hit["match_type"], hit.get("question")) == ("faq", "q1")
    assert hit["ranks"] == {"vector": 1, "keyword": 4}


def test_what_other_words_found_stands_below_an_equal() -> None:
    expanded = a_hit("a", score=0.0, marks=["expanded"])
    assert [hit["chunk_id"] for hit in by_chunk([expanded, a_hit("b", score=0.0)])] == ["b", "a"]


def test_a_hit_that_was_found_at_first_is_not_one_of_other_words() -> None:
    [hit] = by_chunk([a_hit(score=0.9, marks=[]), a_hit(score=0.1, marks=["expanded"])])
    assert hit["marks"] == []


def test_the_same_text_under_two_ids_is_one_hit() -> None:
    hits = [a_hit("c1", score=0.9), a_hit("c2", score=0.8)]
    kept, departures = by_content(hits, ["差旅 报销。", "差旅报销"])
    assert [hit["chunk_id"] for hit in kept] == ["c1"]
    assert [(left["chunk_id"], left["reason"], left.get("other")) for left in departures] == [
        ("c2", "same_text", "c1")
    ]


def test_a_hit_whose_text_is_gone_leaves() -> None:
    kept, departures = by_content([a_hit("c1"), a_hit("c2")], [None, "text"])
    assert [hit["chunk_id"] for hit in kept] == ["c2"]
    assert departures[0]["reason"] == "gone"


async def test_the_node_puts_the_best_first() -> None:
    world = World()
    await world.add(a_chunk("c1", "one"), a_chunk("c2", "two"))
    hits = [a_hit("c1", score=0.2), a_hit("c2", score=0.7)]
    update = await collect_results({"request": asked(), "chunk_hits": hits}, Runtime(context=world.context()))
    assert [hit["chunk_id"] for hit in update.get("hits", [])] == ["c2", "c1"]
