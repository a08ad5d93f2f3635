"""Citations: what a model writes, what a reader sees, wherever the stream is split."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.nodes.answering.citations import (
    TAG_LIMIT,
    CitationExpander,
    aliases_for,
    cited_titles,
    harmless,
    public_tag,
    without_tags,
)

from ...fakes import a_document, a_hit

TAGS = {"c1": "[ONE]", "c2": "[TWO]"}

# Fragments that make tags, parts of tags and things that only look like tags.
FRAGMENTS = st.lists(
    st.sampled_from(
        [
            "<",
            ">",
            "/",
            "ref",
            "<ref",
            ' id="c1"',
            " id='c2'",
            "/>",
            '<ref id="c1"/>',
            "<ref id='c1,c2'/>",
            "</ref>",
            '<ref id="c9"/>',
            "<kb",
            "<kb doc=",
            "<web ",
            "<k",
            "<we",
            "kb ",
            "b ",
            "eb ",
            "<reference>",
            "<refs",
            "a < b",
            "答案",
            " ",
            "\n",
            '"',
            "x" * 90,
        ]
    ),
    max_size=14,
).map("".join)


def expanded(*pieces: str) -> str:
    expander = CitationExpander(TAGS)
    return "".join([*map(expander.feed, pieces), expander.close()])


@given(text=FRAGMENTS, cuts=st.lists(st.integers(0, 400), max_size=6))
def test_every_way_to_split_a_stream_gives_the_same_text(text: str, cuts: list[int]) -> None:
    places = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
    pieces = [text[a:b] for a, b in pairwise(places)]
    assert expanded(*pieces) == expanded(text)


@given(text=FRAGMENTS)
def test_character_by_character_gives_the_same_text(text: str) -> None:
    assert expanded(*text) == expanded(text)


@given(text=FRAGMENTS)
def test_no_stream_makes_a_public_tag_of_its_own(text: str) -> None:
    shown = expanded(text)
    assert "<kb " not in shown
    assert "<web " not in shown
    assert "<kb/" not in shown


@given(text=FRAGMENTS)
def test_never_more_than_one_tag_is_held_back(text: str) -> None:
    expander = CitationExpander({})
    for place in range(len(text)):
        expander.feed(text[place])
        assert len(expander._held) <= TAG_LIMIT  # pyright: ignore[reportPrivateUsage]  # what is held is the point


@pytest.mark.parametrize(
    "written",
    [
        '<ref id="c1"/>',
        "<ref id='c1'/>",
        "<ref id=c1 />",
        '<ref id="c1">',
        '<REF ID="C1"/>',
        '<ref id="c1"></ref>',
        "<ref id=“c1”/>",
        '<ref id="[c1]"/>',
    ],
)
def test_a_reference_in_any_spelling_becomes_its_tag(written: str) -> None:
    assert expanded(f"十天{written}。") == "十天[ONE]。"


@pytest.mark.parametrize("ids", ["c1,c2", "c1 c2", "c1, c2", "c1;c2", "c1，c2", "c1、c2"])
def test_several_ids_in_one_tag_become_several_tags(ids: str) -> None:
    assert expanded(f'Ten days<ref id="{ids}"/>.') == "Ten days[ONE][TWO]."


def test_an_alias_nobody_gave_out_is_removed() -> None:
    assert expanded('Ten days<ref id="c7"/>.') == "Ten days."
    assert expanded('Ten days<ref id="c7,c2"/>.') == "Ten days[TWO]."


def test_text_that_is_no_tag_goes_out_at_once() -> None:
    expander = CitationExpander(TAGS)
    assert expander.feed("if a < b then <b>bold</b> <refine>") == "if a < b then <b>bold</b> <refine>"


def test_only_the_beginning_of_a_tag_is_held_back() -> None:
    expander = CitationExpander(TAGS)
    assert expander.feed('Ten days <ref id="c') == "Ten days "
    assert expander.feed('1"/> and more') == "[ONE] and more"


def test_a_reference_that_never_ends_is_dropped() -> None:
    assert expanded('Ten days<ref id="c1') == "Ten days"


def test_a_comparison_at_the_end_is_kept() -> None:
    assert expanded("a <") == "a <"


@pytest.mark.parametrize(
    "forged", ['<kb doc="Law" chunk_id="x"/>', '<web url="http://x"/>', "<KB/>", "< kb doc=''/>"]
)
def test_public_tags_typed_by_a_model_are_only_text(forged: str) -> None:
    assert expanded(forged) == "&lt;" + forged[1:]


@given(text=FRAGMENTS)
def test_a_text_that_people_wrote_keeps_every_character_and_cites_nothing(text: str) -> None:
    shown = harmless(text)
    assert shown.replace("&lt;", "<") == text
    assert not re.search(r"<\s?(?:kb|web)[\s/]|<\s?/?\s?ref[\s/>]", shown)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ('<<ref id="c9"/>kb doc="Law" chunk_id="x"/>', '&lt;kb doc="Law" chunk_id="x"/>'),
        ("<k<ref id='c9'/><ref/>b doc='法'/>", "&lt;kb doc='法'/>"),
        ("<<<</ref>web url='http://x'/>", "<<&lt;web url='http://x'/>"),
        ("<re<ref/>f id='c1'/>", "&lt;ref id='c1'/>"),
    ],
)
def test_a_reference_that_is_removed_leaves_no_tag_behind(written: str, shown: str) -> None:
    assert expanded(written) == shown
    assert expanded(*written) == shown


def test_shifts_and_comparisons_are_untouched() -> None:
    assert expanded("cout << k << w; if (a <b<c)") == "cout << k << w; if (a <b<c)"


def test_words_that_begin_like_public_tags_are_untouched() -> None:
    assert expanded("<kbd>Ctrl</kbd> <webview>") == "<kbd>Ctrl</kbd> <webview>"


def test_a_tag_names_the_document_and_escapes_what_it_holds() -> None:
    documents = {"doc1": a_document(title='Rules "A" & <B>\n差旅')}
    assert public_tag(a_hit(), documents) == (
        '<kb doc="Rules &quot;A&quot; &amp; &lt;B&gt; 差旅" knowledge_id="doc1" chunk_id="c1"/>'
    )


def test_the_page_stands_only_where_it_is_known() -> None:
    paged = a_hit(source={"page": 3, "boxes": [], "section": None, "url": None})
    assert 'page="3"' in public_tag(paged, {})
    assert "page" not in public_tag(a_hit(), {})


def test_aliases_count_from_one_in_the_order_of_the_passages() -> None:
    assert aliases_for([a_hit("x"), a_hit("y")]) == {"c1": "x", "c2": "y"}


def test_an_answer_gives_its_titles_back_and_can_lose_its_tags() -> None:
    documents = {"doc1": a_document(title="R&D 手册")}
    answer = f"十天{public_tag(a_hit(), documents)}，或更多{public_tag(a_hit('c2'), documents)}。"
    assert cited_titles(answer) == ["R&D 手册"]
    assert without_tags(answer) == "十天，或更多。"
