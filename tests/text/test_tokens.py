import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import StartRefused
from headrace.text.tokens import Tokens

TOKENS = Tokens()

BILINGUAL = """
第三章 考勤与休假。员工连续工作满一年后，每年享受带薪年休假十天；工龄满十年的，享受十五天。
病假须在当日上午十点前通知直属主管，并在返岗后三个工作日内提交医院证明。加班须事先批准。
研究生命的起源，南京市长江大桥，他来到了网易杭研大厦。乒乓球拍卖完了，结婚的和尚未结婚的。
中华人民共和国国务院总理周恩来出席了会议。北京大学生前来应聘，小明硕士毕业于中国科学院。
机器学习模型部署在云服务器上，数据库连接池耗尽导致请求超时。臺灣的軟體工程師使用資訊系統。
Employees receive ten days of annual leave after one year of service.
The database connection pool was exhausted and requests timed out (error 503).
保险合同生效后三十日内，投保人可以书面通知保险人解除合同。储能系统采用磷酸铁锂电池。
㐀𠀀〇々 ひらがな 한국어
"""


def test_words_and_query_agree_on_everything_but_stop_words() -> None:
    assert TOKENS.words("员工的工资是什么？") == ["员工", "的", "工资", "是", "什么"]
    assert TOKENS.query("员工的工资是什么？") == ["员工", "工资"]
    assert TOKENS.query("What is the annual leave?") == ["annual", "leav"]


def test_width_case_and_script_do_not_matter() -> None:
    assert TOKENS.words("ＡＰＩ 軟體") == TOKENS.words("api 软体")
    assert TOKENS.words("臺灣的資訊") == TOKENS.words("台湾的资讯")


def test_forms_of_an_english_word_meet() -> None:
    assert TOKENS.words("connections") == TOKENS.words("Connected connecting")[:1]
    assert TOKENS.query("don’t") == TOKENS.query("don't")


@pytest.mark.parametrize(
    ("text", "token"),
    [
        ("2021年", "2021"),
        ("约3.14倍", "3.14"),
        ("1,000 元", "1000"),
        ("１２００", "1200"),
        ("192.168.1.1", "192.168.1.1"),
    ],
)
def test_numbers_stay_whole(text: str, token: str) -> None:
    assert token in TOKENS.words(text)
    assert token in TOKENS.query(text)


@pytest.mark.parametrize(
    "ways",
    [
        ("GB/T-5009", "GB/T5009", "GBT5009"),
        ("iPhone15", "iPhone-15", "IPHONE15"),
        ("2021-03-04", "2021/03/04"),
    ],
)
def test_every_way_to_write_a_code_shares_the_code(ways: tuple[str, ...]) -> None:
    assert set.intersection(*(set(TOKENS.words(way)) for way in ways))


def test_a_code_is_also_found_by_its_pieces() -> None:
    assert {"gb", "t", "5009"} <= set(TOKENS.words("按GB/T-5009检测"))
    assert set(TOKENS.query("iPhone 15")) <= set(TOKENS.words("iPhone15"))


def test_a_passage_is_indexed_by_its_words_and_its_characters() -> None:
    assert TOKENS.index("员工的 annual leave") == ["员工", "annual", "leav", "员", "工", "的"]


def test_a_question_is_looked_up_by_its_words_and_their_characters_once() -> None:
    assert TOKENS.search("员工的工资是什么？") == ["员工", "工资", "员", "工", "资"]
    assert TOKENS.search("leave leaves 假") == ["leav", "假"]


def test_one_character_finds_the_word_it_is_in() -> None:
    assert set(TOKENS.search("假")) <= set(TOKENS.index("年假规定"))


@given(st.text())
def test_whatever_a_question_is_looked_up_by_a_passage_of_the_same_words_holds(text: str) -> None:
    assert set(TOKENS.search(text)) <= set(TOKENS.index(text))


WIDE = "ＡＰＩ１，２００円 ㎏ 臺灣軟體 ｶﾞ乾隆 don’t cafe\u0301 C++ GB/T-5009 年假规定 1,200,000 leaves"


@given(st.text() | st.text(alphabet=WIDE, max_size=40))
def test_spans_have_the_tokens_of_the_index_at_their_places(text: str) -> None:
    spans = TOKENS.spans(text)
    assert all(0 <= span.start < span.end <= len(text) and span.token for span in spans)
    assert {span.token for span in spans} == {*TOKENS.index(text)}


