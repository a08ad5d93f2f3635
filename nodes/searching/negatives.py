"""Known questions that say themselves which questions they do not answer."""

from collections.abc import Iterable, Sequence

from ...context import FaqEntry
from ...text.similarity import normalise


def not_meant(entries: Iterable[FaqEntry], questions: Sequence[str]) -> set[str]:
    """Ids of the entries among whose negative questions one of these is, whatever its case, width, marks."""
    asked = {plain for question in questions if (plain := normalise(question))}
    return {entry.id for entry in entries if any(normalise(one) in asked for one in entry.negative_questions)}
