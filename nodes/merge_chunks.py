"""Passages a person would read: whole, each once, with their surroundings."""

from collections.abc import Mapping, Sequence

from langgraph.runtime import Runtime

from ..context import Chunk, Context
from ..errors import HeadraceError
from ..state import Departure, Hit, RagState, StageWarning, Update
from .merge.dedupe import without_overlaps, without_repeats
from .merge.history import earlier_references, history_pieces
from .merge.parents import parent_ids, with_parents
from .merge.pieces import Piece, left, order
from .merge.sequences import joined
from .merge.short_context import extended, neighbour_ids
from .reporting.warn import warn
from .stage import stage

# Rounds of reading neighbours: seven chunks on a side make up the shortest useful text of the
# shortest chunks; longer chains of shorter ones are not worth more reads.
NEIGHBOUR_ROUNDS = 7


@stage
async def merge_chunks(state: RagState, runtime: Runtime[Context]) -> Update:
    merger = Merger(state, runtime.context)
    pieces = await merger.merge()
    hits = await kept_texts(pieces, runtime.context, count=state["request"]["rerank_top_k"])
    return {"merged": hits, "departures": merger.departures, "warnings": merger.warnings}


def merge_input(state: RagState) -> list[Hit]:
    """Reranked hits, of which a rejection leaves those found elsewhere; what was found without a ranking."""
    if "ranked" in state:
        return state["ranked"]
    return [] if state.get("rerank_verdict") == "rejected" else state.get("hits", [])


class Merger:
    """One merge. An enrichment whose reads fail is left out, with a warning; departures are collected."""

    def __init__(self, state: RagState, context: Context) -> None:
        self._state = state
        self._context = context
        self.departures: list[Departure] = []
        self.warnings: list[StageWarning] = []

    async def merge(self) -> list[Piece]:
        pieces = self._noted(without_repeats(await self._pieces(merge_input(self._state))))
        pieces = await self._with_history(pieces)
        pieces = self._noted(with_parents(pieces, await self._chunks(parent_ids(pieces), "parents")))
        pieces = self._noted(joined(pieces))
        pieces = await self._with_neighbours(pieces)
        pieces = self._noted(without_repeats(pieces))
        pieces = self._noted(joined(pieces))
        return self._noted(without_overlaps(pieces, self._context.tokens))

    def _noted(self, result: tuple[list[Piece], list[Departure]]) -> list[Piece]:
        pieces, departures = result
        self.departures.extend(departures)
        return pieces

    async def _pieces(self, hits: Sequence[Hit]) -> list[Piece]:
        texts = await self._context.passages.read(hits)
        chunks = await self._chunks([hit["chunk_id"] for hit in hits], "chunks")
        pieces = [
            Piece(
                hit=hit,
                text=text or "",
                chunks=[chunks[hit["chunk_id"]]] if hit["chunk_id"] in chunks else [],
            )
            for hit, text in zip(hits, texts, strict=True)
        ]
        self.departures.extend(left(piece, "gone") for piece in pieces if not piece.text)
        return [piece for piece in pieces if piece.text]

    async def _with_history(self, pieces: list[Piece]) -> list[Piece]:
        references = earlier_references(self._state.get("history", []), self._state["request"])
        chunks = await self._chunks([hit["chunk_id"] for hit in references], "history")
        query = self._state.get("rewritten_query") or self._state["request"]["query"]
        return [*pieces, *history_pieces(references, chunks, pieces, query, self._context.tokens)]

    async def _with_neighbours(self, pieces: list[Piece]) -> list[Piece]:
        known = {chunk.id: chunk for piece in pieces for chunk in piece.chunks}
        for _ in range(NEIGHBOUR_ROUNDS):
            longer = [extended(piece, known) for piece in pieces]
            missing = neighbour_ids(longer, known)
            read = await self._chunks(missing, "neighbours")
            if not read:
                return longer
            known.update(read)
        return [extended(piece, known) for piece in pieces]

    async def _chunks(self, ids: Sequence[str], what: str) -> Mapping[str, Chunk]:
        if not ids:
            return {}
        try:
            return await self._context.catalogue.chunks(ids)
        except HeadraceError as error:
            message = f"Passages go without their {what}: {error.message}"
            self.warnings.append(warn(self._context.emit, "merge_chunks", error.code, message))
            return {}


async def kept_texts(pieces: Sequence[Piece], context: Context, *, count: int) -> list[Hit]:
    """Hits with the texts they stand for kept, in the order in which filter_top_k cuts them.

    Only the first `count` can be read by anyone later, so only their texts are worth storing: what a
    run shows stays as it was, whatever becomes of its chunks.
    """
    ordered = sorted(pieces, key=lambda piece: order(piece.hit))
    hashes = await context.passages.keep([piece.text for piece in ordered[:count]])
    shown: list[Hit] = [
        {**piece.hit, "passage": passage} for piece, passage in zip(ordered[:count], hashes, strict=True)
    ]
    return [*shown, *(piece.hit for piece in ordered[count:])]
