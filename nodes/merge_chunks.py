"""Passages a person would read: whole, each once, with their surroundings."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from langgraph.runtime import Runtime

from ..context import Chunk, Context
from ..errors import HeadraceError
from ..state import Departure, Hit, RagState, StageWarning, Update
from .merge.dedupe import without_repeats
from .merge.faq import entry_ids, with_answers
from .merge.history import earlier_references, history_pieces
from .merge.input import merge_input
from .merge.overlaps import without_overlaps
from .merge.parents import grandparent_ids, parent_ids, with_parents
from .merge.pieces import Piece, left, order, piece_of
from .merge.sequences import joined
from .merge.short_context import extended
from .reporting.warn import warn
from .stage import stage

T = TypeVar("T")

# Rounds of reading neighbours: seven chunks on a side make up the shortest useful text of the
# shortest chunks; longer chains of shorter ones are not worth more reads.
NEIGHBOUR_ROUNDS = 7


@stage
async def merge_chunks(state: RagState, runtime: Runtime[Context]) -> Update:
    merger = Merger(state, runtime.context)
    pieces = await merger.merge()
    hits = await kept_texts(pieces, runtime.context, count=state["request"]["rerank_top_k"])
    update = Update(merged=hits, departures=merger.departures, warnings=merger.warnings)
    return {**update, "skipped": {**merger.skipped}} if merger.skipped else update


class Merger:
    """One merge, in eight steps. An enrichment whose reads fail is left out, with a warning, and counted."""

    def __init__(self, state: RagState, context: Context) -> None:
        self._state = state
        self._asked = state["request"]
        self._context = context
        self.departures: list[Departure] = []
        self.warnings: list[StageWarning] = []
        self.skipped: Counter[str] = Counter()

    async def merge(self) -> list[Piece]:
        pieces = self._noted(without_repeats(await self._pieces(merge_input(self._state))))
        pieces = await self._with_history(pieces)
        pieces = await self._with_parents(pieces)
        pieces = self._noted(joined(pieces))
        pieces = await self._with_answers(pieces)
        pieces = await self._with_neighbours(pieces)
        pieces = self._noted(without_repeats(pieces))
        pieces = self._noted(joined(pieces))
        # In a thread: telling words apart takes milliseconds for each text that is like another.
        return self._noted(await asyncio.to_thread(without_overlaps, pieces, self._context.tokens))

    def _noted(self, result: tuple[list[Piece], list[Departure]]) -> list[Piece]:
        pieces, departures = result
        self.departures.extend(departures)
        return pieces

    async def _pieces(self, hits: Sequence[Hit]) -> list[Piece]:
        texts = await self._context.passages.read(hits)
        chunks = await self._chunks([id for hit in hits for id in _chunk_ids(hit)], "chunks")
        pieces = [
            piece_of(hit, text or "", [chunks[id] for id in _chunk_ids(hit) if id in chunks])
            for hit, text in zip(hits, texts, strict=True)
        ]
        self.departures.extend(left(piece, "gone") for piece in pieces if not piece.text)
        return [piece for piece in pieces if piece.text]

    async def _with_history(self, pieces: list[Piece]) -> list[Piece]:
        history = [turn for turn in self._state.get("history", []) if turn["references"]]
        if not history:
            return pieces
        catalogue, tag_ids = self._context.catalogue, self._asked.get("tag_ids") or []
        tagged = await self._read(catalogue.tagged_documents, tag_ids, "history")
        references = earlier_references(history, self._asked, tagged)
        chunks = await self._chunks([hit["chunk_id"] for hit in references], "history")
        query = self._state.get("rewritten_query") or self._asked["query"]
        tokens = self._context.tokens
        found = await asyncio.to_thread(history_pieces, references, chunks, pieces, query, tokens)
        return [*pieces, *found]

    async def _with_parents(self, pieces: list[Piece]) -> list[Piece]:
        parents = {**await self._chunks(parent_ids(pieces), "parents")}
        parents |= await self._chunks(grandparent_ids(pieces, parents), "parents")
        return self._noted(with_parents(pieces, parents))

    async def _with_answers(self, pieces: list[Piece]) -> list[Piece]:
        entries = await self._read(self._context.catalogue.faq_entries, entry_ids(pieces), "answers")
        return with_answers(pieces, entries, run_id=self._asked["run_id"])

    async def _with_neighbours(self, pieces: list[Piece]) -> list[Piece]:
        known = {chunk.id: chunk for piece in pieces for chunk in piece.chunks}
        gone = [left["chunk_id"] for left in self.departures]
        longer = extended(pieces, known, left=gone)
        for _ in range(NEIGHBOUR_ROUNDS):
            read = await self._chunks(longer.missing, "neighbours")
            if not read:
                break
            known.update(read)
            longer = extended(pieces, known, left=gone)
        return [*longer.pieces]

    async def _chunks(self, ids: Sequence[str], what: str) -> Mapping[str, Chunk]:
        return await self._read(self._context.catalogue.chunks, ids, what)

    async def _read(
        self, read: Callable[[Sequence[str]], Awaitable[Mapping[str, T]]], ids: Sequence[str], what: str
    ) -> Mapping[str, T]:
        if not ids:
            return {}
        try:
            return await read(ids)
        except HeadraceError as error:
            message = f"Passages go without their {what}: {error.message}"
            self.warnings.append(warn(self._context.emit, "merge_chunks", error.code, message))
            self.skipped[what] += len(ids)
            return {}


async def kept_texts(pieces: Sequence[Piece], context: Context, *, count: int) -> list[Hit]:
    """Hits with the texts they stand for kept, in the order in which filter_top_k cuts them.

    Only the first `count` can be read by anyone later, so only their texts are worth storing: what a
    run shows stays as it was, whatever becomes of its chunks.
    """
    ordered = sorted(pieces, key=lambda piece: order(piece.hit))
    hashes = await context.passages.keep([piece.text for piece in ordered[:count]])
    hits = [_with_images(piece) for piece in ordered]
    shown: list[Hit] = [
        {**hit, "passage": passage} for hit, passage in zip(hits[:count], hashes, strict=True)
    ]
    return [*shown, *hits[count:]]


def _with_images(piece: Piece) -> Hit:
    urls = [*piece.hit.get("images", []), *(str(image["url"]) for image in piece.images if image.get("url"))]
    return {**piece.hit, "images": list(dict.fromkeys(urls))} if urls else piece.hit


def _chunk_ids(hit: Hit) -> list[str]:
    """Of the chunks that it stands for: of a hit that was merged before, all of them."""
    return list(dict.fromkeys([hit["chunk_id"], *hit["sub_chunk_ids"]]))
