"""The cut, always the same for the same input."""

from itertools import permutations

from headrace.nodes.filter_top_k import best

from ..fakes import a_hit


def test_the_best_stay_and_the_others_say_why_they_left() -> None:
    selected, departures = best([a_hit("low", score=0.1), a_hit("high", score=0.9)], count=1)
    assert [hit["chunk_id"] for hit in selected] == ["high"]
    assert selected[0]["scores"]["final"] == 0.9
    assert [(left["chunk_id"], left["reason"], left["limit"]) for left in departures] == [
        ("low", "over_limit", 1.0)
    ]


def test_ties_are_broken_by_place_whatever_the_order_of_arrival() -> None:
    hits = [
        a_hit("z", score=0.5, document_id="a", chunk_index=2),
        a_hit("y", score=0.5, document_id="a", chunk_index=1),
        a_hit("x", score=0.5, document_id="b", chunk_index=0),
        a_hit("w", score=0.5, document_id="a", kind="table", chunk_index=0),
    ]
    orders = {tuple(hit["chunk_id"] for hit in best(list(order), count=4)[0]) for order in permutations(hits)}
    assert orders == {("w", "y", "z", "x")}
