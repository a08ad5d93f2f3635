"""The page in a browser, against the real server with real retrieval."""

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from headrace.server import create_app
from headrace.serving import bind, serving_in_thread, url_of
from headrace.settings import load_settings

from ..running import HANDBOOK, MANUAL, a_client, a_kb, running, serving
from ..stub_model import a_model_server
from .browser import Page
from .conftest import OpenPage

pytestmark = pytest.mark.integration

ZH = "国内出差的住宿标准是多少？"
EN = "How often must the seal kit be replaced?"
FINDS_SOMETHING = "年休假 "  # in front of what the stand-in for a model is told to do


def with_model(model: str) -> dict[str, Any]:
    return {
        "chat_base_url": f"{model}/v1",
        "chat_model": "stub",
        "suggestions_enabled": False,
        "enable_rewrite": False,
    }


def words(count: int) -> str:
    return " ".join(f"词{n}" for n in range(count))


def fill(url: str) -> None:
    with a_client(url) as client:
        a_kb(client, "手册", [("员工手册.md", HANDBOOK)])


def answer(page: Page) -> str:
    return page.text(".answer:last-of-type .body").strip()


def stored_answer(url: str, page: Page) -> str:
    session = page.js("return location.hash").removeprefix("#/sessions/")
    with a_client(url) as client:
        messages = client.get(f"/api/v1/sessions/{session}/messages").json()["data"]
    return messages[-1]["content"].strip()


def test_documents_are_uploaded_and_questions_in_both_languages_are_answered_with_sources(
    tmp_path: Path, open_page: OpenPage
) -> None:
    (tmp_path / "员工手册.md").write_text(HANDBOOK, encoding="gb18030")
    (tmp_path / "pump.md").write_text(MANUAL, encoding="utf-8")
    (tmp_path / "empty.pdf").write_bytes(b"%PDF-1.4\n%%EOF\n")
    with running(tmp_path / "data") as url:
        page = open_page(url, language="zh-CN")
        page.until(lambda: page.find("#notice").is_displayed(), "the page says that it only quotes")
        page.click("#welcome .open-documents")
        page.find("#kb-name").send_keys("手册\n")
        page.until(lambda: page.find(".drop").is_displayed(), "files can be added")
        names = ["员工手册.md", "pump.md", "empty.pdf"]
        page.find("#files").send_keys("\n".join(str(tmp_path / name) for name in names))
        page.until(lambda: len(page.all("[data-status=ready]")) == 2, "two documents are ready", seconds=120)
        page.until(lambda: page.text("[data-status=failed] .error"), "the broken one says why", seconds=120)
        page.click("#documents .close")

        for question, part, title in [(ZH, "450", "员工手册"), (EN, "4000", "pump")]:
            page.ask(question)
            page.until_text(".answer:last-of-type .body", part)
            page.until_answered()
            page.click(".answer:last-of-type .citation")
            page.until_text("#sources .current h3", title)
            assert part in page.text("#sources .current mark")
        assert page.text(".answer:last-of-type .progress").endswith("个段落")
        assert page.complaints() == []


