"""Long addresses on the way to a model and back, wherever the stream is split."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.context import ChatMessage
from headrace.nodes.answering.resources import ResourceExpander, with_handles

HASH = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
SIGNED = "https://files.example.com/a.pdf?X-Amz-Expires=60&X-Amz-Signature=ab12"
ADDRESSES = [
    f"resource://kb/{HASH}",
    "resource://短"[:11] + "x",
    SIGNED,
    f"https://cdn.example.com/{HASH}.png",
    "https://example.com/" + "very/" * 30,
    f"/api/v1/assets/{HASH}.png",
    "./images/" + "deep/" * 20 + "plan.webp",
    "data:image/png;base64," + "iVBORw0KGgo" * 30 + "==",
    "https://x.example.com/0198c0de-7d1f-7c3a-9f00-1234567890ab/view",
]
PLAIN = [
    "https://example.com/docs/start.html",
    "见 https://example.com/手册 第 3 页",
    "images/plan.png",
    "and/or, his/her, 24/7, client/server/database/cache",
    "https://example.com/how-to-write-a-very-long-title-about-nothing",
    "a" * 200,
    "2021/2022/2023",
    "C:/Users/me/report.docx",
]
FRAGMENTS = st.lists(
    st.sampled_from(
        [
            *ADDRESSES,
            *PLAIN,
            "res://",
            "res://0001",
            "RES://0002",
            "res:/",
            "/0001",
            "r",
            "re",
            "s",
            ":",
            "0",
            "12",
            *(" ", "\n", "，", "![图](", ")", "x" * 23, ".", "?", "<", "&lt;"),
        ]
    ),
    max_size=10,
).map("".join)


def said(*texts: str) -> list[ChatMessage]:
    return [ChatMessage(role="user", content=text) for text in texts]


def shown(resources: dict[str, str], *pieces: str) -> str:
    expander = ResourceExpander(resources)
    return "".join([*map(expander.feed, pieces), expander.close()])


@given(text=FRAGMENTS)
def test_what_a_model_repeats_word_for_word_comes_back_as_it_was_typed(text: str) -> None:
    [message], resources = with_handles(said(text))
    assert shown(resources, message.content) == text


@given(text=FRAGMENTS, cuts=st.lists(st.integers(0, 400), max_size=6))
def test_every_way_to_split_a_stream_gives_the_same_text(text: str, cuts: list[int]) -> None:
    resources = {"res://0001": SIGNED, "res://0012": "resource://two"}
    places = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
    whole = shown(resources, text)
    assert shown(resources, *[text[a:b] for a, b in pairwise(places)]) == whole
    assert shown(resources, *text) == whole


@given(text=FRAGMENTS)
def test_never_more_than_a_handle_is_held_back(text: str) -> None:
    expander = ResourceExpander({"res://0001": "x"})
    for character in text:
        expander.feed(character)
        assert len(expander._held) < len("res://000000")  # pyright: ignore[reportPrivateUsage]  # held is the point


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_that_nobody_copies_rightly_gets_a_handle(address: str) -> None:
    [message], resources = with_handles(said(f"如图 ![图]({address})，见 {address}。"))
    assert message.content == "如图 ![图](res://0001)，见 res://0001。"
    assert resources == {"res://0001": address}


@pytest.mark.parametrize("text", PLAIN)
def test_what_a_model_can_copy_stays_as_it_is(text: str) -> None:
    [message], resources = with_handles(said(text))
    assert (message.content, resources) == (text, {})


def test_a_sentence_s_full_stop_is_no_part_of_the_address() -> None:
    [message], _ = with_handles(said(f"See {SIGNED}."))
    assert message.content == "See res://0001."


def test_the_same_address_has_the_same_handle_in_every_message() -> None:
    messages, resources = with_handles(said(ADDRESSES[0], f"{SIGNED} {ADDRESSES[0]}"))
    assert [message.content for message in messages] == ["res://0001", "res://0002 res://0001"]
    assert len(resources) == 2


def test_a_handle_that_a_document_types_is_not_another_s_address() -> None:
    [message], resources = with_handles(said(f"{SIGNED} res://0001"))
    assert message.content == "res://0001 res://0002"
    assert shown(resources, message.content) == f"{SIGNED} res://0001"


def test_a_handle_nobody_gave_out_is_removed() -> None:
    assert shown({"res://0001": SIGNED}, "见 ![图](res://0007)。") == "见 ![图]()。"


def test_without_handles_all_text_goes_through_at_once() -> None:
    expander = ResourceExpander({})
    assert expander.feed("open res://00") == "open res://00"


def test_a_megabyte_on_one_line_takes_no_time() -> None:
    picture = "data:image/png;base64," + "A" * 1_000_000
    started = time.perf_counter()
    [message], resources = with_handles(said(picture))
    with_handles(
        said("word " * 200_000, "a/" * 500_000, "r" * 1_000_000, "res:/" * 200_000, "24/7 " * 200_000)
    )
    assert time.perf_counter() - started < 5
    assert (message.content, resources) == ("res://0001", {"res://0001": picture})
