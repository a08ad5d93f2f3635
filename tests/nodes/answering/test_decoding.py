"""Reasoning, refusals and answers taken apart, wherever the stream is split."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.nodes.answering.decoding import AnswerDecoder, ThinkSplitter, without_thinking

FRAGMENTS = st.lists(
    st.sampled_from(
        [
            "<think>",
            "</think>",
            "<thinking>",
            "<",
            "think",
            ">",
            "/",
            "<decline/>",
            "<decl",
            "ine/>",
            '<ref id="c1"/>',
            "<ref",
            "答案",
            "text",
            " ",
            "\n",
            "<kb ",
            "a<b",
        ]
    ),
    max_size=12,
).map("".join)


def decoded(*pieces: str) -> tuple[str, str, bool]:
    decoder = AnswerDecoder({"c1": "[ONE]"})
    parts = [part for piece in pieces for part in decoder.feed(piece)] + decoder.close()
    assert all(text for _, text in parts)
    thinking = "".join(text for kind, text in parts if kind == "thinking")
    answer = "".join(text for kind, text in parts if kind == "answer")
    return thinking, answer, decoder.declined


@given(text=FRAGMENTS, cuts=st.lists(st.integers(0, 100), max_size=5))
def test_every_way_to_split_a_stream_gives_the_same_parts(text: str, cuts: list[int]) -> None:
    places = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
    pieces = [text[a:b] for a, b in pairwise(places)]
    assert decoded(*pieces) == decoded(text) == decoded(*text)


def test_reasoning_in_tags_is_not_part_of_the_answer() -> None:
    assert decoded("<think>先想</think>\n\n十天。") == ("先想", "十天。", False)


def test_reasoning_in_the_middle_is_taken_out_too() -> None:
    assert decoded("One <thinking>hm</thinking>two") == ("hm", "One two", False)


def test_reasoning_that_never_ends_stays_reasoning() -> None:
    assert decoded("<think>and so on") == ("and so on", "", False)


def test_a_stray_end_of_reasoning_is_not_shown() -> None:
    assert decoded("</think>Ten days.") == ("", "Ten days.", False)


def test_reasoning_is_streamed_as_it_comes() -> None:
    splitter = ThinkSplitter()
    assert splitter.feed("<think>one") == [("thinking", "one")]
    assert splitter.feed(" two</th") == [("thinking", " two")]
    assert splitter.feed("ink>x") == [("answer", "x")]


@pytest.mark.parametrize("tag", ["<decline/>", "<decline />", "<decline>", "\n <DECLINE/>"])
def test_a_refusal_at_the_beginning_is_removed_and_noted(tag: str) -> None:
    assert decoded(f"{tag} 资料中没有答案。") == ("", "资料中没有答案。", True)


def test_a_refusal_after_reasoning_counts() -> None:
    assert decoded("<think>hm</think><decline/>No.") == ("hm", "No.", True)


def test_a_refusal_tag_later_on_is_removed_but_refuses_nothing() -> None:
    assert decoded("Ten days.<decline/>") == ("", "Ten days.", False)


def test_a_stored_answer_loses_its_reasoning() -> None:
    assert without_thinking("<think>a</think>b<think>never closed") == "b"
    assert without_thinking("<thinking>推理</thinking>\n答案") == "答案"
