"""Small talk and follow-ups by rules, in both languages."""

import pytest

from headrace.nodes.understanding.rules import completed, is_follow_up, small_talk, understand_by_rules

from ...fakes import a_turn


@pytest.mark.parametrize(
    "message",
    [
        "你好",
        "您好！",
        "哈喽~",
        "早上好",
        "在吗？",
        "嗨，你好呀",
        "Hi",
        "hello there!",
        "Hey",
        "Good morning",
        "Hello, hello",
        "妳好".replace("妳", "你"),
    ],
)
def test_greetings(message: str) -> None:
    assert small_talk(message) == "greeting"


@pytest.mark.parametrize(
    "message",
    [
        "谢谢！",
        "非常感谢你",
        "好的，谢谢",
        "謝謝",
        "Thanks a lot!",
        "thank you so much",
        "ok thanks",
        "再见",
        "拜拜~",
        "Bye!",
        "See you later",
        "你是谁？",
        "你叫什么名字",
        "讲个笑话吧",
        "How are you?",
        "who are you",
        "tell me a joke",
        "哈哈哈",
        "好的",
        "Great, thanks! Bye.",
        "你好，你是谁？",
    ],
)
def test_small_talk_thanks_and_goodbyes(message: str) -> None:
    assert small_talk(message) == "chitchat"


@pytest.mark.parametrize(
    "message",
    [
        "你好，请问报销流程？",
        "谢谢，那年假有几天？",
        "Hi, how do I claim expenses?",
        "thanks, and the deadline?",
        "你好大学在哪里",
        "再见条款是什么",
        "hello world program in C",
        "Who wrote Thanksgiving?",
        "good morning america ratings",
        "好的供应商怎么选",
        "bye-law 7",
        "报销",
        "",
        "？？？",
        "the",
        "感谢信怎么写",
    ],
)
def test_a_message_with_anything_else_in_it_is_a_question(message: str) -> None:
    assert small_talk(message) is None


@pytest.mark.parametrize(
    ("earlier", "query", "complete"),
    [
        ("2020年的营业额是多少？", "那2021年呢？", "2021年的营业额是多少？"),
        ("2020年的营业额是多少？", "2021呢", "2021年的营业额是多少？"),
        ("What was the revenue in 2020?", "And in 2021?", "What was the revenue in 2021?"),
        ("What is the population of Paris?", "What about Berlin?", "What is the population of Berlin?"),
        ("北京分公司的地址在哪里？", "上海呢？", "上海分公司的地址在哪里？"),
        ("销售部有多少人？", "那市场部呢？", "市场部有多少人？"),
        ("南渠水电站的站长是谁？", "那北湾水电站呢？", "北湾水电站的站长是谁？"),
        (
            "Who is the director of the harbour library?",
            "And of the hill library?",
            "Who is the director of the hill library?",
        ),
        ("第二章讲了什么？", "第三章呢？", "第三章讲了什么？"),
        ("Java 怎么安装？", "Python 呢？", "Python 怎么安装？"),
        ("What does chapter 2 say?", "how about chapter 3?", "What does chapter 3 say?"),
        ("正式员工的年假有几天？", "试用期员工呢？", "试用期员工的年假有几天？"),
        ("When does the Berlin office open?", "and Munich?", "When does the Munich office open?"),
    ],
)
def test_a_new_term_takes_the_place_of_the_old_one(earlier: str, query: str, complete: str) -> None:
    assert completed(query, [a_turn(earlier)]) == complete


@pytest.mark.parametrize(
    ("earlier", "query", "kept"),
    [
        ("差旅报销的流程是什么？", "时限呢？", ["差旅报销的流程", "时限"]),
        ("差旅报销的流程是什么？", "它需要谁批准？", ["差旅报销的流程", "它需要谁批准"]),
        ("差旅报销的流程是什么？", "还有呢？", ["差旅报销的流程是什么"]),
        ("差旅报销的流程是什么？", "为什么？", ["差旅报销的流程", "为什么"]),
        ("What is the travel policy?", "and the second one?", ["travel policy", "the second one"]),
        ("What is the travel policy?", "who approves it?", ["travel policy", "who approves it"]),
        ("What is the travel policy?", "why?", ["travel policy", "why"]),
        ("What is the travel policy?", "what about the deadline?", ["travel policy", "the deadline"]),
    ],
)
def test_otherwise_the_salient_words_are_carried_over(earlier: str, query: str, kept: list[str]) -> None:
    assert all(part in completed(query, [a_turn(earlier)]) for part in kept)


def test_a_pronoun_brings_the_titles_that_the_last_answer_cited() -> None:
    answer = '十天<kb doc="差旅报销制度" knowledge_id="d" chunk_id="c"/>。' + "说明" * 60
    assert "差旅报销制度" in completed("它什么时候生效？", [a_turn("报销要多久？", answer)])


def test_a_short_answer_is_the_antecedent_itself() -> None:
    assert "白云观" in completed("它的门票多少钱？", [a_turn("附近有什么景点？", "推荐您去白云观。")])


def test_a_chain_of_follow_ups_keeps_the_first_question() -> None:
    history = [a_turn("2019年北京的营业额是多少？"), a_turn("上海呢？")]
    assert completed("那2020年呢？", history) == "2020年上海的营业额是多少？"


def test_small_talk_in_between_does_not_lose_the_topic() -> None:
    history = [a_turn("What was the revenue in 2020?"), a_turn("Thanks!")]
    assert completed("and in 2021?", history) == "What was the revenue in 2021?"


@pytest.mark.parametrize(
    "query",
    [
        "年假有几天？",
        "这个月的考勤什么时候截止？",
        "Is it possible to work from home?",
        "How long does it take to get a visa?",
        "What are the rules for remote work?",
        "其他费用怎么报销",
        "他说的话算数吗",
    ],
)
def test_a_complete_question_is_left_alone(query: str) -> None:
    understood = understand_by_rules(query, [a_turn("差旅报销的流程是什么？")])
    assert (understood.rewritten, understood.uses_history) == (query, False)


@pytest.mark.parametrize(
    "query",
    [
        "那2021年呢？",
        "它呢？",
        "还有呢",
        "and the second one?",
        "what about Berlin?",
        "why?",
        "Who wrote it?",
    ],
)
def test_follow_ups_are_recognised(query: str) -> None:
    assert is_follow_up(query)


def test_without_history_nothing_is_rewritten() -> None:
    understood = understand_by_rules("那2021年呢？", [])
    assert (understood.rewritten, understood.uses_history, understood.intent) == (
        "那2021年呢？",
        False,
        "kb_search",
    )


def test_with_rewriting_off_only_the_intent_is_told() -> None:
    understood = understand_by_rules("那2021年呢？", [a_turn("2020年的营业额？")], rewrite=False)
    assert (understood.rewritten, understood.uses_history) == ("那2021年呢？", True)
