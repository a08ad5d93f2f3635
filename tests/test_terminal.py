import pytest

from headrace.terminal import CitedText, harmless, source_line, sources, with_names

KB = '<kb doc="员工手册.md" knowledge_id="d1" chunk_id="c1" page="3"/>'
OTHER = '<kb doc="A &amp; B &quot;C&quot;.pdf" knowledge_id="d2" chunk_id="c2"/>'


def test_the_same_passage_keeps_its_number() -> None:
    text = CitedText()
    assert text.feed(f"年假12天{KB}，carry over{OTHER}{KB}。") == "年假12天[1]，carry over[2][1]。"


@pytest.mark.parametrize("size", [1, 3, 7, 20])
def test_tags_cut_anywhere_are_found(size: int) -> None:
    text, whole = CitedText(), f"a < b, <k>, {KB}中文{OTHER} 1 <k"
    shown = "".join(text.feed(whole[i : i + size]) for i in range(0, len(whole), size)) + text.close()
    assert shown == "a < b, <k>, [1]中文[2] 1 <k"


def test_sources_say_title_page_and_section() -> None:
    text = CitedText()
    text.feed(KB + OTHER)
    listed = sources(
        text.cited, [{"id": "c1", "page": 3, "section": "2 > 休假", "knowledge_title": "员工手册.md"}]
    )
    assert [source_line(one) for one in listed] == ["[1] 员工手册.md, p. 3, 2 > 休假", '[2] A & B "C".pdf']


def test_documents_cannot_steer_the_terminal() -> None:
    assert CitedText().feed("\x1b]0;title\x07红\x1b[31m") == "]0;title红[31m"


def test_what_turns_the_direction_or_writes_over_a_line_is_not_shown() -> None:
    hostile = "年\u202e假\u2066\u061c ok\rfine\u200b\U000e0041\n\ttwo\r\n"
    assert harmless(hostile) == CitedText().feed(hostile) == "年假 okfine\n\ttwo\n"
    assert with_names(hostile, {}) == harmless(hostile)
    source = {"number": 1, "title": "手册\u202e\r.md", "page": 2, "section": "\u2067休假", "url": None}
    assert source_line(source) == "[1] 手册.md, p. 2, 休假"


def test_a_citation_can_be_shown_by_the_name_of_its_passage() -> None:
    assert (
        with_names(f"年假12天{KB}，carry over{OTHER}。", {"c1": "c7"})
        == '年假12天[c7]，carry over[A & B "C".pdf]。'
    )
