"""What an FAQ entry may say, and the chunks it is searched by. Pure."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from ..context import AnswerStrategy, Chunk, FaqEntry
from ..errors import BadRequest
from ..text.labels import good_label, is_visible, label_key
from ..text.signature import chunk_id
from ..text.similarity import signature

QUESTION_LENGTH = 1_000
ANSWER_LENGTH = 20_000
MOST_QUESTIONS = 1_000  # similar ones, and as many negative ones
MOST_ANSWERS = 50
MOST_TAGS = 50

# Controls but tab and line feed, and what hides or reorders other characters. Joiners stay, which emoji and
# some scripts need.
UNSEEN = re.compile(
    r"[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FaqDraft:
    """What a person writes of an entry. `tags` are names; those that are not there yet are made."""

    question: str
    similar_questions: Sequence[str] = ()
    negative_questions: Sequence[str] = ()
    answers: Sequence[str] = ()
    answer_strategy: AnswerStrategy = "all"
    tags: Sequence[str] = ()
    enabled: bool = True


def good_draft(draft: FaqDraft) -> FaqDraft:
    """As it is kept: questions on one line and each once, empty ones and empty answers left out.

    An entry without answers is possible: it is found, and says nothing. Raises BadRequest that says what to
    change: `faq_question_empty`, `faq_question_too_long`, `faq_answer_too_long`, `faq_too_many`,
    `faq_bad_strategy`, `bad_tag_name`.
    """
    if draft.answer_strategy not in get_args(AnswerStrategy):
        raise BadRequest("answer_strategy is all, first or random.", code="faq_bad_strategy")
    question = _question(draft.question)
    if not is_visible(question):
        raise BadRequest("The question is empty: an entry needs one.", code="faq_question_empty")
    answers = [answer for answer in map(_answer, draft.answers) if is_visible(answer)]
    _refuse_many("answers", answers, MOST_ANSWERS)
    return replace(
        draft,
        question=question,
        similar_questions=_questions("similar questions", draft.similar_questions, but=[question]),
        negative_questions=_questions("negative questions", draft.negative_questions),
        answers=list(dict.fromkeys(answers)),
        tags=_tags(draft.tags),
    )


def draft_of(entry: FaqEntry) -> FaqDraft:
    return FaqDraft(
        question=entry.question,
        similar_questions=entry.similar_questions,
        negative_questions=entry.negative_questions,
        answers=entry.answers,
        answer_strategy=entry.answer_strategy,
        tags=entry.tags,
        enabled=entry.enabled,
    )


def entry_of(draft: FaqDraft, *, id: str, kb_id: str) -> FaqEntry:
    """A new one."""
    return FaqEntry(
        id=id,
        kb_id=kb_id,
        question=draft.question,
        similar_questions=draft.similar_questions,
        negative_questions=draft.negative_questions,
        answers=draft.answers,
        answer_strategy=draft.answer_strategy,
        tags=draft.tags,
        enabled=draft.enabled,
    )


def changed(entry: FaqEntry, draft: FaqDraft) -> FaqEntry:
    """The entry as the draft has it; a revision on where that changes what is searched or said."""
    new = replace(
        entry_of(draft, id=entry.id, kb_id=entry.kb_id),
        created_at=entry.created_at,
        updated_at=entry.updated_at,
    )
    return replace(new, revision=entry.revision + (_texts(new) != _texts(entry)))


def is_same(entry: FaqEntry, other: FaqEntry) -> bool:
    """Whether nothing differs that a person could have written."""
    return _written(entry) == _written(other)


def signatures(entry: FaqEntry | FaqDraft) -> list[str]:
    """What makes two questions one, of the standard question and then of the similar ones."""
    return [signature(question) for question in (entry.question, *entry.similar_questions)]


def chunks_of(entry: FaqEntry) -> list[Chunk]:
    """The entry itself, and one chunk for each way to ask it. The same revision gives the same index ids."""
    whole = Chunk(
        id=entry.id,
        revision=entry.revision,
        kb_id=entry.kb_id,
        document_id=entry.id,
        kind="faq",
        chunk_index=0,
        text="\n\n".join(part for part in (entry.question, "\n".join(entry.answers)) if part),
        enabled=entry.enabled,
        entry_id=chunk_id(entry.id, entry.revision, "faq", 0),
    )
    questions = [
        Chunk(
            id=chunk_id(entry.id, entry.revision, "question", index),
            revision=entry.revision,
            kb_id=entry.kb_id,
            document_id=entry.id,
            kind="question",
            chunk_index=index,
            text=question,
            parent_chunk_id=entry.id,
            enabled=entry.enabled,
        )
        for index, question in enumerate((entry.question, *entry.similar_questions))
    ]
    return [whole, *questions]


def storable(text: str) -> str:
    """Without hidden characters; a lone surrogate, which has no UTF-8, becomes a question mark."""
    return UNSEEN.sub("", text.encode("utf-8", "replace").decode("utf-8"))


def _question(text: str) -> str:
    text = " ".join(storable(text).split())
    if len(text) > QUESTION_LENGTH:
        raise BadRequest(
            f"A question has at most {QUESTION_LENGTH} characters, this one has {len(text)}.",
            code="faq_question_too_long",
            details={"limit": QUESTION_LENGTH},
        )
    return text


def _questions(what: str, texts: Iterable[str], but: Sequence[str] = ()) -> list[str]:
    seen = {signature(text) for text in but}
    questions: dict[str, str] = {}
    for text in map(_question, texts):
        if is_visible(text) and (key := signature(text)) not in seen:
            questions.setdefault(key, text)
    _refuse_many(what, [*questions], MOST_QUESTIONS)
    return [*questions.values()]


def _answer(text: str) -> str:
    text = storable(text.replace("\r\n", "\n").replace("\r", "\n")).strip()
    if len(text) > ANSWER_LENGTH:
        raise BadRequest(
            f"An answer has at most {ANSWER_LENGTH} characters, this one has {len(text)}.",
            code="faq_answer_too_long",
            details={"limit": ANSWER_LENGTH},
        )
    return text


def _tags(names: Iterable[str]) -> list[str]:
    good = [good_label(storable(name)) for name in names if name.strip()]
    tags = {label_key(name): name for name in reversed(good)}
    _refuse_many("tags", [*tags], MOST_TAGS)
    return [*tags.values()][::-1]


def _refuse_many(what: str, texts: Sequence[str], limit: int) -> None:
    if len(texts) > limit:
        raise BadRequest(
            f"An entry has at most {limit} {what}, this one has {len(texts)}.",
            code="faq_too_many",
            details={"limit": limit},
        )


def _texts(entry: FaqEntry) -> str:
    return json.dumps([entry.question, [*entry.similar_questions], [*entry.answers]])


def _written(entry: FaqEntry) -> tuple[object, ...]:
    rest = (
        [*entry.negative_questions],
        entry.answer_strategy,
        sorted(map(label_key, entry.tags)),
        entry.enabled,
    )
    return (_texts(entry), *rest)
