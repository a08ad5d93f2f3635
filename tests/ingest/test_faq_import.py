"""A file into a knowledge base over real stores: once, again, and in place of what was there."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from headrace.context import KnowledgeBase
from headrace.errors import BadRequest, TooLarge
from headrace.ingest.faq import FaqDraft
from headrace.ingest.faq_files import MOST_ROWS, FaqFile, FaqRow, RejectedRow
from headrace.ingest.faq_import import Imported, import_entries

from ..fakes import MODEL
from .places import Place, a_place

pytestmark = pytest.mark.anyio

LEAVE = {"question": "年假有几天？", "similar_questions": ["How many days of leave?"], "answers": ["十天。"]}
GATE = {"question": "Who opens the gate?", "answers": ["The warden 值班员。"], "tags": ["门"]}


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    async with a_place(tmp_path) as place:
        yield place


@pytest.fixture
async def kb(place: Place) -> KnowledgeBase:
    return await place.catalogue.create_kb(name="问答 FAQ", kind="faq", embedding_model=MODEL)


def a_file(*rows: Mapping[str, Any], **parts: Any) -> FaqFile:
    return FaqFile(rows=[FaqRow(row=number, given=row) for number, row in enumerate(rows, start=2)], **parts)


async def imported(place: Place, kb: KnowledgeBase, file: FaqFile, *, only: bool = False) -> Imported:
    return await import_entries(file, kb.id, entries=place.faq, standing=place.catalogue, only=only)


async def questions(place: Place, kb: KnowledgeBase) -> list[str]:
    found, _ = await place.faq.list(kb.id, page_size=100)
    return [entry.question for entry in found][::-1]


def counts(told: Imported) -> tuple[int, int, int, int]:
    return told.created, told.updated, told.unchanged, told.deleted


async def test_importing_again_changes_nothing(place: Place, kb: KnowledgeBase) -> None:
    assert counts(await imported(place, kb, a_file(LEAVE, GATE))) == (2, 0, 0, 0)
    version = await place.version(kb.id)
    for only in (False, True):
        assert counts(await imported(place, kb, a_file(LEAVE, GATE), only=only)) == (0, 0, 2, 0)
    assert await place.version(kb.id) == version


async def test_a_row_changes_only_what_it_gives(place: Place, kb: KnowledgeBase) -> None:
    await imported(place, kb, a_file(LEAVE))
    told = await imported(place, kb, a_file({"question": "年假有几天", "answers": ["满十年为十天。"]}))
    assert counts(told) == (0, 1, 0, 0)
    ((entry,), _) = await place.faq.list(kb.id)
    assert entry.answers == ["满十年为十天。"]
    assert entry.similar_questions == LEAVE["similar_questions"]


async def test_good_rows_go_in_and_bad_ones_are_told_in_order(place: Place, kb: KnowledgeBase) -> None:
    await place.faq.add(kb.id, FaqDraft(question="Who holds the key?", similar_questions=["谁有钥匙？"]))
    unreadable = RejectedRow(row=3, question="x", reason="y", code="faq_bad_boolean")
    rows = [
        FaqRow(row=2, given={"question": "长" * 1001}),
        FaqRow(row=4, given=LEAVE),
        FaqRow(row=5, given={"question": "谁有钥匙"}),
    ]
    told = await imported(place, kb, FaqFile(rows=rows, rejected=[unreadable], ignored_columns=["备注"]))
    assert [(one.row, one.code) for one in told.rejected] == [
        (2, "faq_question_too_long"),
        (3, "faq_bad_boolean"),
        (5, "faq_question_taken"),
    ]
    assert told.rejected[0].question == "长" * 199 + "…"
    assert (counts(told), told.ignored_columns) == ((1, 0, 0, 0), ["备注"])


async def test_replacing_removes_what_the_file_lacks(place: Place, kb: KnowledgeBase) -> None:
    await imported(place, kb, a_file(LEAVE, GATE))
    await place.faq.add(kb.id, FaqDraft(question="坏行？"))
    file = a_file(LEAVE, {"question": "新的 New?"}, rejected_questions=["坏行"])
    assert counts(await imported(place, kb, file, only=True)) == (1, 0, 1, 1)
    # The file has the third one too, though nothing can be made of its row.
    assert await questions(place, kb) == ["年假有几天？", "坏行？", "新的 New?"]


async def test_a_question_may_pass_from_an_entry_that_goes_to_one_that_comes(
    place: Place, kb: KnowledgeBase
) -> None:
    await imported(place, kb, a_file(LEAVE))
    file = a_file({"question": "How many days of leave?", "answers": ["Ten."]})
    (rejected,) = (await imported(place, kb, file)).rejected
    assert rejected.code == "faq_question_taken"
    told = await imported(place, kb, file, only=True)
    assert (counts(told), told.rejected) == ((1, 0, 0, 1), [])
    assert await questions(place, kb) == ["How many days of leave?"]


async def test_a_question_may_pass_to_an_earlier_row(place: Place, kb: KnowledgeBase) -> None:
    await imported(place, kb, a_file(LEAVE, GATE))
    file = a_file(
        {**GATE, "similar_questions": LEAVE["similar_questions"]}, {**LEAVE, "similar_questions": []}
    )
    told = await imported(place, kb, file)
    assert (counts(told), told.rejected) == ((0, 2, 0, 0), [])


async def test_a_file_of_which_no_row_is_good_removes_nothing(place: Place, kb: KnowledgeBase) -> None:
    await imported(place, kb, a_file(LEAVE))
    bad = RejectedRow(row=2, question="x", reason="y", code="faq_bad_boolean")
    told = await imported(place, kb, FaqFile(rows=[], rejected=[bad]), only=True)
    assert (counts(told), len(told.rejected)) == ((0, 0, 0, 0), 1)
    assert counts(await imported(place, kb, a_file({"question": "长" * 1001}), only=True)) == (0, 0, 0, 0)
    with pytest.raises(BadRequest) as refused:
        await imported(place, kb, a_file(), only=True)
    assert refused.value.code == "faq_no_rows"
    assert await questions(place, kb) == ["年假有几天？"]


async def test_too_many_rows_are_refused_before_any_is_written(place: Place, kb: KnowledgeBase) -> None:
    rows = [{"question": f"问 {n}"} for n in range(MOST_ROWS + 1)]
    with pytest.raises(TooLarge) as refused:
        await imported(place, kb, a_file(*rows))
    assert refused.value.details == {"limit": MOST_ROWS}
    assert await questions(place, kb) == []
