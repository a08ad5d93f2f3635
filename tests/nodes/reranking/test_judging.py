from typing import Any

import pytest

from headrace.nodes.reranking.judging import Judged, judgement
from headrace.state import Hit

from ...fakes import a_hit, asked
from .test_rescue import among


def judge(
    scores: dict[str, float], *hits: Hit, query: str = "", exact: tuple[str, ...] = (), **request: Any
) -> Judged:
    known = {hit["chunk_id"]: hit for hit in hits}
    given = [known.get(chunk_id, a_hit(chunk_id)) for chunk_id in scores]
    return judgement(among(*given, query=query, exact=exact), scores, asked(**request))


def kept(opinion: Judged) -> list[str]:
    return [hit["chunk_id"] for hit in opinion.hits]


def left(opinion: Judged) -> list[tuple[str, str, float | None]]:
    return [(one["chunk_id"], one["reason"], one["limit"]) for one in opinion.departures]


def test_the_threshold_is_lowered_once_when_nothing_passes() -> None:
    opinion = judge({"a": 0.4, "b": 0.1}, rerank_threshold=0.5)
    assert (kept(opinion), opinion.verdict) == (["a"], "ok")
    assert left(opinion) == [("b", "below_threshold", 0.35)]


def test_the_best_of_weak_ones_is_marked() -> None:
    opinion = judge({"a": 0.29, "b": 0.1})
    assert [hit["marks"] for hit in opinion.hits] == [["best_of_weak"]]
    assert left(opinion) == [("b", "below_threshold", 0.3)]


@pytest.mark.parametrize("request_parts", [{"document_ids": ["doc1"]}, {"tag_ids": ["t1"]}])
def test_in_what_the_user_pointed_at_the_best_one_always_stays(request_parts: dict[str, Any]) -> None:
    assert kept(judge({"a": 0.0, "b": 0.01}, **request_parts)) == ["b"]


def test_everything_hopeless_is_rejected() -> None:
    opinion = judge({"a": 0.1, "b": 0.05})
    assert (kept(opinion), opinion.verdict, len(opinion.departures)) == ([], "rejected", 2)


def test_a_rejection_leaves_what_was_found_on_the_web() -> None:
    opinion = judge({"a": 0.1, "w": 0.05}, a_hit("w", kind="web", match_type="web"))
    assert (kept(opinion), opinion.verdict) == (["w"], "rejected")


def test_a_rescued_hit_is_marked_and_shows_what_the_model_gave_it() -> None:
    opinion = judge({"a": 0.9, "b": 0.1, "c": 0.2}, exact=("b",))
    [_, rescued] = opinion.hits
    assert (rescued["chunk_id"], rescued["marks"], rescued["scores"]["rerank"]) == ("b", ["rescued"], 0.1)
    assert rescued["score"] == pytest.approx(0.6 * 0.31 + 0.3 * 0.9 + 0.1)
    assert left(opinion) == [("c", "below_threshold", 0.3)]


def test_tables_stay_by_number_not_by_score() -> None:
    tables = [a_hit(f"t{n}", kind="table") for n in range(7)]
    scores = {"a": 0.9} | {f"t{n}": 0.01 + n / 1000 for n in range(7)}
    opinion = judge(scores, *tables)
    assert kept(opinion) == ["a", "t2", "t3", "t4", "t5", "t6"]
    assert left(opinion) == [("t0", "over_quota", 5.0), ("t1", "over_quota", 5.0)]


def test_a_table_that_fits_as_well_as_tables_can_is_an_answer_of_its_own() -> None:
    opinion = judge({"a": 0.001, "t": 0.05}, a_hit("t", kind="table"))
    assert (kept(opinion), opinion.verdict) == (["t"], "ok")


def test_tables_of_documents_that_have_nothing_to_do_with_it_are_rejected_too() -> None:
    opinion = judge({"a": 0.001, "t": 0.002}, a_hit("t", kind="table"))
    assert opinion.verdict == "rejected"
    assert {reason for _, reason, _ in left(opinion)} == {"below_threshold"}


def test_a_query_that_asks_for_a_table_raises_tables() -> None:
    opinion = judge({"a": 0.1, "t": 0.22}, a_hit("t", kind="table"), query="哪张表")
    assert (kept(opinion), [hit["marks"] for hit in opinion.hits]) == (["t"], [[]])
    assert opinion.hits[0]["scores"]["rerank"] == 0.22
