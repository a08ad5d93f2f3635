"""Step 3: what the last answer rested on, where this question is about the same."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from ...context import Chunk, Tokens
from ...state import Asked, Hit, Turn
from .pieces import Piece

LEAST_SHARE = 0.15  # of the query's content tokens, idf-weighted
DISCOUNT = 0.6
MOST = 3


def earlier_references(history: Sequence[Turn], asked: Asked) -> list[Hit]:
    """References of the latest turn that has any, as far as they are in this run's scope."""
    latest = [turn for turn in history if turn["references"]][-1:]
    documents = asked["document_ids"]
    return [
        hit
        for turn in latest
        for hit in turn["references"]
        if (not asked["kb_ids"] or hit["kb_id"] in asked["kb_ids"])
        and (not documents or hit["document_id"] in documents)
    ]


def history_pieces(
    references: Sequence[Hit],
    chunks: Mapping[str, Chunk],
    present: Sequence[Piece],
    query: str,
    tokens: Tokens,
) -> list[Piece]:
    """Up to three references that still exist and hold enough of the question, at a discount."""
    found = {piece.hit["chunk_id"] for piece in present}
    usable = [
        (hit, chunk)
        for hit in references
        if (chunk := chunks.get(hit["chunk_id"])) and chunk.enabled and hit["chunk_id"] not in found
    ]
    wanted = set(tokens.content(query))
    bags = [set(tokens.content(chunk.text)) for _, chunk in usable]
    background = [*bags, *(set(tokens.content(piece.text)) for piece in present)]
    alike = [
        (share, _as_history(hit, chunk))
        for (hit, chunk), bag in zip(usable, bags, strict=True)
        if (share := held_share(wanted, bag, background)) >= LEAST_SHARE
    ]
    return [piece for _, piece in sorted(alike, key=lambda pair: -pair[0])[:MOST]]


def held_share(
    wanted: AbstractSet[str], bag: AbstractSet[str], background: Sequence[AbstractSet[str]]
) -> float:
    """Share of `wanted` that `bag` holds, each token weighted by its rarity in `background`."""
    counts = Counter(token for tokens in background for token in tokens if token in wanted)
    weight = {t: math.log(1 + (len(background) - counts[t] + 0.5) / (counts[t] + 0.5)) for t in wanted}
    total = sum(weight.values())
    return sum(weight[token] for token in wanted & bag) / total if total else 0.0


def _as_history(hit: Hit, chunk: Chunk) -> Piece:
    score = round(hit["score"] * DISCOUNT, 6)
    renewed: Hit = {
        "chunk_id": chunk.id,
        "chunk_revision": chunk.revision,
        "kb_id": chunk.kb_id,
        "document_id": chunk.document_id,
        "kind": chunk.kind,
        "match_type": "history",
        "chunk_index": chunk.chunk_index,
        "score": score,
        "scores": {**hit["scores"], "composite": score},
        "ranks": {},
        "marks": ["history"],
        "sub_chunk_ids": [],
        "source": hit["source"],
    }
    return Piece(hit=renewed, text=chunk.text, chunks=(chunk,))
