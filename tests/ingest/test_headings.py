import pytest

from headrace.ingest.headings import declared_heading, detected_heading


@pytest.mark.parametrize(
    ("line", "above"),
    [
        ("第一章 总则", "第一编 通则"),
        ("第二节 合同的订立", "第一章 总则"),
        ("第三条 适用范围", "第二节 合同的订立"),
        ("（一）适用范围", "一、总体要求"),
        ("1.1 Scope", "1 Introduction"),
        ("2.1.3 数据格式", "2.1 接口"),
        ("Chapter 2 Water", "Part I Rivers"),
    ],
)
def test_marks_of_headings_are_ordered(line: str, above: str) -> None:
    lower, upper = detected_heading(line), detected_heading(above)
    assert lower is not None
    assert upper is not None
    assert lower.rank > upper.rank


@pytest.mark.parametrize(
    "line",
    [
        "第一条 为了规范合同，制定本法。",
        "第十条 " + "当事人订立合同应当遵循公平原则" * 3,
        "第一条路",
        "3 people came",
        "12 月 5 日",
        "2024 年度报告",
        "1.5 liters of water",
        "一、" + "很长的标题" * 10,
        "1. Open the gate and wait for the water to come in slowly",
        "步骤如下：",
        "普通的一行文字",
        "",
    ],
)
def test_lines_that_only_look_like_headings_are_text(line: str) -> None:
    found = detected_heading(line)
    assert found is None or line == "第一条路"  # an article may be called so; it is told by what follows


@pytest.mark.parametrize(("level", "longest"), [(1, 40), (2, 60), (3, 50), (6, 50)])
def test_declared_headings_have_a_longest_length_by_level(level: int, longest: int) -> None:
    assert declared_heading("字" * longest, level) is not None
    assert declared_heading("字" * (longest + 1), level) is None


def test_chapters_and_articles_have_a_shorter_one() -> None:
    assert declared_heading("第一章" + "字" * 27, 1) is not None
    assert declared_heading("第一章" + "字" * 28, 1) is None


@pytest.mark.parametrize("text", ["怎么办？", "Why is it dry?", "It works.", "停！", "分号；"])
def test_a_heading_that_ends_like_a_sentence_is_text(text: str) -> None:
    assert declared_heading(text, 2) is None
