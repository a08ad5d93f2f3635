"""What a hit stands for besides itself: texts that left the pipeline since it says what they say."""

from collections.abc import Iterator, Mapping, Sequence

from ..state import Departure
from ..text.similarity import normalise

GRAM = 5  # characters
# Of the sequences of a text, those that stand in another one: then it is said there, whatever made it leave.
SAID = 0.8


def standing_for(ids: Sequence[str], departures: Sequence[Departure], texts: Mapping[str, str]) -> list[str]:
    """Chunk ids of hits, each followed by those that it was kept in place of, where it does say their text.

    `texts` are those of the chunks that were searched.
    """
    below: dict[str, list[str]] = {}
    for left in departures:
        if other := left.get("other"):
            below.setdefault(other, []).append(left["chunk_id"])
    return list(dict.fromkeys(id for one in ids for id in _with_repeats(one, below, texts, ())))


def _with_repeats(
    id: str, below: Mapping[str, Sequence[str]], texts: Mapping[str, str], above: tuple[str, ...]
) -> Iterator[str]:
    yield id
    for other in below.get(id, ()):
        if other not in (id, *above) and is_said(texts.get(other, ""), texts.get(id, "")):
            yield from _with_repeats(other, below, texts, (*above, id))


def is_said(text: str, holder: str) -> bool:
    """Whether the holder has the text word for word, or nearly."""
    own, theirs = _grams(text), _grams(holder)
    return bool(own) and len(own & theirs) >= SAID * len(own)


def _grams(text: str) -> set[str]:
    plain = normalise(text)
    return {plain[start : start + GRAM] for start in range(max(1, len(plain) - GRAM + 1))} if plain else set()
