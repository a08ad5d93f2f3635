"""The languages of what is searched: which there are, and a place for those that the question is not in."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from ...context import Chunk
from ...text.language import language_of
from ...text.other_language import places_kept
from .fusing import Ranked

Placed = tuple[Ranked, Chunk]

# Less than this share of the chunks is words of another language here and there, not texts in it.
LEAST_SHARE = 0.02
FIRST = 10  # places that are looked at
UNCOVERED_PLACES = (7, 10)  # from 1
UNPLACED = "unplaced"  # among the scores of a chunk that was given a place: its own


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


def with_other_languages(
    found: Sequence[Placed], languages: Collection[str], *, covered: bool = True
) -> list[Placed]:
    """Candidates, best first, with places among the first ten kept for texts in these languages.

    Where both languages are in scope, near misses in the question's own language crowd out the answer in
    the other one (`text.other_language`). The chosen ones are the nearest by vector, since words do not
    match across languages; their scores are fitted to their places. Without coverage (`covered` is false)
    it is not known how likely the answer is elsewhere.
    """
    if not languages:
        return [*found]
    others = [placed for placed in found if _language(*placed) in languages]
    nearest = sorted(others, key=lambda placed: -_cosine(placed[0]))
    result = [*found]
    for place, placed in zip(_places(found) if covered else UNCOVERED_PLACES, nearest, strict=False):
        if result.index(placed) >= place:
            result.remove(placed)
            between = (result[place - 2][0].score + result[place - 1][0].score) / 2
            result.insert(place - 1, (_placed(placed[0], between), placed[1]))
    return result


def _language(one: Ranked, chunk: Chunk) -> str:
    """Of what was found: a known question may be answered in another one."""
    found = one.question or chunk
    return found.language or language_of(found.text)


def _placed(one: Ranked, score: float) -> Ranked:
    """With the score of its new place; the one it came with stays to be seen."""
    return replace(one, score=score, scores={**one.scores, UNPLACED: one.score})


def _places(found: Sequence[Placed]) -> tuple[int, ...]:
    return places_kept(max((one.scores.get("coverage", 0.0) for one, _ in found[:FIRST]), default=0.0))


def _cosine(one: Ranked) -> float:
    return one.scores.get("vector", -1.0)
