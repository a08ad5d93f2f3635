"""What a passage is scored by besides its own words: what its images show, what it is asked for."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...text.cleaning import clean_passage
from ...text.similarity import normalise

MOST_QUESTIONS = 5
MOST_ADDED = 1_000  # characters; a reranker reads about 500 tokens in all


def for_scoring(text: str, images: Sequence[Mapping[str, Any]] = (), questions: Sequence[str] = ()) -> str:
    """The cleaned text, then captions and texts of its images, then questions, each on its line.

    What the passage says already is not added again. Only the first five questions are.
    """
    lines = [clean_passage(text)]
    added = [*_shown(images), *questions[:MOST_QUESTIONS]]
    plain = normalise(lines[0]) if added else ""
    left = MOST_ADDED
    for one in added:
        line = clean_passage(one)[:left]
        if line and (folded := normalise(line)) and folded not in plain:
            lines.append(line)
            plain += folded
            left -= len(line)
    return "\n".join(line for line in lines if line)


def _shown(images: Iterable[Mapping[str, Any]]) -> list[str]:
    """Captions first: they say what the picture is of, the text in it is often only labels."""
    given = [image.get(name) for name in ("caption", "ocr_text") for image in images]
    return [text for text in given if isinstance(text, str)]
