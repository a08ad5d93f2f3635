"""Blocks to chunks: parents to read and children to search, linked, in the order of the text. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ..context import Chunk
from ..text.sentences import split_sentences
from ..text.signature import chunk_id
from .headings import Heading, declared_heading, detected_heading
from .parsed import Block, Parsed

PARENT = 2_000  # characters, as all lengths here
CHILD = 400
OVERLAP = 60

# What one piece may be; a child is at most CHILD plus headings or a repeated header before it.
PIECE = CHILD - OVERLAP
ROW = CHILD
HEADER = 200  # a longer header row is not repeated
HEADINGS = 200  # more headings in a row do not wait for text any longer
CHILD_LIMIT = CHILD + HEADINGS
PARENT_LIMIT = PARENT + HEADINGS

OWN_TABLE = 200  # a smaller table stays in the text around it
LEAST_SECTION = CHILD // 2  # a heading closes a child or parent once that is worth reading alone
LEAST_PARENT = PARENT // 2
MOST_BOXES = 12
SOFT_STOPS = re.compile(r"[，,、；;：:）)】」』”\"]\s*|\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunks:
    """Parents are read as context and never searched; children are."""

    parents: Sequence[Chunk]
    children: Sequence[Chunk]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """What is never cut again: a sentence, a row, a line, a heading; with the white space after it."""

    text: str
    kind: str  # heading, text, table, code
    section: tuple[str, ...]
    page: int | None
    boxes: Sequence[Sequence[float]]
    starts: bool = False  # a heading, or what the file marked as one
    header: str = ""  # of the table, where this is a later row


@dataclass(frozen=True, slots=True, kw_only=True)
class _Atom:
    """Pieces that stay together: headings with what follows, a table or code that fits whole."""

    pieces: Sequence[_Piece]
    block_size: int  # of the whole block that begins here, 0 within one
    own_table: bool

    @property
    def size(self) -> int:
        return sum(len(piece.text) for piece in self.pieces)

    @property
    def starts(self) -> bool:
        return self.pieces[0].starts


def chunk(parsed: Parsed, *, kb_id: str, document_id: str, revision: int) -> Chunks:
    """Cut a document. The same blocks and ids always give the same chunks with the same ids."""
    parents: list[Chunk] = []
    children: list[Chunk] = []
    maker = _Maker(kb_id=kb_id, document_id=document_id, revision=revision)
    for atoms in _packed(_atoms(_pieces(parsed.blocks)), limit=PARENT, least=LEAST_PARENT, apart=False):
        parent = maker.chunk("parent", len(parents), _pieces_of(atoms))
        if parent is None:
            continue
        parents.append(parent)
        before: list[_Atom] = []
        for group in _packed(atoms, limit=CHILD, least=LEAST_SECTION, apart=True):
            made = maker.child(len(children), _pieces_of(group), _pieces_of(before), parent)
            if made is not None:
                children.append(made)
            before = group
    return Chunks(parents=_linked(parents), children=_linked(children))


# --- blocks to pieces -----------------------------------------------------------------------------


def _pieces(blocks: Sequence[Block]) -> Iterator[list[_Piece]]:
    """The pieces of one block after the other, each with the path of headings it stands under."""
    open_headings: list[Heading] = []
    for block, heading in zip(blocks, _headings(blocks), strict=True):
        if heading is not None:
            open_headings = [above for above in open_headings if above.rank < heading.rank] + [heading]
        section = tuple(above.text for above in open_headings)
        block = replace(block, text=_storable(block.text))
        if pieces := [*_cut(block, section, is_heading=heading is not None)]:
            yield pieces


def _headings(blocks: Sequence[Block]) -> list[Heading | None]:
    """For each block the heading that it is, by the file's own marking or by its numbering."""
    found = [_heading(block) for block in blocks]
    headings: list[Heading | None] = []
    for place, (block, heading) in enumerate(zip(blocks, found, strict=True)):
        beside = found[max(0, place - 1) : place] + found[place + 1 : place + 2]
        # Numbered lines that follow each other with nothing between are a list or a table of contents.
        listed = heading is not None and any(other and other.rank == heading.rank for other in beside)
        headings.append(None if listed and block.kind != "heading" else heading)
    return headings


