from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st
from opencc import OpenCC

from headrace.text.folding import folded_with_origins, normalised, without_thousands

CONVERTER = cast(Any, OpenCC("t2s"))


def simplified(text: str) -> str:
    return CONVERTER.convert(text)


texts = st.text() | st.text(alphabet="ＡＰＩ１，２００㎏臺灣乾隆ｶﾞe\u0301\u1112\u1161\u11ab1,200a. \ud800")


def folded(text: str) -> str:
    return without_thousands(simplified(normalised(text)))


@given(texts)
def test_folding_twice_is_folding_once(text: str) -> None:
    assert folded(folded(text)) == folded(text)


@given(texts)
def test_every_place_of_the_folded_text_has_an_origin(text: str) -> None:
    result, origins = folded_with_origins(text, simplified)
    assert len(origins) == len(result)
    assert origins == sorted(origins)
    assert all(0 <= start < end <= len(text) for start, end in origins)
    assert result == folded(text)


def test_composed_characters_come_from_where_their_first_part_stood() -> None:
    assert folded_with_origins("ae\u0301b", simplified) == ("aéb", [(0, 1), (1, 3), (3, 4)])
    assert folded_with_origins("㎏", simplified) == ("kg", [(0, 1), (0, 1)])
    assert folded_with_origins("臺灣", simplified) == ("台湾", [(0, 1), (1, 2)])


def test_thousands_go_and_lists_stay() -> None:
    assert without_thousands("1,200,000 and 1,2,3") == "1200000 and 1,2,3"
