import pytest

from headrace.nodes.reranking.thresholds import found_elsewhere, holding_limit, limits, worth_reading

from ...fakes import a_hit


@pytest.mark.parametrize(
    ("scores", "threshold", "limit"),
    [
        ([0.4, 0.1], 0.3, 0.3),
        ([0.4, 0.1], 0.5, 0.35),
        ([0.31, 0.1], 0.4, 0.3),
        ([0.29, 0.1], 0.35, None),
        ([0.2], 0.25, None),
        ([0.0], 0.0, 0.0),
        ([], 0.3, None),
    ],
)
def test_the_threshold_is_lowered_once_and_never_under_the_default(
    scores: list[float], threshold: float, limit: float | None
) -> None:
    assert holding_limit(scores, threshold) == limit


def test_a_threshold_under_the_default_is_not_raised() -> None:
    assert limits(0.1) == [0.1]


@pytest.mark.parametrize(("score", "narrowed", "kept"), [(0.15, False, 1), (0.14, False, 0), (0.0, True, 1)])
def test_the_best_of_weak_ones_is_read_unless_it_is_hopeless(score: float, narrowed: bool, kept: int) -> None:
    assert worth_reading(score, narrowed=narrowed) == bool(kept)


def test_only_web_pages_and_entities_outlive_a_rejection() -> None:
    hits = [a_hit("c1"), a_hit("w", kind="web", match_type="web"), a_hit("g", match_type="graph")]
    assert [hit["chunk_id"] for hit in found_elsewhere(hits)] == ["w", "g"]
