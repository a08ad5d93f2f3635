import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.cli.words import word_diff


def drawn(first: str, second: str) -> str:
    signs = {"same": "{}", "out": "[-{}-]", "in": "{{+{}+}}"}
    return "".join(signs[kind].format(text) for kind, text in word_diff(first, second))


def test_chinese_differs_by_character_without_spaces() -> None:
    assert drawn("住宿标准为每晚不超过 450 元。", "住宿的标准为每晚 500 元。") == (
        "住宿{+的+}标准为每晚[-不超过 450-]{+ 500+} 元。"
    )


def test_english_differs_by_word() -> None:
    assert drawn("Use only lithium grease.", "Use lithium greases.") == (
        "Use[- only-] lithium [-grease-]{+greases+}."
    )


def test_a_citation_and_a_number_are_never_taken_apart() -> None:
    assert drawn("12.5 天[1]。", "12.8 天[12]。") == "[-12.5-]{+12.8+} 天[-[1]-]{+[12]+}。"


def test_a_lone_word_between_two_changes_belongs_to_the_change() -> None:
    assert drawn("the red pump of Lodz", "a blue pump from Kiel") == (
        "[-the red pump of Lodz-]{+a blue pump from Kiel+}"
    )


@pytest.mark.parametrize("text", ["", "年休假 12 天", "one two"])
def test_equal_texts_are_one_piece(text: str) -> None:
    assert word_diff(text, text) == ([("same", text)] if text else [])


@given(st.text("年休假天 \nab1.[]", max_size=40), st.text("年休假天 \nab1.[]", max_size=40))
def test_the_pieces_joined_are_the_two_texts(first: str, second: str) -> None:
    pieces = word_diff(first, second)
    assert "".join(text for kind, text in pieces if kind != "in") == first
    assert "".join(text for kind, text in pieces if kind != "out") == second
