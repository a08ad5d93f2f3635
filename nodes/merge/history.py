"""Step 3: what the last answer rested on, where this question is about the same."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from ...context import Chunk, Tokens
from ...state import Asked, Hit, Turn
from .pieces import Piece, piece_of

LEAST_SHARE = 0.15  # of the query's content tokens, idf-weighted
DISCOUNT = 0.6
MOST = 3


# How rare a word is is told from the references and so many of what was found.
BACKGROUND = 20


def earlier_references(
    history: Sequence[Turn], asked: Asked, tagged: Mapping[str, Sequence[str]] | None = None
) -> list[Hit]:
    """References of the latest turn that has any, as far as they are in this run's scope.

    `tagged` are the documents with the tags that were asked for, by knowledge base.
    """
    latest = [turn for turn in history if turn["references"]][-1:]
    documents = asked["document_ids"]
    with_tags = {id for ids in (tagged or {}).values() for id in ids}
    return [
        hit
        for turn in latest
        for hit in turn["references"]
        if (not asked["kb_ids"] or hit["kb_id"] in asked["kb_ids"])
        and (not documents or hit["document_id"] in documents)
        and (not asked.get("tag_ids") or hit["document_id"] in with_tags)
    ]


def history_pieces(
    references: Sequence[Hit],
    chunks: Mapping[str, Chunk],
    present: Sequence[Piece],
    query: str,
    tokens: Tokens,
) -> list[Piece]:
    """Up to three references that still exist and hold enough of the question, at a discount."""
    found = {id for piece in present for id in (piece.hit["chunk_id"], *piece.hit["sub_chunk_ids"])}
    usable = [
        (hit, chunk)
        for hit in references
        if (chunk := chunks.get(hit["chunk_id"])) and chunk.enabled and hit["chunk_id"] not in found
    ]
    wanted = set(tokens.content(query))
    bags = [set(tokens.content(chunk.text)) for _, chunk in usable]
    background = [*bags, *(set(tokens.content(piece.text)) for piece in present[:BACKGROUND])]
    alike = [
        (share, _as_history(hit, chunk))
        for (hit, chunk), bag in zip(usable, bags, strict=True)
        if (share := held_share(wanted, bag, background)) >= LEAST_SHARE
    ]
    return [piece for _, piece in sorted(alike, key=lambda pair: (-pair[0], pair[1].rank))[:MOST]]


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
    return piece_of(renewed, chunk.text, [chunk])
