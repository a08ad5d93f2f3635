"""How alike two texts are. A threshold means something for one measure only, so each use names its own."""

import re
import unicodedata
from collections.abc import Hashable, Iterable, Set

from .signature import text_hash

# What stands between two digits belongs to the number: 3.5 is not 35. Thousands separators do not.
_DROPPED = re.compile(r"_|[^\w%#+.:/\-]|[.:/\-](?:(?<!\d[.:/\-])|(?!\d))")


def jaccard(a: Iterable[Hashable], b: Iterable[Hashable]) -> float:
    """Shared tokens by all tokens, on [0,1]; 0 when both are empty."""
    first, second = _as_set(a), _as_set(b)
    either = len(first | second)
    return len(first & second) / either if either else 0.0


def containment(a: Iterable[Hashable], b: Iterable[Hashable]) -> float:
    """Shared tokens by those of the smaller set, on [0,1]; 0 when one is empty."""
    first, second = _as_set(a), _as_set(b)
    smaller = min(len(first), len(second))
    return len(first & second) / smaller if smaller else 0.0


def normalise(text: str) -> str:
    """Width, case, punctuation and spaces taken away; numbers keep their points, and C++ its signs."""
    return _DROPPED.sub("", unicodedata.normalize("NFKC", text).casefold())


def signature(text: str) -> str:
    """sha256 of the normalised text: two passages with one signature say the same.

    A text of punctuation only has nothing left after normalising and counts as it is.
    """
    return text_hash(normalise(text) or unicodedata.normalize("NFKC", text).strip())


def _as_set(tokens: Iterable[Hashable]) -> Set[Hashable]:
    return tokens if isinstance(tokens, Set) else set(tokens)
