"""The page in a browser, against a server whose every event the test has written."""

from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from .conftest import OpenPage
from .scripted import ScriptedServer, an_event, failure

pytestmark = pytest.mark.integration

ZH = "水渠的设计流量是多少？"
EN = "What is the design flow of the canal?"
KB_TAG = '<kb doc="设计 | &quot;手册&quot;" knowledge_id="d1" chunk_id="c1" page="3"/>'
EN_TAG = '<kb doc="Manual" knowledge_id="d2" chunk_id="c2"/>'


def a_reference(chunk_id: str, title: str, content: str, **more: Any) -> dict[str, Any]:
    return {
        "id": chunk_id,
        "knowledge_id": "d1",
        "knowledge_title": title,
        "content": content,
        "score": 0.714,
        "match_type": "both",
        "page": None,
        "section": None,
        "sub_chunk_ids": [],
        **more,
    }


REFERENCES = [
    a_reference("c9", "Other", "not cited"),
    a_reference("c1", '设计 | "手册"', "设计流量为 12 m³/s。", page=3, section="2.1"),
    a_reference("c2", "Manual", "The design flow is 12 m³/s."),
]


def an_answer(*pieces: str, segment: int = 1) -> list[dict[str, Any]]:
    return [an_event("answer", piece, segment=segment) for piece in pieces]


def searched() -> list[dict[str, Any]]:
    call: dict[str, Any] = {"tool_call_id": "t1", "tool_name": "knowledge_search"}
    return [
        an_event("tool_call", **call),
        an_event("tool_result", **call, hits=3, knowledge_bases=1, duration_ms=42),
        an_event("references", knowledge_references=REFERENCES),
    ]


def completed(outcome: str = "answered") -> dict[str, Any]:
    return an_event("complete", done=True, outcome=outcome, timing={"total_ms": 1234}, model="scripted")


ZH_PIECES = ["设计流量", "为 **12 m³/s", "。**", KB_TAG[:9], KB_TAG[9:30], KB_TAG[30:], "另见", EN_TAG, "。"]
ZH_EVENTS = [*searched(), *an_answer(*ZH_PIECES), completed()]


