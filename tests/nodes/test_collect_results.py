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