def test_faq_entries_are_written_found_and_moved_as_files(tmp_path: Path, open_page: OpenPage) -> None:
    file = tmp_path / "faq.csv"
    file.write_text("question,answers\n年假有几天？,每年 12 天。\n,没有问题\n", encoding="utf-8")
    with running(tmp_path / "data") as url:
        page = open_page(url, language="zh-CN")
        page.click("#welcome .open-documents")
        page.find("#kb-name").send_keys("常见问题")
        page.click("#kb-kind [value=faq]")
        page.click("#kb-create [type=submit]")
        page.click("#faq-add")
        page.press("密封件多久更换一次？")
        page.find("[name=similar]").send_keys("How often must the seal kit be replaced?")
        page.find("[name=answer]").send_keys("每运行 4000 小时更换一次。")
        page.find(".tag-picker input[type=text]").send_keys("维护")
        page.click(".faq-form [type=submit]")
        page.until(lambda: len(page.all(".faq-entry")) == 1, "it is listed")
        page.click("#faq-add")
        page.press("密封件多久更换一次 ?")
        page.click(".faq-form [type=submit]")
        page.until_text(".form-error", "另一条问答里已经有")
        page.click(".form-error button")
        page.until_text("#documents-title", "编辑问答")
        page.click("#documents .back")
        page.click("#documents .back")
        page.click("#confirm .danger")

        page.click("#faq-transfer")
        page.find("#faq-file").send_keys(str(file))
        page.click(".faq-form [type=submit]")
        page.until_text(".import-report .note", "新增 1 条")
        assert page.texts(".rejected tbody th") == ["3"]
        assert "问题" in page.text(".rejected tbody td:last-child")
        page.click("#documents .back")
        page.until(lambda: len(page.all(".faq-entry")) == 2, "both are listed")
        page.click("#documents .close")

        page.click("#open-search")
        page.until(lambda: page.find("#search-query").is_displayed(), "a search can be tried")
        page.press(EN)
        rows = "#search .candidates tbody tr:not(.way-row)"
        page.until(lambda: page.all(rows), "something is found", seconds=60)
        assert page.text(f"{rows}:first-child .title") == "密封件多久更换一次？"
        page.click(f"{rows}:first-child .way-button")
        page.until_text(".way-row .passage-text", "4000")
        # The one complaint is the browser's about the refusal.
        assert [one for one in page.complaints() if "409" not in one] == []


def test_tags_edits_and_knobs_change_what_a_search_finds(tmp_path: Path, open_page: OpenPage) -> None:
    with running(tmp_path) as url:
        with a_client(url) as client:
            kb = a_kb(client, "手册", [("员工手册.md", HANDBOOK), ("pump.md", MANUAL)])
        page = open_page(url)
        page.click(".bar .open-documents")
        page.until(lambda: len(page.all(".document")) == 2, "the documents are shown")
        pump = "//li[contains(@class, 'document')][.//button[text()='pump.md']]"
        page.js(f'document.evaluate("{pump}", document, null, 9).singleNodeValue.dataset.test = "pump"')
        page.click("[data-test=pump] .icon-button")
        page.find(".tag-picker input[type=text]").send_keys("Pumps", Keys.ENTER)
        page.click(".kb-view [type=submit]")
        page.until(lambda: page.texts(".document .tag") == ["Pumps"], "it is tagged")
        page.click("#document-tag-select option:last-child")
        page.until(lambda: page.texts(".document-title") == ["pump.md"], "only it is listed")
        page.click(".document-title")
        page.until(lambda: len(page.all(".chunk")) == 2, "its passage and the section around it are shown")
        page.click("#chunk-kind [value=text]")
        page.until(lambda: len(page.all(".chunk")) == 1, "only the passage is")
        editor = "[...document.querySelectorAll('.chunk')].find(e => e.textContent.includes('4000'))"
        page.js(f"{editor}.querySelector('[data-key^=edit]').click()")
        page.press(Keys.CONTROL, "a", Keys.NULL, "Replace the seal kit every 5555 operating hours.")
        page.click(".editing [type=submit]")
        page.until_text("#documents .said", "until the document is read anew")
        page.until(lambda: page.texts(".chunk-head .chip") == ["Edited"], "it says so")
        page.click("#documents .close")

        page.open(f"#/search?q=seal%20kit%20hours&kb={kb}")
        rows = "#search .candidates tbody tr:not(.way-row)"
        page.until(lambda: page.all(f"{rows}[data-fate=returned]"), "something is found", seconds=60)
        assert "5555" in page.text(f"{rows}:first-child .snippet")
        assert {"seal", "kit"} <= set(page.texts(f"{rows}:first-child .snippet mark"))
        assert page.texts("#search .stage h4")[0] == "Search"
        before = len(page.all(f"{rows}[data-fate=returned]"))
        page.find("#knob-vector_threshold").send_keys("1")
        page.find("#knob-keyword_threshold").send_keys("1000")
        page.until(lambda: not page.all(f"{rows}[data-fate=returned]"), "every passage is below the limits")
        assert len(page.all(".move[data-move=out]")) + len(page.all(".gone li")) >= before
        page.click(".knob-fields ~ button")
        page.until(lambda: page.all(f"{rows}[data-fate=returned]"), "they are back")
        page.click(".search-where > summary")
        page.click(".search-where .tag-choice input")
        page.until(
            lambda: set(page.texts(f"{rows} .title")) == {"pump.md"}, "only the tagged one is searched"
        )
        assert "tag=" in page.js("return location.hash")
        page.click("#knob-fusion [value=rrf]")
        page.until(lambda: page.all(f"{rows}[data-fate=returned]"), "it is found otherwise")
        assert page.text("#search .error[role=alert]") == ""
        page.click("#open-search")
        page.click("#new")
        page.click("#scope summary")
        page.click("#scope .tag-choice input")
        page.until_text("#scope summary", "1 tag")
        page.ask(EN)
        page.until_answered()
        assert "5555" in page.text(".answer .body")
        assert page.complaints() == []


