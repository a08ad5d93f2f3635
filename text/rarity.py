"""How rare the terms of a question are."""

import math

from ..context import QueryTerms


def idf(entries: int, holding: int) -> float:
    """`ln(1 + (N - n + .5) / (n + .5))`, as Lucene has it: over 0, also for a term in every entry."""
    return math.log1p((entries - holding + 0.5) / (holding + 0.5))


def rarities(terms: QueryTerms) -> dict[str, float]:
    """The idf of every term of a question, those that no entry holds included."""
    return {term: idf(terms.entries, holding) for term, holding in terms.frequencies.items()}