def test_a_streamed_answer_is_whole_however_its_bytes_are_cut(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    server.add_kb("手册")
    server.answers[ZH] = ZH_EVENTS
    server.bytes_at_once = 7
    page = open_page(server.url)
    page.ask(ZH)
    page.until_answered()
    assert page.text(".answer .body").strip() == "设计流量为 12 m³/s。1另见2。"
    assert page.texts(".answer .body strong") == ["12 m³/s。"]
    assert page.text(".question .bubble") == ZH
    assert server.questions[0]["knowledge_base_ids"] == ["kb1"]
    assert page.complaints() == []


def test_half_a_citation_is_never_shown(server: ScriptedServer, open_page: OpenPage) -> None:
    server.answers[ZH] = ZH_EVENTS
    server.hold_after = 4 + 5  # in the middle of the first tag
    page = open_page(server.url)
    page.ask(ZH)
    page.until(lambda: page.all(".answer[data-seq='9']"), "the pieces so far are shown")
    assert page.text(".answer .body").strip() == "设计流量为 12 m³/s。"


def test_a_citation_opens_its_passage(server: ScriptedServer, open_page: OpenPage) -> None:
    server.answers[ZH] = ZH_EVENTS
    page = open_page(server.url)
    page.ask(ZH)
    page.until_answered()
    page.click(".citation[data-citation='0']")
    current = "#sources .passage.current"
    page.until_text(f"{current} .passage-text", "设计流量为 12 m³/s。")
    assert page.text(f"{current} h3") == '设计 | "手册"'
    assert page.text(f"{current} .facts") == "page 3 · section 2.1 · score 0.71 · by meaning and words"
    assert page.texts("#sources .passage .number") == ["1", "2"]
    assert page.texts("#sources .passage h3") == ['设计 | "手册"', "Manual", "Other"]
    page.press(Keys.ESCAPE)
    page.until(lambda: not page.all("#sources[open]"), "the drawer is closed")
    assert page.js("return document.activeElement.dataset.citation") == "0"


def test_the_words_that_an_answer_quotes_are_marked_in_the_passage(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    text = "前言。" * 400 + "校核流量为\n15 m³/s。其他。"
    reference = a_reference("c1", "手册", text)
    server.answers[ZH] = [
        an_event("references", knowledge_references=[reference]),
        *an_answer("设计流量不明。校核流量为 15 m³/s。", KB_TAG),
        completed(),
    ]
    page = open_page(server.url)
    page.ask(ZH)
    page.until_answered()
    page.click(".citation")
    page.until_text("#sources mark", "校核流量为\n15 m³/s。")
    assert page.text("#sources .passage-text") == text
    page.until(
        lambda: page.js(
            "const {top, bottom} = document.querySelector('mark').getBoundingClientRect();"
            "return top > 0 && bottom < innerHeight"
        ),
        "the mark can be seen",
    )


def test_the_drawer_lists_all_sources_and_a_citation_without_one_says_so(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    forged = '<kb doc="Nowhere" knowledge_id="x" chunk_id="gone"/>'
    server.answers[EN] = [*searched(), *an_answer("Twelve.", forged), completed()]
    page = open_page(server.url)
    page.ask(EN)
    page.until_answered()
    page.click(".sources-button")
    page.until(lambda: len(page.all("#sources .passage")) == 3, "all passages are listed")
    page.click(".citation")
    page.until_text("#sources .passage.current", "not among the ones kept")


EVIL = (
    '<img src="/evil.png" onerror="document.title=\'owned\'"><script>document.title="owned"</script><b>x</b>'
)


def test_nothing_in_documents_or_answers_becomes_a_part_of_the_page(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    reference = a_reference("c1", EVIL, EVIL, section=EVIL, url="javascript:document.title='owned'")
    doc = EVIL.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    told = f"{EVIL} ![p](http://127.0.0.1:1/p.png) [l](javascript:alert(1)) [e](https://example.org) [r](/x)"
    server.answers[EVIL] = [
        an_event("references", knowledge_references=[reference]),
        *an_answer(told, f'<kb doc="{doc}" knowledge_id="d" chunk_id="c1"/>'),
        an_event("warning", EVIL, stage="rerank", code="x"),
        completed(),
    ]
    page = open_page(server.url)
    page.ask(EVIL)
    page.until_answered()
    page.click(".citation")
    page.until_text("#sources .passage-text", EVIL)
    assert (
        page.js("return document.querySelectorAll('main img, dialog img, main script, main b').length") == 0
    )
    assert page.text("#sources .passage.current h3") == EVIL
    links = page.js(
        "const links = [...document.querySelectorAll('.body a[href], #sources a')];"
        "return links.map(a => [a.href, a.rel, a.target])"
    )
    rel = "noopener noreferrer nofollow"
    assert links == [
        ["http://127.0.0.1:1/p.png", rel, "_blank"],
        ["https://example.org/", rel, "_blank"],
    ]
    assert "owned" not in page.browser.title
    assert page.complaints() == []


def test_a_reset_drops_what_was_shown(server: ScriptedServer, open_page: OpenPage) -> None:
    server.answers[EN] = [
        *searched(),
        *an_answer("First try, which "),
        an_event("reset", segments=[1]),
        *an_answer("Second try.", segment=2),
        completed(),
    ]
    server.hold_after = 5
    page = open_page(server.url)
    page.ask(EN)
    page.until_text(".answer .body", "First try")
    server.release()
    page.until_answered()
    assert page.text(".answer .body").strip() == "Second try."


def test_a_cut_connection_is_taken_up_again_behind_the_last_event(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    pieces = [f"{n}水 " for n in range(20)]
    server.answers[ZH] = [*searched(), *an_answer(*pieces), completed()]
    server.cut_after = [6, 11, 12]
    page = open_page(server.url)
    page.ask(ZH)
    page.until_answered()
    assert page.text(".answer .body").strip() == "".join(pieces).strip()
    # A browser may throw away what it had not handed over yet, so it may ask for some of it again.
    assert len(server.run_of(ZH).asked) == 4
    assert all(after <= cut for after, cut in zip(server.run_of(ZH).asked, [0, 6, 11, 12], strict=True))
    assert len(server.questions) == 1


def test_a_question_whose_connection_broke_at_once_is_not_asked_twice(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    server.answers[EN] = [*an_answer("Twelve."), completed()]
    server.cut_after = [0]
    page = open_page(server.url)
    server.hold_after = 0
    page.ask(EN)
    page.until(lambda: server.runs, "the question has arrived")
    server.release()
    page.until_answered()
    assert len(server.questions) == 1


def test_a_reload_in_mid_answer_goes_on_without_loss_or_repeat(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    server.answers[ZH] = ZH_EVENTS
    server.hold_after = 6
    page = open_page(server.url)
    page.ask(ZH)
    page.until_text(".answer .body", "设计流量")
    page.reload()
    page.until_text(".answer .body", "设计流量")
    assert page.text(".send") == "Stop"
    server.release()
    page.until_answered()
    assert page.text(".answer .body").strip() == "设计流量为 12 m³/s。1另见2。"
    assert len(page.all(".answer")) == 1
    page.reload()
    page.until_answered()
    assert page.text(".answer .body").strip() == "设计流量为 12 m³/s。1另见2。"


def test_stop_keeps_what_was_written_and_a_reload_shows_it_as_stopped(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    server.answers[EN] = [*searched(), *an_answer("Half an ", "answer"), completed()]
    server.hold_after = 5
    page = open_page(server.url)
    page.ask(EN)
    page.until_text(".answer .body", "Half an")
    page.click(".send.stop")
    page.until_answered("stopped")
    page.until_text(".answer .note", "Stopped.")
    assert page.text(".send") == "Send"
    page.reload()
    page.until_answered("stopped")
    assert page.text(".answer .body").strip() == "Half an"


def test_an_error_is_shown_with_its_reason_and_the_question_can_be_asked_again(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    why = "The chat model does not answer: start it."
    server.answers[EN] = [*an_answer("Twel"), an_event("error", why, done=True, code="chat_down")]
    page = open_page(server.url)
    page.ask(EN)
    page.until_text(".answer .note[data-kind=failed]", why)
    page.reload()
    page.until_text(".answer .note[data-kind=failed]", why)
    page.until(lambda: page.texts(".actions .quiet:not([hidden])"), "there are buttons")
    page.js(
        "[...document.querySelectorAll('.actions button')].find(b => b.textContent == 'Ask again').click()"
    )
    assert page.js("return document.querySelector('#question').value") == EN


@pytest.mark.parametrize(
    ("outcome", "text"), [("declined", "No answer in the documents"), ("fallback", "Nothing found")]
)
def test_an_answer_that_is_none_is_said_plainly(
    server: ScriptedServer, open_page: OpenPage, outcome: str, text: str
) -> None:
    server.answers[EN] = [*an_answer("I found nothing about this."), completed(outcome)]
    page = open_page(server.url)
    page.ask(EN)
    page.until_text(f".answer[data-outcome={outcome}] .verdict", text)
    page.reload()
    page.until_text(f".answer[data-outcome={outcome}] .verdict", text)


def test_a_refused_question_goes_back_into_the_box(server: ScriptedServer, open_page: OpenPage) -> None:
    server.refuse_ask = failure(422, "bad_setting", "top_p: too large")
    page = open_page(server.url)
    page.ask(EN)
    page.until_text("#alert", "top_p: too large")
    assert page.js("return document.querySelector('#question').value") == EN
    assert page.all(".answer, .question") == []


def test_progress_warnings_thinking_and_time_are_shown(server: ScriptedServer, open_page: OpenPage) -> None:
    understand: dict[str, Any] = {"tool_call_id": "t0", "tool_name": "query_understand"}
    server.answers[EN] = [
        an_event("tool_call", **understand),
        an_event("tool_result", **understand, rewritten="canal design flow", duration_ms=5),
        *searched(),
        an_event("warning", "Ranking was skipped.", stage="rerank", code="skipped"),
        an_event("thinking", "Let me see.", segment=1),
        *an_answer("Twelve.", segment=2),
        completed(),
    ]
    server.hold_after = 2
    page = open_page(server.url)
    page.ask(EN)
    page.until_text(".progress", "Understanding the question…")
    page.until_text("#status", "Understanding the question…")
    assert page.find(".answer .body").get_attribute("aria-busy") == "true"
    server.release()
    page.until_answered()
    facts = "understood as “canal design flow” · 1 knowledge base · 3 passages"
    page.until_text(".progress", facts)
    page.until_text("#status", "Answer complete.")
    assert page.texts(".warnings li") == ["Ranking was skipped."]
    assert page.text(".thought") == "Let me see."
    assert page.find(".thinking").get_attribute("open") is None
    assert page.text(".took") == "Took 1.2 s · scripted"
    assert page.find(".answer .body").get_attribute("aria-busy") == "false"


def test_the_extractive_answerer_is_announced(server: ScriptedServer, open_page: OpenPage) -> None:
    server.info = {"chat": {"name": "extractive", "generates": False}}
    page = open_page(server.url)
    page.until(lambda: page.find("#notice").is_displayed(), "the notice is shown")
    server.info = {}
    page.open()
    page.until(lambda: not page.find("#notice").is_displayed(), "without the field there is no notice")


def test_enter_picks_a_candidate_while_composing_and_shift_enter_is_a_new_line(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    server.answers["水渠\n在哪"] = [*an_answer("那里"), completed()]
    page = open_page(server.url)
    page.find("#question").send_keys("水渠", Keys.SHIFT, Keys.ENTER, Keys.NULL, "在哪")
    for how in ["isComposing: true", "keyCode: 229"]:
        page.js(
            "document.querySelector('#question').dispatchEvent("
            f"new KeyboardEvent('keydown', {{key: 'Enter', bubbles: true, cancelable: true, {how}}}))"
        )
    assert page.js("return document.querySelector('#question').value") == "水渠\n在哪"
    page.press(Keys.ENTER)
    page.until_answered()
    assert [asked["query"] for asked in server.questions] == ["水渠\n在哪"]


def test_conversations_are_listed_opened_renamed_and_deleted(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    for question in [EN, ZH]:
        server.answers[question] = [*an_answer(f"to {question}"), completed()]
    page = open_page(server.url)
    page.ask(EN)
    page.until_answered()
    page.click("#new")
    page.until(lambda: not page.all(".answer"), "the new conversation is empty")
    page.ask(ZH)
    page.until_answered()
    page.until(lambda: page.texts(".session-link") == [ZH, EN], "both are listed")
    page.until(lambda: page.browser.title.startswith(ZH), "the title is shown")

    page.click(".session:last-child .session-link")
    page.until_text(".answer .body", f"to {EN}")
    page.hover(".session:last-child")
    page.click(".session:last-child [data-key^=rename]")
    page.find(".session input").send_keys(Keys.CONTROL, "a", Keys.NULL, "渠 Canal", Keys.ENTER)
    page.until(lambda: page.texts(".session-link") == [ZH, "渠 Canal"], "it has its new name")
    page.until_text("#title", "渠 Canal")

    page.hover(".session:last-child")
    page.click(".session:last-child .icon-button:last-child")
    page.click("#confirm .danger")
    page.until(lambda: page.texts(".session-link") == [ZH], "it is gone from the list")
    page.until(lambda: not page.all(".answer"), "it is closed")
    assert page.complaints() == []


def test_the_back_button_opens_the_conversation_before(server: ScriptedServer, open_page: OpenPage) -> None:
    server.answers[EN] = [*an_answer("Twelve."), completed()]
    page = open_page(server.url)
    page.ask(EN)
    page.until_answered()
    page.click("#new")
    page.until(lambda: not page.all(".answer"), "the new conversation is empty")
    page.browser.back()
    page.until_text(".answer .body", "Twelve.")


def test_a_long_answer_scrolls_inside_the_page_and_is_read_from_its_beginning(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    for question in [ZH, EN]:
        server.answers[question] = [*an_answer("line\n\n" * 60), completed()]
    page = open_page(server.url)
    page.ask(ZH)
    page.until_answered()
    page.ask(EN)
    page.until(lambda: len(page.all(".answer[data-status=complete]")) == 2, "both are answered")
    place = (
        "const within = document.querySelector('#scroller').getBoundingClientRect();"
        "const {top} = [...document.querySelectorAll('.bubble')].at(-1).getBoundingClientRect();"
        "return top - within.top"
    )
    page.until(lambda: 0 <= page.js(place) < 60, "the last question is at the top")
    assert page.js("return document.documentElement.scrollHeight <= innerHeight")


def test_a_conversation_that_is_gone_is_said_to_be(server: ScriptedServer, open_page: OpenPage) -> None:
    page = open_page(server.url)
    page.open("#/sessions/s99")
    page.until_text("#alert", "does not exist any more")
    assert page.find("#welcome").is_displayed()


def test_a_link_cut_in_the_middle_of_a_character_opens_a_new_conversation(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    page = open_page(server.url)
    page.open("#/sessions/%E6%B")
    page.until(lambda: page.js("return document.activeElement.id") == "question", "a question can be typed")
    assert page.find("#welcome").is_displayed()
    # Of what an earlier page had open the browser may still complain.
    assert not [one for one in page.complaints() if "Uncaught" in one]


def test_files_are_uploaded_followed_and_deleted(
    server: ScriptedServer, open_page: OpenPage, tmp_path: Path
) -> None:
    names = ["渠 说明.txt", "broken.pdf", "song.mp3", "empty.txt"]
    for name in names:
        (tmp_path / name).write_text("" if name.startswith("empty") else "text", encoding="utf-8")
    server.document_states["broken.pdf"] = [{"status": "failed", "error": "The file is encrypted."}]
    page = open_page(server.url)
    page.click("#welcome .open-documents")
    page.find("#kb-name").send_keys("手册", Keys.ENTER)
    page.until(lambda: page.find(".drop").is_displayed(), "files can be added")
    page.find("#files").send_keys("\n".join(str(tmp_path / name) for name in names))

    def chips() -> dict[str, str]:
        return dict(zip(page.texts(".document-title"), page.texts(".chip"), strict=True))

    expected = {
        "渠 说明.txt": "3 passages",
        "broken.pdf": "Failed",
        "song.mp3": "Failed",
        "empty.txt": "Failed",
    }
    page.until(lambda: chips() == expected, "every file has its end")
    errors = page.texts(".document .error")
    assert "The file is encrypted." in errors
    assert any("not supported" in error for error in errors)
    assert "The file is empty." in errors
    assert sorted(one["title"] for one in server.documents.values()) == ["broken.pdf", "渠 说明.txt"]

    page.click("[data-status=ready] .icon-button:last-child")
    page.click("#confirm .danger")
    page.until(lambda: "渠 说明.txt" not in chips(), "the document is gone")
    page.click("#documents .close")
    page.until_text("#scope summary", "手册")
    assert page.complaints() == []


def test_files_dragged_over_the_page_open_the_documents_and_never_replace_the_page(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    page = open_page(server.url)
    dragged = (
        "const data = new DataTransfer(); data.items.add(new File(['x'], '水渠.txt'));"
        "return document.body.dispatchEvent("
        "new DragEvent(arguments[0], {dataTransfer: data, bubbles: true, cancelable: true}))"
    )
    page.js(dragged, "dragenter")
    page.until(lambda: page.find("#documents").is_displayed(), "the dialog to drop them in is open")
    assert page.js(dragged, "drop") is False  # the browser does not open the file itself


def test_dropped_files_are_uploaded(server: ScriptedServer, open_page: OpenPage) -> None:
    server.add_kb("Manuals")
    page = open_page(server.url)
    page.click(".bar .open-documents")
    page.until(lambda: page.find(".drop").is_displayed(), "files can be dropped")
    page.js(
        "const data = new DataTransfer();"
        "data.items.add(new File(['a'], 'a.txt'));"
        "data.items.add(new File(['b'], 'b.md'));"
        "document.querySelector('.drop').dispatchEvent("
        "new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}))"
    )
    page.until(lambda: page.texts(".chip") == ["3 passages", "3 passages"], "both are ready")


def test_a_file_stays_listed_when_a_list_from_before_its_upload_comes_late(
    server: ScriptedServer, open_page: OpenPage, tmp_path: Path
) -> None:
    kb = server.add_kb("手册")
    server.library.add_document(kb, "旧.md")
    (tmp_path / "新.md").write_text("渠", encoding="utf-8")
    page = open_page(server.url)
    server.list_after_uploads = 1
    page.click(".bar .open-documents")
    page.until(lambda: page.find(".drop").is_displayed(), "files can be added")
    page.find("#files").send_keys(str(tmp_path / "新.md"))
    page.until(lambda: page.texts(".document-title") == ["新.md", "旧.md"], "both are listed")
    page.until(lambda: page.texts(".chip")[:1] == ["3 passages"], "the new one is followed to its end")


def test_a_name_that_is_taken_is_refused_in_the_words_of_the_server(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    server.add_kb("Manuals")
    page = open_page(server.url)
    page.click(".bar .open-documents")
    page.find("#kb-name").send_keys("Manuals", Keys.ENTER)
    page.until_text("#documents [role=alert]", "already")


def test_ticked_knowledge_bases_are_searched_and_remembered(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    first, second = server.add_kb("Manuals"), server.add_kb("手册")
    server.answers[EN] = [*an_answer("Twelve."), completed()]
    page = open_page(server.url)
    page.until_text("#scope summary", "2 knowledge bases")
    page.click("#scope summary")
    page.click(f"#scope input[value={first}]")
    page.until_text("#scope summary", "手册")
    page.open()
    page.until_text("#scope summary", "手册")
    page.ask(EN)
    page.until_answered()
    assert server.questions[0]["knowledge_base_ids"] == [second]


def test_chinese_browsers_get_chinese_and_the_switch_is_remembered(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    server.answers[ZH] = ZH_EVENTS
    page = open_page(server.url, language="zh-CN")
    assert page.find("html").get_attribute("lang") == "zh-CN"
    assert page.find("#question").get_attribute("placeholder") == "就你的文档提问"
    page.ask(ZH)
    page.until_answered()
    assert page.text(".sources-button") == "出处（3）"
    page.click("#language")
    page.until_text(".sources-button", "Sources (3)")
    assert page.find("html").get_attribute("lang") == "en"
    assert page.find(".answer .body").get_attribute("lang") == "zh-CN"
    assert page.find(".citation").get_attribute("aria-label") == 'Source 1: 设计 | "手册", page 3'
    page.open()
    assert page.text("#new") == "New conversation"


def test_the_main_way_works_with_the_keyboard_alone(server: ScriptedServer, open_page: OpenPage) -> None:
    server.answers[EN] = [*searched(), *an_answer("Twelve.", EN_TAG), completed()]
    page = open_page(server.url)
    page.until(lambda: page.js("return document.activeElement.id") == "question", "the box has the focus")
    page.press(EN, Keys.ENTER)
    page.until_answered()

    def focus_is(selector: str) -> bool:
        page.press(Keys.SHIFT + Keys.TAB)
        return page.js("return document.activeElement.matches(arguments[0])", selector)

    page.until(lambda: focus_is(".citation"), "the citation can be reached", seconds=5)
    outline = page.js("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.press(Keys.ENTER)
    page.until_text("#sources .passage.current", "The design flow is 12 m³/s.")


def test_a_narrow_screen_shows_everything_without_sideways_scrolling(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    table = "|甲|乙|丙|丁|\n|-|-|-|-|\n" + "|很长的内容很长的内容|x|y|z|\n" * 3
    server.add_kb("手册")
    server.answers[EN] = [*searched(), *an_answer(table, "\n\n" + "w" * 90, EN_TAG), completed()]
    page = open_page(server.url, width=360, height=640)
    page.ask(EN)
    page.until_answered()
    assert not page.too_wide("#scroller")
    page.click(".citation")
    page.until_text("#sources .passage.current", "12 m³/s")
    assert page.js("return document.querySelector('#sources').matches(':modal')")
    page.press(Keys.ESCAPE)
    page.click("#menu")
    page.until(lambda: page.find("#sidebar").is_displayed(), "the list is shown")
    page.click(".session-link")
    page.until(lambda: not page.find("#sidebar").is_displayed(), "the list is closed")
    page.click(".bar .open-documents")
    page.until(lambda: page.find("#documents").is_displayed(), "the documents are shown")
    assert not page.too_wide("#scroller")
