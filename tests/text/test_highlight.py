from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from headrace.text.highlight import highlights, joined
from headrace.text.tokens import Tokens

TOKENS = Tokens()
ranges = st.lists(
    st.tuples(st.integers(0, 50), st.integers(1, 9)).map(lambda pair: (pair[0], pair[0] + pair[1]))
)


def shown(text: str, question: str) -> list[str]:
    return [text[start:end] for start, end in highlights(text, question, TOKENS)]


def test_words_are_marked_in_whatever_form_they_stand() -> None:
    assert shown("臺灣的軟體工程師，ＡＰＩ 與 Leaves。", "软体工程师的API leave") == [
        "軟體工程師",
        "ＡＰＩ",
        "Leaves",
    ]


def test_stop_words_of_the_question_mark_nothing() -> None:
    assert shown("什么是年假？年假的规定是什么", "年假规定是什么") == ["年假", "年假", "规定"]
    assert shown("What is the annual leave of it?", "what is annual leave") == ["annual", "leave"]


def test_a_text_without_the_words_has_no_ranges() -> None:
    assert shown("😀 zero\u200bwidth", "年假") == []
    assert shown("", "年假") == []


@given(ranges)
def test_joined_ranges_cover_the_same_and_stay_apart(given_ranges: list[tuple[int, int]]) -> None:
    result = joined(given_ranges)
    assert {place for start, end in result for place in range(start, end)} == {
        place for start, end in given_ranges for place in range(start, end)
    }
    assert all(left[1] < right[0] for left, right in pairwise(result))
