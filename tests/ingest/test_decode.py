import random

import pytest

from headrace.errors import Unreadable
from headrace.ingest.decode import declared_encoding, decode

SIMPLIFIED = (
    "本办法所称知识库，是指单位在日常工作中形成的文件、报告和问答记录的集合。管理员应当每周检查一次，"
    "发现错误的内容要及时改正；对于已经过时的材料，可以归档，但不得删除。员工提出的问题由系统自动回答。"
)
TRADITIONAL = (
    "本辦法所稱知識庫，是指單位在日常工作中形成的文件、報告和問答記錄的集合。管理員應當每週檢查一次，"
    "發現錯誤的內容要及時改正；對於已經過時的材料，可以歸檔，但不得刪除。員工提出的問題由系統自動回答。"
)
JAPANESE = (
    "会議は来週の火曜日の午後三時から東京本社で行われます。参加する方は、事前に資料を読んでおいてください。"
    "インターネットの普及により、お客様の行動は大きく変わりました。髙橋さんは名古屋に住んでいます。"
)
FRENCH = (
    "Où êtes-vous né ? Les élèves ont été reçus à l’école près de la forêt ; le café crème coûte déjà très "
    "cher. Ça m’étonne : personne n’a protesté à l’époque, même après la créée réforme d’août."
)
TEXTS = {"zh-Hans": SIMPLIFIED, "zh-Hant": TRADITIONAL, "ja": JAPANESE, "fr": FRENCH}
ENCODINGS = {
    "zh-Hans": ["gb18030", "gbk", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"],
    "zh-Hant": ["cp950", "big5hkscs", "gb18030", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"],
    "ja": ["cp932", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"],
    "fr": ["cp1252", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"],
}
CASES = [(language, encoding) for language, encodings in ENCODINGS.items() for encoding in encodings]


@pytest.mark.parametrize(("language", "encoding"), CASES)
def test_a_long_text_is_read_in_its_encoding(language: str, encoding: str) -> None:
    text = TEXTS[language] * 40
    assert decode(text.encode(encoding))[0] == text


@pytest.mark.parametrize(("language", "encoding"), CASES)
def test_ten_characters_are_enough(language: str, encoding: str) -> None:
    text = TEXTS[language]
    cuts = [text[start : start + 10] for start in range(0, len(text) - 10, 3)]
    wrong = [cut for cut in cuts if decode(cut.encode(encoding))[0] != cut]
    assert wrong == []


@pytest.mark.parametrize("text", ["一", "联通", "你好", "登記", "é", "€5", "naïve", "créée", "Привет"])
def test_very_short_texts_that_fool_detectors(text: str) -> None:
    assert decode(text.encode("utf-8"))[0] == text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [("一", "gbk"), ("联通", "gbk"), ("créée", "cp1252"), ("“Quote” — dash", "cp1252"), ("東京都", "cp932")],
)
def test_very_short_texts_in_older_encodings(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding))[0] == text


def test_a_long_english_file_with_one_chinese_line_at_its_end() -> None:
    text = "Plain English, line after line.\n" * 3000 + "最后一行是中文，要正确读出来。\n"
    assert decode(text.encode("gbk")) == (text, "gb18030")


def test_mixed_chinese_and_english() -> None:
    text = "使用Python编写RAG系统时，请先安装headrace；运行make test检查。"
    assert decode(text.encode("gbk"))[0] == text


def test_one_broken_byte_does_not_change_the_encoding() -> None:
    data = (SIMPLIFIED * 3).encode()
    text, encoding = decode(data[:60] + b"\xff" + data[60:])
    assert encoding == "utf-8"
    assert text.replace("\ufffd", "") == SIMPLIFIED * 3


def test_a_cut_off_last_character_costs_only_itself() -> None:
    text, encoding = decode(SIMPLIFIED.encode("gb18030")[:-1])
    assert encoding == "gb18030"
    assert text.startswith(SIMPLIFIED[:-1])


def test_scripts_not_weighed_here_are_left_to_the_library() -> None:
    text = "Это обычный русский текст, который сохранён в старой кодировке; прочитать его надо правильно."
    assert decode(text.encode("cp1251"))[0] == text
    assert decode(text.encode("utf-8"))[0] == text


def test_newlines_become_plain_and_controls_go() -> None:
    assert decode("一行\r\n两行\r三行\x00\x07".encode())[0] == "一行\n两行\n三行"


def test_nothing_is_empty_text() -> None:
    assert decode(b"")[0] == ""
    assert decode(b"\xef\xbb\xbf")[0] == ""


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(Unreadable):
        decode(random.Random(1).randbytes(4000))


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b'<html><head><meta charset="gb2312">', "gb2312"),
        (b'<meta http-equiv="Content-Type" content="text/html; charset=Big5">', "Big5"),
        (b'<?xml version="1.0" encoding="Shift_JIS"?>', "Shift_JIS"),
        (b"<html><body>charset</body>", None),
    ],
)
def test_what_a_page_declares(head: bytes, expected: str | None) -> None:
    assert declared_encoding(head) == expected


def test_a_declared_encoding_decides_where_the_bytes_allow_it() -> None:
    assert decode("囧镕".encode("gbk"), declared="gb2312") == ("囧镕", "gb18030")


def test_a_wrong_declaration_is_overruled() -> None:
    assert decode(SIMPLIFIED.encode("gbk"), declared="utf-8")[0] == SIMPLIFIED
    assert decode(SIMPLIFIED.encode("utf-8"), declared="iso-8859-1")[0] == SIMPLIFIED
    assert decode(SIMPLIFIED.encode("utf-8"), declared="no-such-thing")[0] == SIMPLIFIED
