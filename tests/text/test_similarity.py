import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.text.similarity import containment, jaccard, normalise, signature

sets = st.frozensets(st.sampled_from("年假病加班税abc"))


def test_jaccard_is_the_shared_part_of_all() -> None:
    assert jaccard(["年", "假", "年"], {"假", "期"}) == pytest.approx(1 / 3)


def test_containment_is_the_shared_part_of_the_smaller() -> None:
    assert containment({"sick"}, {"sick", "leave", "病假"}) == 1.0


def test_nothing_is_like_nothing() -> None:
    assert jaccard([], []) == containment([], ["年"]) == 0.0


@given(sets, sets)
def test_both_are_symmetric_and_on_the_unit_interval(a: frozenset[str], b: frozenset[str]) -> None:
    assert jaccard(a, b) == jaccard(b, a)
    assert containment(a, b) == containment(b, a)
    assert 0 <= jaccard(a, b) <= containment(a, b) <= 1


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("年假几天？", "年假，几天"),
        ("ＡＰＩ 限流", "api限流"),
        ("What is it?", "what  is it"),
        ("1,000 元", "1000元"),
    ],
)
def test_the_same_question_has_one_signature(a: str, b: str) -> None:
    assert signature(a) == signature(b)


@pytest.mark.parametrize(
    ("a", "b"), [("3.5 天", "35天"), ("C++", "C#"), ("2021-03", "202103"), ("5%", "5"), ("!!!", "???")]
)
def test_what_a_sign_tells_apart_stays_apart(a: str, b: str) -> None:
    assert signature(a) != signature(b)


@given(st.text())
def test_normalising_twice_changes_nothing(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)
    assert len(signature(text)) == 64
