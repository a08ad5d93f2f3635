"""Which candidates may still come among the best, so that no store is asked about the others."""

import heapq
import math
from collections.abc import Iterable
from dataclasses import dataclass

from .channels import Recall


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """What anything that is not on the list of a channel scores at most."""

    vector: float
    keyword: float


UNKNOWN = Edge(vector=math.inf, keyword=math.inf)


def edge_of(recall: Recall, limit: int) -> Edge:
    """Of the answers to one call: a list of `limit` has left out what scores less than its last.

    Words that were found in fewer entries are in no other; a vector that is not on a shorter list may be
    missing from its index only.
    """
    cosines, keywords = recall.channels["vector"], recall.channels["keyword"]
    return Edge(
        vector=min(one.score for one in cosines) if len(cosines) >= limit else math.inf,
        keyword=min(one.score for one in keywords) if len(keywords) >= limit else 0.0,
    )


def widest(edges: Iterable[Edge]) -> Edge:
    """Of the answers to several calls together."""
    given = [*edges]
    return Edge(vector=max(one.vector for one in given), keyword=max(one.keyword for one in given))


def undecided(
    recall: Recall, edge: Edge, *, weight: float, most: float, keep: int
) -> tuple[list[str], list[str]]:
    """Entries whose cosine, and entries whose BM25 score, must be known to find the best `keep` by coverage.

    Most are decided by what one channel has said of them. `weight` and `most` are those of
    `text.fusion.by_coverage`.
    """
    cosines, keywords = recall.scores["vector"], recall.scores["keyword"]
    share = weight / most if most > 0 else 0.0
    sure = [cosine + share * keywords.get(id, 0.0) for id, cosine in cosines.items()]
    least = heapq.nlargest(keep, sure)[-1] if len(sure) >= keep else 0.0
    more = share * edge.keyword if edge.keyword else -math.inf
    return (
        [id for id, own in keywords.items() if id not in cosines and edge.vector + share * own >= least],
        [id for id, own in cosines.items() if id not in keywords and own + more >= least],
    )
