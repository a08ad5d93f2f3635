from dataclasses import replace

import pytest

from headrace.context import Chunk, FaqEntry
from headrace.ingest.entries import entry_text, is_searched
from headrace.ingest.faq_drafts import (
    FaqDraft,
    changed,
    chunks_of,
    draft_of,
    entry_of,
    good_draft,
    is_same,
    signatures,
)

LEAVE = FaqDraft(
    question="年假有几天？",
    similar_questions=["How many days of leave?"],
    negative_questions=["病假有几天？"],
    answers=["10 天。", "Ten\n\ndays."],
    tags=["HR"],
)


def an_entry(draft: FaqDraft = LEAVE) -> FaqEntry:
    return entry_of(draft, id="e1", kb_id="kb1")


def texts_of(entry: FaqEntry) -> list[tuple[str, str]]:
    return [(chunk.kind, entry_text(chunk, "title")) for chunk in chunks_of(entry)]


def test_a_good_draft_stays_as_it_is() -> None:
    assert good_draft(LEAVE) == LEAVE
    assert good_draft(good_draft(LEAVE)) == LEAVE
    assert draft_of(an_entry()) == LEAVE


def test_questions_come_on_one_line_and_once() -> None:
    draft = good_draft(
        replace(
            LEAVE,
            question=" 年假\n有几天？ ",
            similar_questions=["年假 有几天", "", "How?", "HOW", "\u200b", "怎样"],
            negative_questions=["病假", "病假？"],
            tags=["HR", " hr ", "", "人事"],
        )
    )
    assert draft.question == "年假 有几天？"
    assert draft.similar_questions == ["How?", "怎样"]
    assert draft.negative_questions == ["病假"]
    assert draft.tags == ["HR", "人事"]


def test_an_entry_is_searched_by_its_questions_and_by_its_answers_apart() -> None:
    assert texts_of(an_entry()) == [
        ("faq", "10 天。\nTen\n\ndays."),
        ("question", "年假有几天？"),
        ("question", "How many days of leave?"),
    ]
    assert chunks_of(an_entry())[0].text == "年假有几天？\n\n10 天。\nTen\n\ndays."
    assert texts_of(an_entry(FaqDraft(question="谁？"))) == [("faq", "谁？"), ("question", "谁？")]


def test_a_revision_has_index_ids_of_its_own_and_the_same_one_the_same() -> None:
    entry = an_entry()
    ids = [chunk.indexed_as for chunk in chunks_of(entry)]
    assert ids == [chunk.indexed_as for chunk in chunks_of(replace(entry, enabled=False, tags=["x"]))]
    later = [chunk.indexed_as for chunk in chunks_of(replace(entry, revision=2))]
    assert len({*ids, *later, entry.id}) == 7
    assert chunks_of(entry)[0].id == entry.id


def test_only_what_is_searched_or_said_makes_a_revision() -> None:
    entry = an_entry()
    for same in (
        replace(LEAVE, negative_questions=[]),
        replace(LEAVE, tags=[]),
        replace(LEAVE, enabled=False),
        replace(LEAVE, answer_strategy="random"),
    ):
        assert changed(entry, same).revision == 1
        assert not is_same(entry, changed(entry, same))
    for other in (
        replace(LEAVE, question="x"),
        replace(LEAVE, similar_questions=[]),
        replace(LEAVE, answers=["10 天。"]),
    ):
        assert changed(entry, other).revision == 2
    assert is_same(entry, changed(entry, replace(LEAVE, tags=["ｈｒ"])))


def test_a_question_is_known_by_what_it_says() -> None:
    assert signatures(LEAVE)[0] == signatures(replace(LEAVE, question="年假有几天"))[0]
    assert len({*signatures(FaqDraft(question="C++", similar_questions=["C#", "C", "🙂", "？"]))}) == 5


def test_nothing_of_a_disabled_entry_is_searched_nor_any_parent() -> None:
    assert all(map(is_searched, chunks_of(an_entry())))
    assert not any(map(is_searched, chunks_of(replace(an_entry(), enabled=False))))
    parent = Chunk(
        id="p", revision=1, kb_id="kb1", document_id="d1", kind="parent", chunk_index=0, text="整段 context"
    )
    assert not is_searched(parent)


@pytest.mark.parametrize("kind", ["text", "table"])
def test_what_is_no_question_is_searched_below_its_title_and_section(kind: str) -> None:
    chunk = Chunk(
        id="c",
        revision=1,
        kb_id="kb1",
        document_id="d1",
        kind=kind,
        chunk_index=0,
        text="刷漆",
        section="闸门",
    )
    assert entry_text(chunk, "手册.md") == "手册\n闸门\n刷漆"
