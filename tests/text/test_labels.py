import pytest

from headrace.errors import BadRequest
from headrace.text.labels import good_label, is_visible, label_key


@pytest.mark.parametrize(
    ("name", "kept"),
    [(" 产品  Product ", "产品 Product"), ("🏷️", "🏷️"), ("字" * 50, "字" * 50), ("a\tb", "a b")],
)
def test_a_label_stands_on_one_line(name: str, kept: str) -> None:
    assert good_label(name) == kept


@pytest.mark.parametrize("name", ["", " ", "字" * 51, "a\0b", "\ud800", "\u200b", "\u0301"])
def test_impossible_labels_are_refused(name: str) -> None:
    with pytest.raises(BadRequest) as refused:
        good_label(name)
    assert refused.value.code == "bad_tag_name"


@pytest.mark.parametrize("name", ["\u200b人事", "人\u200d事", "人事\u202e", "\ufeff人事\u2060"])
def test_characters_that_nobody_sees_do_not_make_another_label(name: str) -> None:
    assert label_key(name) == label_key("人事")


def test_width_and_case_do_not_make_another_label() -> None:
    assert label_key("ＨＲ 人事") == label_key("hr 人事")
    assert label_key("C") != label_key("C#")


@pytest.mark.parametrize("text", ["三", "a", "🙂", "？", "ก", "\U000e0ffea"])
def test_what_a_reader_sees_is_visible(text: str) -> None:
    assert is_visible(text)


@pytest.mark.parametrize("text", ["", " \n", "\u200b\u200d\ufeff", "\u3000", "\u0301\ufe0f"])
def test_what_no_reader_sees_is_not(text: str) -> None:
    assert not is_visible(text)
