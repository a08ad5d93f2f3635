"""Room for the language that a question is not in, where the texts searched are in both."""

# Of the first ten, from 1. A question whose words no passage covers well is likely answered in the other
# language. Measured over one knowledge base of 7,300 passages in both (docs/quality.md): recall@10 of answers
# that only the other language has rises from .01 to .42 (Chinese to English) and from .22 to .83 (English to
# Chinese), at .003 nDCG@10 on average where the answer is in the question's own.
COVERED = 0.5
PLACES = (4, 7, 10)
PLACES_WHERE_COVERED = (10,)


def places_kept(best_coverage: float) -> tuple[int, ...]:
    """Places that the nearest passages of the other language get, if they are not higher up by themselves.

    `best_coverage` is the highest keyword coverage, on [0,1], among the best passages found.
    """
    return PLACES_WHERE_COVERED if best_coverage >= COVERED else PLACES
