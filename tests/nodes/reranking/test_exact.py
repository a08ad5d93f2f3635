import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.nodes.reranking.exact import holds_exactly, names_in, phrases_in


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("第十二条规定了什么", {"article 12"}),
        ("第 12 条", {"article 12"}),
        ("Article 12 of the act", {"article 12"}),
        ("Art. 12(3)", {"article 12"}),
        ("第一百零五条第二款", {"article 105", "clause 2"}),
        ("表3的数据", {"table 3"}),
        ("表 3.2 和 Table 4", {"table 3.2", "table 4"}),
        ("图 2-1", {"figure 2-1"}),
        ("Figs. 3a, fig 4", {"figure 3a", "figure 4"}),
        ("附件2、附录A", {"appendix 2", "appendix a"}),
        ("Appendix B, Table IV", {"appendix b", "table iv"}),
        ("Section 4.2.1, § 12", {"section 4.2.1", "section 12"}),
        ("AB-1234 的价格", {"ab1234"}),
        ("price of ab1234?", {"ab1234"}),
        ("GB/T 5009.3-2016、ISO 9001", {"gbt500932016", "iso9001"}),
        ("订单 20240017", {"20240017"}),
        ("ＡＢ－１２３４", {"ab1234"}),
    ],
)
def test_numbered_things_and_part_numbers_have_one_spelling(text: str, names: set[str]) -> None:
    assert names_in(text) == names


@pytest.mark.parametrize(
    "text",
    [
        "代表3人签字",
        "the table above",
        "in 2024-05-01",
        "地图10张",
        "A4 paper, 5G, mp3",
        "3.14 and 1,000,000",
    ],
)
def test_other_numbers_name_nothing(text: str) -> None:
    assert names_in(text) == set()


@pytest.mark.parametrize(
    ("query", "phrases"),
    [
        ("什么是「不可抗力」？", ["不可抗力"]),
        ("“重大 过失”与《劳动合同法》", ["重大过失", "劳动合同法"]),
        ('what is "Force  Majeure"', ["forcemajeure"]),
        ('a "" b', []),
        ("don't and can't", []),
    ],
)
def test_phrases_are_what_stands_in_quotation_marks(query: str, phrases: list[str]) -> None:
    assert phrases_in(query) == phrases


@pytest.mark.parametrize(
    ("query", "passage", "held"),
    [
        ("表3里的金额", "Table 3 lists amounts", True),
        ("表3里的金额", "表30 金额", False),
        ("第12条", "第十二条　年假", True),
        ("AB-1234", "型号 AB-12345", False),
        ("“不可抗力”的定义", "不可 抗力，指……", True),
        ("不可抗力的定义", "不可抗力，指……", False),
    ],
)
def test_a_passage_holds_what_the_query_names(query: str, passage: str, held: bool) -> None:
    assert holds_exactly(passage, names_in(query), phrases_in(query)) is held


@given(st.text())
def test_any_text_can_be_looked_through(text: str) -> None:
    holds_exactly(text, names_in(text), phrases_in(text))


@pytest.mark.parametrize(
    "text", ["a" * 100_000 + "-", "a-" * 50_000, "A/" * 50_000, "第" * 100_000, '"' * 100_000, "1" * 100_000]
)
def test_hostile_text_takes_no_time(text: str) -> None:
    holds_exactly(text, names_in(text), phrases_in(text))
