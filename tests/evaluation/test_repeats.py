from headrace.evaluation.repeats import is_said, standing_for
from headrace.state import Departure

TEXT = "国内出差住宿标准为每晚不超过四百五十元，须事先申请。"
TEXTS = {
    "a": f"差旅。{TEXT}",
    "b": TEXT,
    "c": "Replace the seal kit every 4000 operating hours.",
    "d": TEXT.replace("，", ", "),
}


def left(chunk_id: str, other: str | None) -> Departure:
    gone = Departure(chunk_id=chunk_id, stage="rerank", reason="near_duplicate", score=0.5, limit=None)
    return {**gone, "other": other} if other else gone


def test_what_left_for_a_hit_that_says_it_comes_after_that_hit() -> None:
    assert standing_for(["a", "c"], [left("b", "a")], TEXTS) == ["a", "b", "c"]


def test_what_is_not_said_there_has_left_for_good() -> None:
    assert standing_for(["a"], [left("c", "a"), left("d", None)], TEXTS) == ["a"]


def test_repeats_of_repeats_are_said_too() -> None:
    assert standing_for(["a"], [left("b", "a"), left("d", "b")], TEXTS) == ["a", "b", "d"]


def test_hits_that_left_for_each_other_end() -> None:
    assert standing_for(["b"], [left("d", "b"), left("b", "d")], TEXTS) == ["b", "d"]


def test_half_of_a_text_does_not_say_it() -> None:
    assert not is_said(TEXTS["a"] + TEXTS["c"], TEXTS["a"])
    assert is_said(TEXTS["d"], TEXTS["a"])
    assert not is_said("", "anything")
