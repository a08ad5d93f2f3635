"""A question while another one is being answered: wait in line, or stop that one."""

import pytest
from selenium.webdriver.common.keys import Keys

from .browser import Page
from .conftest import OpenPage
from .scripted import ScriptedServer, failure
from .test_page import EN, ZH, an_answer, completed

pytestmark = pytest.mark.integration


def answering(server: ScriptedServer, open_page: OpenPage, **how: str) -> Page:
    """A page on which the answer to EN is being written."""
    server.answers[EN] = [*an_answer("Twelve ", "cubic metres."), completed()]
    server.answers[ZH] = [*an_answer("十二", "立方米。"), completed()]
    server.hold_after = 2
    page = open_page(server.url, **how)
    page.ask(EN)
    page.until_text(".answer .body", "Twelve")
    return page


def offered(page: Page) -> None:
    page.until(lambda: page.find("#busy").is_displayed(), "there is a choice")


def queued(page: Page) -> None:
    page.ask(ZH)
    offered(page)
    page.press(Keys.ENTER)  # the first choice has the focus
    page.until(lambda: page.all(".answer[data-status=waiting]"), "it waits")
    page.until(lambda: page.all(".dequeue:not([hidden])"), "it is known to the server")


def test_a_question_waits_in_line_and_is_answered_after_the_one_before_it(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    page = answering(server, open_page)
    queued(page)
    assert page.text(".answer[data-status=waiting] .note").startswith("Waiting in line")
    assert page.js("return document.querySelector('#question').value") == ""
    assert [asked["on_busy"] for asked in server.questions] == ["reject", "queue"]
    server.release(only=server.run_of(EN))
    page.until_text(".answer .body", "cubic metres.")
    assert page.text(".send") == "Stop"
    server.release()
    page.until_answered()
    assert [text.strip() for text in page.texts(".answer .body")] == ["Twelve cubic metres.", "十二立方米。"]
    assert page.text(".send") == "Send"
    assert page.complaints() == []


def test_a_reload_keeps_what_waits(server: ScriptedServer, open_page: OpenPage) -> None:
    page = answering(server, open_page)
    queued(page)
    page.reload()
    page.until_text(".answer .body", "Twelve")
    page.until_text(".answer[data-status=waiting] .note", "Waiting in line")
    server.release()
    page.until_answered()
    assert [text.strip() for text in page.texts(".answer .body")] == ["Twelve cubic metres.", "十二立方米。"]
    assert len(page.all(".question")) == 2


def test_a_waiting_question_can_be_cancelled(server: ScriptedServer, open_page: OpenPage) -> None:
    page = answering(server, open_page)
    queued(page)
    page.click(".dequeue:not([hidden])")
    page.until_answered("stopped")
    assert page.text(".send") == "Stop"  # the one before it goes on
    server.release()
    page.until_text(".answer .body", "cubic metres.")
    page.until(lambda: page.text(".send") == "Send", "nothing is left to do")
    assert server.run_of(ZH).over
    page.reload()
    page.until_answered("stopped")


def test_the_answer_being_written_is_stopped_for_another_question(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    page = answering(server, open_page)
    page.find("#question").send_keys(ZH)
    page.click(".next")
    offered(page)
    server.hold_after = None
    page.click("#busy [data-choice=stop]")
    page.until_answered()
    assert page.all(".answer:first-of-type[data-status=stopped]") or page.text(".answer .note")
    assert [text.strip() for text in page.texts(".answer .body")] == ["Twelve", "十二立方米。"]
    assert [asked["on_busy"] for asked in server.questions] == ["reject", "stop"]


def test_stopping_stops_what_waits_too_and_says_so(server: ScriptedServer, open_page: OpenPage) -> None:
    page = answering(server, open_page)
    queued(page)
    server.answers["三"] = [*an_answer("Three."), completed()]
    page.ask("三")
    offered(page)
    assert page.text("#busy [data-choice=stop]") == "Stop it and those in line, and ask this"
    server.hold_after = None
    page.click("#busy [data-choice=stop]")
    page.until_answered()
    statuses = "return [...document.querySelectorAll('.answer')].map(e => e.dataset.status)"
    assert page.js(statuses) == ["stopped", "stopped", "complete"]


def test_a_question_is_kept_when_neither_is_wanted(server: ScriptedServer, open_page: OpenPage) -> None:
    page = answering(server, open_page)
    page.ask(ZH)
    offered(page)
    page.press(Keys.ESCAPE)
    assert not page.find("#busy").is_displayed()
    assert page.js("return document.activeElement.id") == "question"
    assert page.js("return document.querySelector('#question').value") == ZH
    assert len(server.questions) == 1


def test_an_answer_that_another_client_began_is_shown_and_can_be_waited_for(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    page = answering(server, open_page, language="zh-CN")
    server.release()
    page.until_answered()
    server.hold_after = 2
    # As another tab would: this page does not know of it.
    page.js(
        "const [url, query] = arguments;"
        "fetch(url, {method: 'POST', body: JSON.stringify({query, request_id: 'x', on_busy: 'reject'})})",
        f"{server.url}/api/v1/sessions/s1/knowledge-qa",
        EN,
    )
    page.until(lambda: len(server.questions) == 2, "it runs")
    page.ask(ZH)
    offered(page)
    assert page.text("#busy-title") == "本会话的上一个回答还在生成。"
    page.until(lambda: len(page.all(".answer")) == 2, "the other one is shown")
    page.press(Keys.ENTER)
    page.until_text(".answer[data-status=waiting] .note", "正在排队")
    server.release()
    page.until_answered()
    assert page.text(".answer:last-of-type .body").strip() == "十二立方米。"


def test_a_full_line_is_said_to_be_and_the_question_goes_back_into_the_box(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    page = answering(server, open_page, language="zh-CN")
    server.refuse_ask = failure(409, "queue_full", "Ten questions wait already.")
    page.ask(ZH)
    offered(page)
    page.press(Keys.ENTER)
    page.until_text("#alert", "排队的问题已满")
    assert page.js("return document.querySelector('#question').value") == ZH
    assert len(page.all(".question")) == 1


def test_the_choice_goes_away_when_there_is_nothing_left_to_wait_for(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    page = answering(server, open_page)
    page.ask(ZH)
    offered(page)
    server.release()
    page.until(lambda: not page.find("#busy").is_displayed(), "the choice is gone")
    assert page.js("return document.activeElement.id") == "question"
    page.press(Keys.ENTER)
    page.until_text(".answer:last-of-type .body", "十二立方米。")
