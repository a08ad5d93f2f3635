"""What to search for, and what came of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...errors import DependencyFailed
from ...state import Asked, Departure, Hit, ModelCall

DEFAULT_MATCH_COUNT = 50
STORE_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What to look for. `document_ids` and `tag_ids`, when given, narrow it, and lift the thresholds.

    `asked` is the question as it was typed, `translations` are those of `query` by language. `fusion` is
    "coverage", "rrf" or "auto". `rerank_top_k` only says how much to look for when `expand` is needed.
    """

    query: str
    kb_ids: Sequence[str]
    asked: str = ""
    translations: Mapping[str, str] = field(default_factory=dict[str, str])
    document_ids: Sequence[str] = ()
    tag_ids: Sequence[str] = ()
    match_count: int = DEFAULT_MATCH_COUNT
    rerank_top_k: int = 0
    vector_threshold: float = 0.0
    keyword_threshold: float = 0.0
    fusion: str = "auto"
    expand: bool = False
    faq_answers: bool = False
    partial_ok: bool = False
    store_timeout_s: float = STORE_TIMEOUT_S

    @property
    def count(self) -> int:
        """How many hits are wanted."""
        return self.match_count if self.match_count > 0 else DEFAULT_MATCH_COUNT

    @property
    def narrowed(self) -> bool:
        return bool(self.document_ids or self.tag_ids)

    @property
    def wordings(self) -> dict[str, str]:
        """The question, as "", and its translations by language."""
        return {"": self.query, **{language: text for language, text in self.translations.items() if text}}

    @property
    def limits(self) -> dict[str, float]:
        """The least score by channel; none for what the user pointed at."""
        if self.narrowed:
            return {}
        return {"vector": self.vector_threshold, "keyword": self.keyword_threshold}


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Hits, best first; `failures` are what the search went on without, `variants` what it looked for too."""

    hits: list[Hit]
    departures: list[Departure] = field(default_factory=list[Departure])
    failures: list[DependencyFailed] = field(default_factory=list[DependencyFailed])
    calls: list[ModelCall] = field(default_factory=list[ModelCall])
    variants: list[str] = field(default_factory=list[str])


def search_for(asked: Asked, query: str, translations: Mapping[str, str] | None = None) -> Search:
    """The search of a run. Runs that were stored before a knob came are searched as they were then."""
    return Search(
        query=query,
        asked=asked["query"],
        translations=translations or {},
        kb_ids=asked["kb_ids"],
        document_ids=asked["document_ids"],
        tag_ids=asked.get("tag_ids", []),
        match_count=asked["embedding_top_k"],
        rerank_top_k=asked["rerank_top_k"],
        vector_threshold=asked["vector_threshold"],
        keyword_threshold=asked["keyword_threshold"],
        fusion=asked.get("fusion", "auto"),
        expand=asked.get("enable_query_expansion", False),
        faq_answers=asked.get("faq_search_answers", False),
        partial_ok=asked["partial_ok"],
    )
