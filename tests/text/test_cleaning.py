import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.text.cleaning import clean_passage


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("```python\nx = 1\n```\n$$E=mc^2$$", "x = 1\nE=mc^2"),
        ("<p>年假<b>十天</b></p><!-- 草稿 -->", "年假十天"),
        ("<table><tr><td>天数</td> <td>10</td></tr></table>", "天数, 10"),
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
    "text", ["[" * 50_000, "<!--" * 5_000, "[a](" * 20_000, "|" + " " * 50_000 + "x", "**a" * 20_000]
)
def test_hostile_text_takes_no_time(text: str) -> None:
    clean_passage(text)


@given(st.text(alphabet="年假ab `#>*-|[]()!<>/$~\n"))
def test_cleaning_never_adds_lines(text: str) -> None:
    assert clean_passage(text).count("\n") <= text.count("\n") + text.count("<")