def test_spans_point_into_the_text_as_it_was_written() -> None:
    text = "ＡＰＩ：臺灣的軟體，Ｌｅａｖｅｓ １，２００"
    marked = {span.token: text[span.start : span.end] for span in TOKENS.spans(text)}
    assert marked["软体"] == "軟體"
    assert marked["api"] == "ＡＰＩ"
    assert marked["leav"] == "Ｌｅａｖｅｓ"
    assert marked["1200"] == "１，２００"


def test_rare_characters_of_names_are_found() -> None:
    assert TOKENS.query("𠮷田先生")[0] == "𠮷"


def test_acronyms_and_language_names_survive() -> None:
    assert TOKENS.words("U.S.A. C++ C#") == ["usa", "c++", "c#"]
    assert TOKENS.query("WHO guidelines for the IT部门") == ["who", "guidelin", "it", "部门"]
    assert TOKENS.query("WHAT IS THE ANNUAL LEAVE") == ["annual", "leav"]


@pytest.mark.parametrize("question", ["什么", "是什么呢？", "what is it", "How?"])
def test_a_question_of_stop_words_keeps_them(question: str) -> None:
    assert TOKENS.query(question) == TOKENS.words(question) != []


@pytest.mark.parametrize("text", ["", "  ", "😀", "？！", "\0", "\ud800", "'''", "-/-"])
def test_text_without_words_has_no_tokens(text: str) -> None:
    assert TOKENS.words(text) == TOKENS.query(text) == TOKENS.content(text) == []


@pytest.mark.parametrize("text", ["中" * 100_000, "a" * 100_000, "a-1" * 30_000, "年假 leave " * 10_000])
def test_long_texts_give_short_tokens(text: str) -> None:
    tokens = TOKENS.words(text)
    assert tokens
    assert max(map(len, tokens)) <= 64


def test_content_has_each_token_once() -> None:
    assert TOKENS.content("税和税率 tax taxes 税") == ["税", "税率", "tax"]


@given(st.text())
def test_any_text_has_tokens_without_spaces(text: str) -> None:
    assert all(token and not any(map(str.isspace, token)) for token in TOKENS.words(text))
    assert set(TOKENS.query(text)) <= set(TOKENS.words(text))


@given(st.text(alphabet="年假规定公司员工的是什么 leave2021.,-/'", max_size=30))
def test_tokens_of_a_text_stay_the_same(text: str) -> None:
    assert TOKENS.words(text) == TOKENS.words(text)
    assert TOKENS.words(text) == TOKENS.words(text.upper())


def test_the_fast_cutter_cuts_as_jieba_does(tmp_path: Path) -> None:
    empty = tmp_path / "empty.txt"
    empty.write_text("", encoding="utf-8")
    assert TOKENS.words(BILINGUAL) == Tokens(empty).words(BILINGUAL)


def test_a_user_dictionary_makes_its_words_tokens(tmp_path: Path) -> None:
    words = tmp_path / "词典.txt"
    words.write_text("\ufeff云帆计划 1000 n\n海棠湾项目\n", encoding="utf-8")
    assert "云帆计划" not in TOKENS.words("云帆计划的预算")
    assert {"云帆计划", "海棠湾项目"} <= set(Tokens(words).words("云帆计划和海棠湾项目的预算"))


def test_a_user_dictionary_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StartRefused, match="user_dictionary"):
        Tokens(tmp_path / "none.txt")
    gbk = tmp_path / "gbk.txt"
    gbk.write_bytes("云帆计划 1000".encode("gbk"))
    with pytest.raises(StartRefused, match=r"gbk\.txt"):
        Tokens(gbk)


def test_a_user_dictionary_leaves_no_cache_and_prints_nothing(tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("云帆计划 1000 n\n", encoding="utf-8")
    script = (
        "import sys; from pathlib import Path; from headrace.text.tokens import Tokens;"
        "print(Tokens(Path(sys.argv[1])).words('云帆计划'))"
    )
    shared = tmp_path / "tmp"
    shared.mkdir()
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-X", "utf8", "-c", script, str(words)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
        env={"TMPDIR": str(shared)},
    )
    assert (ran.stdout.strip(), ran.stderr) == ("['计划', '云帆计划']", "")
    assert [*shared.iterdir()] == []
