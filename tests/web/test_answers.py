"""What can be done with answers and conversations on the page; knowledge bases chosen by the question."""

from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from .browser import Page
from .conftest import OpenPage
from .scripted import ScriptedServer
from .test_page import EN, an_answer, completed, searched

pytestmark = pytest.mark.integration

LANGUAGES = pytest.mark.parametrize("language", ["en-US", "zh-CN"])


def told(text: str, outcome: str = "answered") -> list[dict[str, Any]]:
    return [*searched(), *an_answer(text), completed(outcome)]


def answered(server: ScriptedServer, open_page: OpenPage, language: str, text: str = "六十二 62") -> Page:
    server.answers[EN] = told(text)
    page = open_page(server.url, language=language)
    page.ask(EN)
    page.until_answered()
    return page


@LANGUAGES
def test_an_answer_is_rated_with_a_reason_and_the_rating_taken_back(
    server: ScriptedServer, open_page: OpenPage, language: str
) -> None:
    page = answered(server, open_page, language)
    page.click(".thumb[data-thumb=down]")
    page.until(lambda: page.find(".reason").is_displayed(), "a reason can be given")
    page.find(".reason").send_keys("答非所问 <b>off</b>", Keys.ENTER)
    page.until(lambda: page.all(".thumb[data-thumb=down][aria-pressed=true]"), "it is rated")
    (message,) = [one for all in server.messages.values() for one in all if one["role"] == "assistant"]
    stored = {"thumb": "down", "reason": "答非所问 <b>off</b>"}
    page.until(lambda: message["feedback"] == stored, "the reason is stored")
    page.reload()
    page.until(lambda: page.all(".thumb[data-thumb=down][aria-pressed=true]"), "it is rated still")
    page.click(".thumb[data-thumb=down]")
    page.until(lambda: message["feedback"] is None, "it is taken back")
    page.until(lambda: not page.all(".thumb[aria-pressed=true]"), "it shows no rating")
    assert page.complaints() == []


@LANGUAGES
def test_the_last_answer_is_given_anew_in_its_place(
    server: ScriptedServer, open_page: OpenPage, language: str
) -> None:
    page = answered(server, open_page, language, "the first")
    page.ask(EN)
    page.until(lambda: len(page.all(".answer[data-status=complete]")) == 2, "both are answered")
    shown = [one for one in page.all(".anew") if one.is_displayed()]
    assert len(shown) == 1
    server.answers[EN] = told("再来 the second")
    shown[0].click()
    page.until(lambda: "the second" in page.texts(".answer .body")[-1], "it is given anew")
    page.until(lambda: len(page.all(".answer")) == 2, "in the place of the old one")
    assert page.texts(".question .bubble") == [EN, EN]
    assert "query" not in server.regenerated[0]
    assert page.complaints() == []


@LANGUAGES
def test_the_last_question_is_edited_and_asked_instead(
    server: ScriptedServer, open_page: OpenPage, language: str
) -> None:
    page = answered(server, open_page, language)
    server.answers["水从哪里来？"] = told("从渠 from the canal")
    page.click(".answer .edit")
    page.press(Keys.CONTROL, "a", Keys.NULL, "水从哪里来？")
    page.click(".question-editor [type=submit]")
    page.until(lambda: page.texts(".question .bubble") == ["水从哪里来？"], "the new question is there")
    page.until(lambda: "from the canal" in page.text(".answer .body"), "and its answer")
    assert server.regenerated[0]["query"] == "水从哪里来？"
    assert page.complaints() == []


@pytest.mark.parametrize(
    ("language", "outcome", "words"),
    [
        ("en-US", "cached", "asked before"),
        ("zh-CN", "cached", "同样的问题"),
        ("en-US", "faq", "known question"),
        ("zh-CN", "faq", "标准答案"),
    ],
)
def test_an_answer_that_was_there_already_says_so(
    server: ScriptedServer, open_page: OpenPage, language: str, outcome: str, words: str
) -> None:
    server.answers[EN] = told("六十二 62", outcome)
    page = open_page(server.url, language=language)
    page.ask(EN)
    page.until_answered()
    assert words in page.text(".answer .verdict")


@LANGUAGES
def test_a_pinned_conversation_stays_at_the_top(
    server: ScriptedServer, open_page: OpenPage, language: str
) -> None:
    page = answered(server, open_page, language)
    page.click("#new")
    page.ask(EN)
    page.until_answered()
    page.until(lambda: len(page.all(".session")) == 2, "both are listed")
    page.click(".session:last-child [data-key^=pin]")
    page.until(lambda: page.all(".session:first-child[data-pinned=true]"), "it is at the top")
    page.click(".session:first-child [data-key^=pin]")
    page.until(lambda: not page.all(".session[data-pinned=true]"), "it is pinned no longer")
    assert page.complaints() == []


@pytest.mark.parametrize(
    ("language", "words"), [("en-US", "Choose by the question"), ("zh-CN", "按问题自动选择")]
)
def test_knowledge_bases_may_be_chosen_by_the_question(
    server: ScriptedServer, open_page: OpenPage, language: str, words: str
) -> None:
    for name in ("手册", "Pumps"):
        server.add_kb(name)
    server.answers[EN] = told("62")
    page = open_page(server.url, language=language)
    page.click("#scope summary")
    page.click("#scope .auto")
    page.until_text("#scope summary", words)
    page.ask(EN)
    page.until_answered()
    asked = server.questions[0]
    assert (asked["knowledge_base_ids"], asked["settings"]) == ([], {"auto_select": True})
    page.reload()
    page.until_text("#scope summary", words)
    page.click("#scope summary")
    page.click("#scope .auto")
    page.until(lambda: words not in page.text("#scope summary"), "what is ticked counts again")
    assert page.complaints() == []
