import math
import re
from collections.abc import AsyncIterator

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.context import ChatOptions, ChatPiece, ChatPrompt
from headrace.errors import DependencyFailed, DependencyRefused
from headrace.models.rerank_listwise import ListwiseReranker, cut, ranking_in, tokens_in, windows

from ..fakes import PROMPTS, ScriptedChat

pytestmark = pytest.mark.anyio

PASSAGES = ["发票", "年假十天", "Sick leave"]


class ByNumber:
    """A chat model that orders passages by the number in them, the highest first; without one, leaves out."""

    name = "by-number"
    generates = True

    def __init__(self, context_tokens: int = 8192) -> None:
        self.context_tokens = context_tokens
        self.prompts: list[str] = []

    async def stream(self, prompt: ChatPrompt, options: ChatOptions) -> AsyncIterator[ChatPiece]:
        self.prompts.append(prompt.messages[-1].content)
        shown = re.findall(r"^\[(\d+)\] value (\d+)", prompt.messages[-1].content, re.MULTILINE)
        order = [place for place, _ in sorted(shown, key=lambda one: -int(one[1]))]
        yield ChatPiece(kind="thinking", text="[99] > [98]")
        yield ChatPiece(kind="answer", text=" > ".join(f"[{place}]" for place in order))


class Silent(ByNumber):
    async def stream(self, prompt: ChatPrompt, options: ChatOptions) -> AsyncIterator[ChatPiece]:
        await anyio.sleep(60)
        yield ChatPiece(kind="answer", text="[1]")


def saying(answer: str) -> ListwiseReranker:
    return ListwiseReranker(ScriptedChat([answer]), PROMPTS, timeout_s=5)


@pytest.mark.parametrize(
    ("answer", "places"),
    [
        ("[3] > [1] > [2]", [2, 0, 1]),
        ("3 > 1 > 2", [2, 0, 1]),
        ("【3】>【1】", [2, 0]),
        ("[3, 1, 2]", [2, 0, 1]),
        ('["3", "1"]', [2, 0]),
        ('```json\n{"ranking": [3, 1]}\n```', [2, 0]),
        ('[{"index": 3, "score": 9}, {"index": 1}]', [2, 0]),
        ("最相关的是 [3]，其次是 [1]。", [2, 0]),
        ("Passage 3 answers it best, then passage 1; the 25 others do not.", [2, 0]),
        ("3\n1\n2", [2, 0, 1]),
        ("[3] > [3] > [9] > [0] > [1]", [2, 0]),
        ("<think>[1] > [2] > [3]</think>[2] > [1]", [1, 0]),
        ("<think>[1] > [2]", []),
        ("例如 [2] > [1]，所以：[3] > [1] > [2]", [2, 0, 1]),
        ("[2]", [1]),
        ("None of them helps.", []),
        ("", []),
    ],
)
def test_an_order_is_read_from_whatever_form_it_has(answer: str, places: list[int]) -> None:
    assert ranking_in(answer, 3) == places


@given(st.text(alphabet='0123456789[]{}>," \n段index:-.'), st.integers(0, 30))
def test_an_order_never_names_what_is_not_there_or_anything_twice(answer: str, count: int) -> None:
    found = ranking_in(answer, count)
    assert len(found) == len({*found})
    assert all(0 <= place < count for place in found)


async def test_places_become_scores_and_what_is_left_out_none() -> None:
    scores = await saying("[2] > [3]").scores("年假几天？", PASSAGES)
    assert scores[1:] == pytest.approx([1.0, 1 - 0.5 / 3])
    assert math.isnan(scores[0])


async def test_the_model_is_asked_in_the_language_of_the_question_with_passages_on_a_line_each() -> None:
    chat = ScriptedChat(["[1]"], ["[1]"])
    reranker = ListwiseReranker(chat, PROMPTS, timeout_s=5)
    await reranker.scores("年假几天？", ["十天\n[2] 另一段", "x"])
    await reranker.scores("How many days?", ["ten", "x"])
    assert "[1] 十天 [2] 另一段\n[2] x" in chat.prompts[0].messages[1].content
    assert "段落" in chat.prompts[0].messages[0].content
    assert "passages" in chat.prompts[1].messages[0].content


async def test_many_passages_are_ordered_in_windows() -> None:
    chat = ByNumber()
    values = [n * 37 % 50 for n in range(50)]
    scores = await ListwiseReranker(chat, PROMPTS, timeout_s=5).scores("q", [f"value {n}" for n in values])
    best = sorted(range(50), key=lambda place: -scores[place])[:10]
    assert [values[place] for place in best] == [49, 48, 47, 46, 45, 44, 43, 42, 41, 40]
    assert len(chat.prompts) == 4
    assert all(0.5 < score <= 1 for score in scores)


async def test_a_small_context_is_not_overrun() -> None:
    chat = ByNumber(context_tokens=2048)
    texts = [f"value {n} {'长篇大论' * 300}" for n in range(12)]
    await ListwiseReranker(chat, PROMPTS, timeout_s=5).scores("问题", texts)
    assert max(map(tokens_in, chat.prompts)) < 2048 - 800


async def test_a_model_that_names_none_is_a_refusal() -> None:
    with pytest.raises(DependencyRefused, match="scripted named none of the passages"):
        await saying("我不知道").scores("年假", PASSAGES)


async def test_a_model_that_is_down_is_a_failure() -> None:
    chat = ScriptedChat([DependencyFailed("chat", "down")])
    with pytest.raises(DependencyFailed, match="down"):
        await ListwiseReranker(chat, PROMPTS, timeout_s=5).scores("年假", PASSAGES)


async def test_all_questions_together_have_one_limit_of_time() -> None:
    with pytest.raises(DependencyFailed, match="HEADRACE_RERANK_TIMEOUT_S"):
        await ListwiseReranker(Silent(), PROMPTS, timeout_s=0.05).scores("年假", PASSAGES)


async def test_no_passages_ask_nothing() -> None:
    assert await ListwiseReranker(ScriptedChat([]), PROMPTS, timeout_s=5).scores("年假", []) == []


@pytest.mark.parametrize(("count", "size"), [(50, 20), (20, 20), (3, 20), (7, 4), (9, 1), (0, 5)])
def test_windows_reach_from_the_last_to_the_first(count: int, size: int) -> None:
    found = [range(count)[window] for window in windows(count, size)]
    assert {place for window in found for place in window} == {*range(count)}
    assert all(len(window) <= size for window in found)


@given(st.text(), st.integers(1, 50))
def test_a_text_is_cut_to_its_share(text: str, tokens: int) -> None:
    short = cut(text, tokens)
    assert text.startswith(short)
    assert tokens_in(short) <= tokens
