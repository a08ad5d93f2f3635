import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.text.similarity import jaccard
from headrace.text.sketch import may_be_alike, sketches
from headrace.text.tokens import Tokens

TOKENS = Tokens()
HAN = "差旅报销标准员工每年住宿审批部门天数不得超过会议合同设备检修安全仓库采购验收编号温度压力阀泵管道"


def a_text(chance: random.Random, letters: str, count: int) -> list[str]:
    return ["".join(chance.choices(letters, k=5)) for _ in range(count)]


@pytest.mark.parametrize("letters", [HAN, "abcdefghijklmnopqrstuvwxyz"])
@given(number=st.integers(0, 2**32), share=st.floats(0.0, 0.2))
def test_no_two_texts_that_share_most_tokens_are_taken_apart(letters: str, number: int, share: float) -> None:
    chance = random.Random(number)
    said = a_text(chance, letters, 300)
    other = [word if chance.random() >= share else a_text(chance, letters, 1)[0] for word in said]
    chance.shuffle(other)
    a, b = "，".join(said), ", ".join(other)
    if jaccard(TOKENS.content(a), TOKENS.content(b)) >= 0.85:
        assert may_be_alike(*sketches([a, b]))


@pytest.mark.parametrize("letters", [HAN, "abcdefghijklmnopqrstuvwxyz"])
def test_long_texts_of_other_words_are_told_apart(letters: str) -> None:
    chance = random.Random(7)
    texts = ["。".join(a_text(chance, letters, 500)) for _ in range(2)]
    assert not may_be_alike(*sketches(texts))


def test_of_short_texts_nothing_is_said() -> None:
    assert may_be_alike(*sketches(["年假", "travel"]))
