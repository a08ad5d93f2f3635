"""Tags and passages on the page: kept, set, filtered by, edited, disabled."""

from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from .browser import Page
from .conftest import OpenPage
from .scripted import ScriptedServer
from .test_faq import BIDI
from .test_page import EN, EVIL, an_answer, completed

pytestmark = pytest.mark.integration


def opened(server: ScriptedServer, open_page: OpenPage, **how: Any) -> Page:
    page = open_page(server.url, **how)
    page.click(".bar .open-documents")
    page.until(lambda: page.all(".document"), "the documents are shown")
    return page


def passages(server: ScriptedServer, open_page: OpenPage, **how: Any) -> Page:
    """The passages of the first document."""
    page = opened(server, open_page, **how)
    page.click(".document-title")
    page.until(lambda: page.all(".chunk"), "the passages are shown")
    return page


def titles(page: Page) -> list[str]:
    return page.texts(".document-title")


def edit(page: Page, chunk: str, text: str) -> None:
    page.click(f"[data-chunk={chunk}] [data-key=edit-{chunk}]")
    page.press(Keys.CONTROL, "a", Keys.NULL, text)


@pytest.mark.parametrize(("language", "width"), [("en-US", 1280), ("zh-CN", 360)])
def test_tags_are_added_renamed_and_deleted(
    server: ScriptedServer, open_page: OpenPage, language: str, width: int
) -> None:
    kb = server.add_kb("手册")
    server.library.add_document(kb, "a.md", tags=("旧",))
    page = opened(server, open_page, language=language, width=width, height=740)
    page.click("#kb-tags")
    page.until(lambda: page.texts(".tag-name") == ["旧"], "the tags are shown")
    page.press("泵", Keys.ENTER)
    page.until(lambda: page.texts(".tag-name") == ["旧", "泵"], "it is added")
    page.find("#tag-name").send_keys("泵", Keys.ENTER)
    page.until(lambda: page.text("#documents [role=alert]"), "the name is refused")
    assert page.value("#tag-name") == "泵"
    page.find("#tag-name").clear()
    page.click(".tag-row:first-child .icon-button")
    page.press(Keys.CONTROL, "a", Keys.NULL, "Gate 闸门", Keys.ENTER)
    page.until(lambda: page.texts(".tag-name") == ["Gate 闸门", "泵"], "it has its new name")
    page.click(".tag-row:first-child .icon-button:last-child")
    page.click("#confirm .danger")
    page.until(lambda: page.texts(".tag-name") == ["泵"], "it is gone")
    assert not page.too_wide("#documents")
    assert [tag["name"] for tag in server.library.tags.values()] == ["泵"]
    # The one complaint is the browser's about the refusal.
    assert [one for one in page.complaints() if "409" not in one] == []


@pytest.mark.parametrize(
    ("language", "all_tags", "none"),
    [("en-US", "All tags", "No tags yet."), ("zh-CN", "全部标签", "还没有标签。")],
)
def test_a_document_is_tagged_and_the_list_filtered_by_it(
    server: ScriptedServer, open_page: OpenPage, language: str, all_tags: str, none: str
) -> None:
    kb = server.add_kb("手册")
    server.library.add_document(kb, "a.md")
    server.library.add_document(kb, "b.md")
    page = opened(server, open_page, language=language, width=360, height=740)
    assert not page.find("#document-tag").is_displayed()
    page.click(".document:last-child .icon-button")
    page.until_text(".tag-picker .empty", none)
    page.find(".tag-picker input[type=text]").send_keys("泵", Keys.ENTER)
    assert server.library.tags == {}  # not before it is saved
    page.click(".kb-view [type=submit]")
    page.until(lambda: page.texts(".document .tag") == ["泵"], "it has the tag")
    assert page.text("#document-tag-select option") == all_tags
    page.click("#document-tag-select option:last-child")
    page.until(lambda: titles(page) == ["a.md"], "the others are not shown")
    page.click("#document-tag-select option:first-child")
    page.until(lambda: titles(page) == ["b.md", "a.md"], "all are shown")
    page.click(".document:last-child .icon-button")
    page.click(".tag-picker [type=checkbox]")
    page.click(".kb-view [type=submit]")
    page.until(lambda: not page.all(".document .tag"), "it has no tag")
    assert page.complaints() == []


