import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.text.joining import LEAST_OVERLAP, join_following, join_overlapping, seam


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


# --- what follows in the same document ---

HEADER = "| 设备 | 数量 |"


def test_a_row_that_a_table_has_twice_stays_there_twice() -> None:
    assert join_following(f"{HEADER}\n| pump | 12 |", "| pump | 12 |\n| 阀 | 7 |") == (
        f"{HEADER}\n| pump | 12 |\n| pump | 12 |\n| 阀 | 7 |"
    )


def test_the_header_that_each_piece_of_a_table_begins_with_stands_once() -> None:
    a, b = f"总则\n{HEADER}\n| pump | 12 |", f"{HEADER}\n| pump | 12 |"
    assert join_following(a, b) == f"{a}\n| pump | 12 |"


def test_what_a_text_has_of_the_one_before_it_elsewhere_than_at_its_end_is_said_again() -> None:
    assert join_following("见第三条规定的标准。其他。", "见第三条规定的标准。") == (
        "见第三条规定的标准。其他。\n见第三条规定的标准。"
    )


def test_texts_that_were_cut_without_overlap_have_none() -> None:
    assert join_following("Ask your manager.", "Ask your manager.", overlapping=False) == (
        "Ask your manager.\nAsk your manager."
    )


@given(texts, texts)
def test_a_seam_is_the_longest_there_is(a: str, b: str) -> None:
    lengths = [n for n in range(LEAST_OVERLAP, min(len(a), len(b)) + 1) if a.endswith(b[:n])]
    assert seam(a, b) == max(lengths, default=0)