def test_an_answer_is_explained_forked_and_compared(tmp_path: Path, open_page: OpenPage) -> None:
    with running(tmp_path) as url:
        fill(url)
        page = open_page(url, language="zh-CN")
        page.ask(ZH)
        page.until_answered()
        page.click(".why-button")
        page.until(lambda: page.all("#why .candidates tbody tr"), "the record is shown")
        assert page.text("#why tr[data-fate=cited] .fate") == "已引用"
        assert page.text("#why .stage[data-stage=search_chunks] h4") == "检索"
        page.click("#why .stage[data-stage=filter_top_k] .fork-here")
        page.find(".fork-form [name=rerank_top_k]").send_keys("1")
        page.click(".fork-form [type=submit]")
        page.until(lambda: page.all(".difference"), "the fork has ended and is compared")
        assert "rerank_top_k" in page.text(".changes")
        page.click(".pane[data-kind=fork] .actions button")
        page.until_text("#why .origin", "择优")
        assert page.text("#why .stage[data-stage=search_chunks] .stage-facts").endswith("沿用原运行")
        assert page.complaints() == []
        page.click("#why .stage[data-stage=load_history] .fork-here")
        page.find(".fork-form [name=chat_model]").send_keys("no-such-model")
        page.click(".fork-form [type=submit]")
        page.until_text(".fork-form .error", "这项设置不可用")
        page.click("#why .close")
        assert len(page.all(".answer")) == 1  # forks are no part of the conversation


def test_a_question_that_nothing_answers_is_said_to_be_one(tmp_path: Path, open_page: OpenPage) -> None:
    with running(tmp_path) as url:
        fill(url)
        page = open_page(url)
        page.ask("Who painted the ceiling of the Sistine Chapel?")
        page.until_answered()
        page.until(lambda: page.find(".verdict").is_displayed(), "it is said plainly")


def test_a_reload_in_mid_answer_shows_what_the_server_has_stored(tmp_path: Path, open_page: OpenPage) -> None:
    with serving(a_model_server()) as model, running(tmp_path, **with_model(model)) as url:
        fill(url)
        page = open_page(url)
        assert not page.find("#notice").is_displayed()
        page.ask(f"{FINDS_SOMETHING}slowly: 300")
        page.until_text(".answer .body", "词20")
        page.reload()
        page.until_text(".answer .body", "词20")
        assert page.text(".send") == "Stop"
        page.until_answered()
        assert answer(page) == words(300)
        assert stored_answer(url, page) == answer(page)


