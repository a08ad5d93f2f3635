import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.text.joining import LEAST_OVERLAP, join_overlapping


def test_the_shared_seam_is_said_once() -> None:
    a, b = "员工工作满一年后，每年享受年假十天。", "每年享受年假十天。工龄满十年的享受十五天。"
    assert join_overlapping(a, b) == "员工工作满一年后，每年享受年假十天。工龄满十年的享受十五天。"


def test_the_longest_seam_counts() -> None:
    assert join_overlapping("x abcdefgh abcdefgh", "abcdefgh abcdefgh y") == "x abcdefgh abcdefgh y"


def test_a_chance_match_of_few_characters_is_no_seam() -> None:
    assert join_overlapping("共10", "0元") == "共10\n0元"


@pytest.mark.parametrize(
    ("a", "b"), [("年假十天", "假十"), ("假十", "年假十天"), ("年假十天", ""), ("", "年假十天")]
)
def test_a_text_inside_the_other_adds_nothing(a: str, b: str) -> None:
    assert join_overlapping(a, b) == "年假十天"


texts = st.text(alphabet="年假ab \n", max_size=40)


@given(texts, texts)
def test_both_texts_stand_in_the_result_whole(a: str, b: str) -> None:
    joined = join_overlapping(a, b)
    assert a in joined
    assert b in joined
    assert len(joined) <= len(a) + len(b) + 1


@given(texts, st.integers(0, 40), st.integers(0, 40))
def test_cutting_with_an_overlap_and_joining_gives_the_text(text: str, start: int, length: int) -> None:
    end = min(len(text), start + length)
    if end - start >= LEAST_OVERLAP:
        # A text that repeats itself may have a longer seam than the one it was cut with.
        assert len(join_overlapping(text[:end], text[start:])) <= len(text)


def test_cutting_a_text_that_does_not_repeat_itself_and_joining_restores_it() -> None:
    text = "第一条 为规范考勤，制定本办法。Article 2: it applies to all employees of the company."
    for start in range(1, 40):
        assert join_overlapping(text[: start + 20], text[start:]) == text
