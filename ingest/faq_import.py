"""A file of FAQ entries into a knowledge base: what can be goes in, the rest is told row by row."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from ..context import FaqEntry
from ..errors import BadRequest, TooLarge
from ..text.similarity import signature
from .faq import BATCH, FaqOutcome
from .faq_drafts import FaqDraft, draft_of
from .faq_files import MOST_ROWS, FaqFile, FaqRow, RejectedRow, rejected_row

TAKEN = "faq_question_taken"


class Entries(Protocol):
    """What `faq.Faq` does."""

    async def ids(self, kb_id: str) -> Sequence[str]: ...

    async def add_many(self, kb_id: str, drafts: Sequence[FaqDraft]) -> Sequence[FaqOutcome]: ...

    async def remove(self, kb_id: str, entry_ids: Sequence[str]) -> int: ...


class Standing(Protocol):
    """What the catalogue knows of the entries that are there."""

    async def faq_entries(self, ids: Sequence[str]) -> Mapping[str, FaqEntry]: ...

    async def faq_questions(self, kb_id: str, signatures: Sequence[str]) -> Mapping[str, str]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What became of a file. Rejected rows are in its order."""

    created: int
    updated: int
    unchanged: int
    deleted: int
    rejected: Sequence[RejectedRow]
    ignored_columns: Sequence[str] = ()


async def import_entries(
    file: FaqFile, kb_id: str, *, entries: Entries, standing: Standing, only: bool = False
) -> Imported:
    """A row whose question is that of an entry changes what the row gives of it, and nothing else.

    With `only` the entries that the file lacks are removed, once the rest is in. The same file again changes
    nothing. Raises TooLarge, BadRequest `faq_no_rows`, and what `Faq.add_many` raises: what it has written
    by then stays, and the same file can be sent again.
    """
    if len(file.rows) + len(file.rejected) > MOST_ROWS:
        raise TooLarge(
            f"There are more than {MOST_ROWS} rows in the file: split it.",
            code="faq_too_many_rows",
            details={"limit": MOST_ROWS},
        )
    if not file.rows and not file.rejected:
        raise BadRequest("There are no entries in the file.", code="faq_no_rows")
    before = await entries.ids(kb_id)
    outcomes = await _written(file.rows, kb_id, entries, standing)
    # A file of which no row is good is a mistake, and no reason to empty a knowledge base.
    good = any(one.error is None or one.error.code == TAKEN for one in outcomes.values())
    lacking = {*before} if only and good else set[str]()
    lacking -= {one.entry.id for one in outcomes.values() if one.entry}
    if lacking:
        refused = [row.question for row in file.rows if outcomes[row.row].error]
        lacking -= {*(await _standing([*refused, *file.rejected_questions], kb_id, standing)).values()}
    deleted = await entries.remove(kb_id, [id for id in before if id in lacking]) if lacking else 0
    # What was taken may have been given up by a later row, or have gone with an entry.
    again = [row for row in file.rows if (error := outcomes[row.row].error) and error.code == TAKEN]
    outcomes |= await _written(again, kb_id, entries, standing)
    return _told(file, outcomes, deleted)


async def _written(
    rows: Sequence[FaqRow], kb_id: str, entries: Entries, standing: Standing
) -> dict[int, FaqOutcome]:
    """Outcomes by the number of the row. What the file does not give is read just before it is written."""
    outcomes: dict[int, FaqOutcome] = {}
    for batch in _batches(rows):
        ids = await _standing([row.question for row in batch], kb_id, standing)
        found = await standing.faq_entries([*ids.values()])
        drafts = [_draft(row, found.get(ids.get(signature(row.question), ""))) for row in batch]
        for row, outcome in zip(batch, await entries.add_many(kb_id, drafts), strict=True):
            outcomes[row.row] = outcome
    return outcomes


async def _standing(questions: Iterable[str], kb_id: str, standing: Standing) -> dict[str, str]:
    """By the signature of a question, the entry that has it as its standard question."""
    owners = await standing.faq_questions(kb_id, [*{signature(question) for question in questions}])
    found = await standing.faq_entries([*{*owners.values()}])
    return {key: id for key, id in owners.items() if id in found and signature(found[id].question) == key}


def _draft(row: FaqRow, old: FaqEntry | None) -> FaqDraft:
    return replace(draft_of(old), **row.given) if old else FaqDraft(**row.given)


def _batches(rows: Sequence[FaqRow]) -> Iterator[Sequence[FaqRow]]:
    for start in range(0, len(rows), BATCH):
        yield rows[start : start + BATCH]


def _told(file: FaqFile, outcomes: Mapping[int, FaqOutcome], deleted: int) -> Imported:
    counts = Counter(outcome.what for outcome in outcomes.values())
    refused = [
        rejected_row(row.row, row.question, error) for row in file.rows if (error := outcomes[row.row].error)
    ]
    return Imported(
        created=counts["created"],
        updated=counts["updated"],
        unchanged=counts["unchanged"],
        deleted=deleted,
        rejected=sorted([*file.rejected, *refused], key=lambda one: one.row),
        ignored_columns=file.ignored_columns,
    )