def _heading(block: Block) -> Heading | None:
    if block.kind == "heading":
        return declared_heading(block.text, block.level)
    if block.kind == "text" and "\n" not in block.text.strip():
        return detected_heading(block.text)
    return None


def _cut(block: Block, section: tuple[str, ...], *, is_heading: bool) -> Iterator[_Piece]:
    def piece(text: str, kind: str, header: str = "", starts: bool = False) -> _Piece:
        return _Piece(
            text=text,
            kind=kind,
            section=section,
            page=block.page,
            boxes=block.boxes,
            header=header,
            starts=starts,
        )

    text = block.text.strip() if block.kind != "code" else block.text.strip("\n")
    if not text.strip():
        return
    if is_heading:
        yield piece(" ".join(text.split()) + "\n", "heading", starts=True)
        return
    if block.kind in ("table", "code"):
        lines = text.split("\n")
        header = lines[0] if block.kind == "table" and len(lines[0]) <= HEADER and len(lines) > 1 else ""
        for place, line in enumerate(lines):
            end = "\n\n" if place == len(lines) - 1 else "\n"
            for part in _fitting(line + end, ROW):
                yield piece(part, block.kind, header if place else "")
        return
    marked = block.kind == "heading"
    for sentence in split_sentences(text + "\n\n"):
        for part in _fitting(sentence, PIECE):
            yield piece(part, "text", starts=marked)
            marked = False


def _fitting(text: str, limit: int) -> Iterator[str]:
    """The text itself, or where it is too long parts of it, cut at the last soft stop of each."""
    # By place, never by cutting the rest off: a file may be one line of millions of characters.
    start, end = 0, len(text.rstrip())
    while end - start > limit:
        cut = _soft_cut(text, start, limit)
        yield text[start:cut]
        start = cut
    if start < len(text):
        yield text[start:]


