"""The hits to be judged with all that is asked of their texts, worked out once."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...context import Context, Tokens
from ...state import Hit
from .diversity import TokenSets
from .exact import holds_exactly, names_in, phrases_in


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Hits in the order of the search. `texts`, `words` and `exact` are by chunk id."""

    query: str
    hits: Sequence[Hit]
    texts: Mapping[str, str]
    words: TokenSets
    terms: Sequence[str]  # the query's words without stop words
    exact: frozenset[str]  # chunks that hold a number, part number or quoted phrase of the query


async def candidates_of(context: Context, query: str, hits: Sequence[Hit]) -> Candidates:
    """The texts of the hits are read; one that is gone is empty."""
    texts = [text or "" for text in await context.passages.read(hits)]
    by_chunk = {hit["chunk_id"]: text for hit, text in zip(hits, texts, strict=True)}
    return await asyncio.to_thread(_worked_out, context.tokens, query, hits, by_chunk)


def _worked_out(tokens: Tokens, query: str, hits: Sequence[Hit], texts: Mapping[str, str]) -> Candidates:
    names, phrases = names_in(query), phrases_in(query)
    return Candidates(
        query=query,
        hits=hits,
        texts=texts,
        words={chunk_id: set(tokens.content(text)) for chunk_id, text in texts.items()},
        terms=tokens.content(query),
        exact=frozenset(id for id, text in texts.items() if holds_exactly(text, names, phrases)),
    )
