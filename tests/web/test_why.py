"""Why this answer: the record of a run on the page, its forks, and what differs."""

from itertools import pairwise
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from .browser import Page
from .conftest import OpenPage
from .scripted import ScriptedServer, a_run, an_event, failure
from .test_page import EN, EN_TAG, EVIL, ZH, an_answer, completed, searched
from .traces import STAGES, a_candidate, a_diff, a_stage, a_trace

pytestmark = pytest.mark.integration

ROWS = ".candidates tbody tr:not(.way-row)"
ORIGIN = "r4"  # the run of the first question: session, two messages, run


def asked(server: ScriptedServer, open_page: OpenPage, question: str = EN, **how: Any) -> Page:
    server.answers[question] = [*searched(), *an_answer("Twelve.", EN_TAG), completed()]
    server.traces.setdefault("*", a_trace())
    page = open_page(server.url, **how)
    page.ask(question)
    page.until_answered()
    return page


def opened(server: ScriptedServer, open_page: OpenPage, question: str = EN, **how: Any) -> Page:
    page = asked(server, open_page, question, **how)
    page.click(".why-button")
    page.until(lambda: page.all("#why .stage"), "the record is shown")
    return page


def titles(page: Page) -> list[str]:
    return page.texts(f"{ROWS} .title")


def fork_form(page: Page, stage: str) -> None:
    page.click(f"#why .stage[data-stage={stage}] .fork-here")
    page.until(lambda: page.all("#why .fork-form"), "the form is open")


