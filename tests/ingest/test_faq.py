"""Entries over the stores that are shipped: whole, found by every phrasing, and never half changed."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from headrace.context import FaqEntry, KnowledgeBase
from headrace.errors import BadRequest, Conflict, DependencyFailed, NotFound
from headrace.ingest.faq import FaqDraft

from ..fakes import MODEL
from .fakes import Crash
from .places import Place, Steps, a_place

pytestmark = pytest.mark.anyio

LEAVE = FaqDraft(
    question="年假有几天？",
    similar_questions=["How many days of leave do I have?", "年休假多少天"],
    negative_questions=["病假有几天？"],
    answers=["满十年为 10 天。", "Ten days after ten years."],
    tags=["休假", "HR"],
)
GATE = FaqDraft(question="Who opens the gate?", answers=["The warden 值班员。"])


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    async with a_place(tmp_path) as place:
        yield place


async def a_faq_kb(place: Place, name: str = "问答 FAQ") -> KnowledgeBase:
    return await place.catalogue.create_kb(name=name, kind="faq", embedding_model=MODEL)


async def found(place: Place, kb: KnowledgeBase, query: str) -> list[str]:
    """The ids of the entries that the words of a query lead to, by their questions and answers."""
    scored = await place.keywords.search([kb.id], query, limit=50)
    chunks = await place.catalogue.indexed_chunks([one.chunk_id for one in scored])
    return [*dict.fromkeys(chunk.document_id for chunk in chunks.values())]


async def test_an_entry_is_read_back_as_it_was_written(place: Place) -> None:
    kb = await a_faq_kb(place)
    made = await place.faq.add(kb.id, LEAVE)

    assert await place.faq.get(made.id) == made
    assert (made.question, made.answers) == (LEAVE.question, LEAVE.answers)
    assert made.similar_questions == LEAVE.similar_questions
    assert made.negative_questions == LEAVE.negative_questions
    assert sorted(made.tags) == ["HR", "休假"]
    assert (made.revision, made.enabled, made.answer_strategy) == (1, True, "all")
    assert made.created_at.endswith("Z")
    assert await place.version(kb.id) == kb.version + 1


async def test_an_entry_is_a_document_whose_phrasings_and_answers_are_searched(place: Place) -> None:
    kb = await a_faq_kb(place)
    made = await place.faq.add(kb.id, LEAVE)

    document = await place.catalogue.get_document(made.id)
    assert (document.title, document.status, document.chunk_count) == (LEAVE.question, "ready", 4)
    assert len(await place.in_step(kb.id)) == 4
    chunks, _ = await place.catalogue.document_chunks(made.id, page_size=10)
    whole = next(chunk for chunk in chunks if chunk.kind == "faq")
    assert whole.id == made.id
    assert whole.text == "年假有几天？\n\n满十年为 10 天。\nTen days after ten years."
    questions = [chunk for chunk in chunks if chunk.kind == "question"]
    assert [chunk.text for chunk in questions] == [LEAVE.question, *LEAVE.similar_questions]
    assert {chunk.parent_chunk_id for chunk in questions} == {made.id}
    assert await found(place, kb, "leave") == [made.id]
    assert await place.catalogue.languages([kb.id]) == {kb.id: {"zh": 3, "en": 1}}


async def test_what_changes_is_found_and_what_went_is_not(place: Place) -> None:
    kb = await a_faq_kb(place)
    made = await place.faq.add(kb.id, LEAVE)
    changed = await place.faq.update(
        made.id, lambda draft: replace(draft, similar_questions=["怎样请假"], answers=["Ask your 主管."])
    )

    assert (changed.revision, changed.id, changed.created_at) == (2, made.id, made.created_at)
    assert (changed.question, changed.negative_questions) == (LEAVE.question, LEAVE.negative_questions)
    assert await found(place, kb, "请假") == [made.id]
    assert await found(place, kb, "leave") == []
    assert len(await place.in_step(kb.id)) == 3
    assert await place.version(kb.id) == kb.version + 2


async def test_what_no_search_reads_does_not_touch_the_indexes(place: Place) -> None:
    kb = await a_faq_kb(place)
    made = await place.faq.add(kb.id, LEAVE)
    before, place.steps.taken[:] = await place.in_step(kb.id), []
    changed = await place.faq.update(
        made.id, lambda draft: replace(draft, negative_questions=["x"], tags=[], answer_strategy="first")
    )

    assert place.steps.taken == ["catalogue"]
    assert await place.in_step(kb.id) == before
    assert (changed.revision, changed.tags, changed.answer_strategy) == (1, [], "first")
    assert await place.version(kb.id) == kb.version + 2


async def test_the_same_again_changes_nothing(place: Place) -> None:
    kb = await a_faq_kb(place)
    made = await place.faq.add(kb.id, LEAVE)
    assert await place.faq.update(made.id, lambda draft: draft) == made
    assert await place.faq.set_enabled(kb.id, [made.id], True) == 0
    assert await place.version(kb.id) == kb.version + 1


async def test_a_disabled_entry_is_in_no_index_and_comes_back_as_it_was(place: Place) -> None:
    kb = await a_faq_kb(place)
    made, other = await place.faq.add(kb.id, LEAVE), await place.faq.add(kb.id, GATE)
    before = await place.in_step(kb.id)
    assert await place.faq.set_enabled(kb.id, [made.id, other.id, "none"], False) == 2
    assert await place.in_step(kb.id) == set()
    assert (await place.catalogue.get_document(made.id)).chunk_count == 0
    assert not (await place.faq.get(made.id)).enabled
    assert await place.faq.set_enabled(kb.id, [made.id, other.id], True) == 2
    assert await place.in_step(kb.id) == before
    assert await place.version(kb.id) == kb.version + 4


async def test_a_disabled_entry_can_be_changed_and_is_found_by_the_new_text_once_enabled(
    place: Place,
) -> None:
    kb = await a_faq_kb(place)
    made = await place.faq.add(kb.id, replace(LEAVE, enabled=False))
    assert await place.in_step(kb.id) == set()
    await place.faq.update(made.id, lambda draft: replace(draft, similar_questions=["怎样请假"]))
    assert await place.in_step(kb.id) == set()
    await place.faq.update(made.id, lambda draft: replace(draft, enabled=True))
    assert await found(place, kb, "请假") == [made.id]


async def test_removing_leaves_nothing_behind(place: Place) -> None:
    kb = await a_faq_kb(place)
    made, other = await place.faq.add(kb.id, LEAVE), await place.faq.add(kb.id, GATE)
    assert await place.faq.remove(kb.id, [made.id, "none"]) == 1
    with pytest.raises(NotFound):
        await place.faq.get(made.id)
    assert await found(place, kb, "年假") == []
    assert await found(place, kb, "gate") == [other.id]
    await place.in_step(kb.id)
    again = await place.faq.add(kb.id, LEAVE)
    assert again.id != made.id
    assert await place.version(kb.id) == kb.version + 4


async def test_removing_the_document_removes_the_entry(place: Place) -> None:
    kb = await a_faq_kb(place)
    made = await place.faq.add(kb.id, LEAVE)
    await place.ingestion.delete(made.id)
    assert await place.in_step(kb.id) == set()
    assert (await place.faq.list(kb.id)) == ([], 0)
    await place.faq.add(kb.id, LEAVE)


@pytest.mark.parametrize(
    ("question", "similar"),
    [("年假有几天", []), (" 年假有几天?! ", []), ("新的问题", ["HOW many days of leave　do I have"])],
)
async def test_a_question_belongs_to_one_entry(place: Place, question: str, similar: list[str]) -> None:
    kb = await a_faq_kb(place)
    made = await place.faq.add(kb.id, LEAVE)
    with pytest.raises(Conflict) as refused:
        await place.faq.add(kb.id, FaqDraft(question=question, similar_questions=similar))
    assert (refused.value.code, refused.value.details["id"]) == ("faq_question_taken", made.id)
    other = await place.faq.add(kb.id, GATE)
    with pytest.raises(Conflict):
        await place.faq.update(
            other.id, lambda draft: replace(draft, question=question, similar_questions=similar)
        )
    assert await place.faq.get(other.id) == other
    assert len(await place.in_step(kb.id)) == 6
    elsewhere = await a_faq_kb(place, "other 另一个")
    await place.faq.add(elsewhere.id, FaqDraft(question=question, similar_questions=similar))


async def test_one_phrasing_written_twice_is_kept_once(place: Place) -> None:
    kb = await a_faq_kb(place)
    made = await place.faq.add(
        kb.id,
        FaqDraft(question="怎样请假？", similar_questions=["怎样请假", "Ｈow? ", "how", "  ", "\u200b"]),
    )
    assert made.similar_questions == ["How?"] or made.similar_questions == ["Ｈow?"]
    assert len(await place.in_step(kb.id)) == 3


async def test_an_entry_without_answers_is_found_and_says_nothing(place: Place) -> None:
    kb = await a_faq_kb(place)
    made = await place.faq.add(kb.id, FaqDraft(question="谁负责闸门？", answers=["", " \n"]))
    assert made.answers == []
    assert await found(place, kb, "闸门") == [made.id]
    assert (await place.catalogue.chunks([made.id]))[made.id].text == "谁负责闸门？"


@pytest.mark.parametrize(
    "question", ["🙂", "🏊🏽‍♀️👨‍👩‍👧", "كم عدد أيام الإجازة؟", "？？？", "C++", "ก", "三"]
)
async def test_questions_of_any_script_are_kept_and_told_apart(place: Place, question: str) -> None:
    kb = await a_faq_kb(place)
    made = await place.faq.add(kb.id, FaqDraft(question=question))
    assert made.question == question
    assert len(await place.in_step(kb.id)) == 2
    await place.faq.add(kb.id, FaqDraft(question="C#"))
    with pytest.raises(Conflict):
        await place.faq.add(kb.id, FaqDraft(question=f" {question} "))


async def test_a_thousand_similar_questions_are_one_entry(place: Place) -> None:
    kb = await a_faq_kb(place)
    questions = [f"第 {n} 种问法 phrasing {n}" for n in range(1000)]
    made = await place.faq.add(kb.id, FaqDraft(question="q", similar_questions=questions))
    assert len(await place.in_step(kb.id)) == 1002
    assert await place.faq.remove(kb.id, [made.id]) == 1
    assert await place.in_step(kb.id) == set()


async def test_entries_are_listed_newest_first_and_narrowed(place: Place) -> None:
    kb = await a_faq_kb(place)
    leave, gate = await place.faq.add(kb.id, LEAVE), await place.faq.add(kb.id, GATE)
    off = await place.faq.add(kb.id, FaqDraft(question="旧的", tags=["休假"], enabled=False))

    async def ids(**narrowed: object) -> list[str]:
        entries, total = await place.faq.list(kb.id, **narrowed)  # pyright: ignore[reportArgumentType]
        assert total == len(entries)
        return [entry.id for entry in entries]

    assert await ids() == [off.id, gate.id, leave.id]
    assert await ids(search="WARDEN") == [gate.id]
    assert await ids(search="年休") == [leave.id]
    assert await ids(search="%") == []
    assert await ids(enabled=False) == [off.id]
    (tag,) = [tag for tag in (await place.catalogue.list_tags(kb.id))[0] if tag.name == "休假"]
    assert tag.document_count == 2
    assert await ids(tag_id=tag.id) == [off.id, leave.id]
    assert await ids(tag_id=tag.id, enabled=True) == [leave.id]
    page, total = await place.faq.list(kb.id, page=2, page_size=2)
    assert ([entry.id for entry in page], total) == ([leave.id], 3)
    assert await place.faq.ids(kb.id) == [leave.id, gate.id, off.id]


async def test_many_entries_take_few_writes_of_the_indexes(place: Place) -> None:
    kb = await a_faq_kb(place)
    drafts = [
        FaqDraft(question=f"问题 {n}？", similar_questions=[f"question {n}"], answers=[f"答 {n}"])
        for n in range(1000)
    ]
    outcomes = await place.faq.add_many(kb.id, drafts)

    assert {outcome.what for outcome in outcomes} == {"created"}
    assert [outcome.entry.question for outcome in outcomes if outcome.entry] == [d.question for d in drafts]
    assert place.steps.taken == ["vectors.add", "keywords.add", "catalogue"] * 10
    assert len(await place.in_step(kb.id)) == 3000
    assert await place.version(kb.id) == kb.version + 10
    place.steps.taken.clear()
    assert {outcome.what for outcome in await place.faq.add_many(kb.id, drafts)} == {"unchanged"}
    assert place.steps.taken == []


async def test_each_of_many_has_an_outcome_of_its_own(place: Place) -> None:
    kb = await a_faq_kb(place)
    made = await place.faq.add(kb.id, LEAVE)
    outcomes = await place.faq.add_many(
        kb.id,
        [
            GATE,
            FaqDraft(question=" \u200b "),
            FaqDraft(question="年假有几天", answers=["New 新的"]),
            FaqDraft(question="年休假多少天"),  # no longer one of the entry above
            FaqDraft(question="长" * 1001),
            FaqDraft(question="WHO opens the gate", answers=["Someone else."]),
            FaqDraft(question="Another", similar_questions=["who opens the gate?"]),
            FaqDraft(question="x", tags=["t" * 51]),
        ],
    )
    said = [outcome.error.code if outcome.error else outcome.what for outcome in outcomes]
    assert said == [
        "created",
        "faq_question_empty",
        "updated",
        "created",
        "faq_question_too_long",
        "updated",
        "faq_question_taken",
        "bad_tag_name",
    ]
    changed = await place.faq.get(made.id)
    assert (changed.question, changed.answers, changed.tags) == ("年假有几天", ["New 新的"], [])
    assert [entry.answers for entry in (await place.faq.list(kb.id, search="gate"))[0]] == [["Someone else."]]
    assert len(await place.in_step(kb.id)) == 6
    refused = await place.faq.add_many(kb.id, [GATE], update=False)
    assert [outcome.what for outcome in refused] == ["rejected"]


async def test_two_entries_may_change_places_in_one_batch(place: Place) -> None:
    kb = await a_faq_kb(place)
    one = await place.faq.add(kb.id, FaqDraft(question="一", similar_questions=["a"]))
    two = await place.faq.add(kb.id, FaqDraft(question="二"))
    await place.faq.add_many(
        kb.id, [FaqDraft(question="一"), FaqDraft(question="二", similar_questions=["a"])]
    )
    assert (await place.faq.get(one.id)).similar_questions == []
    assert (await place.faq.get(two.id)).similar_questions == ["a"]


async def test_documents_and_entries_do_not_mix(place: Place) -> None:
    kb = await a_faq_kb(place)
    documents = await place.catalogue.create_kb(name="docs", embedding_model=MODEL)
    with pytest.raises(Conflict) as refused:
        await place.faq.add(documents.id, LEAVE)
    assert refused.value.code == "not_a_faq_kb"
    with pytest.raises(Conflict) as refused:
        await place.ingestion.add(kb, name="a.txt", content=b"text")
    assert refused.value.code == "faq_kb"
    with pytest.raises(Conflict) as refused:
        await place.ingestion.add_text(kb, title="a", text="文字")
    assert refused.value.code == "faq_kb"
    with pytest.raises(NotFound):
        await place.faq.add("none", LEAVE)
    other_model = await place.catalogue.create_kb(name="m", kind="faq", embedding_model="another")
    with pytest.raises(Conflict):
        await place.faq.add(other_model.id, LEAVE)
    assert await place.faq.list(other_model.id) == ([], 0)  # reading needs no model


async def test_an_index_that_fails_leaves_everything_as_it_was(place: Place) -> None:
    kb = await a_faq_kb(place)
    made = await place.faq.add(kb.id, LEAVE)
    before = await place.in_step(kb.id)
    place.steps.fails = "keywords.add"
    for change in (
        place.faq.add(kb.id, GATE),
        place.faq.update(made.id, lambda draft: replace(draft, question="另一个")),
    ):
        with pytest.raises(DependencyFailed):
            await change
    assert await place.in_step(kb.id) == before
    assert await place.faq.get(made.id) == made
    assert await place.version(kb.id) == kb.version + 1


async def test_changes_that_come_at_once_leave_one_of_them_whole(place: Place) -> None:
    kb = await a_faq_kb(place)
    made = await place.faq.add(kb.id, LEAVE)
    outcomes: list[str] = []

    async def add() -> None:
        try:
            await place.faq.add(kb.id, GATE)
            outcomes.append("made")
        except Conflict as refused:
            outcomes.append(refused.code)

    async def flip(enabled: bool) -> None:
        await place.faq.set_enabled(kb.id, [made.id], enabled)

    async def rewrite(number: int) -> None:
        await place.faq.update(made.id, lambda draft: replace(draft, similar_questions=[f"第 {number} 问"]))

    async with anyio.create_task_group() as group:
        for number in range(4):
            group.start_soon(add)
            group.start_soon(flip, bool(number % 2))
            group.start_soon(rewrite, number)
    assert sorted(outcomes) == ["faq_question_taken"] * 3 + ["made"]
    entry = await place.faq.get(made.id)
    assert entry.revision == 5
    assert len(await place.in_step(kb.id)) == 2 + 3 * entry.enabled


Change = Callable[[Place, KnowledgeBase, FaqEntry], Awaitable[object]]
CHANGES: dict[str, Change] = {
    "add": lambda place, kb, entry: place.faq.add(kb.id, GATE),
    "update": lambda place, kb, entry: place.faq.update(
        entry.id, lambda draft: replace(draft, question="怎样请假？", similar_questions=["ask for leave"])
    ),
    "disable": lambda place, kb, entry: place.faq.set_enabled(kb.id, [entry.id], False),
    "remove": lambda place, kb, entry: place.faq.remove(kb.id, [entry.id]),
    "add many": lambda place, kb, entry: place.faq.add_many(
        kb.id, [GATE, replace(LEAVE, answers=["Neu 新"])]
    ),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_a_crash_at_any_step_leaves_the_old_or_the_new(tmp_path: Path, change: str) -> None:
    async with a_place(tmp_path) as place:
        kb = await a_faq_kb(place)
        entry = await place.faq.add(kb.id, LEAVE)
        old = await place.texts(kb.id), await place.version(kb.id)
        await place.tidied()
    seen: list[bool] = []
    for number in range(9):
        try:
            async with a_place(tmp_path, steps=Steps()) as place:
                await place.tidied()
                assert await state(place, kb) == old
                place.steps.taken.clear()
                place.steps.ends_before = number
                await CHANGES[change](place, kb, entry)
        except* Crash:
            pass
        else:
            break
        async with a_place(tmp_path) as place:
            await place.tidied()
            now = await state(place, kb)
            seen.append(now != old)
            if now != old:
                break
    # Before the transaction the old, after it the new, and nothing else.
    assert seen == sorted(seen)
    assert len(seen) >= 2
    assert seen[-1] or change == "add"


async def state(place: Place, kb: KnowledgeBase) -> tuple[set[str], int]:
    return await place.texts(kb.id), await place.version(kb.id)


async def test_an_index_that_was_lost_is_made_again_with_all_phrasings(tmp_path: Path) -> None:
    async with a_place(tmp_path) as place:
        kb = await a_faq_kb(place)
        entries = [await place.faq.add(kb.id, LEAVE), await place.faq.add(kb.id, GATE)]
        before = await place.texts(kb.id)
        await place.tidied()
        await place.keywords.drop(kb.id)
    async with a_place(tmp_path) as place:
        await place.tidied()
        assert await place.texts(kb.id) == before
        for entry in entries:
            assert (await place.catalogue.get_document(entry.id)).status == "ready"
            assert await place.faq.get(entry.id) == entry


async def test_erasing_an_entry_leaves_no_text_of_it_in_any_file(tmp_path: Path) -> None:
    secret = FaqDraft(
        question="绝密甲 secretquestion",
        similar_questions=["绝密乙 secretsimilar"],
        negative_questions=["绝密丙 secretnegative"],
        answers=["绝密丁 secretanswer"],
    )
    async with a_place(tmp_path) as place:
        kb = await a_faq_kb(place)
        kept, gone = await place.faq.add(kb.id, LEAVE), await place.faq.add(kb.id, secret)
        await place.faq.update(gone.id, lambda draft: replace(draft, answers=["绝密戊 secretrevised"]))
        assert await place.erased.erase(gone.id, kb.id) == 3
        await place.erased.clear_unused()
        assert await found(place, kb, "年假") == [kept.id]
        assert len(await place.in_step(kb.id)) == 4
    stored = b"".join(await anyio.to_thread.run_sync(contents, tmp_path))
    assert "年假有几天".encode() in stored
    for word in ("绝密", "secret"):
        assert word.encode() not in stored


@pytest.mark.parametrize(
    ("draft", "code"),
    [
        (FaqDraft(question=""), "faq_question_empty"),
        (FaqDraft(question="\0\0"), "faq_question_empty"),
        (FaqDraft(question="\u200b\u200d\ufeff"), "faq_question_empty"),
        (FaqDraft(question="长" * 10_000), "faq_question_too_long"),
        (FaqDraft(question="q", similar_questions=[f"q{n}" for n in range(1001)]), "faq_too_many"),
        (FaqDraft(question="q", similar_questions=["x" * 1001]), "faq_question_too_long"),
        (FaqDraft(question="q", answers=["x" * 20_001]), "faq_answer_too_long"),
        (FaqDraft(question="q", answers=[f"{n}" for n in range(51)]), "faq_too_many"),
        (FaqDraft(question="q", tags=[f"{n}" for n in range(51)]), "faq_too_many"),
        (FaqDraft(question="q", tags=["\u200b"]), "bad_tag_name"),
        (FaqDraft(question="q", answer_strategy="some"), "faq_bad_strategy"),  # pyright: ignore[reportArgumentType]
    ],
)
async def test_impossible_entries_are_refused(place: Place, draft: FaqDraft, code: str) -> None:
    kb = await a_faq_kb(place)
    with pytest.raises(BadRequest) as refused:
        await place.faq.add(kb.id, draft)
    assert refused.value.code == code
    assert await place.version(kb.id) == kb.version


async def test_what_no_store_takes_is_taken_out_of_texts(place: Place) -> None:
    kb = await a_faq_kb(place)
    made = await place.faq.add(
        kb.id,
        FaqDraft(question="a\0b \ud800\n问", answers=["一\0\r\n二\udfff"], similar_questions=["x\u202ey"]),
    )
    assert made.question == "ab ? 问"
    assert made.answers == ["一\n二?"]
    assert made.similar_questions == ["xy"]


def contents(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()]
