"""FAQ entries: each change of one is whole, in catalogue, vectors and keywords alike."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import anyio

from ..context import Chunk, Embedder, FaqEntry, KnowledgeBase, require_same_model
from ..errors import BadRequest, Conflict, HeadraceError
from ..ids import new_id
from .changes import IndexChanges
from .entries import embedded, is_searched
from .faq_drafts import FaqDraft, changed, chunks_of, draft_of, entry_of, good_draft, is_same, signatures

__all__ = ["Faq", "FaqCatalogue", "FaqDraft", "FaqOutcome"]

# What is embedded, indexed and written together: a crash costs at most this much, and a question asked
# meanwhile waits for one batch of the embedder only.
BATCH = 100
BATCH_QUESTIONS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FaqOutcome:
    """What became of one draft: `entry` as it is now, or why it was rejected."""

    what: Literal["created", "updated", "unchanged", "rejected"]
    entry: FaqEntry | None = None
    error: BadRequest | None = None


class FaqCatalogue(Protocol):
    """Where entries are kept, a transaction per call. Raises NotFound for unknown ids."""

    async def get_kb(self, kb_id: str) -> KnowledgeBase: ...

    async def faq_entry(self, entry_id: str) -> FaqEntry: ...

    async def faq_entries(self, ids: Sequence[str]) -> Mapping[str, FaqEntry]: ...

    async def list_faq(
        self,
        kb_id: str,
        *,
        search: str | None = None,
        tag_id: str | None = None,
        enabled: bool | None = None,
        page: int = 1,
        page_size: int = 20,
    ) -> tuple[list[FaqEntry], int]: ...

    async def faq_ids(self, kb_id: str) -> list[str]: ...

    async def faq_questions(self, kb_id: str, signatures: Sequence[str]) -> Mapping[str, str]: ...

    async def write_faq(
        self, kb_id: str, written: Sequence[tuple[FaqEntry, Sequence[Chunk]]]
    ) -> list[FaqEntry]: ...

    async def remove_faq(self, kb_id: str, entry_ids: Sequence[str]) -> tuple[list[str], list[str]]: ...


class Faq:
    """The entries of FAQ knowledge bases. One change at a time, bulk changes a batch at a time.

    All raise NotFound for an unknown entry or knowledge base, Conflict `not_a_faq_kb`,
    `embedding_model_mismatch` and `faq_question_taken`, BadRequest as `faq_drafts.good_draft`, and
    DependencyFailed when a store or the embedder does not answer: then nothing of the batch has changed.
    """

    def __init__(self, *, catalogue: FaqCatalogue, embedder: Embedder, changes: IndexChanges) -> None:
        self._catalogue = catalogue
        self._embedder = embedder
        self._changes = changes
        self._writing = anyio.Lock()

    async def get(self, entry_id: str) -> FaqEntry:
        return await self._catalogue.faq_entry(entry_id)

    async def list(
        self,
        kb_id: str,
        *,
        search: str | None = None,
        tag_id: str | None = None,
        enabled: bool | None = None,
        page: int = 1,
        page_size: int = 20,
    ) -> tuple[Sequence[FaqEntry], int]:
        """Newest first, with the number of all that match; `search` looks into questions and answers."""
        kb = await self._kb(kb_id, writing=False)
        return await self._catalogue.list_faq(
            kb.id, search=search, tag_id=tag_id, enabled=enabled, page=page, page_size=page_size
        )

    async def ids(self, kb_id: str) -> Sequence[str]:
        """All entries of a knowledge base, oldest first."""
        return await self._catalogue.faq_ids((await self._kb(kb_id, writing=False)).id)

    async def add(self, kb_id: str, draft: FaqDraft) -> FaqEntry:
        """A new entry; Conflict where one of its questions is already one of another entry."""
        kb = await self._kb(kb_id)
        async with self._writing:
            (outcome,) = await self._write(kb, [draft], update=False)
        return _entry_or_raise(outcome)

    async def add_many(
        self, kb_id: str, drafts: Sequence[FaqDraft], *, update: bool = True
    ) -> Sequence[FaqOutcome]:
        """One outcome for each draft, in order. A draft whose question is the standard question of an entry
        replaces all that the entry says, or is rejected without `update`.

        What cannot be is rejected alone. When a store fails, the batches before that stay.
        """
        kb = await self._kb(kb_id)
        outcomes: list[FaqOutcome] = []
        for batch in _batches(drafts):
            async with self._writing:
                outcomes += await self._write(kb, batch, update=update)
        return outcomes

    async def update(self, entry_id: str, change: Callable[[FaqDraft], FaqDraft]) -> FaqEntry:
        """The entry as `change` makes it from what it is now; the same again changes nothing."""
        async with self._writing:
            old = await self._catalogue.faq_entry(entry_id)
            kb = await self._kb(old.kb_id)
            new = changed(old, good_draft(change(draft_of(old))))
            if is_same(old, new):
                return old
            owners = await self._catalogue.faq_questions(kb.id, signatures(new))
            _refuse_taken(new, owners, entry_id=old.id)
            (written,) = await self._replace(kb, [(old, new)])
        return written

    async def remove(self, kb_id: str, entry_ids: Sequence[str]) -> int:
        """Those of the entries that the knowledge base has are gone. Returns how many there were."""
        kb = await self._kb(kb_id, writing=False)
        removed = 0
        async with self._writing:
            for start in range(0, len(entry_ids), BATCH):
                async with self._changes.around(kb) as gone:
                    there, forgotten = await self._catalogue.remove_faq(
                        kb.id, entry_ids[start : start + BATCH]
                    )
                    gone += forgotten
                removed += len(there)
        return removed

    async def set_enabled(self, kb_id: str, entry_ids: Sequence[str], enabled: bool) -> int:
        """A disabled entry is never found. Returns how many were not like this before."""
        kb = await self._kb(kb_id)
        count = 0
        for start in range(0, len(entry_ids), BATCH):
            async with self._writing:
                found = await self._catalogue.faq_entries(entry_ids[start : start + BATCH])
                pairs = [
                    (entry, replace(entry, enabled=enabled))
                    for entry in found.values()
                    if entry.kb_id == kb.id and entry.enabled != enabled
                ]
                await self._replace(kb, pairs)
                count += len(pairs)
        return count

    async def _kb(self, kb_id: str, *, writing: bool = True) -> KnowledgeBase:
        kb = await self._catalogue.get_kb(kb_id)
        if kb.kind != "faq":
            raise Conflict(
                f"Knowledge base {kb.name!r} holds documents: FAQ entries need one of kind 'faq'.",
                code="not_a_faq_kb",
                details={"knowledge_base_id": kb.id},
            )
        if writing:
            require_same_model(kb, self._embedder.model)
        return kb

    async def _write(
        self, kb: KnowledgeBase, drafts: Sequence[FaqDraft], *, update: bool
    ) -> Sequence[FaqOutcome]:
        checked = [_checked(draft) for draft in drafts]
        plan = await self._plan(kb, [draft for draft in checked if isinstance(draft, FaqDraft)])
        outcomes = [
            plan.take(draft, update=update)
            if isinstance(draft, FaqDraft)
            else FaqOutcome(what="rejected", error=draft)
            for draft in checked
        ]
        written = {entry.id: entry for entry in await self._replace(kb, plan.pairs())}
        return [
            replace(one, entry=written.get(one.entry.id, one.entry)) if one.entry else one for one in outcomes
        ]

    async def _plan(self, kb: KnowledgeBase, drafts: Sequence[FaqDraft]) -> "_Plan":
        asked = {signature for draft in drafts for signature in signatures(draft)}
        owners = await self._catalogue.faq_questions(kb.id, [*asked])
        entries = await self._catalogue.faq_entries([*{*owners.values()}])
        return _Plan(kb.id, owners, entries)

    async def _replace(
        self, kb: KnowledgeBase, pairs: Sequence[tuple[FaqEntry | None, FaqEntry]]
    ) -> Sequence[FaqEntry]:
        """These entries in place of those before them, all at once."""
        if not pairs:
            return []
        before = {
            chunk.indexed_as for old, _ in pairs if old for chunk in chunks_of(old) if is_searched(chunk)
        }
        written = [(new, chunks_of(new)) for _, new in pairs]
        searched = [chunk for _, chunks in written for chunk in chunks if is_searched(chunk)]
        added = [chunk for chunk in searched if chunk.indexed_as not in before]
        titles = {entry.id: entry.question for entry, _ in written}
        entries = await embedded(added, titles, self._embedder)
        async with self._changes.around(kb, entries) as gone:
            kept = await self._catalogue.write_faq(kb.id, written)
            gone += before - {chunk.indexed_as for chunk in searched}
        return kept


class _Plan:
    """What a batch will write, draft after draft: each meets what those before it have made."""

    def __init__(self, kb_id: str, owners: Mapping[str, str], entries: Mapping[str, FaqEntry]) -> None:
        self._kb_id = kb_id
        self._owners = dict(owners)
        self._before = entries
        self._now = dict(entries)
        self._written: dict[str, None] = {}

    def pairs(self) -> list[tuple[FaqEntry | None, FaqEntry]]:
        return [(self._before.get(id), self._now[id]) for id in self._written]

    def take(self, draft: FaqDraft, *, update: bool) -> FaqOutcome:
        old = self._standing(draft) if update else None
        new = changed(old, draft) if old else entry_of(draft, id=new_id(), kb_id=self._kb_id)
        if old and is_same(old, new):
            return FaqOutcome(what="unchanged", entry=old)
        try:
            _refuse_taken(new, self._owners, entry_id=new.id)
        except Conflict as taken:
            return FaqOutcome(what="rejected", error=taken)
        for signature in signatures(old) if old else ():
            self._owners.pop(signature, None)
        self._owners |= dict.fromkeys(signatures(new), new.id)
        self._now[new.id] = new
        self._written[new.id] = None
        return FaqOutcome(what="updated" if old else "created", entry=new)

    def _standing(self, draft: FaqDraft) -> FaqEntry | None:
        """The entry that has the draft's question as its own standard question."""
        standard = signatures(draft)[0]
        entry = self._now.get(self._owners.get(standard, ""))
        return entry if entry and signatures(entry)[0] == standard else None


