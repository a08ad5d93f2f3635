"""What a run found, as HTML tables for a notebook."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from ..context import Document
from ..state import Departure, Hit, RagState

# The channels that hold hits, in the order in which stages write them.
STAGES = {
    "search_chunks": "chunk_hits",
    "collect_results": "hits",
    "rerank": "ranked",
    "merge_chunks": "merged",
    "filter_top_k": "selected",
}
SHOWN_CHARACTERS = 60


def stage_hits(state: RagState) -> dict[str, Sequence[Hit]]:
    """The hits that each stage handed on; a stage that did not run is left out."""
    return {stage: state[channel] for stage, channel in STAGES.items() if channel in state}


def hit_table(
    hits: Sequence[Hit], documents: Mapping[str, Document], texts: Sequence[str | None] = ()
) -> str:
    """One row per hit: document, place, scores by stage, ranks by channel and, where given, its text."""
    scored = ("vector", "keyword", "coverage", "fused", "rerank", "composite", "final")
    head = ["", "document", "section", "chunks", *scored, "vector #", "keyword #", "match", "text"]
    rows = [
        [
            str(place),
            documents[hit["document_id"]].title if hit["document_id"] in documents else hit["document_id"],
            hit["source"]["section"] or "",
            str(max(1, len(hit["sub_chunk_ids"]))),
            *(_score(hit["scores"].get(name)) for name in scored),
            *(str(hit["ranks"].get(channel, "")) for channel in ("vector", "keyword")),
            hit["match_type"],
            _start(text),
        ]
        for place, (hit, text) in enumerate(zip(hits, _padded(texts, len(hits)), strict=True), start=1)
    ]
    return _table(head, rows)


def departure_table(departures: Sequence[Departure]) -> str:
    """Which hits left, where and why."""
    rows = [
        [left["stage"], left["reason"], left["chunk_id"], _score(left["score"]), _score(left["limit"])]
        for left in departures
    ]
    return _table(["stage", "reason", "chunk", "score", "limit"], rows)


def _padded(texts: Sequence[str | None], length: int) -> Iterable[str | None]:
    return [*texts, *[None] * (length - len(texts))]


def _score(score: float | None) -> str:
    return "" if score is None else f"{score:.3f}"


def _start(text: str | None) -> str:
    line = " ".join((text or "").split())
    return line if len(line) <= SHOWN_CHARACTERS else f"{line[:SHOWN_CHARACTERS]}…"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><tr>{''.join(f'<th>{escape(name)}</th>' for name in head)}</tr>{body}</table>"
