import pytest

from headrace.text.language import language_of


@pytest.mark.parametrize(
    "text",
    ["公司年假几天？", "臺灣的軟體", "Kubernetes Ingress Controller 怎么配", "VPN 连不上怎么办", "2021年呢"],
)
def test_chinese_questions_are_chinese(text: str) -> None:
    assert language_of(text) == "zh"


@pytest.mark.parametrize(
    "text",
    [
        "How many days of leave?",
        "What does 年假制度 mean?",
        "Who signed the 合同?",
        "naïve café",
        "",
        "123 😀",
    ],
)
def test_everything_else_is_english(text: str) -> None:
    assert language_of(text) == "en"
