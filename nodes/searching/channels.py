"""What the channels found: lists of index entries, their scores, and what is too weak to count."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...context import Scored

CHANNELS = ("vector", "keyword")

Scores = Mapping[str, Mapping[str, float]]  # by channel, then by index id


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """What one wording of the question found, by channel, best first.

    `scores` are those of all the candidates, whichever channel found them, once they have been completed.
    """

    channels: Mapping[str, Sequence[Scored]]
    scores: Scores = field(default_factory=dict[str, Mapping[str, float]])

    @property
    def ids(self) -> list[str]:
        return [*dict.fromkeys(one.chunk_id for found in self.channels.values() for one in found)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Weak:
    """An entry under the threshold of a channel, and in no channel over it."""

    entry_id: str
    channel: str
    score: float
    limit: float


def recall_of(channels: Mapping[str, Sequence[Scored]]) -> Recall:
    scores = {name: {one.chunk_id: one.score for one in found} for name, found in channels.items()}
    return Recall(channels=channels, scores=scores)


def joined(recalls: Iterable[Recall]) -> Recall:
    """Several recalls as one: each entry once in a channel, with its best score."""
    given = [*recalls]
    channels = {name: best_first(one.channels.get(name, ()) for one in given) for name in CHANNELS}
    scores = {
        name: {id: score for one in given for id, score in one.scores.get(name, {}).items()}
        for name in CHANNELS
    }
    return Recall(channels=channels, scores=scores)


def best_first(lists: Iterable[Sequence[Scored]]) -> list[Scored]:
    """Several lists as one, each entry once, with its best score."""
    ordered = sorted((one for found in lists for one in found), key=lambda one: (-one.score, one.chunk_id))
    best: dict[str, Scored] = {}
    for one in ordered:
        best.setdefault(one.chunk_id, one)
    return [*best.values()]


def passing(
    recalls: Mapping[str, Recall], limits: Mapping[str, float], *, shown: int
) -> tuple[dict[str, Recall], list[Weak]]:
    """Recalls without what is under the limit of a channel; none for a channel means all pass.

    What another channel or another wording has over its limit is not weak. Weak ones are told only of the
    first `shown` of a channel: those below never had a place.
    """
    kept = {wording: _over(recall, limits) for wording, recall in recalls.items()}
    remaining = {id for recall in kept.values() for id in recall.ids}
    weak = {
        one.chunk_id: Weak(entry_id=one.chunk_id, channel=name, score=one.score, limit=limits[name])
        for recall in recalls.values()
        for name, found in recall.channels.items()
        for one in found[:shown]
        if name in limits and one.score < limits[name] and one.chunk_id not in remaining
    }
    return kept, [*weak.values()]


def _over(recall: Recall, limits: Mapping[str, float]) -> Recall:
    channels = {
        name: [one for one in found if name not in limits or one.score >= limits[name]]
        for name, found in recall.channels.items()
    }
    return replace(recall, channels=channels)