def test_stop_ends_the_answer_and_a_reload_shows_it_as_stopped(tmp_path: Path, open_page: OpenPage) -> None:
    with serving(a_model_server()) as model, running(tmp_path, **with_model(model)) as url:
        fill(url)
        page = open_page(url)
        page.ask(f"{FINDS_SOMETHING}wait: one two three")
        page.until_text(".answer .body", "three")
        page.click(".send.stop")
        page.until_answered("stopped")
        kept = answer(page)
        assert kept == "one two three"
        page.reload()
        page.until_answered("stopped")
        assert answer(page) == kept


def statuses(page: Page) -> list[str]:
    return page.js("return [...document.querySelectorAll('.answer')].map(e => e.dataset.status)")


def test_questions_wait_in_line_over_a_reload_are_cancelled_and_replace_each_other(
    tmp_path: Path, open_page: OpenPage
) -> None:
    with serving(a_model_server()) as model, running(tmp_path, **with_model(model)) as url:
        fill(url)
        page = open_page(url)

        def chosen(question: str, choice: str) -> None:
            page.ask(f"{FINDS_SOMETHING}{question}")
            page.until(lambda: page.find("#busy").is_displayed(), "there is a choice")
            page.click(f"#busy [data-choice={choice}]")

        page.ask(f"{FINDS_SOMETHING}slowly: 200")
        page.until_text(".answer .body", "词5")
        chosen("say: one two", "queue")
        page.until(lambda: page.all(".dequeue:not([hidden])"), "it waits")
        page.reload()
        page.until_text(".answer .body", "词20")
        page.until_answered("waiting")
        page.until_answered()
        assert [text.strip() for text in page.texts(".answer .body")] == [words(200), "one two"]

        page.ask(f"{FINDS_SOMETHING}wait: a b c")
        page.until_text(".answer:last-of-type .body", "c")
        chosen("say: never", "queue")
        page.click(".dequeue:not([hidden])")
        page.until_answered("stopped")
        chosen("say: new", "stop")
        page.until_answered()
        assert answer(page) == "new"
        assert statuses(page) == ["complete", "complete", "stopped", "stopped", "complete"]
        page.reload()
        page.until_answered()
        assert statuses(page) == ["complete", "complete", "stopped", "stopped", "complete"]
        assert page.complaints() == []


def test_an_answer_goes_on_by_itself_when_the_server_is_back(tmp_path: Path, open_page: OpenPage) -> None:
    with serving(a_model_server()) as model, closing(bind("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
        free.close()
        start = server_at(port, tmp_path, **with_model(model))
        with start() as url:
            fill(url)
            page = open_page(url)
            page.ask(f"{FINDS_SOMETHING}once: one two three")
            page.until_text(".answer .body", "one")
        page.until_text(".answer .progress", "Connection lost")
        with start():
            page.until_answered()
            assert answer(page) == "one two three"
            assert stored_answer(url, page) == answer(page)


def server_at(port: int, folder: Path, **settings: Any) -> Callable[[], AbstractContextManager[str]]:
    """A server that can be ended and started again at the same address."""

    @contextmanager
    def start() -> Generator[str]:
        with closing(bind("127.0.0.1", port)) as sock:
            url = url_of("127.0.0.1", port)
            with serving_in_thread(create_app(load_settings(data=folder, **settings), url=url), sock):
                yield url

    return start


def test_a_model_that_fails_is_shown_with_what_to_do(tmp_path: Path, open_page: OpenPage) -> None:
    with serving(a_model_server()) as model, running(tmp_path, **with_model(model)) as url:
        fill(url)
        page = open_page(url)
        page.ask(f"{FINDS_SOMETHING}fault: 401")
        page.until_answered("failed")
        said = page.text(".note[data-kind=failed]")
        assert "API_KEY" in said or "key" in said
        page.reload()
        page.until_answered("failed")
        assert page.text(".note[data-kind=failed]") == said
