"""The page on which a search is tried."""

from typing import Any
from urllib.parse import quote

import pytest
from selenium.webdriver.common.keys import Keys

from .browser import Page
from .conftest import OpenPage
from .library import FOUND, a_found, a_search
from .scripted import ScriptedServer, an_event, failure
from .test_faq import BIDI
from .test_page import EN, EVIL, ZH, an_answer

pytestmark = pytest.mark.integration

ROWS = "#search .candidates tbody tr:not(.way-row)"


def opened(server: ScriptedServer, open_page: OpenPage, **how: Any) -> Page:
    if not server.kbs:
        server.add_kb("手册")
    page = open_page(server.url, **how)
    page.open("#/search")
    page.until(lambda: page.js("return document.activeElement.id") == "search-query", "a query can be typed")
    return page


def searched(server: ScriptedServer, open_page: OpenPage, query: str = ZH, **how: Any) -> Page:
    page = opened(server, open_page, **how)
    page.press(query)
    page.until(lambda: page.all(ROWS), "something is found")
    return page


def until_settled(page: Page, server: ScriptedServer, searches: int) -> None:
    page.until(lambda: len(server.library.searches) >= searches, f"{searches} searches are asked for")
    page.until(lambda: page.all(".search-results[aria-busy=false]"), "the answer is shown")


@pytest.mark.parametrize(
    ("language", "width", "summary", "fates"),
    [
        (
            "en-US",
            1280,
            "2 of 4 passages are kept · 63 ms",
            [
                "returned",
                "returned",
                "Keep the best behind the best that are kept score 0.40 · limit 2",
                "Rerank score of the reranker too low 0.12 is below 0.30",
            ],
        ),
        (
            "zh-CN",
            360,
            "4 个段落中保留 2 个 · 63 毫秒",
            ["返回", "返回", "择优 排在保留名额之外 得分 0.40 · 界限 2", "重排 重排得分过低 0.12 低于 0.30"],
        ),
    ],
)
def test_every_passage_is_told_with_its_channels_scores_and_why_it_left(
    server: ScriptedServer,
    open_page: OpenPage,
    language: str,
    width: int,
    summary: str,
    fates: list[str],
) -> None:
    page = searched(server, open_page, language=language, width=width, height=740)
    page.until_text(".search-said", summary)
    assert page.texts(f"{ROWS} .fate") == fates
    assert page.texts(f"{ROWS}:first-child .number-cell") == [
        "0.80#2",
        "7.25#1",
        "0.90#1",
        "0.95",
        "0.93#1",
    ]
    assert page.texts(f"{ROWS}:first-child mark") == ["水渠", "设计流量"]
    assert server.library.searches == [{"query": ZH, "knowledge_base_ids": ["kb1"], "trace": True}]
    assert not page.too_wide("#search")
    assert page.complaints() == []


