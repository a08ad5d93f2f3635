"""The languages of what is searched: which there are, and a place for those that the question is not in."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from ...text.language import language_of

# Less than this share of the chunks is words of another language here and there, not texts in it.
LEAST_SHARE = 0.02


def spoken(chunks: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Languages that texts are in, from the number of chunks by knowledge base and language; most first."""
    counts = Counter[str]()
    for of_kb in chunks.values():
        counts.update({language: count for language, count in of_kb.items() if language})
    least = counts.total() * LEAST_SHARE
    return [language for language, count in counts.most_common() if count and count >= least]


def foreign(languages: Sequence[str], question: str, known: Collection[str] = ()) -> list[str]:
    """Those of the languages that neither the question nor one of its translations (`known`) is in."""
    return [language for language in languages if language not in {language_of(question), *known}]
