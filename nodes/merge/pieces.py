"""A hit with the text it stands for while passages are put together."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from ...context import Chunk
from ...state import Departure, Hit
from ...text.joining import join_following, join_overlapping
from ..reporting.departures import departed

Image = Mapping[str, Any]  # as `Chunk.images` has it: url, caption, ocr_text

NEVER_JOINED = frozenset({"faq", "question"})  # kinds of which each stands for itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A stretch of a document as it reads now: a chunk, a parent around one, or what was merged before.

    `first` and `last` are the places in the document of the chunks it is there for; it `holds` others too
    where it is a parent. Two parts `within` the same were cut from one text, and may repeat each other's
    ends. `whole` is the text where `text` is only the part of it that there was room for.
    """

    key: str
    first: int
    last: int
    text: str
    within: str
    holds: bool = False
    whole: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """`chunks` are those whose text is in `text`, in reading order; empty where the catalogue gave none.

    `parts` are what `text` is made of; `holders` the ids of parents whose text it has, `found` the
    texts in it that a search has found, where the rest was put around them.
    """

    hit: Hit
    text: str
    parts: Sequence[Part]
    chunks: Sequence[Chunk] = ()
    images: Sequence[Image] = ()
    holders: frozenset[str] = frozenset()
    found: Sequence[str] = ()

    @property
    def rank(self) -> tuple[float, str, str, int, str]:
        """Better pieces first."""
        return order(self.hit)

    @property
    def first(self) -> int:
        return self.chunks[0].chunk_index if self.chunks else self.hit["chunk_index"]

    @property
    def last(self) -> int:
        return self.chunks[-1].chunk_index if self.chunks else self.hit["chunk_index"]


def order(hit: Hit) -> tuple[float, str, str, int, str]:
    """The one order of hits: score, then place, so that the same input always gives the same order."""
    return (-hit["score"], hit["document_id"], hit["kind"], hit["chunk_index"], hit["chunk_id"])


def piece_of(hit: Hit, text: str, chunks: Sequence[Chunk] = ()) -> Piece:
    """A hit as it came. `chunks` are its own, and those that it was put together from before."""
    ordered = in_order(chunk for chunk in chunks if chunk.document_id == hit["document_id"])
    own = next((chunk for chunk in ordered if chunk.id == hit["chunk_id"]), None)
    places = [chunk.chunk_index for chunk in ordered] or [hit["chunk_index"]]
    part = Part(
        key=hit["chunk_id"],
        first=places[0],
        last=places[-1],
        text=text,
        within=within(own),
        holds=own is None or text != own.text,
    )
    found = [chunk.text for chunk in ordered if chunk.kind not in NEVER_JOINED]
    return Piece(
        hit=hit, text=text, parts=(part,), chunks=ordered, images=own.images if own else (), found=found
    )


def part_of(chunk: Chunk) -> Part:
    place = chunk.chunk_index
    return Part(key=chunk.id, first=place, last=place, text=chunk.text, within=within(chunk))


def within(chunk: Chunk | None) -> str:
    return (chunk.parent_chunk_id or chunk.document_id) if chunk else ""


def in_order(chunks: Iterable[Chunk]) -> list[Chunk]:
    unique = {chunk.id: chunk for chunk in chunks}
    return sorted(unique.values(), key=lambda chunk: (chunk.chunk_index, chunk.kind, chunk.id))


def read_through(parts: Sequence[Part]) -> str:
    """The text of parts that follow each other."""
    return reduce(_read_on, parts[1:], (parts[0].text, parts[0]))[0]


def _read_on(before: tuple[str, Part], part: Part) -> tuple[str, Part]:
    text, last = before
    together = last.within == part.within
    if part.first - last.last > 1 or (together and (last.holds or part.holds)):
        # Not neighbours, or a parent and a chunk of it: one may be a piece of the other. Of neighbours, what
        # one has of the other is there twice in the document.
        return join_overlapping(text, part.text), part
    return join_following(text, part.text, overlapping=together, end=last.text), part


def united(better: Piece, other: Piece) -> Piece:
    """Two stretches of one document as one hit: the better one's, with the chunks of both on record."""
    unique = {part.key: part for part in (*other.parts, *better.parts)}
    parts = sorted((_whole(part) for part in unique.values()), key=lambda part: (part.first, part.key))
    return replace(
        absorbed(better, other),
        text=read_through(parts),
        parts=parts,
        chunks=in_order([*better.chunks, *other.chunks]),
    )


def absorbed(better: Piece, other: Piece) -> Piece:
    """`better` with what `other` stood for on record: it says all that `other` said."""
    ids = [
        better.hit["chunk_id"],
        *better.hit["sub_chunk_ids"],
        other.hit["chunk_id"],
        *other.hit["sub_chunk_ids"],
    ]
    return replace(
        better,
        hit={**better.hit, "sub_chunk_ids": list(dict.fromkeys(ids))},
        images=merged_images(better.images, other.images),
        holders=better.holders | other.holders,
        found=list(dict.fromkeys([*better.found, *other.found])),
    )


def merged_images(*lists: Sequence[Image]) -> list[Image]:
    """Each image once, by its URL, the first that is known of it."""
    found: dict[str, Image] = {}
    for image in (image for images in lists for image in images):
        found.setdefault(str(image.get("url", "")), image)
    return [*found.values()]


def left(piece: Piece, reason: str, *, limit: float | None = None, other: Piece | None = None) -> Departure:
    """`other` is the piece that holds what this one said."""
    into = other.hit["chunk_id"] if other else None
    return departed(piece.hit, "merge_chunks", reason, limit=limit, other=into)


def _whole(part: Part) -> Part:
    return replace(part, text=part.whole, whole="") if part.whole else part
