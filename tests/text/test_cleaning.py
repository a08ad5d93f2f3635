import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headrace.text.cleaning import clean_passage

MARKS = "年假 ab ` ``` # > ** - | [ ]( ) ! < <b <b> </b> $$ ~~ __ 1. http://x <!-- --> <td> </td> =".split()
SPACES = ["\n", " ", "\t", "\r", "\u2028"]


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("```python\nx = 1\n```\n$$E=mc^2$$", "x = 1\nE=mc^2"),
        ("<p>年假<b>十天</b></p><!-- 草稿 -->", "年假十天"),
        ("<table><tr><td>天数</td> <td>10</td></tr></table>", "天数, 10"),
        ('<img src="x.png" alt=图/><a href="https://x.y">link</a>', "link"),
        ("<note><to>Ann</to> 请假</note>", "Ann 请假"),
        ("见![流程图](img/流程(1).png)下图", "见下图"),
        ("详见[休假办法](https://x.y/a_(b) '标题')第三条", "详见休假办法第三条"),
        ("网址 https://example.com/a?b=1，点击即可", "网址 ，点击即可"),
        ("| 天数 | 说明 |\n|---|:--:|\n| **10** | `annual` |", "天数, 说明\n10, annual"),
        ("## 休假\n> 引用\n- item one\n* item two\n1. 第三项", "休假\n引用\nitem one\nitem two\n第三项"),
        ("**重要** and __bold__ ~~旧~~", "重要 and bold 旧"),
        ("一\n\n \n\n二\n", "一\n二"),
    ],
)
def test_marks_go_and_words_stay(raw: str, clean: str) -> None:
    assert clean_passage(raw) == clean


@pytest.mark.parametrize(
    "text", ["a < b and c > d", "5*3*2 = 30", "snake_case_name", "-5 度", "3.14", "C# 与 F#", "税率 5% - 10%"]
)
def test_signs_that_mean_something_stay(text: str) -> None:
    assert clean_passage(text) == text


@pytest.mark.parametrize(
    "body",
    [
        "std::vector<int> 年假(10); // 天数",
        "if (a<b && c>d) { calls[i](x); }",
        "y = 2**n**m + rest[k](x, y)",
        "SELECT * FROM leave WHERE days <> 10",
        r"\frac{a_{1}}{b} < x_1 * y_2 + \alpha",
        "E = mc^2, 其中 c 为光速",
    ],
)
@pytest.mark.parametrize(("opening", "closing"), [("```java\n", "\n```"), ("~~~\n", "\n~~~"), ("$$", "$$")])
def test_bodies_of_code_and_formulas_stay_as_they_are(body: str, opening: str, closing: str) -> None:
    assert clean_passage(f"请看：\n{opening}{body}{closing}\nthe end") == f"请看：\n{body}\nthe end"


@given(st.lists(st.from_regex(r"[a-z_]{1,6}(<[A-Z]>)?\[?[0-9]{0,3}", fullmatch=True), max_size=6))
def test_no_word_of_code_is_lost(words: list[str]) -> None:
    def spelled(text: str) -> list[str]:
        return re.findall(r"[A-Za-z0-9]+", text)

    body = " = ".join(words)
    assert spelled(clean_passage(f"```\n{body}\n```")) == spelled(body)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 50_000,
        "<!--" * 5_000,
        "[a](" * 20_000,
        "|" + " " * 50_000 + "x",
        "**a" * 20_000,
        "<b" * 20_000 + ">" * 20_000,
        "<p" + " a" * 50_000,
        "<b " * 20_000,
        "<x></x>" * 10_000,
    ],
)
def test_hostile_text_takes_no_time(text: str) -> None:
    clean_passage(text)


@given(st.text())
def test_any_text_can_be_cleaned(text: str) -> None:
    assert isinstance(clean_passage(text), str)


@given(st.lists(st.sampled_from([*MARKS, *SPACES]), max_size=20).map("".join))
@example("<b" * 12 + " x" + ">" * 12)
@example("[" * 9 + "休假" + "](x)" * 9)
@example("1. <b" * 8 + "x" + ">" * 8)
def test_cleaning_again_changes_nothing(text: str) -> None:
    clean = clean_passage(text)
    assert clean_passage(clean) == clean


@given(st.text(alphabet="年假ab `#>*-|[]()!<>/$~\n"))
def test_cleaning_never_adds_lines(text: str) -> None:
    assert clean_passage(text).count("\n") <= text.count("\n") + text.count("<")
