from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.context import QueryTerms, Scored
from headrace.text.fusion import by_coverage, greatest_bm25, summed, weighted_rrf

WEIGHTS = {"keyword": 0.7, "vector": 0.3}


def hits(*ids: str) -> list[Scored]:
    return [Scored(chunk_id=id, score=1 - place / 100) for place, id in enumerate(ids)]


def order(**channels: list[Scored]) -> list[str]:
    return [hit.chunk_id for hit in weighted_rrf(channels, WEIGHTS)]


def test_a_chunk_that_both_channels_found_comes_first() -> None:
    assert order(keyword=hits("年假", "病假"), vector=hits("leave", "病假"))[0] == "病假"


def test_first_everywhere_is_one_and_first_in_one_channel_is_its_weight() -> None:
    fused = weighted_rrf({"keyword": hits("both", "k"), "vector": hits("both")}, WEIGHTS)
    assert fused[0].score == 1.0
    alone = weighted_rrf({"keyword": hits("k"), "vector": []}, WEIGHTS)
    assert alone[0].score == pytest.approx(0.7)


def test_a_channel_that_was_not_searched_takes_no_weight() -> None:
    assert weighted_rrf({"vector": hits("v")}, WEIGHTS)[0].score == 1.0


def test_provenance_of_every_channel_is_kept() -> None:
    (first, _) = weighted_rrf({"keyword": hits("a", "b"), "vector": hits("b")}, WEIGHTS)
    assert (first.chunk_id, dict(first.ranks)) == ("b", {"keyword": 2, "vector": 1})
    assert dict(first.scores) == {"keyword": 0.99, "vector": 1.0}


def test_ties_go_by_chunk_id() -> None:
    same = [Scored(chunk_id=id, score=0.5) for id in ("c", "a", "b")]
    assert order(keyword=same, vector=[]) == ["a", "b", "c"]


def test_a_chunk_listed_twice_counts_once_and_nan_not_at_all() -> None:
    twice = [*hits("a", "b"), Scored(chunk_id="a", score=0.1), Scored(chunk_id="n", score=float("nan"))]
    assert order(keyword=twice, vector=[]) == ["a", "b"]


def test_nothing_found_is_nothing() -> None:
    assert weighted_rrf({}, WEIGHTS) == weighted_rrf({"keyword": [], "vector": []}, WEIGHTS) == []


def test_what_lies_beyond_the_depth_stays_behind_in_its_order() -> None:
    keyword = [f"k{number:02}" for number in range(30)]
    fused = order(keyword=hits(*keyword), vector=hits("k25", "v"))
    assert fused.index("k25") < fused.index("k10")
    assert [id for id in fused if "k10" <= id <= "k24"] == keyword[10:25]


scored = st.builds(Scored, chunk_id=st.text("年假ab", min_size=1, max_size=3), score=st.floats(-1, 50))
channels = st.dictionaries(st.sampled_from(["keyword", "vector"]), st.lists(scored, max_size=40))


@given(channels, st.integers(1, 12))
def test_scores_lie_on_the_unit_interval_and_those_within_the_depth_on_top(
    channels: dict[str, list[Scored]], depth: int
) -> None:
    fused = weighted_rrf(channels, WEIGHTS, depth=depth)
    assert {hit.chunk_id for hit in fused} == {hit.chunk_id for hits in channels.values() for hit in hits}
    assert all(0 < hit.score <= 1 for hit in fused)
    within = [min(hit.ranks.values()) <= depth for hit in fused]
    assert within == sorted(within, reverse=True)
    inside = [hit.score for hit, near in zip(fused, within, strict=True) if near]
    beyond = [hit.score for hit, near in zip(fused, within, strict=True) if not near]
    assert not beyond or min(inside) > max(beyond)


@given(channels, st.randoms())
def test_the_order_of_arrival_does_not_matter(channels: dict[str, list[Scored]], random: Random) -> None:
    shuffled = {name: random.sample(hits, len(hits)) for name, hits in channels.items()}
    assert weighted_rrf(shuffled, WEIGHTS) == weighted_rrf(channels, WEIGHTS)


