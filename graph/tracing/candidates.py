"""Every chunk that was found, with its places and scores at each stage, and what became of it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from ...state import Departure, Hit, RagState
from .recorded import Recorded
from .shapes import Candidate, Fate, Left

SNIPPET = 200  # characters
# The channels of hits in the order of the stages that write them, and what a place in each is called.
CHANNELS = {
    "chunk_hits": "fused",
    "hits": "collected",
    "ranked": "reranked",
    "merged": "merged",
    "selected": "selected",
}
SCORES = ("vector", "keyword", "coverage", "fused", "rerank", "composite", "mmr", "final")
# The last known of these says how relevant a chunk seemed; the others are of another scale.
BY_RELEVANCE = ("final", "composite", "fused", "vector", "keyword")
# What a hit that comes from an earlier answer has from this question; the rest is from that one.
OF_HISTORY = frozenset({"composite", "final"})
# Departures that leave the text in the run, within another hit.
MERGING = frozenset({"same_text", "same_parent", "joined", "overlap"})
# What the score of a departure is that came before there was a hit to carry it.
BEFORE_HITS = {
    "below_vector_threshold": "vector",
    "below_keyword_threshold": "keyword",
    "gone": "fused",
    "negative_question": "fused",
}

_CITED = re.compile(r'<kb [^<>]*chunk_id="([^"]*)"')


def candidates_of(recorded: Recorded) -> list[Candidate]:
    """Selected ones first, by place, then by how far they came, then by score."""
    told = ByChunk.of(recorded)
    found = [_candidate(chunk_id, told, recorded) for chunk_id in told.chunk_ids]
    return sorted(found, key=_order)


@dataclass(frozen=True, slots=True, kw_only=True)
class ByChunk:
    """What the state says, by chunk. Of several hits or departures of a chunk the last one counts."""

    places: Mapping[str, Mapping[str, int]]  # what the place is called, then by chunk
    hits: Mapping[str, Hit]
    departures: Mapping[str, Departure]
    scores: Mapping[str, Mapping[str, float]]
    ranks: Mapping[str, Mapping[str, int]]  # in the channels of the search
    holders: Mapping[str, str]  # the selected hit in whose text it stands
    titles: Mapping[str, str]  # by document
    aliases: Mapping[str, str]
    cited: frozenset[str]

    @classmethod
    def of(cls, recorded: Recorded) -> "ByChunk":
        state = recorded.state
        lists = {name: hits_in(state, channel) for channel, name in CHANNELS.items()}
        hits, departures = [hit for found in lists.values() for hit in found], state.get("departures", [])
        return cls(
            places={name: _places(found) for name, found in lists.items()},
            hits={hit["chunk_id"]: hit for hit in hits},
            departures={left["chunk_id"]: left for left in departures},
            scores=_scores(hits, departures),
            ranks=_ranks(hits),
            holders=_holders(lists["selected"], recorded),
            titles=_titles(recorded),
            aliases={chunk_id: alias for alias, chunk_id in state.get("aliases", {}).items()},
            cited=frozenset(_CITED.findall(recorded.answer)),
        )

    @property
    def chunk_ids(self) -> Sequence[str]:
        return [*dict.fromkeys([*self.hits, *self.departures])]

    def fate(self, chunk_id: str) -> Fate:
        left = self.departures.get(chunk_id)
        if chunk_id in self.places["selected"]:
            return "selected"
        if left is None:
            return "pending"
        return "merged" if left["reason"] in MERGING and "other" in left else "left"

    def holder(self, chunk_id: str) -> str:
        """The hit that a merged chunk is part of now; the one it went into may itself have gone into one."""
        passed: set[str] = set()
        while self.fate(chunk_id) == "merged" and chunk_id not in passed:
            passed.add(chunk_id)
            chunk_id = self.departures[chunk_id].get("other", chunk_id)
        return chunk_id


def hits_in(state: RagState, channel: str) -> list[Hit]:
    return cast("list[Hit]", state.get(channel, []))


def all_hits(state: RagState) -> list[Hit]:
    return [hit for channel in CHANNELS for hit in hits_in(state, channel)]


def _candidate(chunk_id: str, told: ByChunk, recorded: Recorded) -> Candidate:
    hit, chunk, left = told.hits.get(chunk_id), recorded.chunks.get(chunk_id), told.departures.get(chunk_id)
    # What left before it became a hit is known by its chunk alone, as that is now.
    document_id = hit["document_id"] if hit else chunk.document_id if chunk else ""
    fate = told.fate(chunk_id)
    places = {name: found[chunk_id] for name, found in told.places.items() if chunk_id in found}
    return Candidate(
        chunk_id=chunk_id,
        document_id=document_id,
        document_title=told.titles.get(document_id, ""),
        kb_id=hit["kb_id"] if hit else chunk.kb_id if chunk else "",
        kind=hit["kind"] if hit else chunk.kind if chunk else "",
        section=hit["source"]["section"] if hit else chunk.section if chunk else None,
        page=hit["source"]["page"] if hit else chunk.page if chunk else None,
        chunk_index=hit["chunk_index"] if hit else chunk.chunk_index if chunk else None,
        snippet=_snippet(chunk_id, hit, recorded),
        match_type=hit["match_type"] if hit else _channel(left),
        question=_question(hit, recorded),
        marks=hit["marks"] if hit else [],
        ranks={**told.ranks.get(chunk_id, {}), **places},
        scores={**dict.fromkeys(SCORES), **told.scores.get(chunk_id, {})},
        alias=told.aliases.get(chunk_id),
        cited=chunk_id in told.cited,
        fate=fate,
        merged_into=told.holder(chunk_id) if fate == "merged" else None,
        merged_by=left["reason"] if left and fate == "merged" else None,
        left=_left(left) if left and fate == "left" else None,
        shown_in=told.holders.get(chunk_id) if fate == "left" else None,
    )


def _order(candidate: Candidate) -> tuple[int, int, bool, float, str]:
    ranks, scores = candidate["ranks"], candidate["scores"]
    came = max((place for place, name in enumerate(CHANNELS.values(), 1) if name in ranks), default=0)
    best = next((score for name in BY_RELEVANCE if (score := scores[name]) is not None), 0.0)
    # Within the reranking, whatever was weighed for what it adds has passed the threshold.
    weighed = scores["mmr"] is not None
    return (-came, ranks.get("selected", 0), not weighed, -best, candidate["chunk_id"])


def _places(hits: Sequence[Hit]) -> dict[str, int]:
    return {hit["chunk_id"]: place for place, hit in enumerate(hits, start=1)}


def _scores(hits: Iterable[Hit], departures: Iterable[Departure]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for hit in hits:
        own = found.setdefault(hit["chunk_id"], {})
        named = OF_HISTORY if hit["match_type"] == "history" else hit["scores"]
        own |= {name: score for name in named if (score := hit["scores"].get(name)) is not None}
    for left in departures:
        own = found.setdefault(left["chunk_id"], {})
        own |= left.get("scores", {})
        if left["stage"] == "search_chunks" and left["reason"] in BEFORE_HITS and left["score"] is not None:
            own[BEFORE_HITS[left["reason"]]] = left["score"]
    return found


def _ranks(hits: Iterable[Hit]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for hit in hits:
        found[hit["chunk_id"]] = {**hit["ranks"], **found.get(hit["chunk_id"], {})}
    return found


def _holders(selected: Sequence[Hit], recorded: Recorded) -> dict[str, str]:
    """Chunks whose text stands in a selected passage: among its chunks, or below the same parent."""
    chunks = recorded.chunks
    parents = {
        parent: hit["chunk_id"]
        for hit in reversed(selected)
        for id in [hit["chunk_id"], *hit["sub_chunk_ids"]]
        if id in chunks and (parent := chunks[id].parent_chunk_id)
    }
    below = {
        id: parents[chunk.parent_chunk_id] for id, chunk in chunks.items() if chunk.parent_chunk_id in parents
    }
    return {**below, **{id: hit["chunk_id"] for hit in reversed(selected) for id in hit["sub_chunk_ids"]}}


def _titles(recorded: Recorded) -> dict[str, str]:
    """As documents are called now; of those that are gone, as they were when the answer named them."""
    told = [one for event in recorded.events for one in event.get("knowledge_references", [])]
    then = {one["knowledge_id"]: one.get("knowledge_title", "") for one in told if "knowledge_id" in one}
    return {**then, **{id: document.title for id, document in recorded.documents.items()}}


def _snippet(chunk_id: str, hit: Hit | None, recorded: Recorded) -> str:
    chunk = recorded.chunks.get(chunk_id)
    if chunk and (hit is None or chunk.revision == hit["chunk_revision"]):
        text = chunk.text
    else:
        text = recorded.texts.get(hit.get("passage", ""), "") if hit else ""
    # Hidden before it is cut: the beginning of a key is a secret too.
    line = " ".join(recorded.hide(text).split())
    return line if len(line) <= SNIPPET else f"{line[: SNIPPET - 1]}…"


def _question(hit: Hit | None, recorded: Recorded) -> str | None:
    chunk = recorded.chunks.get(hit.get("question", "")) if hit else None
    return recorded.hide(chunk.text) if chunk else None


def _channel(left: Departure | None) -> str:
    channel = BEFORE_HITS.get(left["reason"], "") if left else ""
    return channel if channel in ("vector", "keyword") else ""


def _left(left: Departure) -> Left:
    return Left(
        stage=left["stage"],
        reason=left["reason"],
        score=left["score"],
        limit=left["limit"],
        other=left.get("other"),
    )
