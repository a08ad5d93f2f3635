"""What one question carries through the graph: hits and numbers, never texts (docs/architecture.md)."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict, TypeVar

T = TypeVar("T")

Intent = Literal[
    "kb_search",
    "web_search",
    "greeting",
    "chitchat",
    "follow_up",
    "image_only",
    "doc_only",
    "summarize",
    "clarification",
]
RerankVerdict = Literal["ok", "skipped", "failed", "rejected"]
Outcome = Literal["answered", "declined", "fallback", "faq", "cached", "chat"]


class Source(TypedDict):
    """Where in its document a chunk stands; what the parser does not know is None."""

    page: int | None
    boxes: list[list[float]]
    section: str | None
    url: str | None


class Hit(TypedDict):
    """One chunk and how well it matched. Its text is read through `Context.passages`."""

    chunk_id: str
    chunk_revision: int
    kb_id: str
    document_id: str
    kind: str  # of the chunk: text, table, parent, faq, question, image, chart, wiki
    match_type: str  # vector, keyword, both, faq, history
    chunk_index: int
    images: NotRequired[list[str]]  # URLs of those that it shows
    passage: NotRequired[str]  # sha256 of the text as used, once that differs from the chunk's
    question: NotRequired[str]  # chunk id of the question that was found in its place
    score: float
    scores: dict[str, float | None]  # vector, keyword, coverage, fused, rerank, composite, mmr, final
    ranks: dict[str, int]  # by channel, from 1
    marks: list[str]
    sub_chunk_ids: list[str]
    source: Source


class Departure(TypedDict):
    """Why a hit left the pipeline."""

    chunk_id: str
    stage: str
    reason: str
    score: float | None
    limit: float | None
    other: NotRequired[str]  # the chunk that holds its text now, or that it is too much like
    scores: NotRequired[dict[str, float]]  # what the stage had made of it, where `score` does not say it all


class StageWarning(TypedDict):
    """What a run went on without."""

    stage: str
    code: str
    message: str


class ReadyAnswer(TypedDict):
    """An answer that is there before anything is searched; its text is kept as a passage of the run."""

    source: Literal["faq", "cached"]
    passage: str  # sha256 of the text
    hits: list[Hit]  # what it refers to
    score: float  # how certain it is that this was asked, on [0,1]
    question: str  # the one that it answers, cut to 200 characters


class KbChoice(TypedDict):
    """A knowledge base that was chosen for a question, and how sure that is, on [0,1]."""

    id: str
    name: str
    score: float


class Turn(TypedDict):
    """One finished question and answer of the session; `references` are hits of that answer."""

    request_id: str
    user: str
    assistant: str
    references: list[Hit]


class Usage(TypedDict):
    """Tokens as the provider counted them; empty when it did not. `cost` is in the currency of the prices."""

    prompt_tokens: NotRequired[int]
    completion_tokens: NotRequired[int]
    cost: NotRequired[float]


class ModelCall(TypedDict):
    """One question to a model, answered or not. What was asked is rebuilt from the state."""

    stage: str
    role: str  # understand, chat, rerank, embedding
    model: str  # its name, never a path or an address
    duration_ms: float
    usage: Usage
    error: str | None  # the code of what went wrong
    prompt: NotRequired[str]  # sha256 of the rendered messages, where there were any


class Knobs(TypedDict):
    """The settings of one run after defaults, knowledge bases and request were put together."""

    embedding_top_k: int
    rerank_top_k: int
    vector_threshold: float
    keyword_threshold: float
    rerank_threshold: float
    mmr_lambda: float | None  # None: 0.7 with a reranker, 1.0 without
    max_rounds: int
    enable_rewrite: bool
    citation_enabled: bool
    fusion: str  # auto, coverage, rrf
    enable_query_expansion: bool
    faq_priority_enabled: bool
    faq_score_boost: float
    faq_search_answers: bool
    wiki_enabled: bool
    standard_answers_enabled: bool
    faq_direct_answer_threshold: float
    answer_cache_enabled: bool
    auto_select: bool
    kb_match_threshold: float
    suggestions_enabled: bool
    fallback_strategy: str
    fallback_response: str | None
    partial_ok: bool
    run_limit_s: float
    temperature: float | None
    top_p: float | None
    seed: int | None
    max_tokens: int | None
    thinking: bool | None
    chat_model: str | None  # None: the configured one


class Asked(Knobs):
    """The effective request: fixed in the first checkpoint, never changed by a stage.

    Runs that were stored before a field came have it not: what came later is read with `get`.
    """

    query: str
    session_id: str
    message_id: str  # of the assistant's message
    user_message_id: str
    request_id: str
    run_id: str
    tenant_id: str
    language: str  # "zh" or "en": the language that the product's own sentences use
    kb_ids: list[str]
    document_ids: list[str]
    tag_ids: list[str]
    standard_answer_kb_ids: list[str]  # whose known questions are answered word for word
    quoted_context: str | None
    prompts: dict[str, str]  # changed ones: `kind` or `kind.id` -> text


def append_all(left: list[T], right: list[T]) -> list[T]:
    """Concatenate.

    Not commutative and not idempotent: it relies on LangGraph applying each finished task's writes
    once, in task order. Several nodes write these channels, some in the same step.
    """
    return [*left, *right]


def merge_timings(left: dict[str, float], right: dict[str, float]) -> dict[str, float]:
    """Union by node name, the later value wins.

    Idempotent; commutative as long as no two tasks of a step share a name, which node names ensure.
    """
    return {**left, **right}


def merge_cached(left: dict[str, str], right: dict[str, str]) -> dict[str, str]:
    """Union by the name of the cache, the later value wins; several stages ask caches, each its own."""
    return {**left, **right}


class Ask(TypedDict):
    """What starts a run."""

    request: Asked


class RagState(Ask):
    """Every channel of the graph. The node that writes a channel is named beside it."""

    history: NotRequired[list[Turn]]  # load_history, oldest first
    answer_scope: NotRequired[str]  # match_ready_answer: what an answer that is given again must share
    ready_answer: NotRequired[ReadyAnswer]  # match_ready_answer, understand_query
    rewritten_query: NotRequired[str]  # understand_query
    intent: NotRequired[Intent]  # understand_query
    uses_history: NotRequired[bool]  # understand_query
    translations: NotRequired[dict[str, str]]  # understand_query: the rewrite in other languages, by language
    chosen_kb_ids: NotRequired[list[str]]  # choose_kbs
    kb_choice: NotRequired[list[KbChoice]]  # choose_kbs: the same with names and scores
    variants: NotRequired[list[str]]  # search_chunks: other words that it looked for too
    chunk_hits: NotRequired[list[Hit]]  # search_chunks
    hits: NotRequired[list[Hit]]  # collect_results
    ranked: NotRequired[list[Hit]]  # rerank, boost_wiki
    rerank_verdict: NotRequired[RerankVerdict]  # rerank
    wiki_boosted: NotRequired[int]  # boost_wiki: how many hits it raised
    merged: NotRequired[list[Hit]]  # merge_chunks
    skipped: NotRequired[dict[str, int]]  # merge_chunks: what could not be read, by what it was for
    selected: NotRequired[list[Hit]]  # filter_top_k
    aliases: NotRequired[dict[str, str]]  # assemble_context: alias (c1) -> chunk id
    budget: NotRequired[dict[str, Any]]  # assemble_context: characters and passages kept, cut, dropped
    answer: NotRequired[str]  # generate_answer | fallback | answer_from_…, with public citation tags
    thinking: NotRequired[str]  # generate_answer
    usage: NotRequired[Usage]  # generate_answer
    model: NotRequired[str]  # generate_answer: the model's name, never a path or an address
    declined: NotRequired[bool]  # generate_answer
    fell_back: NotRequired[bool]  # fallback
    outcome: NotRequired[Outcome]  # finalize
    warnings: NotRequired[Annotated[list[StageWarning], append_all]]
    departures: NotRequired[Annotated[list[Departure], append_all]]
    calls: NotRequired[Annotated[list[ModelCall], append_all]]
    cached: NotRequired[Annotated[dict[str, str], merge_cached]]  # hit or miss, by cache
    timings: NotRequired[Annotated[dict[str, float], merge_timings]]  # milliseconds by node


class Update(TypedDict, total=False):
    """What a node may return: only the channels it changed."""

    history: list[Turn]
    answer_scope: str
    ready_answer: ReadyAnswer
    rewritten_query: str
    intent: Intent
    uses_history: bool
    translations: dict[str, str]
    chosen_kb_ids: list[str]
    kb_choice: list[KbChoice]
    variants: list[str]
    chunk_hits: list[Hit]
    hits: list[Hit]
    ranked: list[Hit]
    rerank_verdict: RerankVerdict
    wiki_boosted: int
    merged: list[Hit]
    skipped: dict[str, int]
    selected: list[Hit]
    aliases: dict[str, str]
    budget: dict[str, Any]
    answer: str
    thinking: str
    usage: Usage
    model: str
    declined: bool
    fell_back: bool
    outcome: Outcome
    warnings: list[StageWarning]
    departures: list[Departure]
    calls: list[ModelCall]
    cached: dict[str, str]
    timings: dict[str, float]