def _checked(draft: FaqDraft) -> FaqDraft | BadRequest:
    try:
        return good_draft(draft)
    except BadRequest as refused:
        return refused


def _refuse_taken(entry: FaqEntry, owners: Mapping[str, str], *, entry_id: str) -> None:
    questions = (entry.question, *entry.similar_questions)
    for question, signature in zip(questions, signatures(entry), strict=True):
        owner = owners.get(signature, entry_id)
        if owner != entry_id:
            raise Conflict(
                f"The question {question[:80]!r} is already one of another entry: change that entry, or ask "
                "another question.",
                code="faq_question_taken",
                details={"id": owner, "question": question},
            )


def _entry_or_raise(outcome: FaqOutcome) -> FaqEntry:
    if outcome.error is not None:
        raise outcome.error
    if outcome.entry is None:
        raise HeadraceError("an FAQ entry was neither made nor refused")
    return outcome.entry


def _batches(drafts: Sequence[FaqDraft]) -> Iterator[list[FaqDraft]]:
    batch: list[FaqDraft] = []
    questions = 0
    for draft in drafts:
        count = 1 + len(draft.similar_questions)
        if batch and (len(batch) == BATCH or questions + count > BATCH_QUESTIONS):
            yield batch
            batch, questions = [], 0
        batch.append(draft)
        questions += count
    if batch:
        yield batch