def _soft_cut(text: str, start: int, limit: int) -> int:
    ends = [found.end() for found in SOFT_STOPS.finditer(text, start + limit // 2, start + limit)]
    return ends[-1] if ends else start + limit


def _storable(text: str) -> str:
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


# --- pieces to atoms, atoms to groups -------------------------------------------------------------


def _atoms(blocks: Iterable[list[_Piece]]) -> Iterator[_Atom]:
    waiting: list[_Piece] = []  # headings
    for pieces in blocks:
        if pieces[0].kind == "heading":
            waiting += pieces
            if sum(len(piece.text) for piece in waiting) > HEADINGS:
                # The last one still goes with what follows, if anything does.
                yield _Atom(pieces=waiting[:-1] or waiting, block_size=0, own_table=False)
                waiting = waiting[-1:] if len(waiting) > 1 else []
            continue
        size = sum(len(piece.text) for piece in pieces)
        own_table = pieces[0].kind == "table" and size >= OWN_TABLE
        whole = pieces[0].kind in ("table", "code") and size <= CHILD
        groups = [pieces] if whole else [[piece] for piece in pieces]
        for place, group in enumerate(groups):
            yield _Atom(pieces=[*waiting, *group], block_size=0 if place else size, own_table=own_table)
            waiting = []
    if waiting:
        yield _Atom(pieces=waiting, block_size=0, own_table=False)


def _packed(atoms: Iterable[_Atom], *, limit: int, least: int, apart: bool) -> Iterator[list[_Atom]]:
    """Atoms in groups of at most `limit` characters.

    A heading opens a new group once the present one has `least`; so does a table or code that would
    be whole in the next group but not in this one. `apart` gives larger tables groups of their own.
    """
    group: list[_Atom] = []
    size = 0
    for atom in atoms:
        closes = size + atom.size > limit - (_repeated(group[0]) if group else 0)
        closes = closes or (
            size >= least and (atom.starts or size + atom.block_size > limit >= atom.block_size > 0)
        )
        closes = closes or (apart and bool(group) and group[-1].own_table != atom.own_table)
        if group and closes:
            yield group
            # The next child repeats the end of this one, which takes of its room.
            group, size = [], OVERLAP if apart and not atom.starts else 0
        group.append(atom)
        size += atom.size
    if group:
        yield group


def _repeated(first: _Atom) -> int:
    return len(first.pieces[0].header)


def _pieces_of(atoms: Iterable[_Atom]) -> list[_Piece]:
    return [piece for atom in atoms for piece in atom.pieces]


# --- groups to chunks -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Maker:
    kb_id: str
    document_id: str
    revision: int

    def chunk(self, kind: str, index: int, pieces: Sequence[_Piece], before: str = "") -> Chunk | None:
        """None where there is nothing but white space."""
        header = f"{pieces[0].header}\n" if pieces[0].header else ""
        text = (before + header + "".join(piece.text for piece in pieces)).strip("\n").rstrip()
        if not text.strip():
            return None
        return Chunk(
            id=chunk_id(self.document_id, self.revision, kind, index),
            revision=self.revision,
            kb_id=self.kb_id,
            document_id=self.document_id,
            kind=kind,
            chunk_index=index,
            text=text,
            page=next((piece.page for piece in pieces if piece.page is not None), None),
            boxes=_boxes(pieces),
            section=" > ".join(_section(pieces)) or None,
        )

    def child(
        self, index: int, pieces: Sequence[_Piece], before: Sequence[_Piece], parent: Chunk
    ) -> Chunk | None:
        body = [piece for piece in pieces if piece.kind != "heading"]
        tables = bool(body) and all(piece.kind == "table" for piece in body)
        made = self.chunk("table" if tables else "text", index, pieces, _overlap(before, pieces))
        return replace(made, parent_chunk_id=parent.id) if made is not None else None


def _section(pieces: Sequence[_Piece]) -> tuple[str, ...]:
    """The path that all text of a chunk stands under; of a chunk that is only headings, the last one's."""
    paths = [piece.section for piece in pieces if piece.kind != "heading"] or [pieces[-1].section]
    first, last = min(paths), max(paths)
    shared = 0
    while shared < min(len(first), len(last)) and first[shared] == last[shared]:
        shared += 1
    return first[:shared]


def _boxes(pieces: Iterable[_Piece]) -> list[list[float]]:
    unique = dict.fromkeys(tuple(box) for piece in pieces for box in piece.boxes)
    return [[*box] for box in unique][:MOST_BOXES]


def _overlap(before: Sequence[_Piece], pieces: Sequence[_Piece]) -> str:
    """The end of the chunk before, by whole sentences, where the text goes on across the cut."""
    if not before or before[-1].kind != "text" or pieces[0].kind != "text" or pieces[0].starts:
        return ""
    text = ""
    for piece in reversed(before):
        if piece.kind != "text" or len(piece.text) + len(text) > OVERLAP:
            break
        text = piece.text + text
    if text:
        return text
    last = before[-1].text
    tail = last[-OVERLAP:]
    soft = SOFT_STOPS.search(tail, 0, OVERLAP // 2)
    return tail[soft.end() :] if soft else tail


def _linked(chunks: Sequence[Chunk]) -> list[Chunk]:
    ids = [None, *(chunk.id for chunk in chunks), None]
    return [
        replace(chunk, pre_chunk_id=ids[place], next_chunk_id=ids[place + 2])
        for place, chunk in enumerate(chunks)
    ]


def search_text(chunk: Chunk, title: str) -> str:
    """What is embedded and indexed for a chunk: what its document and its section are called, then its text.

    Headings that open the text are not said twice.
    """
    opening = set(chunk.text.split("\n", 8)[:8])
    path = [part for part in (chunk.section or "").split(" > ") if part and part not in opening]
    return "\n".join(part for part in (title, " > ".join(path), chunk.text) if part)
