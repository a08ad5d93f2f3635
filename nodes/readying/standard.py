"""The stored answer to a known question, before any model is asked."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from ...context import Context, FaqEntry, KnowledgeBase, store_of
from ...state import Asked, Hit, ReadyAnswer, Source
from ...text.near_miss import conflict
from ...text.similarity import signature
from ..answering.citations import harmless
from ..merge.faq import chosen, content_of
from ..searching.negatives import not_meant
from .known import Known, certainty, in_scope, nearest_known

QUESTION_LENGTH = 200
SURE = 1.0  # the same question word for word


async def standard_answer(asked: Asked, context: Context) -> ReadyAnswer | None:
    """That of the entry which is asked for, in the banks that give their answers; None where none is.

    Raises DependencyFailed.
    """
    kb_ids = asked.get("standard_answer_kb_ids", [])
    if not kb_ids:
        return None
    kbs = [kb for kb in (await context.catalogue.kbs(kb_ids)).values() if kb.kind == "faq"]
    tagged = await context.catalogue.tagged_documents(asked["tag_ids"]) if asked["tag_ids"] else None
    banks = [(kb, in_scope(kb.id, asked["document_ids"], tagged)) for kb in kbs]
    for kb, scope in banks:
        if entry := await _word_for_word(asked["query"], kb, scope, context):
            return await _ready(entry, asked, context, score=SURE, phrasing=asked["query"])
    found = [one for kb, scope in banks if (one := await _alike(asked["query"], kb, scope, context))]
    score, known = max(found, key=lambda one: one[0], default=(0.0, None))
    if known is None or score < asked["faq_direct_answer_threshold"]:
        return None
    return await _ready(
        known.entry, asked, context, score=score, phrasing=known.phrasing, cosine=known.cosine
    )


async def _word_for_word(
    question: str, kb: KnowledgeBase, scope: AbstractSet[str] | None, context: Context
) -> FaqEntry | None:
    found = await context.catalogue.faq_questions(kb.id, [signature(question)])
    ids = [id for id in found.values() if scope is None or id in scope]
    entries = await context.catalogue.faq_entries(ids)
    unmeant = not_meant(entries.values(), [question])
    meant = [one for one in entries.values() if one.enabled and one.answers and one.id not in unmeant]
    return next(iter(meant), None)


async def _alike(
    question: str, kb: KnowledgeBase, scope: AbstractSet[str] | None, context: Context
) -> tuple[float, Known] | None:
    """The entry nearest to the question and how certain it is; None where nothing says so or they differ."""
    if context.everyday is None or (scope is not None and not scope):
        return None
    vectors = store_of(context.stores, kb).vectors
    [vector] = await context.embedder.embed_queries([question])
    nearest = await nearest_known(
        question,
        vector,
        kb,
        catalogue=context.catalogue,
        vectors=vectors,
        document_ids=sorted(scope) if scope is not None else (),
    )
    if not nearest or not nearest[0].entry.answers or conflict(question, nearest[0].phrasing):
        return None
    score = await certainty(question, nearest, kb, vectors=vectors, everyday=context.everyday)
    return None if score is None else (score, nearest[0])


async def _ready(
    entry: FaqEntry,
    asked: Asked,
    context: Context,
    *,
    score: float,
    phrasing: str,
    cosine: float | None = None,
) -> ReadyAnswer:
    answer = harmless("\n\n".join(chosen(entry, run_id=asked["run_id"])))
    kept: Sequence[str] = await context.passages.keep([answer, content_of(entry, run_id=asked["run_id"])])
    chunk = (await context.catalogue.chunks([entry.id])).get(entry.id)
    hit = Hit(
        chunk_id=entry.id,
        chunk_revision=chunk.revision if chunk else entry.revision,
        kb_id=entry.kb_id,
        document_id=entry.id,
        kind="faq",
        match_type="faq",
        chunk_index=0,
        passage=kept[1],
        score=score,
        scores={"vector": cosine, "final": score},
        ranks={},
        marks=["exact"] if cosine is None else [],
        sub_chunk_ids=[],
        source=Source(page=None, boxes=[], section=None, url=None),
    )
    return ReadyAnswer(
        source="faq", passage=kept[0], hits=[hit], score=score, question=phrasing[:QUESTION_LENGTH]
    )
