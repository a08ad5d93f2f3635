import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.text.sentences import split_sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("年假十天。病假呢？“不知道！”他说。", ["年假十天。", "病假呢？", "“不知道！”", "他说。"]),
        ("It rained. We left!  Why?", ["It rained. ", "We left!  ", "Why?"]),
        (
            "Dr. Smith paid 3.14 dollars. See e.g. the note.",
            ["Dr. Smith paid 3.14 dollars. ", "See e.g. the note."],
        ),
        ("No. 5 is out. The answer is no. Then", ["No. 5 is out. ", "The answer is no. ", "Then"]),
        ("1. First item.\n2. 第二项", ["1. First item.\n", "2. 第二项"]),
        ("标题\n\n正文没有句号", ["标题\n\n", "正文没有句号"]),
        ("访问 a.com/?page=2 即可。好", ["访问 a.com/?page=2 即可。", "好"]),
        ("真的?!是吗", ["真的?!", "是吗"]),
        ("  \n 开头有空白。后", ["  \n 开头有空白。", "后"]),
        ("", []),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences


@given(st.text() | st.text(alphabet='年假 a.B1。？!?\n“”"….)'))
def test_no_character_is_lost_and_no_sentence_is_blank(text: str) -> None:
    sentences = split_sentences(text)
    assert "".join(sentences) == text
    assert len(sentences) < 2 or all(sentence.strip() for sentence in sentences)
