"""Whatever a model proposes, what is shown is short, plain, and new."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.text.proposals import further_questions, title
from headrace.text.tokens import Tokens

CONTENT = Tokens().content
ASKED = "差旅报销什么时候提交？"


def proposed(said: str, asked: str = ASKED) -> list[str]:
    return further_questions(said, asked=asked, content=CONTENT)


@pytest.mark.parametrize(
    ("said", "questions"),
    [
        ('["住宿费的标准是每晚多少？", "太短？"]', ["住宿费的标准是每晚多少？"]),
        (
            '<think>["想一想这里有什么？"]</think>```json\n["出国出差的补贴是多少钱？"]\n```',
            ["出国出差的补贴是多少钱？"],
        ),
        ("1. 住宿费的标准是每晚多少？\n2) How much is paid for a hotel?", None),
        ('["差旅报销是什么时候提交呢？"]', []),
        (
            '["How much is paid for a hotel?", "HOW much is paid for a hotel"]',
            ["How much is paid for a hotel?"],
        ),
        ('["<b>How much</b> is\\u202e paid?"]', ["How much is paid?"]),
        ('{"a": 1}', []),
        ("[[[[[", []),
        ("I cannot help with that.", []),
        ("", []),
    ],
)
def test_questions_are_read_from_lists_and_lines_and_repeat_nothing(
    said: str, questions: list[str] | None
) -> None:
    expected = (
        ["住宿费的标准是每晚多少？", "How much is paid for a hotel?"] if questions is None else questions
    )
    assert proposed(said) == expected


def test_at_most_three_are_shown() -> None:
    words = ("hotels", "trains", "flights", "meals", "taxis")
    assert len(proposed(str([f"Who pays for {word}?" for word in words]).replace("'", '"'))) == 3


@given(st.text(max_size=400))
def test_nothing_that_a_model_says_breaks_it(said: str) -> None:
    for question in proposed(said):
        assert question.isprintable()
    assert len(title(said)) <= 40


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("标题：《差旅报销的期限》。", "差旅报销的期限"),
        ('**"Travel expenses"**\n\nThis title…', "Travel expenses"),
        ("<think>hm", ""),
        ("…", ""),
        ("长" * 50, ""),
    ],
)
def test_a_title_is_one_short_line_without_decoration(said: str, words: str) -> None:
    assert title(said) == words