def test_a_record_tells_stages_passages_calls_and_settings(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    page = opened(server, open_page)
    assert page.texts("#why .stage h4")[:3] == ["Read the conversation", "Understand the question", "Search"]
    rerank = "#why .stage[data-stage=rerank]"
    assert page.text(f"{rerank} .stage-facts") == "50 ms · 4 → 3 passages · 2 attempts"
    assert page.texts(f"{rerank} .departures li") == ["score of the reranker too low: 1"]
    assert "Understood as水渠的设计流量是多少？" in page.text("#why .summary")
    assert "an answer from the documents" in page.text("#why .summary")
    assert page.texts("#why .calls .call-head") == [
        "answer Write the answer · scripted · 690 ms · 800 + 40 tokens"
    ]
    assert not page.find("#why .prompt pre").is_displayed()
    page.click("#why .prompt summary")
    assert page.texts("#why .prompt pre") == ["Be brief.", "设计流量？"]
    assert "Passages for the model (rerank_top_k)10" in page.text("#why .settings")
    assert page.complaints() == []


def test_bars_stand_one_behind_the_other_and_need_no_style_attribute_in_the_page(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    page = opened(server, open_page)
    places: list[list[float]] = page.js(
        "return [...document.querySelectorAll('#why .bar-fill')].map(e => {"
        "const {left, right} = e.getBoundingClientRect(); return [left, right]})"
    )
    assert all(after[0] >= before[0] for before, after in pairwise(places))
    widths = {stage["stage"]: right - left for stage, (left, right) in zip(STAGES, places, strict=True)}
    assert widths["generate_answer"] > widths["rerank"] > widths["load_history"]
    assert page.complaints() == []


def test_every_passage_says_what_became_of_it_and_an_unknown_reason_is_shown_as_it_is(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    page = opened(server, open_page)
    assert titles(page) == ["手册", "手册", "Manual", "Zoo"]
    fates = page.texts(f"{ROWS} .fate")
    assert fates[0] == "cited"
    assert fates[1] == "Merge joined with its neighbour (c1 · 手册 · section 2.1 · page 3)"
    assert fates[2] == "Keep the best brand_new_reason score 0.40 · limit 1"
    assert fates[3] == "Rerank score of the reranker too low 0.12 is below 0.30"
    assert page.texts(f"{ROWS}:first-child .number-cell") == [
        "0.80#2",
        "7.25#1",
        "0.90#1",
        "0.95#1",
        "0.93#1",
    ]
    assert "The text is no longer kept." in page.texts(f"{ROWS} .snippet")


def test_passages_are_filtered_and_sorted(server: ScriptedServer, open_page: OpenPage) -> None:
    page = opened(server, open_page)
    assert page.texts("#why .choices label") == ["All (4)", "Kept (1)", "Left out (3)"]
    page.find("#why .choices input[value=left]").send_keys(Keys.SPACE)
    assert titles(page) == ["手册", "Manual", "Zoo"]
    page.click("#why thead [data-key=sort-vector]")
    assert page.find("#why thead th:nth-child(2)").get_attribute("aria-sort") == "descending"
    page.click("#why thead [data-key=sort-vector]")
    assert titles(page) == ["Zoo", "Manual", "手册"]
    assert page.find("#why thead th:nth-child(2)").get_attribute("aria-sort") == "ascending"
    assert page.js("return document.activeElement.dataset.key") == "sort-vector"
    assert page.text("#why [role=status]:not([class=''])")  # said to a screen reader


def test_a_passage_shows_its_way_through_the_stages(server: ScriptedServer, open_page: OpenPage) -> None:
    page = opened(server, open_page)
    page.click(f"{ROWS}[data-chunk=c4] .way-button")
    page.until(lambda: page.all(".way"), "its way is shown")
    assert page.texts(".way .step-name") == ["Search", "Collect", "Rerank"]
    assert page.texts(".way .end")[-1] == "score of the reranker too low 0.12 is below 0.30"
    assert page.find(f"{ROWS}[data-chunk=c4] .way-button").get_attribute("aria-expanded") == "true"
    assert page.js("return document.activeElement.dataset.key") == "way-c4"
    page.press(Keys.ENTER)
    page.until(lambda: not page.all(".way"), "it is folded again")


def test_a_fork_is_run_followed_and_compared(server: ScriptedServer, open_page: OpenPage) -> None:
    page = opened(server, open_page)
    server.answers["fork"] = [*an_answer("Zwölf ", "十二。"), completed()]
    server.hold_after = 2
    fork_form(page, "rerank")
    page.find(".fork-form [name=rerank_threshold]").send_keys("0.1")
    page.find(".fork-form [name=chat_model]").send_keys("other")
    page.click(".fork-form [type=submit]")
    page.until_text(".pane[data-kind=fork] .body", "Zwölf")
    assert page.text(".pane[data-kind=original] .body").strip() == "Twelve."
    assert server.forks == [
        {"run_id": ORIGIN, "from": "rerank", "settings": {"rerank_threshold": 0.1, "chat_model": "other"}}
    ]
    fork = next(run for run in server.runs.values() if run.session_id == "").message["run_id"]
    server.diffs[fork] = a_diff(ORIGIN, fork)
    server.release()
    page.until(lambda: page.all(".difference"), "the difference is shown")
    assert page.text(".pane[data-kind=fork] .body").strip() == "Zwölf 十二。"
    assert "Least score of the reranker (rerank_threshold)0.30.1" in page.text(".changes")
    assert page.texts(".difference .stage h4") == ["Rerank"]
    assert page.texts(".hit-changes[data-kind=entered] li") == [
        "Zoo place 2 · before: score of the reranker too low"
    ]
    assert page.texts(".hit-changes[data-kind=moved] li") == ["Manual #3 → #1"]
    assert "No difference in: Search" in page.text(".difference")
    assert page.complaints() == []


@pytest.mark.parametrize(
    ("language", "first", "more"),
    [
        ("en-US", "手册 (section 2.1 · page 3) place 1 · now: not found", "4 more"),
        ("zh-CN", "手册 (章节 2.1 · 第 3 页) 第 1 位 · 现在：没有检索到", "其余 4 项"),
    ],
)
def test_a_long_list_of_passages_that_one_run_lacks_is_folded_after_the_first(
    server: ScriptedServer, open_page: OpenPage, language: str, first: str, more: str
) -> None:
    gone = [
        {
            "chunk_id": f"c{n}",
            "document_title": "手册",
            "section": "2.1",
            "page": 3,
            "place": n,
            "reason": "not_found",
        }
        for n in range(1, 13)
    ]
    rerank = a_diff(ORIGIN, "f1")["stages"][1]
    server.traces["f1"] = a_trace("f1", run={"forked_from": ORIGIN, "fork_stage": "rerank"})
    server.traces[ORIGIN] = a_trace(run={"forks": ["f1"]})
    server.diffs["f1"] = a_diff(ORIGIN, "f1", stages=[{**rerank, "left": gone}])
    page = opened(server, open_page, language=language)
    page.click("#why .forks button")
    page.until(lambda: page.all("#why .origin"), "the fork is shown")
    page.click("#why .origin button:last-child")
    left = ".hit-changes[data-kind=left]"
    page.until(lambda: page.all(left), "the difference is shown")
    assert page.texts(f"{left} li")[0] == first
    assert [one.is_displayed() for one in page.all(f"{left} li")] == [True] * 8 + [False] * 4
    assert page.text(f"{left} summary") == more
    page.click(f"{left} summary")
    page.until(lambda: all(one.is_displayed() for one in page.all(f"{left} li")), "all are shown")
    assert page.complaints() == []


def test_a_fork_can_be_opened_and_forked_again(server: ScriptedServer, open_page: OpenPage) -> None:
    server.traces["f1"] = a_trace("f1", run={"forked_from": ORIGIN, "fork_stage": "rerank"})
    server.traces[ORIGIN] = a_trace(run={"forks": ["f1"]})
    server.diffs["f1"] = a_diff(ORIGIN, "f1")
    page = opened(server, open_page)
    page.click("#why .forks button")
    page.until_text("#why h2", "Why this fork answers so")
    assert "Forked at “Rerank” from" in page.text("#why .origin")
    page.click("#why .origin button:last-child")
    page.until(lambda: page.all(".difference"), "a finished fork is compared without being followed")
    page.click("#why .back")
    fork_form(page, "generate_answer")
    server.answers["fork"] = [*an_answer("Once more."), completed()]
    server.diffs["r8"] = a_diff("f1", "r8", answer=["Zwölf", "Once more."])
    page.click(".fork-form [type=submit]")
    page.until_text(".pane[data-kind=fork] .body", "Once more.")
    assert server.forks == [{"run_id": "f1", "from": "generate_answer"}]


def test_back_leads_through_the_views_and_escape_closes_the_form_before_the_dialog(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    server.traces["f1"] = a_trace("f1", run={"forked_from": ORIGIN, "fork_stage": "rerank"})
    server.traces[ORIGIN] = a_trace(run={"forks": ["f1"]})
    page = opened(server, open_page)
    assert not page.find("#why .back").is_displayed()
    page.click("#why .forks button")
    page.until_text("#why h2", "Why this fork answers so")
    page.click("#why .back")
    page.until_text("#why h2", "Why this answer")
    fork_form(page, "rerank")
    page.press(Keys.ESCAPE)
    page.until(lambda: not page.all(".fork-form"), "the form is closed")
    assert page.all("#why[open]")
    assert page.js("return document.activeElement.className") == "quiet fork-here"
    page.press(Keys.ESCAPE)
    page.until(lambda: not page.all("#why[open]"), "the dialog is closed")
    assert page.js("return document.activeElement.className") == "quiet why-button"


def test_what_was_changed_in_words_is_sent(server: ScriptedServer, open_page: OpenPage) -> None:
    page = opened(server, open_page)
    server.answers["fork"] = [completed()]
    fork_form(page, "generate_answer")
    assert page.all(".fork-form [name=embedding_top_k]") == []  # read by an earlier stage only
    field = page.find(".fork-form textarea[id$=question]")
    assert field.get_attribute("value") == "水渠的设计流量是多少？"
    field.send_keys(Keys.CONTROL, "a", Keys.NULL, "渠道流量")
    page.find(".fork-form select").send_keys("Role of the model")
    page.find(".fork-form textarea[id$=prompt-text]").send_keys("Answer in verse.")
    page.click(".fork-more summary")
    page.find(".fork-form textarea[id$=more]").send_keys("seed 7")
    page.click(".fork-form [type=submit]")
    page.until_text(".fork-form .error", "Write “seed 7” as name=value.")
    page.find(".fork-form textarea[id$=more]").send_keys(Keys.CONTROL, "a", Keys.NULL, "seed=7")
    page.click(".fork-form [type=submit]")
    page.until(lambda: server.forks, "it is sent")
    assert server.forks[0] == {
        "run_id": ORIGIN,
        "from": "generate_answer",
        "settings": {"seed": 7},
        "prompts": {"system_prompt": "Answer in verse."},
        "state": {"rewritten_query": "渠道流量"},
    }


@pytest.mark.parametrize(
    ("language", "said"), [("en-US", "The stage rerank was not reached."), ("zh-CN", "没有走到这个阶段")]
)
def test_a_refused_fork_keeps_the_form_and_says_why(
    server: ScriptedServer, open_page: OpenPage, language: str, said: str
) -> None:
    page = opened(server, open_page, language=language)
    server.refuse_fork = failure(
        409, "stage_not_reached", "The stage rerank was not reached.", reached=["load_history"]
    )
    fork_form(page, "rerank")
    page.find(".fork-form [name=rerank_top_k]").send_keys("3")
    page.click(".fork-form [type=submit]")
    page.until_text(".fork-form .error", said)
    assert page.find(".fork-form [name=rerank_top_k]").get_attribute("value") == "3"


def test_a_fork_that_fails_says_why_and_one_that_runs_can_be_stopped(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    page = opened(server, open_page)
    server.answers["fork"] = [*an_answer("Half"), an_event("error", "The model is down.", done=True)]
    server.hold_after = 2
    fork_form(page, "generate_answer")
    page.click(".fork-form [type=submit]")
    page.until_text(".pane[data-kind=fork] .body", "Half")
    fork = next(run for run in server.runs.values() if run.session_id == "").message["run_id"]
    runs = [a_run(ORIGIN), a_run(fork, status="failed")]
    server.diffs[fork] = a_diff(ORIGIN, fork, runs=runs, answer=["Twelve.", "Half"])
    server.release()
    page.until_text(".pane[data-kind=fork] .note", "The model is down.")

    page.click("#why .back")
    server.hold_after = 2
    fork_form(page, "generate_answer")
    page.click(".fork-form [type=submit]")
    page.until_text(".pane[data-kind=fork] .body", "Half")
    second = list(server.runs.values())[-1].message["run_id"]
    runs = [a_run(ORIGIN), a_run(second, status="stopped")]
    server.diffs[second] = a_diff(ORIGIN, second, runs=runs, answer=["Twelve.", "Half"])
    page.click(".pane[data-kind=fork] .actions button")
    page.until_text(".pane[data-kind=fork] .note", "Stopped.")


def test_what_is_no_longer_kept_is_said_in_the_language_of_the_page(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    stages = [{**stage, "can_fork": False} for stage in STAGES]
    told = "Only the last checkpoint is left: when its stages began is not known."
    candidates = [a_candidate("c1", "")]
    server.traces["*"] = a_trace(run={"kept": "last"}, stages=stages, missing=[told], candidates=candidates)
    page = opened(server, open_page, ZH, language="zh-CN")
    page.until_text("#why .summary .note", "只保留了最后的状态")
    assert page.all(".fork-here") == []
    assert titles(page) == ["已删除的文档"]


def test_a_record_that_was_erased_is_said_to_be(server: ScriptedServer, open_page: OpenPage) -> None:
    page = asked(server, open_page, ZH, language="zh-CN")
    server.traces.clear()
    page.click(".why-button")
    page.until_text("#why > .error", "已被擦除")


def test_erased_questions_and_answers_show_a_note_and_no_record(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    page = asked(server, open_page)
    for message in server.messages["s1"]:
        message.update(content="", knowledge_references=[], erased_at="2026-03-04T05:06:07Z")
    page.reload()
    page.until_text(".answer .note", "Erased on 3/4/2026")
    assert page.text(".bubble") == "This question was erased."
    assert page.all(".why-button:not([hidden])") == []


def test_nothing_in_a_record_becomes_a_part_of_the_page(server: ScriptedServer, open_page: OpenPage) -> None:
    left = {"stage": EVIL, "reason": EVIL, "score": None, "limit": None, "other": None}
    candidates = [
        a_candidate("c1", EVIL, snippet=EVIL, section=EVIL, alias=EVIL),
        a_candidate("c2", EVIL, "left", left=left),
    ]
    call: dict[str, Any] = {"stage": EVIL, "role": EVIL, "model": EVIL, "usage": {}, "error": EVIL}
    server.traces["*"] = a_trace(
        question=EVIL,
        intent=EVIL,
        rewritten_query=EVIL,
        stages=[a_stage(EVIL, 3, 1, 1, output={EVIL: EVIL}, departures={EVIL: 1}, reads=[EVIL])],
        candidates=candidates,
        calls=[{**call, "messages": [{"role": EVIL, "content": EVIL}]}],
        warnings=[{"stage": EVIL, "code": EVIL, "message": EVIL}],
        settings={EVIL: EVIL},
        prompts={EVIL: EVIL},
    )
    page = opened(server, open_page)
    page.click(f"{ROWS} .way-button")
    assert page.js("return document.querySelectorAll('#why :is(img, script, b)').length") == 0
    assert page.texts("#why .prompt pre") == [EVIL]
    assert "owned" not in page.browser.title
    assert page.complaints() == []


def test_the_record_is_read_with_the_keyboard_and_in_chinese(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    page = asked(server, open_page, ZH, language="zh-CN")
    page.js("document.querySelector('.why-button').focus()")
    page.press(Keys.ENTER)
    page.until_text("#why", "重排得分过低")
    assert page.js("return document.activeElement.id") == "why-title"

    def reached(selector: str) -> bool:
        page.press(Keys.TAB)
        return page.js("return document.activeElement.matches(arguments[0])", selector)

    for selector in [".fork-here", ".choices input", ".way-button", ".prompt summary", ".settings summary"]:
        page.until(lambda selector=selector: reached(selector), f"{selector} can be reached", seconds=10)
    english = "return [...document.querySelectorAll('#why h3, #why thead button, #why label')]"
    texts: list[str] = page.js(f"{english}.map(e => e.textContent)")
    assert [text for text in texts if text.isascii()] == ["MMR"] * texts.count("MMR")


def test_a_narrow_screen_shows_the_record_without_sideways_scrolling(
    server: ScriptedServer, open_page: OpenPage
) -> None:
    long = a_candidate("c5", "w" * 90, snippet="很长的内容" * 40, scores={"mmr": 0.5, "composite": 0.123456})
    server.traces["*"] = a_trace(candidates=[*a_trace()["candidates"], long])
    page = opened(server, open_page, width=360, height=640)
    wide = (
        "const {documentElement: all} = document, part = document.querySelector('.why-body');"
        "const frame = document.querySelector('.table-frame');"
        "return all.scrollWidth > innerWidth || part.scrollWidth > part.clientWidth"
        " || frame.scrollWidth > frame.clientWidth"
    )
    assert page.js(wide) is False
    page.click(f"{ROWS} .way-button")
    fork_form(page, "rerank")
    assert page.js(wide) is False
    page.find("#why .sort-choice select").send_keys("Passage")
    page.until(lambda: titles(page)[0] == "Manual", "the select sorts where there is no header")


def test_many_passages_are_drawn_when_asked_for(server: ScriptedServer, open_page: OpenPage) -> None:
    server.traces["*"] = a_trace(candidates=[a_candidate(f"c{n}", f"文 {n}") for n in range(300)])
    page = opened(server, open_page)
    assert len(page.all(ROWS)) == 30
    page.js(
        "[...document.querySelectorAll('#why button')].find(b => b.textContent == 'Show all 300').click()"
    )
    assert len(page.all(ROWS)) == 300
