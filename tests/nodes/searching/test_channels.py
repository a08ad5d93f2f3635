"""Thresholds and joined lists."""

from hypothesis import given
from hypothesis import strategies as st

from headrace.context import Scored
from headrace.nodes.searching.channels import best_first, joined, passing, recall_of


def scored(**scores: float) -> list[Scored]:
    return [Scored(chunk_id=id, score=score) for id, score in scores.items()]


def test_only_candidates_that_had_a_place_are_told_of() -> None:
    many = [Scored(chunk_id=f"c{number}", score=0.5) for number in range(20)]
    recalls = {"": recall_of({"vector": many, "keyword": []})}
    kept, weak = passing(recalls, {"vector": 0.9}, shown=3)
    assert (kept[""].channels["vector"], len(weak)) == ([], 3)


def test_what_another_channel_or_wording_keeps_is_not_weak() -> None:
    recalls = {
        "": recall_of({"vector": scored(a=0.5, b=0.4, c=0.3), "keyword": scored(a=9.0, b=1.0)}),
        "en": recall_of({"vector": scored(b=0.9), "keyword": []}),
    }
    kept, weak = passing(recalls, {"vector": 0.8, "keyword": 5.0}, shown=10)
    assert [one.entry_id for one in weak] == ["c"]
    assert [one.chunk_id for one in kept[""].channels["keyword"]] == ["a"]
    assert (weak[0].channel, weak[0].score, weak[0].limit) == ("vector", 0.3, 0.8)


def test_without_limits_all_pass() -> None:
    recalls = {"": recall_of({"vector": scored(a=0.0), "keyword": scored(b=0.1)})}
    assert passing(recalls, {}, shown=10) == (recalls, [])


def test_several_recalls_are_one_with_all_their_scores() -> None:
    both = joined(
        [
            recall_of({"vector": scored(a=0.5), "keyword": scored(a=2.0)}),
            recall_of({"vector": scored(b=0.9), "keyword": []}),
        ]
    )
    assert [one.chunk_id for one in both.channels["vector"]] == ["b", "a"]
    assert both.scores == {"vector": {"a": 0.5, "b": 0.9}, "keyword": {"a": 2.0}}
    assert joined([]).ids == []


lists = st.lists(st.lists(st.tuples(st.sampled_from("abcdef"), st.floats(0, 1)), max_size=6), max_size=4)


@given(lists)
def test_each_entry_is_listed_once_with_its_best_score(given_lists: list[list[tuple[str, float]]]) -> None:
    result = best_first([Scored(chunk_id=id, score=score) for id, score in one] for one in given_lists)
    every = [pair for one in given_lists for pair in one]
    assert {one.chunk_id: one.score for one in result} == {
        id: max(score for other, score in every if other == id) for id, _ in every
    }
    assert [one.score for one in result] == sorted((one.score for one in result), reverse=True)
