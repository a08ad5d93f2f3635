"""Step 8: nothing that another passage says already, wherever that comes from."""

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace

from ...context import Tokens
from ...state import Departure
from ...text.joining import is_row
from ...text.similarity import containment, jaccard, normalise
from ...text.sketch import Sketch, are_alike, may_be_alike, sketches
from .pieces import NEVER_JOINED, Piece, left

PARTIAL_OVERLAP = 0.85  # share of tokens
# Containment of a handful of tokens says nothing: "see table 3" is held by any page about tables.
LEAST_TOKENS = 8

Word = str | tuple[str, int]  # a token of the prose, or a row and which one of its kind it is


def without_overlaps(pieces: Sequence[Piece], tokens: Tokens) -> tuple[list[Piece], list[Departure]]:
    """Pieces without those that a better one says in full or nearly.

    A better piece that is held by a longer, lower one goes too and leaves it its score: the longer text says
    more. Known questions with their answers do not: they are wanted as they are.
    """
    kept: list[_Compared] = []
    departures: list[Departure] = []
    ranked = sorted(pieces, key=lambda piece: piece.rank)
    for piece, looked_at in zip(ranked, sketches(piece.text for piece in ranked), strict=True):
        one = _Compared(piece, looked_at, tokens)
        near = [other for other in kept if one.may_share_with(other)]
        holder = next((other for other in near if one.is_said_by(other)), None)
        if holder:
            departures.append(left(piece, "overlap", limit=PARTIAL_OVERLAP, other=holder.piece))
            continue
        for other in [other for other in near if other.may_go and other.plain in one.plain]:
            kept.remove(other)
            departures.append(left(other.piece, "overlap", limit=PARTIAL_OVERLAP, other=one.piece))
            one.piece = _raised(one.piece, other.piece)
        kept.append(one)
    return sorted((one.piece for one in kept), key=lambda piece: piece.rank), departures


class _Compared:
    """A piece with what it is compared by. What is slow to find out is found out once it is needed."""

    def __init__(self, piece: Piece, sketch: Sketch, tokens: Tokens) -> None:
        self.piece = piece
        self.may_go = piece.hit["kind"] not in NEVER_JOINED
        self._text = piece.text
        self._sketch = sketch
        self._tokens = tokens
        self._plain: str | None = None
        self._words: frozenset[Word] | None = None

    def may_share_with(self, other: "_Compared") -> bool:
        return may_be_alike(self._sketch, other._sketch)

    def is_said_by(self, better: "_Compared") -> bool:
        if self._text in better._text:
            return True
        if are_alike(self._sketch, better._sketch) and not self._has_rows:
            return self._found_is_said_by(better)
        if self.plain in better.plain:
            return True
        # A handful of tokens is no good part of a long text.
        handful = len(self.words) < LEAST_TOKENS and not better._sketch.short
        return not handful and _alike(self.words, better.words) and self._found_is_said_by(better)

    def _found_is_said_by(self, better: "_Compared") -> bool:
        """Whether what was found is said too, and not only what was put around it."""
        return all(
            normalise(text) in better.plain or _alike(words_of(text, self._tokens), better.words)
            for text in self.piece.found
            if text != self._text
        )

    @property
    def _has_rows(self) -> bool:
        return any(map(is_row, self._text.split("\n")))

    @property
    def plain(self) -> str:
        if self._plain is None:
            self._plain = normalise(self._text)
        return self._plain

    @property
    def words(self) -> Set[Word]:
        if self._words is None:
            self._words = words_of(self._text, self._tokens)
        return self._words


def words_of(text: str, tokens: Tokens) -> frozenset[Word]:
    """What the overlap of two texts is measured by."""
    prose = "\n".join(line for line in text.split("\n") if not is_row(line))
    return frozenset({*tokens.content(prose), *_rows(text)})


def _rows(text: str) -> Iterator[tuple[str, int]]:
    """Rows of tables, numbered where they repeat: tables of the same few words say different things."""
    seen: Counter[str] = Counter()
    for line in filter(is_row, text.split("\n")):
        seen[line] += 1
        yield line, seen[line]


def _alike(words: Set[Word], theirs: Set[Word]) -> bool:
    if jaccard(words, theirs) >= PARTIAL_OVERLAP:
        return True
    # Only a piece that is itself held by a better one goes by containment.
    return LEAST_TOKENS <= len(words) <= len(theirs) and containment(words, theirs) >= PARTIAL_OVERLAP


def _raised(piece: Piece, better: Piece) -> Piece:
    score = max(piece.hit["score"], better.hit["score"])
    return replace(piece, hit={**piece.hit, "score": score})
