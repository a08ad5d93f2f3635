from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.context import Scored
from headrace.text.fusion import weighted_rrf

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
