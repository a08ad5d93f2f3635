"""FAQ entries on the page: written, found, switched, deleted, and moved in and out as files."""

from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from .browser import Page
from .conftest import OpenPage
from .scripted import ScriptedServer
from .test_page import EVIL

pytestmark = pytest.mark.integration

BIDI = "safe \u202egnp.exe\u2066 end"


def opened(server: ScriptedServer, open_page: OpenPage, **how: Any) -> Page:
    """The page with the dialog open over an FAQ knowledge base."""
    page = open_page(server.url, **how)
    page.click(".bar .open-documents")
    page.until(lambda: page.find("#faq-add").is_displayed(), "the entries are shown")
    return page


def a_faq_kb(server: ScriptedServer, *questions: str, **more: Any) -> str:
    kb = server.add_kb("FAQ", "faq")
    for question in questions:
        server.library.add_entry(kb, question, **more)
    return kb


def questions(page: Page) -> list[str]:
    return page.texts(".faq-question")


def until_listed(page: Page, *expected: str) -> None:
    page.until(lambda: questions(page) == [*expected], f"the list is {expected}")


@pytest.mark.parametrize(
    ("language", "width", "saved"), [("en-US", 1280, "Saved."), ("zh-CN", 360, "已保存。")]
)
def test_a_faq_knowledge_base_is_made_and_an_entry_is_written_and_changed(
    server: ScriptedServer, open_page: OpenPage, language: str, width: int, saved: str
) -> None:
    page = open_page(server.url, language=language, width=width, height=740)
    page.click(".bar .open-documents")
    page.find("#kb-name").send_keys("常见问题")
    page.click("#kb-kind [value=faq]")
    page.click("#kb-create [type=submit]")
    page.until(lambda: page.find("#faq-add").is_displayed(), "entries can be written")
    assert not page.find(".drop").is_displayed()
    page.click("#faq-add")
    page.press("如何请假？")
    page.find("[name=similar]").send_keys("怎么休假\n\n 请假流程 ")
    page.find("[name=negative]").send_keys("如何辞职")
    page.find("[name=answer]").send_keys("在系统中申请。\n找主管批准。")
    page.click(".answer-fields ~ button")
    page.press("Ask your manager.")
    page.click("[name=strategy] [value=first]")
    page.find(".tag-picker input[type=text]").send_keys("人事", Keys.ENTER)
    page.find(".tag-picker input[type=text]").send_keys("假期")  # not added, but meant
    assert not page.too_wide("#documents")
    page.click(".faq-form [type=submit]")
    until_listed(page, "如何请假？")
    page.until_text("#documents .said", saved)
    (entry,) = server.library.entries.values()
    assert {name: entry[name] for name in ["similar_questions", "negative_questions", "answers", "tags"]} == {
        "similar_questions": ["怎么休假", "请假流程"],
        "negative_questions": ["如何辞职"],
        "answers": ["在系统中申请。\n找主管批准。", "Ask your manager."],
        "tags": ["人事", "假期"],
    }
    assert (entry["answer_strategy"], entry["enabled"]) == ("first", True)
    assert page.texts(".faq-list .tag") == ["人事", "假期"]
    assert not page.too_wide("#documents")

    page.click(".faq-question")
    page.until(lambda: page.all(".tag-picker [value=人事]:checked"), "its tags are ticked")
    page.find("[name=question]").send_keys("（2026）")
    page.click(".answer-fields li:last-child button")
    page.click(".faq-form > .check input")
    page.click(".faq-form [type=submit]")
    until_listed(page, "如何请假？（2026）")
    assert entry["answers"] == ["在系统中申请。\n找主管批准。"]
    assert entry["enabled"] is False
    assert page.js("return document.activeElement.matches('.faq-question')")
    assert page.complaints() == []


def test_entries_are_searched_filtered_and_paged(server: ScriptedServer, open_page: OpenPage) -> None:
    kb = a_faq_kb(server, *[f"Question {n}" for n in range(1, 46)])
    server.library.add_entry(kb, "年假有几天", tags=["假期"], enabled=False)
    page = opened(server, open_page)
    page.until_text(".faq-part .pager .facts", "1–20 of 46")
    assert questions(page)[0] == "年假有几天"
    page.click(".faq-part .pager button:last-child")
    page.until_text(".faq-part .pager .facts", "21–40 of 46")
    page.find("#faq-search").send_keys("question 4")
    page.until_text(".faq-part .pager .facts", "1–7 of 7")
    page.find("#faq-search").send_keys(Keys.ESCAPE)
    page.until_text(".faq-part .pager .facts", "of 46")
    assert page.all("#documents[open]")
    page.click("#faq-enabled [value=false]")
    until_listed(page, "年假有几天")
    page.click("#faq-enabled [value=true]")
    page.until_text(".faq-part .pager .facts", "1–20 of 45")
    page.click("#faq-tag-select option:last-child")
    page.until_text(".faq-list .empty", "No entry fits.")
    assert page.complaints() == []


