"""Step 4: a small chunk is found, its parent is read; chunks of one parent are one hit."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...context import Chunk
from ...state import Departure
from ...text.joining import is_row, join_overlapping
from .pieces import NEVER_JOINED, Image, Part, Piece, absorbed, in_order, left, merged_images

IMAGE_KINDS = frozenset(
    {"image", "chart"}
)  # what was read or written about an image, below the text around it


def parent_ids(pieces: Sequence[Piece]) -> list[str]:
    """Of what was merged before, those of all its chunks: it may have their texts already."""
    return list(dict.fromkeys(id for piece in pieces for id in _parents_of(piece)))


def grandparent_ids(pieces: Sequence[Piece], parents: Mapping[str, Chunk]) -> list[str]:
    """Of image hits only: an image stands in a text, and that in its parent."""
    texts = (parents.get(_parent_id(piece)) for piece in pieces if piece.hit["kind"] in IMAGE_KINDS)
    return list(dict.fromkeys(chunk.parent_chunk_id for chunk in texts if chunk and chunk.parent_chunk_id))


def with_parents(
    pieces: Sequence[Piece], parents: Mapping[str, Chunk]
) -> tuple[list[Piece], list[Departure]]:
    """Pieces with the current text of their parent around them; the best one of each parent stands for all.

    A chunk that was edited is its own text where its parent still says what it said before.
    """
    below: dict[str, list[Piece]] = {}
    alone: list[Piece] = []
    for piece in sorted(pieces, key=lambda piece: piece.rank):
        parent = context_of(piece, parents)
        if parent is None or not parent.enabled or _outdated(piece, parent):
            alone.append(piece)
        else:
            below.setdefault(parent.id, []).append(piece)
    together = [_around(group, parents[id], parents) for id, group in below.items()]
    departures = [
        left(other, "same_parent", other=best) for best, *others in below.values() for other in others
    ]
    known = [_with_holders(piece, parents) for piece in (*alone, *together)]
    return sorted(known, key=lambda piece: piece.rank), departures


def context_of(piece: Piece, parents: Mapping[str, Chunk]) -> Chunk | None:
    """The chunk that a piece is read in: its parent; of an image, its parent's parent if there is one."""
    parent = parents.get(_parent_id(piece))
    if parent and piece.hit["kind"] in IMAGE_KINDS and parent.parent_chunk_id:
        above = parents.get(parent.parent_chunk_id)
        return above if above and above.enabled else parent
    return parent


def pruned_images(children: Sequence[Piece], parent: Chunk) -> list[Image]:
    """Images of a parent that its children show or name: one of them must not bring a page of images."""
    shown = {str(image.get("url")) for child in children for image in child.images}
    return [
        image
        for image in parent.images
        if (url := str(image.get("url", ""))) in shown or (url and any(url in one.text for one in children))
    ]


def held(text: str, parent: str) -> bool:
    """Whether a parent says all that a text says.

    Of a table that was cut, a later piece has the header above its rows, which the parent has once.
    """
    if text in parent:
        return True
    lines = text.split("\n")
    return is_row(lines[0]) and lines[0] in parent and "\n".join(lines[1:]) in parent


def _around(group: Sequence[Piece], parent: Chunk, parents: Mapping[str, Chunk]) -> Piece:
    best, *others = group
    for other in others:
        best = absorbed(best, other)
    chunks = in_order(chunk for piece in group for chunk in piece.chunks)
    text = parent.text
    for piece in sorted(group, key=lambda piece: (piece.first, piece.hit["chunk_id"]), reverse=True):
        if not held(piece.text, text):
            text = join_overlapping(piece.text, text)
    part = Part(
        key=parent.id,
        first=min(piece.first for piece in group),
        last=max(piece.last for piece in group),
        text=text,
        within=parent.id,
        holds=True,
    )
    return replace(
        best,
        text=text,
        parts=(part,),
        chunks=chunks,
        images=merged_images(pruned_images(group, parent), best.images),
        holders=frozenset({parent.id}),
    )


def _outdated(piece: Piece, parent: Chunk) -> bool:
    own = next((chunk for chunk in piece.chunks if chunk.id == piece.hit["chunk_id"]), None)
    return bool(own and own.entry_id) and not held(piece.text, parent.text)


def _with_holders(piece: Piece, parents: Mapping[str, Chunk]) -> Piece:
    there = {id for id in _parents_of(piece) if id in parents and parents[id].text in piece.text}
    return replace(piece, holders=piece.holders | there)


def _parents_of(piece: Piece) -> list[str]:
    if piece.hit["kind"] in NEVER_JOINED:
        return []
    return [chunk.parent_chunk_id for chunk in piece.chunks if chunk.parent_chunk_id]


def _parent_id(piece: Piece) -> str:
    if piece.hit["kind"] in NEVER_JOINED:
        return ""
    own = (chunk.parent_chunk_id for chunk in piece.chunks if chunk.id == piece.hit["chunk_id"])
    return next(own, None) or ""
