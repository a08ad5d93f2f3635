"""Where to search: knowledge bases in scope, by the store that holds them, and how each is asked."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from ...context import Context, KnowledgeBase, SearchStore, require_same_model
from ...text.language import LANGUAGES
from .search import Search

# Candidates per channel.
LEAST_CANDIDATES = 50
MOST_CANDIDATES = 500
OVER_RECALL = 5

# Texts would crowd them out: they have little text of their own.
MEDIA = ("image", "chart", "table", "table_summary", "table_column")
MEDIA_RECALL = 5
FOREIGN_RECALL = 0.4  # of the candidates: from texts in a language that the question is not in
QUESTION, FAQ = "question", "faq"
SPECIAL = (*MEDIA, QUESTION)  # kinds that are asked for in a way of their own


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One knowledge base, or some documents of it."""

    kb: KnowledgeBase
    document_ids: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One question to both channels of a store, over these knowledge bases together.

    `languages` are those of the vectors that are asked, all where there are none; without `words` vectors
    alone are asked, since words do not match across languages. `folds`: among what it finds are questions
    that stand for another chunk, so that many entries may be one hit. Then it is asked again for more, up to
    `MOST_CANDIDATES`, until there are hits enough.
    """

    kb_ids: Sequence[str]
    limit: int
    document_ids: Sequence[str] = ()
    kinds: Sequence[str] = ()
    languages: Sequence[str] = ()
    words: bool = True
    folds: bool = False

    @property
    def is_media(self) -> bool:
        return self.kinds == MEDIA


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreGroup:
    """Knowledge bases of one store and one embedding model. `store` is None where it is not configured.

    Those in `without_words` are asked for vectors alone: their keyword index is just being made again.
    """

    name: str
    model: str
    store: SearchStore | None
    targets: Sequence[Target]
    without_words: AbstractSet[str] = frozenset()

    @property
    def kb_ids(self) -> list[str]:
        return [target.kb.id for target in self.targets]

    def with_words(self, kb_ids: Iterable[str]) -> list[str]:
        """Those of them whose keyword index can be asked."""
        return [id for id in kb_ids if id not in self.without_words]


async def find_targets(context: Context, search: Search) -> list[Target]:
    """Knowledge bases in scope; narrowed to documents, to tags or to both, those that hold such documents.

    Raises Conflict (`embedding_model_mismatch`) for one that was indexed with another model.
    """
    by_kb = await _narrowed_to(context, search)
    ids = list(dict.fromkeys(search.kb_ids or by_kb))
    if search.narrowed:
        ids = [kb_id for kb_id in ids if by_kb.get(kb_id)]
    kbs = await context.catalogue.kbs(ids)
    targets = [Target(kb=kbs[kb_id], document_ids=by_kb.get(kb_id, ())) for kb_id in ids if kb_id in kbs]
    for target in targets:
        require_same_model(target.kb, context.embedder.model)
    return targets


async def _narrowed_to(context: Context, search: Search) -> dict[str, Sequence[str]]:
    """Documents by knowledge base: those named, those with any of the tags, or those that are both."""
    named: dict[str, list[str]] = {}
    for document in (await context.catalogue.documents(search.document_ids)).values():
        named.setdefault(document.kb_id, []).append(document.id)
    if not search.tag_ids:
        return dict(named)
    tagged = await context.catalogue.tagged_documents(search.tag_ids)
    if not search.document_ids:
        return dict(tagged)
    return {kb_id: [id for id in ids if id in {*tagged.get(kb_id, ())}] for kb_id, ids in named.items()}


def store_groups(stores: Mapping[str, SearchStore], targets: Iterable[Target]) -> list[StoreGroup]:
    """By store and by model: vectors of two models cannot be compared."""
    groups: dict[tuple[str, str], list[Target]] = {}
    for target in targets:
        groups.setdefault((target.kb.store, target.kb.embedding_model), []).append(target)
    return [
        StoreGroup(name=name, model=model, store=stores.get(name), targets=own)
        for (name, model), own in groups.items()
    ]


def candidates(match_count: int, kbs: int) -> int:
    """How many candidates each channel is asked for, where `match_count` hits are wanted of so many."""
    return min(max(match_count * OVER_RECALL, LEAST_CANDIDATES) * kbs, MOST_CANDIDATES)


def calls_of(
    targets: Sequence[Target],
    kinds: Mapping[str, AbstractSet[str]],
    *,
    limit: int,
    foreign: Sequence[str] = (),
    faq_answers: bool = False,
) -> list[Call]:
    """The calls of one store. Whole knowledge bases share one, narrowed ones have their own.

    `kinds` says which of the special kinds of chunks each knowledge base has. Texts in the `foreign`
    languages are searched by themselves: near misses in the question's own would crowd them out.
    """
    calls: list[Call] = []
    for target in targets:
        own = _calls_of(target, kinds.get(target.kb.id, frozenset()), limit, faq_answers)
        for call in [*_by_language(own[0], foreign), *own[1:]]:
            alike = next((place for place, other in enumerate(calls) if _alike(call, other)), None)
            if alike is None:
                calls.append(call)
            else:
                calls[alike] = _together(calls[alike], call)
    return calls


def _calls_of(target: Target, kinds: AbstractSet[str], limit: int, faq_answers: bool) -> list[Call]:
    plain = Call(kb_ids=[target.kb.id], document_ids=target.document_ids, limit=limit)
    if target.kb.kind == "faq":
        return [replace(plain, kinds=(QUESTION, FAQ) if faq_answers else (QUESTION,), folds=True)]
    calls = [replace(plain, folds=QUESTION in kinds)]
    if not kinds.isdisjoint(MEDIA):
        calls.append(replace(plain, kinds=MEDIA, limit=MEDIA_RECALL))
    return calls


def _by_language(call: Call, foreign: Sequence[str]) -> list[Call]:
    if not foreign:
        return [call]
    own = ["", *(language for language in LANGUAGES if language not in foreign)]
    fewer = round(call.limit * FOREIGN_RECALL)
    return [replace(call, languages=own), replace(call, languages=foreign, words=False, limit=fewer)]


def _alike(call: Call, other: Call) -> bool:
    is_same = (call.kinds, call.languages) == (other.kinds, other.languages)
    return is_same and not call.document_ids and not other.document_ids


def _together(call: Call, other: Call) -> Call:
    return replace(call, kb_ids=[*call.kb_ids, *other.kb_ids], folds=call.folds or other.folds)