@pytest.mark.parametrize(
    ("language", "disabled", "deleted"),
    [
        ("en-US", "2 entries disabled.", "2 entries deleted."),
        ("zh-CN", "已停用 2 条问答。", "已删除 2 条问答。"),
    ],
)
def test_several_entries_are_disabled_enabled_and_deleted_at_once(
    server: ScriptedServer, open_page: OpenPage, language: str, disabled: str, deleted: str
) -> None:
    a_faq_kb(server, "a", "b", "c")
    page = opened(server, open_page, language=language, width=360, height=740)
    until_listed(page, "c", "b", "a")
    for row in [1, 2]:
        page.click(f".faq-entry:nth-child({row}) > input")
    page.click("[data-what=disable]")
    page.until_text("#documents .said", disabled)
    assert [one["enabled"] for one in server.library.entries.values()] == [True, False, False]
    assert len(page.all(".faq-entry[data-enabled=false] .chip.off")) == 2
    page.click("[data-what=delete]")
    page.click("#confirm .danger")
    until_listed(page, "a")
    page.until_text("#documents .said", deleted)
    page.click("#faq-all")
    page.click("[data-what=disable]")
    page.until(lambda: not server.library.entries["e2"]["enabled"], "it is disabled")
    assert page.complaints() == []


def test_a_question_that_another_entry_has_leads_to_that_one_and_nothing_is_lost(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    a_faq_kb(server, "How long?", answers=["Two weeks."])
    page = opened(server, open_page)
    page.click("#faq-add")
    page.press("How long?")
    page.find("[name=answer]").send_keys("Three weeks.")
    page.click(".faq-form [type=submit]")
    page.until_text(".form-error", "Another entry asks “How long?” already.")
    page.click(".form-error button")
    page.until(lambda: page.value("[name=answer]") == "Two weeks.", "the other is open")
    assert page.text("#documents-title") == "Edit the entry"
    page.click("#documents .back")
    page.until(lambda: page.value("[name=answer]") == "Three weeks.", "the first is back")
    page.find("[name=question]").send_keys(" On average?")
    page.click(".faq-form [type=submit]")
    until_listed(page, "How long? On average?", "How long?")


@pytest.mark.parametrize("how", ["back", "close", "escape", "backdrop"])
def test_what_is_not_saved_is_lost_only_when_somebody_says_so(
    server: ScriptedServer, open_page: OpenPage, how: str
) -> None:
    a_faq_kb(server, "one")
    page = opened(server, open_page, language="zh-CN")

    def leave() -> None:
        if how == "escape":
            page.press(Keys.ESCAPE)
        elif how == "backdrop":
            page.js("document.querySelector('#documents').dispatchEvent(new MouseEvent('click'))")
        else:
            page.click(f"#documents .{how}")
        page.until(lambda: page.find("#confirm").is_displayed(), "it asks")

    page.click("#faq-add")
    page.press("写了一半")
    leave()
    assert page.text("#confirm p") == "写下的内容还没有保存，要放弃吗？"
    page.click("#confirm .quiet")
    assert page.value("[name=question]") == "写了一半"
    prevented = "return !dispatchEvent(new Event('beforeunload', {cancelable: true}))"
    assert page.js(prevented) is True
    leave()
    page.click("#confirm .danger")
    page.until(lambda: not page.all(".faq-form"), "the form is gone")
    assert page.js(prevented) is False
    assert len(server.library.entries) == 1


def test_what_a_browser_closes_all_the_same_is_there_again_when_opened(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    a_faq_kb(server)
    page = opened(server, open_page)
    page.click("#faq-add")
    page.press("half a question")
    page.js("document.querySelector('#documents').close()")
    page.click("#language")
    page.click(".bar .open-documents")
    assert page.value("[name=question]") == "half a question"
    assert page.text("[for=faq-1-question]") == "问题"


@pytest.mark.parametrize(
    ("language", "report", "reason"),
    [
        ("en-US", "2 new · 1 updated · 0 unchanged · 2 rejected", "A question is too long."),
        ("zh-CN", "新增 2 条 · 更新 1 条 · 未变 0 条 · 拒绝 2 行", "A question is too long."),
    ],
)
def test_a_file_is_imported_with_a_report_of_every_rejected_row(
    server: ScriptedServer, open_page: OpenPage, tmp_path: Path, language: str, report: str, reason: str
) -> None:
    a_faq_kb(server, "old")
    file = tmp_path / "问答.csv"
    file.write_text("question,answers\n", encoding="utf-8")
    long = {
        "row": 3,
        "question": "q" * 3000,
        "reason": "A question is too long.",
        "code": "faq_question_too_long",
    }
    server.library.import_report = {
        "created": 2,
        "updated": 1,
        "unchanged": 0,
        "rejected": [long, {"row": 7, "question": EVIL, "reason": "brand new", "code": "brand_new"}],
    }
    page = opened(server, open_page, language=language, width=360, height=740)
    page.click("#faq-transfer")
    page.find("#faq-file").send_keys(str(file))
    page.click(".faq-form [type=submit]")
    page.until_text(".import-report .note", report)
    assert page.texts(".rejected tbody th") == ["3", "7"]
    assert page.texts(".rejected tbody td:last-child") == [reason, "brand new"]
    assert EVIL in page.texts(".rejected tbody td")
    assert server.library.imports == [("问答.csv", "append", b"question,answers\n")]
    assert not page.too_wide("#documents")
    page.find("#faq-file").send_keys(str(file))
    page.click("#faq-mode [value=replace]")
    page.click(".faq-form [type=submit]")
    page.click("#confirm .danger")
    page.until(lambda: len(server.library.imports) == 2, "it is sent")
    assert server.library.imports[1][1] == "replace"
    assert page.complaints() == []


def test_entries_are_exported_in_every_format(server: ScriptedServer, open_page: OpenPage) -> None:
    kb = a_faq_kb(server, "one")
    page = opened(server, open_page)
    page.click("#faq-transfer")
    page.until(lambda: page.all(".export-links a"), "there are links")
    links = page.js(
        "return [...document.querySelectorAll('.export-links a')].map(a => a.getAttribute('href'))"
    )
    assert links == [
        f"/api/v1/knowledge-bases/{kb}/faq/export?format={one}" for one in ["csv", "xlsx", "json"]
    ]
    assert page.texts(".export-links a") == ["CSV", "XLSX", "JSON"]
    assert page.find(".export-links a").get_attribute("aria-label") == "Export as CSV"


def test_nothing_in_entries_or_tags_becomes_a_part_of_the_page(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    a_faq_kb(server, EVIL, BIDI, answers=[EVIL, BIDI], tags=[EVIL[:40], BIDI])
    page = opened(server, open_page)
    until_listed(page, BIDI, EVIL)
    kept_apart = (
        "return [...document.querySelectorAll('.faq-question, .faq-list .tag, .faq-list .snippet')]"
        ".every(e => getComputedStyle(e).unicodeBidi !== 'normal')"
    )
    assert page.js(kept_apart) is True
    # In a sentence there is no element to keep it apart.
    labels = page.js("return [...document.querySelectorAll('.faq-entry [aria-label]')].map(e => e.ariaLabel)")
    assert not any(mark in label for label in labels for mark in "\u202e\u2066")
    page.click(".faq-question")
    page.until(lambda: page.all(".tag-picker [type=checkbox]:checked"), "the tags are ticked")
    assert page.value("[name=question]") == BIDI
    assert page.js("return document.querySelectorAll('dialog img, dialog script, dialog b').length") == 0
    assert "owned" not in page.browser.title
    assert page.complaints() == []


def test_a_question_of_ten_thousand_characters_is_kept_in_the_form_and_refused_in_words(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    long = "水" * 10_000
    kb = a_faq_kb(server)
    server.library.add_entry(kb, long)
    page = opened(server, open_page, language="zh-CN", width=360, height=740)
    page.until(lambda: questions(page) == ["水" * 160 + "…"], "its beginning is shown")
    assert not page.too_wide("#documents")
    page.click(".faq-question")
    page.until(lambda: page.value("[name=question]") == long, "it is there as it is")
    page.find("[name=question]").send_keys("渠")
    page.click(".faq-form [type=submit]")
    page.until_text("#documents [role=alert]", "问题太长，最多 1000 个字。")
    assert page.value("[name=question]") == f"{long}渠"


def test_entries_are_kept_with_the_keyboard_alone(server: ScriptedServer, open_page: OpenPage) -> None:
    a_faq_kb(server, "one")
    page = opened(server, open_page)

    def tab_to(selector: str) -> None:
        def there() -> bool:
            page.press(Keys.TAB)
            return page.js("return document.activeElement.matches(arguments[0])", selector)

        page.until(there, f"{selector} can be reached", seconds=5)

    until_listed(page, "one")
    tab_to("#faq-add")
    page.press(Keys.ENTER)
    page.press("two")
    tab_to(".faq-form [type=submit]")
    assert page.js("return getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.press(Keys.ENTER)
    until_listed(page, "two", "one")
    assert page.js("return document.activeElement.id") == "faq-add"
    tab_to(".faq-entry:first-child > input")
    page.press(Keys.SPACE)
    tab_to(".faq-entry:first-child .icon-button")
    page.press(Keys.ENTER)
    page.until(lambda: page.find("#confirm").is_displayed(), "it asks")
    page.press(Keys.TAB, Keys.ENTER)
    until_listed(page, "one")
