from typing import cast

from headrace.graph.tables import departure_table, hit_table, stage_hits
from headrace.state import Departure, RagState

from ..fakes import a_hit


def test_stages_come_in_the_order_of_the_graph_and_only_those_that_ran() -> None:
    state = cast(RagState, {"ranked": [a_hit("b")], "chunk_hits": [a_hit("a"), a_hit("b")]})
    assert list(stage_hits(state)) == ["search_chunks", "rerank"]


def test_texts_of_documents_are_shown_as_text() -> None:
    shown = hit_table([a_hit("a")], {}, ["<script>alert('水')</script>"])
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown


def test_a_long_passage_is_cut_and_says_so() -> None:
    assert "水" * 60 + "…" in hit_table([a_hit("a")], {}, ["水" * 61])


def test_a_departure_without_a_limit_has_an_empty_cell() -> None:
    left = Departure(chunk_id="a", stage="rerank", reason="near_duplicate", score=0.5, limit=None)
    assert "<td>near_duplicate</td><td>a</td><td>0.500</td><td></td>" in departure_table([left])
