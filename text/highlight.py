"""Where a passage has the words of a question."""

from collections.abc import Iterable

from ..context import Tokens

Range = tuple[int, int]


def highlights(text: str, question: str, tokens: Tokens) -> list[Range]:
    """Ranges of characters in `text`, in order and apart, whatever form or script the words have there.

    Only whole words count: single Han characters of them would mark half of a passage.
    """
    wanted = {*tokens.content(question)}
    return joined((span.start, span.end) for span in tokens.spans(text) if span.token in wanted)


def joined(ranges: Iterable[Range]) -> list[Range]:
    """Ranges that touch or overlap as one."""
    result: list[Range] = []
    for start, end in sorted(ranges):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((start, end))
    return result
