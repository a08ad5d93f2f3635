"""A question in other words: what comes out, and what holds whatever goes in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.nodes.searching.expansion import MOST_VARIANTS, variants
from headrace.text.tokens import Tokens

TOKENS = Tokens()

PIECES = (
    """差旅|报销|的|什么是|“年假”|「十五 天」|travel|the|what is|"GB/T-5009"|?|，"""
    """|it's|2021年|😀|سؤال|質問は|C++|iPhone15"""
)
words = st.sampled_from(PIECES.split("|"))
questions = st.one_of(st.text(max_size=80), st.lists(words, max_size=12).map(" ".join))


def of(question: str, asked: str = "") -> list[str]:
    return variants(question, asked or question, TOKENS)


@pytest.mark.parametrize(
    ("question", "phrase"),
    [
        ("What does “annual leave carry-over” mean here?", "annual leave carry-over"),
        ("「年假结转」是什么意思？", "年假结转"),
        ("Where is 'form 27' to be sent", "form 27"),
    ],
)
def test_what_stands_in_quotes_is_looked_for_alone(question: str, phrase: str) -> None:
    assert of(question)[0] == phrase


def test_an_apostrophe_is_no_quote() -> None:
    assert "s the employee" not in " ".join(of("What's the employee's leave"))


@pytest.mark.parametrize(
    ("question", "without"),
    [
        ("What is the refund policy for travel expenses?", "refund policy travel expenses"),
        ("出差的报销标准是什么？", "出差 报销 标准"),
    ],
)
def test_stop_words_go(question: str, without: str) -> None:
    assert without in of(question)


def test_the_longest_phrases_are_looked_for_alone() -> None:
    found = of("how do we get a refund of the annual travel allowance from accounting")
    assert "annual travel allowance" in found
    assert "accounting" in found


def test_a_rewritten_question_is_looked_for_as_it_was_typed_too() -> None:
    assert of("2021年的营业额是多少？", "那2021年呢？")[0] == "那2021年呢？"
    assert of("What was the revenue in 2021?", "And the 2021 one?")[0] == "And the 2021 one?"


def test_the_same_words_in_another_order_are_no_other_way_to_ask() -> None:
    found = of("refund for travel")
    assert len({frozenset(TOKENS.search(one)) for one in found}) == len(found)


@pytest.mark.parametrize("question", ["", "   ", "😀", "？！", "travel", "差旅"])
def test_what_cannot_be_said_otherwise_is_not(question: str) -> None:
    assert of(question) == []


def test_a_pasted_text_is_cut() -> None:
    assert all(len(one) <= 2_000 for one in of("travel expenses 差旅报销，" * 1_000))


@given(questions, questions)
def test_there_are_at_most_five_each_with_words_of_its_own(question: str, asked: str) -> None:
    found = of(question, asked)
    bags = [frozenset(TOKENS.search(one)) for one in found]
    assert len(found) <= MOST_VARIANTS
    assert all(bags)
    assert len({*bags}) == len(bags)
    assert question not in found


@given(questions)
def test_no_word_comes_in_from_elsewhere(question: str) -> None:
    known = {*question, *"".join(TOKENS.words(question))}
    assert {character for one in of(question) for character in one} <= {*known, " "}


@given(questions, questions)
def test_the_same_question_gives_the_same(question: str, asked: str) -> None:
    assert of(question, asked) == of(question, asked)