def covered(
    cosines: dict[str, float], bm25: dict[str, float], *, most: float = 10.0, weight: float = 0.125
) -> dict[str, float]:
    channels = {
        "vector": [Scored(chunk_id=id, score=score) for id, score in cosines.items()],
        "keyword": [Scored(chunk_id=id, score=score) for id, score in bm25.items()],
    }
    fused = by_coverage(channels, {"vector": cosines, "keyword": bm25}, most, weight)
    return {hit.chunk_id: hit.score for hit in fused}


def test_words_decide_between_equally_near_texts_and_nearness_between_equally_covered_ones() -> None:
    assert [*covered({"年假": 0.8, "leave": 0.8}, {"leave": 3.0})] == ["leave", "年假"]
    assert [*covered({"年假": 0.8, "leave": 0.9}, {"leave": 3.0, "年假": 3.0})] == ["leave", "年假"]


def test_the_score_is_a_share_of_the_best_one_possible() -> None:
    assert covered({"a": 1.0, "b": 0.8, "c": 0.9}, {"a": 10.0, "b": 5.0}) == pytest.approx(
        {"a": 1.0, "b": (0.8 + 0.125 / 2) / 1.125, "c": 0.8}
    )


def test_both_scores_count_whichever_channel_found_a_chunk() -> None:
    channels = {"vector": hits("病假"), "keyword": hits("sick")}
    scores = {"vector": {"病假": 0.8, "sick": 0.85}, "keyword": {"病假": 2.0, "sick": 4.0}}
    (first, second) = by_coverage(channels, scores, 8.0, 0.125)
    assert (first.chunk_id, dict(first.ranks)) == ("sick", {"keyword": 1})
    assert dict(first.scores) == {"vector": 0.85, "keyword": 4.0, "coverage": 0.5}
    assert (second.chunk_id, dict(second.ranks)) == ("病假", {"vector": 1})


def test_a_channel_that_was_not_searched_leaves_the_other_ones_score() -> None:
    (vector,) = by_coverage({"vector": hits("v")}, {"vector": {"v": 0.7}}, 0.0, 0.125)
    assert (vector.score, dict(vector.scores)) == (0.7, {"vector": 0.7})
    (keyword,) = by_coverage({"keyword": hits("k")}, {"keyword": {"k": 3.0}}, 4.0, 0.125)
    assert keyword.score == 0.75


def test_a_chunk_whose_vector_is_missing_is_as_far_as_the_farthest() -> None:
    assert [*covered({"near": 0.9, "far": 0.7}, {"k": 9.0})] == ["near", "k", "far"]


def test_equal_scores_go_by_chunk_id_with_coverage_too() -> None:
    assert [*covered({"c": 0.5, "a": 0.5}, {"b": 1.0, "d": 1.0})] == ["b", "d", "a", "c"]


def terms(entries: int, **frequencies: int) -> QueryTerms:
    return QueryTerms(entries=entries, frequencies=frequencies, saturation=2.2)


def test_words_that_no_text_has_make_every_coverage_smaller() -> None:
    known, unknown = greatest_bm25(terms(100, 年假=5)), greatest_bm25(terms(100, 年假=5, paternity=0))
    assert unknown > 2 * known > 0


def test_terms_are_counted_over_all_knowledge_bases() -> None:
    assert greatest_bm25(summed([terms(60, leave=4), terms(40, leave=6, 年假=0)])) == pytest.approx(
        greatest_bm25(terms(100, leave=10, 年假=0))
    )


def test_a_question_without_words_has_nothing_to_cover() -> None:
    assert greatest_bm25(summed([])) == greatest_bm25(terms(5)) == 0.0
    assert covered({"a": 0.9}, {}, most=0.0) == pytest.approx({"a": 0.8})


@given(channels, st.floats(0, 60), st.floats(0, 1), st.randoms())
def test_coverage_scores_lie_on_the_unit_interval_in_one_order(
    channels: dict[str, list[Scored]], most: float, weight: float, random: Random
) -> None:
    scores = {name: {hit.chunk_id: hit.score for hit in found} for name, found in channels.items()}
    fused = by_coverage(channels, scores, most, weight)
    assert {hit.chunk_id for hit in fused} == {hit.chunk_id for found in channels.values() for hit in found}
    assert all(0 <= hit.score <= 1 for hit in fused)
    assert fused == sorted(fused, key=lambda hit: (-hit.score, hit.chunk_id))
    shuffled = {name: random.sample(found, len(found)) for name, found in channels.items()}
    assert by_coverage(shuffled, scores, most, weight) == fused
