"""Reasoning, refusals and answers taken apart, wherever the stream is split."""

import time
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
            "</think>\n",
            "```",
            "<thinking>",
            "res://0001",
            "res://0009",
            "res:/",
            "/00",
            "01",
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
    decoder = AnswerDecoder({"c1": "[ONE]"}, {"res://0001": "resource://x"})
    parts = [part for piece in pieces for part in decoder.feed(piece)] + decoder.close()
    assert all(text for step, text in parts if step != "unopened")
    told: dict[str, str] = {"thinking": "", "answer": ""}
    for step, text in parts:
        if step == "unopened":
            told = {"thinking": told["thinking"] + told["answer"], "answer": ""}
        else:
            told[step] += text
    return told["thinking"], told["answer"], decoder.declined


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


def test_reasoning_within_reasoning_is_reasoning() -> None:
    assert decoded("<think>a<think>b</think>c</think>十天。") == ("abc", "十天。", False)


def test_an_answer_behind_reasoning_that_was_opened_twice_is_not_lost() -> None:
    thinking, answer, _ = decoded('<think>a <think> b</think>\n\n十天<ref id="c1"/>。')
    assert answer == "十天[ONE]。"
    assert thinking.startswith("a  b")


@pytest.mark.parametrize("before", ["先想一想。\n", "First this,\nthen that.\n  "])
def test_reasoning_that_only_its_end_marks_is_taken_back(before: str) -> None:
    assert decoded(f"{before}</think>\n\n十天。") == (before, "十天。", False)


@pytest.mark.parametrize(
    "said", ["The tag `</think>` ends it.", "看：\n```\n</think>\n```\n就是这样。", "一。</think>二。"]
)
def test_a_stray_end_of_reasoning_within_an_answer_takes_nothing_back(said: str) -> None:
    assert decoded(said)[1] == said.replace("</think>", "")


def test_a_refusal_that_turns_out_to_be_reasoning_refuses_nothing() -> None:
    assert decoded("<decline/> hm\n</think>Ten days.") == ("hm\n", "Ten days.", False)


def test_reasoning_cites_nothing_and_forges_nothing() -> None:
    thinking, answer, _ = decoded('<think>c1 <ref id="c1"/> <kb doc="x"/></think>是。')
    assert (thinking, answer) == ('c1  &lt;kb doc="x"/>', "是。")
    beside = AnswerDecoder({"c1": "[ONE]"})
    assert beside.feed_thinking('so <ref id="c1"/><we') == [("thinking", "so ")]
    assert beside.close() == [("thinking", "<we")]


def test_addresses_come_back_in_answers_and_in_reasoning() -> None:
    assert decoded("<think>res://0001</think>![图](res://0001) res://0009") == (
        "resource://x",
        "![图](resource://x) ",
        False,
    )


def test_an_address_can_neither_make_a_tag_nor_be_cited() -> None:
    assert decoded('<ref id="res://0001"/><kb res://0001>') == ("", "&lt;kb resource://x>", False)


@pytest.mark.parametrize(
    "flood",
    ["<", "<think>", "</think>\n", "<ref ", "<decline/>", "x\n</think>", "<<<kb", "res://0001", "水 "],
)
def test_a_hundred_thousand_tokens_of_anything_are_read_in_one_pass(flood: str) -> None:
    started = time.perf_counter()
    decoder = AnswerDecoder({"c1": "[ONE]"}, {"res://0001": "resource://x"})
    for _ in range(100_000):
        decoder.feed(flood)
    decoder.close()
    AnswerDecoder({}, {"res://0001": "x"}).feed(flood * 100_000)
    assert time.perf_counter() - started < 10


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