def test_marks_and_the_question_an_entry_was_found_by_stand_beside_its_title(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    entry = a_found(
        "e1", "密封件多久更换？", "4000 h", marks=["faq_boosted", "brand_new"], question="seal kit?"
    )
    server.library.found = lambda body: a_search(body["query"], [entry], rerank_verdict="failed")
    page = searched(server, open_page, language="zh-CN")
    assert page.texts(f"{ROWS} .mark-chip") == ["问答优先", "brand_new"]
    assert page.text(f"{ROWS} .facts") == "命中的问法： seal kit?"
    assert "重排失败：沿用融合的顺序" in page.text("#search .summary")


def test_what_one_channel_found_is_shown_alone_and_sorted(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    page = searched(server, open_page, EN)
    assert page.texts("#search .choices:nth-of-type(2) label") == ["Every channel", "Meaning 4", "Words 2"]
    page.find("#search .choices [value=keyword]").send_keys(Keys.SPACE)
    assert page.texts(f"{ROWS} .title") == ["手册", "Manual"]
    page.click("#search thead [data-key=sort-vector]")
    assert page.texts(f"{ROWS} .title") == ["Manual", "手册"]
    page.find("#knob-rerank_top_k").send_keys("5")
    until_settled(page, server, 2)
    assert page.texts(f"{ROWS} .title") == ["Manual", "手册"]  # another search keeps how it is looked at


def test_thresholds_are_turned_live_and_what_moved_is_marked(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    page = searched(server, open_page, EN)
    assert page.all(".move") == []
    low, other = dict(FOUND[0]), dict(FOUND[1])
    back = dict(FOUND[3], fate="selected", left=None, ranks={"vector": 4, "fused": 4, "selected": 2})
    low = dict(low, ranks={**low["ranks"], "selected": 3})
    other = dict(other, ranks={**other["ranks"], "selected": 1})
    fresh = a_found("c9", "New", "brand new", "left", ranks={"keyword": 3})
    server.library.found = lambda body: a_search(body["query"], [other, back, low, fresh])
    page.js(
        "const slider = document.querySelector('#knob-rerank_threshold ~ [type=range]');"
        "for (const value of [0.25, 0.2, 0.1]) {"
        "slider.value = value; slider.dispatchEvent(new Event('input', {bubbles: true}));}"
    )
    page.until(lambda: page.all(".move"), "what moved is marked")
    marks = dict(zip(page.texts(f"{ROWS} .title"), page.texts(f"{ROWS} th .move"), strict=False))
    assert marks == {"Manual": "▲1", "Zoo": "+ kept now", "手册": "▼2", "New": "+ new"}
    assert page.find(f"{ROWS}[data-chunk=c1] .move").get_attribute("aria-label") == "2 places down"
    # Three turns of the knob were one wish.
    assert [body.get("settings") for body in server.library.searches] == [None, {"rerank_threshold": 0.1}]
    assert page.value("#knob-rerank_threshold") == "0.1"
    server.library.found = lambda body: a_search(body["query"], [other])
    page.find("#knob-vector_threshold").send_keys("0.9")
    page.until(lambda: page.all(".gone"), "what is gone is listed")
    assert page.texts(".gone li > :first-child") == ["Zoo", "手册"]
    assert page.complaints() == []


def test_an_older_answer_that_comes_late_is_dropped(server: ScriptedServer, open_page: OpenPage) -> None:
    server.library.found = lambda body: a_search(
        body["query"], [a_found("c1", body["query"], "text", ranks={"selected": 1})]
    )
    server.library.hold("slow")
    page = opened(server, open_page)
    page.press("slow", Keys.ENTER)
    page.until(lambda: server.library.searches, "the first one is on its way")
    page.press(" fast", Keys.ENTER)
    page.until(lambda: page.texts(f"{ROWS} .title") == ["slow fast"], "the second one is shown")
    server.library.let_go("slow")
    page.find("#search-query").send_keys("er", Keys.ENTER)
    page.until(lambda: page.texts(f"{ROWS} .title") == ["slow faster"], "the third one is shown")
    assert [body["query"] for body in server.library.searches] == ["slow", "slow fast", "slow faster"]


def test_a_link_holds_the_query_the_place_and_the_knobs(server: ScriptedServer, open_page: OpenPage) -> None:
    first, second = server.add_kb("手册"), server.add_kb("Other")
    tag = server.library.add_tag(second, "泵")
    document = server.library.add_document(second, "a.md")
    page = searched(server, open_page, ZH)
    page.click(".search-where > summary")
    page.click(f".search-where [value={second}]")
    page.click(f".search-where [value={tag}]")
    page.click(".search-where details summary")
    page.click(f".search-where [value={document}]")
    page.click("#knob-fusion [value=rrf]")
    page.click("#knob-enable_query_expansion [value=false]")
    page.find("#knob-mmr_lambda").send_keys("0.5")
    page.click("#knob-rerank")
    expected = {
        "query": ZH,
        "knowledge_base_ids": [second],
        "tag_ids": [tag],
        "knowledge_ids": [document],
        "rerank": False,
        "settings": {"fusion": "rrf", "enable_query_expansion": False, "mmr_lambda": 0.5},
        "trace": True,
    }
    page.until(lambda: server.library.searches[-1] == expected, "all of it is asked for")
    assert server.library.searches[0]["knowledge_base_ids"] == [first, second]
    link = page.js("return location.hash")
    assert link == (
        f"#/search?q={quote(ZH)}&kb={second}&tag={tag}&doc={document}&rerank=false"
        "&fusion=rrf&enable_query_expansion=false&mmr_lambda=0.5"
    )
    server.library.searches.clear()
    page.open(link)
    page.until(lambda: page.all(ROWS), "it is searched again")
    assert server.library.searches == [expected]
    assert page.value("#search-query") == ZH
    assert page.value("#knob-mmr_lambda") == "0.5"
    assert page.complaints() == []


@pytest.mark.parametrize(("language", "told"), [("en-US", "At most 1."), ("zh-CN", "不能大于 1。")])
def test_an_impossible_knob_is_said_beside_it_and_not_searched_with(
    server: ScriptedServer, open_page: OpenPage, language: str, told: str
) -> None:
    page = searched(server, open_page, language=language)
    page.find("#knob-vector_threshold").send_keys("7")
    page.until_text("#knob-vector_threshold-fault", told)
    assert page.find("#knob-vector_threshold").get_attribute("aria-invalid") == "true"
    page.find("#knob-vector_threshold").send_keys(Keys.BACKSPACE, "0.7")
    until_settled(page, server, 2)
    assert [body.get("settings") for body in server.library.searches] == [None, {"vector_threshold": 0.7}]
    assert not page.find("#knob-vector_threshold-fault").is_displayed()
    assert "10" in (page.find("#knob-rerank_top_k").get_attribute("placeholder") or "")


def test_a_refusal_takes_the_place_of_what_was_found(server: ScriptedServer, open_page: OpenPage) -> None:
    page = searched(server, open_page, language="zh-CN")
    server.library.refuse_search = failure(422, "bad_setting", "keyword_threshold: too small")
    page.find("#search-query").send_keys("？")
    page.until_text(".search-main > .error", "keyword_threshold: too small")
    page.until(lambda: not page.all(ROWS), "nothing old is shown")
    server.library.refuse_search = None
    page.find("#search-query").send_keys(Keys.BACKSPACE)
    page.until(lambda: page.all(ROWS), "it is found again")


def test_the_whole_text_of_a_passage_is_read_when_its_way_is_opened(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    document = server.library.add_document(server.add_kb("手册"), "a.md", ["x" * 1_000_000])
    chunk = next(iter(server.library.chunks))
    long = a_found(chunk, "手册", "x" * 200, "left", ranks={"vector": 3})
    server.library.found = lambda body: a_search(body["query"], [FOUND[0], long])
    page = searched(server, open_page, "设计流量", width=360, height=740)
    page.click(f"{ROWS}[data-chunk=c1] .way-button")
    page.until_text(".way-row .passage-text", FOUND[0]["snippet"])
    assert page.texts(".way-row .passage-text mark") == ["设计流量"]
    page.click(f"{ROWS}[data-chunk={chunk}] .way-button")
    page.until(
        lambda: (
            len(page.texts(".way-row .passage-text")[-1]) == 4001
            if page.all(".way-row .passage-text")
            else False
        ),
        "its text is read",
    )
    page.click(".way-row .passage-text + button")
    page.until(lambda: len(page.texts(".way-row .passage-text")[-1]) == 1_000_000, "all of it is shown")
    assert not page.too_wide("#search")
    assert server.documents[document]
    assert page.complaints() == []


def test_nothing_that_is_found_becomes_a_part_of_the_page(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    evil = a_found("c1", EVIL, EVIL, section=EVIL, kind=EVIL, marks=[EVIL], ranks={"vector": 1, EVIL: 2})
    bidi = a_found(
        "c2", BIDI, BIDI, "left", left={"stage": EVIL, "reason": EVIL, "score": 1, "limit": 2, "other": EVIL}
    )
    server.library.found = lambda body: a_search(
        body["query"],
        [evil, bidi],
        variants=[EVIL],
        queries={"xx": EVIL, "zh": BIDI},
        channels={EVIL: 3},
        warnings=[{"stage": EVIL, "code": EVIL, "message": EVIL}],
        settings={EVIL: EVIL},
        cache={EVIL: EVIL},
    )
    server.add_kb(EVIL[:90])
    page = searched(server, open_page, f"{EVIL} {BIDI}")
    page.click(f"{ROWS}[data-chunk=c1] .way-button")
    page.until(lambda: page.texts(".way-row .passage-text") == [EVIL], "its text is shown")
    assert page.js("return document.querySelectorAll('main img, main script, main b').length") == 0
    kept_apart = (
        "return [...document.querySelectorAll('#search .title, #search .snippet')]"
        ".every(e => getComputedStyle(e).unicodeBidi !== 'normal')"
    )
    assert page.js(kept_apart) is True
    assert "owned" not in page.browser.title
    assert page.complaints() == []


def test_a_query_of_ten_thousand_characters_is_searched_and_stands_in_the_link(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    long = "水渠的设计流量是多少？" * 900
    server.add_kb("手册")
    page = open_page(server.url, language="zh-CN", width=360, height=740)
    page.open(f"#/search?q={quote(long)}")
    page.until(lambda: page.all(ROWS), "something is found")
    assert server.library.searches[0]["query"] == long
    assert page.texts(f"{ROWS}:first-child mark") == ["水渠", "设计流量"]
    assert not page.too_wide("#search")


def test_an_answer_being_written_goes_on_behind_the_page_and_the_back_button_leads_to_it(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    server.add_kb("手册")
    server.answers[EN] = [
        *an_answer("Twelve ", "cubic metres."),
        an_event("complete", done=True, outcome="answered"),
    ]
    server.hold_after = 2
    page = open_page(server.url)
    page.ask(EN)
    page.until_text(".answer .body", "Twelve")
    page.click("#open-search")
    page.until(lambda: page.find("#search-query").is_displayed(), "a search can be tried")
    assert not page.find("#question").is_displayed()
    assert page.find("#open-search").get_attribute("aria-current") == "page"
    assert page.text("#title") == "Try a search"
    page.press("canal")
    page.until(lambda: page.all(ROWS), "something is found")
    server.release()
    page.browser.back()
    page.until_answered()
    assert page.find("#question").is_displayed()
    assert not page.find("#search").is_displayed()
    assert page.text(".answer .body").strip() == "Twelve cubic metres."
    page.browser.forward()
    page.until(lambda: page.value("#search-query") == "canal", "the search is back")
    page.click("#new")
    page.until(lambda: page.find("#question").is_displayed(), "a question can be asked")
    assert page.complaints() == []


def test_the_language_is_switched_over_what_was_found(server: ScriptedServer, open_page: OpenPage) -> None:
    page = searched(server, open_page, EN)
    page.click("#language")
    page.until_text(".search-said", "4 个段落中保留 2 个")
    assert page.texts(f"{ROWS} .fate")[0] == "返回"
    assert page.text("[for=knob-vector_threshold]") == "语义最低得分"
    assert page.text("#knob-fusion [value=rrf]") == "仅按名次（RRF）"
    assert page.text("#title") == "检索测试"
    assert page.find("#search-query").get_attribute("placeholder") == "一个问题或几个词"
    assert len(server.library.searches) == 1


def test_a_knowledge_base_leads_to_a_search_in_it(server: ScriptedServer, open_page: OpenPage) -> None:
    server.add_kb("手册")
    second = server.add_kb("Other", "faq")
    page = open_page(server.url)
    page.click(".bar .open-documents")
    page.click(f"#kb-select [value={second}]")
    page.click("#kb-search")
    page.until(lambda: page.find("#search-query").is_displayed(), "a search can be tried")
    assert not page.find("#documents").is_displayed()
    page.press("x")
    until_settled(page, server, 1)
    assert server.library.searches[0]["knowledge_base_ids"] == [second]