@pytest.mark.parametrize(("language", "told"), [("en-US", "手册 · 1 tag"), ("zh-CN", "手册 · 1 个标签")])
def test_a_question_is_narrowed_to_tags(
    server: ScriptedServer, open_page: OpenPage, language: str, told: str
) -> None:
    kb = server.add_kb("手册")
    tag = server.library.add_tag(kb, "泵")
    other = server.library.add_tag(server.add_kb("Other", "faq"), EVIL[:40])
    server.answers[EN] = [*an_answer("Twelve."), completed()]
    page = open_page(server.url, language=language, width=360, height=740)
    page.click("#scope summary")
    page.click(f"#scope .tag-choice [value={other}]")
    page.click(f".scope-list [value={server.kbs[1]['id']}]")  # its tags go with it
    page.click(f"#scope .tag-choice [value={tag}]")
    page.until_text("#scope summary", told)
    assert page.find("#scope .tag-choice .hint").is_displayed()
    assert page.js("return document.documentElement.scrollWidth <= innerWidth")
    page.ask(EN)
    page.until_answered()
    assert server.questions[0]["tag_ids"] == [tag]
    page.click("#scope summary")
    page.click(f"#scope .tag-choice [value={tag}]")
    page.ask(EN)
    page.until(lambda: len(server.questions) == 2, "it is asked")
    assert "tag_ids" not in server.questions[1]
    assert page.complaints() == []


@pytest.mark.parametrize(
    ("language", "hint"), [("en-US", "until the document is read anew"), ("zh-CN", "在重新读取文档之前有效")]
)
def test_a_passage_is_edited_and_disabled(
    server: ScriptedServer, open_page: OpenPage, language: str, hint: str
) -> None:
    document = server.library.add_document(server.add_kb("手册"), "a.md", ["每晚 450 元。", "Second."])
    server.library.add_chunk(server.documents[document], 0, "# 差旅\n\n每晚 450 元。", "parent")
    page = passages(server, open_page, language=language, width=360, height=740)
    first, second, parent = server.library.chunks
    edit(page, first, "每晚 500 元。")
    assert page.find("#chunk-edit-hint").is_displayed()
    page.click(".editing [type=submit]")
    page.until_text(f"[data-chunk={first}] .passage-text", "500")
    page.until_text("#documents .said", hint)
    assert server.library.chunks[first]["content"] == "每晚 500 元。"
    assert len(page.all(".chunk-head .chip")) == 1  # it says that it was edited
    assert page.js("return document.activeElement.dataset.key") == f"edit-{first}"
    page.click(f"[data-key=switch-{second}]")
    page.until(lambda: page.all(f"[data-chunk={second}][data-enabled=false] .chip.off"), "it is disabled")
    page.click(f"[data-key=switch-{second}]")
    page.until(lambda: page.all(f"[data-chunk={second}][data-enabled=true]"), "it is enabled")
    assert not page.all(f"[data-key=switch-{parent}]")  # a section is never searched
    page.click("#chunk-kind [value=parent]")
    page.until(lambda: len(page.all(".chunk")) == 1, "only sections are shown")
    assert not page.too_wide("#documents")
    assert page.complaints() == []


def test_what_was_typed_into_a_passage_is_never_lost_silently(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    texts = [f"passage {n}" for n in range(25)]
    server.library.add_document(server.add_kb("手册"), "a.md", texts)
    page = passages(server, open_page)
    first, second = list(server.library.chunks)[:2]
    edit(page, first, "half")
    ways = [
        lambda: page.click(f"[data-key=edit-{second}]"),
        lambda: page.click(".kb-view .pager button:last-child"),
        lambda: page.click("#chunk-kind [value=table]"),
        lambda: page.press(Keys.ESCAPE),
        lambda: page.click("#documents .back"),
        lambda: page.click("#documents .close"),
    ]
    for leave in ways:
        page.find(".editing textarea").click()
        leave()
        page.until(lambda: page.find("#confirm").is_displayed(), "it asks")
        page.click("#confirm .quiet")
        assert page.value(".editing textarea") == "half"
    page.find(".editing textarea").send_keys(Keys.CONTROL, "a", Keys.DELETE)
    page.click(".editing [type=submit]")
    page.until_text("#documents [role=alert]", "needs some text")
    assert page.all(".editing textarea")
    page.click(".editing .quiet")
    page.click("#confirm .danger")
    page.until(lambda: not page.all(".editing"), "the editor is gone")
    page.click(".kb-view .pager button:last-child")
    page.until(lambda: len(page.all(".chunk")) == 5, "the second page is shown")
    assert page.text(".kb-view .pager .facts") == "21–25 of 25"
    assert server.library.chunks[first]["content"] == "passage 0"


@pytest.mark.parametrize("width", [1280, 360])
def test_a_passage_of_a_million_characters_is_cut_until_it_is_asked_for(
    server: ScriptedServer, open_page: OpenPage, width: int
) -> None:
    texts = ["x" * 1_000_000, EVIL, BIDI]
    server.library.add_document(server.add_kb("手册"), BIDI, texts)
    page = passages(server, open_page, width=width, height=740)
    assert page.texts(".chunk .passage-text") == ["x" * 600 + "…", EVIL, BIDI]
    assert "\u202e" not in page.text("#documents-title")
    page.click(".chunk:first-child .passage-text + button")
    page.until(lambda: len(page.text(".chunk:first-child .passage-text")) == 1_000_000, "all is shown")
    assert not page.too_wide("#documents")
    assert page.js("return document.querySelectorAll('dialog img, dialog script, dialog b').length") == 0
    assert page.complaints() == []
