"""Questions that are worded alike and ask for something else are told apart."""

import pytest

from headrace.text.near_miss import conflict, difference
from headrace.text.tokens import Tokens

TOKENS = Tokens()

NEAR_MISSES = [
    ("2021年的营业额是多少？", "2022年的营业额是多少？"),
    ("如何开启自动续费？", "如何关闭自动续费？"),
    ("怎么打开夜间模式？", "怎么关闭夜间模式？"),
    ("南渠水电站的总装机容量是多少？", "北湾水电站的总装机容量是多少？"),
    ("年假可以累计到下一年吗？", "年假不可以累计到下一年吗？"),
    ("差旅报销的上限是多少？", "差旅报销的下限是多少？"),
    ("北京到上海的车票多少钱？", "上海到北京的车票多少钱？"),
    ("国内出差的住宿标准是什么？", "国际出差的住宿标准是什么？"),
    ("入职需要准备哪些材料？", "离职需要准备哪些材料？"),
    ("3号机组的检修周期是多久？", "5号机组的检修周期是多久？"),
    ("密封件多久更换一次？", "轴承多久更换一次？"),
    ("张伟的电话是多少？", "李伟的电话是多少？"),
    ("如何增加管理员？", "如何删除管理员？"),
    ("周末可以加班吗？", "工作日可以加班吗？"),
    ("谁负责仓库的验收？", "什么时候进行仓库的验收？"),
    ("会议室在哪里？", "会议室有多少个？"),
    ("为什么要养护14天？", "怎么养护14天？"),
    ("试用期没有年假吗？", "试用期有年假吗？"),
    ("怎样导入联系人？", "怎样导出联系人？"),
    ("上海的办公室几点开门？", "杭州的办公室几点开门？"),
    ("最高温度是多少度？", "最低温度是多少度？"),
    ("项目什么时候开始？", "项目什么时候结束？"),
    ("信用卡如何还款？", "借记卡如何还款？"),
    ("水泵比电机重吗？", "电机比水泵重吗？"),
    ("产假有多少天？", "陪产假有多少天？"),
    ("发票丢了怎么办？", "合同丢了怎么办？"),
    ("员工多大年龄可以退休？", "员工多大年龄不可以退休？"),
    ("第三章讲了什么？", "第四章讲了什么？"),
    ("电压是220伏吗？", "电压是380伏吗？"),
    ("怎么连接打印机？", "怎么断开打印机？"),
    ("成人票多少钱？", "儿童票多少钱？"),
    ("谁向财务提交报告？", "财务向谁提交报告？"),
    ("What was the revenue in 2021?", "What was the revenue in 2022?"),
    ("How do I enable two-factor login?", "How do I disable two-factor login?"),
    ("How do I turn on dark mode?", "How do I turn off dark mode?"),
    ("Is smoking allowed on the balcony?", "Is smoking not allowed on the balcony?"),
    ("When does the museum open?", "When does the museum close?"),
    ("What is the maximum pressure?", "What is the minimum pressure?"),
    ("How long is the warranty of the LS-200?", "How long is the warranty of the LS-300?"),
    ("Who is the manager of the Berlin office?", "Who is the manager of the Paris office?"),
    ("How do I get from London to Oxford?", "How do I get from Oxford to London?"),
    ("Can I cancel before the trial ends?", "Can I cancel after the trial ends?"),
    ("How do I import contacts?", "How do I export contacts?"),
    ("When was the company founded?", "Where was the company founded?"),
    ("Who founded the company?", "Why was the company founded?"),
    ("How many people work here?", "Why do people work here?"),
    ("What does the basic plan cost?", "What does the premium plan cost?"),
    ("Is the course free?", "Isn't the course free?"),
    ("How do I install the driver?", "How do I uninstall the driver?"),
    ("Can guests use the pool?", "Can members use the pool?"),
    ("How do I send money abroad?", "How do I receive money from abroad?"),
    ("What is the capital of Austria?", "What is the capital of Australia?"),
    ("How is the seal kit replaced?", "How is the filter replaced?"),
    ("Does version 3.1 support Linux?", "Does version 3.2 support Linux?"),
    ("Is the pump heavier than the motor?", "Is the motor heavier than the pump?"),
    ("What is the deposit fee?", "What is the withdrawal fee?"),
    ("How can I lock my card?", "How can I unlock my card?"),
    ("Are pets allowed with a leash?", "Are pets allowed without a leash?"),
    ("What is the first stop of the line?", "What is the last stop of the line?"),
    ("How old must a driver be?", "How tall must a driver be?"),
    ("What do adults pay?", "What do children pay?"),
    ("How do I contact Alice?", "How do I contact Bob?"),
    ("Which medicines are taken before meals?", "Which medicines are taken after meals?"),
    ("What is the limit of 1,000 units?", "What is the limit of 10,000 units?"),
]

SAME = [
    ("年假有几天？", "请问年假有几天"),
    ("年假有几天？", "年假有幾天?"),
    ("差旅费怎么报销？", "差旅费如何报销呢？"),
    ("LS-200的保修期是多久？", "ls-200 的保修期是多久"),
    ("是否可以带宠物？", "请问，是否可以带宠物"),
    ("How do I reset my password?", "how do i reset my password"),
    ("How do I reset my password?", "Please tell me how to reset the password."),
    ("What does the basic plan cost?", "what does the basic plan cost ??"),
    ("Is the limit 1,000 units?", "is the limit 1000 units?"),
]


@pytest.mark.parametrize(("one", "other"), NEAR_MISSES)
def test_a_near_miss_is_not_the_same_question_whoever_comes_first(one: str, other: str) -> None:
    assert difference(one, other, TOKENS) is not None
    assert difference(other, one, TOKENS) is not None


@pytest.mark.parametrize(("one", "other"), SAME)
def test_other_words_around_it_leave_a_question_the_same(one: str, other: str) -> None:
    assert difference(one, other, TOKENS) is None
    assert difference(other, one, TOKENS) is None


def test_there_are_at_least_sixty_near_misses_in_both_languages() -> None:
    assert len(NEAR_MISSES) >= 60
    chinese = [pair for pair in NEAR_MISSES if not pair[0].isascii()]
    assert min(len(chinese), len(NEAR_MISSES) - len(chinese)) >= 30


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ("2021年的营业额", "What was the revenue in 2022?", "number"),
        ("2021年的营业额是多少？", "What was the revenue in 2021?", None),
        ("如何开启自动续费？", "How do I disable renewal?", None),
        ("怎么打开夜间模式", "夜间模式怎么关闭", "opposite"),
        ("年假能不能累计？", "年假可以累计吗？", None),
        ("Can I not pay?", "Can I pay?", "negation"),
        ("无论天气如何都开门吗", "天气如何都开门吗", None),
    ],
)
def test_of_two_languages_only_numbers_are_compared(one: str, other: str, found: str | None) -> None:
    assert conflict(one, other) == found


@pytest.mark.parametrize("text", ["", "？", "the", "🙂", "不", "1" * 5000, "不" * 5000])
def test_any_text_may_be_compared(text: str) -> None:
    assert difference(text, "年假有几天？", TOKENS) is not None
    assert conflict(text, text) is None
