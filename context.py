"""What a run is given: its settings and the things it may talk to."""

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

from .errors import Conflict, DependencyFailed
from .state import Hit, Turn, Usage

# --- what is kept -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeBase:
    """A set of documents searched together; `version` rises with every change to its content."""

    id: str
    tenant_id: str
    name: str
    description: str
    kind: Literal["document", "faq"]
    settings: Mapping[str, Any]
    embedding_model: str
    version: int
    created_at: str
    updated_at: str
    document_count: int = 0
    store: str = "embedded"  # which of `Context.stores` has its index entries


DocumentStatus = Literal["pending", "processing", "ready", "failed", "deleting"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One file or text. `error` is a sentence for a person, set when `status` is failed."""

    id: str
    kb_id: str
    title: str
    media_type: str
    sha256: str
    bytes: int
    status: DocumentStatus
    error: str | None
    revision: int
    chunk_count: int
    stage: str
    done: int
    total: int
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A piece of a document. Children (`text`, `table`) are searched; a `parent` is their context."""

    id: str
    revision: int
    kb_id: str
    document_id: str
    kind: str
    chunk_index: int
    text: str
    page: int | None = None
    boxes: Sequence[Sequence[float]] = ()
    section: str | None = None
    pre_chunk_id: str | None = None
    next_chunk_id: str | None = None
    parent_chunk_id: str | None = None
    enabled: bool = True
    entry_id: str = ""  # its id in the indexes where that is another one: an edited text is a new entry
    images: Sequence[Mapping[str, Any]] = ()  # image chunks and their parents: url, caption, ocr_text
    language: str = field(default="", compare=False)  # of its text, where the catalogue has said so

    @property
    def indexed_as(self) -> str:
        return self.entry_id or self.id


AnswerStrategy = Literal["all", "first", "random"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FaqEntry:
    """A known question with its answers. Its id is also that of its document and of its `faq` chunk.

    What is indexed are `question` chunks below that chunk: the question and each similar one.
    """

    id: str
    kb_id: str
    question: str
    similar_questions: Sequence[str] = ()
    negative_questions: Sequence[str] = ()  # asked like this, the entry is not meant
    answers: Sequence[str] = ()
    answer_strategy: AnswerStrategy = "all"
    tags: Sequence[str] = ()  # names
    enabled: bool = True
    revision: int = 1
    created_at: str = ""
    updated_at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """A label on documents and FAQ entries of one knowledge base."""

    id: str
    kb_id: str
    name: str
    document_count: int = 0


class Catalogue(Protocol):
    """What stages read of knowledge bases, documents and chunks. Unknown ids are left out."""

    async def kbs(self, ids: Sequence[str]) -> Mapping[str, KnowledgeBase]: ...

    async def documents(self, ids: Sequence[str]) -> Mapping[str, Document]: ...

    async def chunks(self, ids: Sequence[str]) -> Mapping[str, Chunk]: ...


class SearchCatalogue(Catalogue, Protocol):
    """What a search reads besides. Unknown ids are left out."""

    async def kbs_of(self, tenant_id: str) -> Sequence[KnowledgeBase]:
        """All of a tenant, oldest first."""
        ...

    async def indexed_chunks(self, entry_ids: Sequence[str]) -> Mapping[str, Chunk]:
        """Chunks by the id they have in the indexes (`Chunk.indexed_as`)."""
        ...

    async def faq_entries(self, ids: Sequence[str]) -> Mapping[str, FaqEntry]: ...

    async def faq_questions(self, kb_id: str, signatures: Sequence[str]) -> Mapping[str, str]:
        """By the signature of a standard or similar question the id of the entry that has it."""
        ...

    async def tagged_documents(self, tag_ids: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """Ids of the documents with any of these tags, by the knowledge base they are in."""
        ...

    async def questions(self, chunk_ids: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """Texts of the enabled `question` chunks below these chunks, in order, by chunk id."""
        ...

    async def kinds(self, kb_ids: Sequence[str], among: Sequence[str]) -> Mapping[str, AbstractSet[str]]:
        """Which of the kinds `among`, other than text, there are to be found, by knowledge base."""
        ...

    async def languages(self, kb_ids: Sequence[str]) -> Mapping[str, Mapping[str, int]]:
        """Searchable chunks by language ("zh", "en"), by knowledge base."""
        ...


class Passages(Protocol):
    """Texts by reference: a catalogue chunk, or anything made during the run by content hash."""

    async def read(self, hits: Sequence[Hit]) -> list[str | None]:
        """The text of each hit, in order; None where it is gone."""
        ...

    async def keep(self, texts: Sequence[str]) -> list[str]:
        """Store texts durably, before the checkpoint that mentions them. Returns their sha256."""
        ...


class Messages(Protocol):
    """Earlier turns of a session."""

    async def turns(self, session_id: str, *, before: str, limit: int) -> list[Turn]:
        """Complete turns among the latest `limit` messages before message `before`, oldest first."""
        ...


# --- how it is found --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A chunk and its score in one channel: cosine for vectors, BM25 for keywords."""

    chunk_id: str
    score: float


def model_name(identity: str) -> str:
    """An embedder's identity without the address it may hold, which is nothing for clients."""
    return identity.partition("@")[0]


def require_same_model(kb: KnowledgeBase, configured: str) -> None:
    """Raises Conflict `embedding_model_mismatch`: vectors of two models cannot be compared."""
    if kb.embedding_model == configured:
        return
    indexed, used = model_name(kb.embedding_model), model_name(configured)
    where = " at another address" if indexed == used else ""
    raise Conflict(
        f"Knowledge base {kb.name!r} was indexed with the embedding model {indexed!r}{where}, this "
        f"server uses {used!r}. Configure that model again (HEADRACE_EMBEDDING_*), or index the "
        f"documents into a new knowledge base.",
        code="embedding_model_mismatch",
        details={"knowledge_base_id": kb.id, "indexed_with": indexed, "configured": used},
    )


class Embedder(Protocol):
    """Texts to unit vectors. `model` is its identity: name and, where there is one, endpoint."""

    @property
    def model(self) -> str: ...

    async def embed_queries(self, texts: Sequence[str]) -> list[list[float]]: ...

    async def embed_passages(self, texts: Sequence[str]) -> list[list[float]]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexEntry:
    """One chunk as an index takes it; `vector` is empty for a keyword index."""

    chunk_id: str
    document_id: str
    text: str
    vector: Sequence[float] = ()
    kind: str = "text"  # of its chunk
    language: str = ""  # of its text; an index looks itself where it is not given


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTerms:
    """What a keyword index knows of the terms of a query.

    `frequencies` has every term of the query with the number of entries that hold it, which is 0 for one
    that the index lacks and never more than `entries`. `saturation` is what the engine's BM25 gives at most
    per unit of idf, `idf = ln(1 + (entries - frequency + .5) / (frequency + .5))`: k1 + 1, or 1 where the
    engine leaves that factor out.
    """

    entries: int
    frequencies: Mapping[str, int]
    saturation: float


class VectorIndex(Protocol):
    """Nearest neighbours by cosine, one collection per knowledge base and embedding model.

    Ids are those of index entries (`Chunk.indexed_as`). A collection that was never written to is empty, not
    an error. `add` replaces entries with the same id. A change that has returned is found by every search
    after it, and survives the end of the process. Several may be made at once, searches meanwhile included.
    Raises DependencyFailed, named "vector store", when the store does not answer, and DependencyRefused
    `dimension_mismatch` for a vector of another length than the stored ones; then nothing is added.
    """

    async def add(self, kb_id: str, model: str, entries: Sequence[IndexEntry]) -> None: ...

    async def delete(self, kb_id: str, model: str, chunk_ids: Sequence[str]) -> None: ...

    async def drop(self, kb_id: str) -> None: ...

    async def keep_only(self, kb_ids: set[str]) -> None:
        """Drop what belongs to any other knowledge base."""
        ...

    async def ids(self, kb_id: str, model: str) -> set[str]: ...

    async def search(
        self,
        kb_ids: Sequence[str],
        model: str,
        vector: Sequence[float],
        *,
        limit: int,
        document_ids: Sequence[str] = (),
        kinds: Sequence[str] = (),
        languages: Sequence[str] = (),
    ) -> list[Scored]:
        """The `limit` nearest of all these knowledge bases together, best first, ties by id.

        `document_ids`, `kinds` and `languages`, when given, narrow the search to entries of them; "" stands
        for entries whose language is not known.
        """
        ...

    async def scores(
        self, kb_ids: Sequence[str], model: str, vector: Sequence[float], chunk_ids: Sequence[str]
    ) -> dict[str, float]:
        """What `search` would score these entries, exactly; ids that the indexes lack are left out."""
        ...


class KeywordIndex(Protocol):
    """BM25 over the tokens of `text.tokens`, one index per knowledge base. As `VectorIndex` otherwise.

    How rare a term is counts over all knowledge bases that are searched together: `terms` says so, and is
    given back to `search` and `scores`, also where it was summed over several engines. Without it, these
    knowledge bases alone count. Scores of several calls with the same `terms` can be compared.

    Raises DependencyFailed, named "keyword index"; `index_rebuilding` for a knowledge base whose index could
    not be used any more, until it is written anew.
    """

    async def add(self, kb_id: str, entries: Sequence[IndexEntry]) -> None: ...

    async def delete(self, kb_id: str, chunk_ids: Sequence[str]) -> None: ...

    async def drop(self, kb_id: str) -> None: ...

    async def keep_only(self, kb_ids: set[str]) -> None:
        """Drop what belongs to any other knowledge base."""
        ...

    async def ids(self, kb_id: str) -> set[str]: ...

    async def outdated(self) -> set[str]:
        """Knowledge bases whose index is to be written anew: it holds other tokens than texts are made into
        now, and is searched until then, or it is damaged."""
        ...

    async def rewrite(self, kb_id: str, batches: AsyncIterable[Sequence[IndexEntry]]) -> None:
        """These entries and nothing else, no term of what was deleted either. Searches use the old index
        until the new one is whole; changes wait."""
        ...

    async def search(
        self,
        kb_ids: Sequence[str],
        query: str,
        *,
        limit: int,
        document_ids: Sequence[str] = (),
        kinds: Sequence[str] = (),
        terms: QueryTerms | None = None,
    ) -> list[Scored]:
        """The `limit` best of all these knowledge bases together, ties by id; a score of 0 is no hit."""
        ...

    async def scores(
        self,
        kb_ids: Sequence[str],
        query: str,
        chunk_ids: Sequence[str],
        *,
        terms: QueryTerms | None = None,
    ) -> dict[str, float]:
        """What `search` would score these entries; those that are no hit are left out."""
        ...

    async def terms(self, kb_ids: Sequence[str], query: str) -> QueryTerms:
        """How common the terms that `search` looks for are in these knowledge bases together."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchStore:
    """One engine that holds the index entries of knowledge bases (`KnowledgeBase.store`)."""

    vectors: VectorIndex
    keywords: KeywordIndex


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A token, and the characters from `start` up to `end` of the text that it was made of."""

    token: str
    start: int
    end: int


def store_of(stores: Mapping[str, SearchStore], kb: KnowledgeBase) -> SearchStore:
    """Raises DependencyFailed `store_not_configured`."""
    if kb.store not in stores:
        raise DependencyFailed(
            "store",
            f"Store {kb.store!r}, which holds {kb.name!r}, is not configured on this server.",
            code="store_not_configured",
        )
    return stores[kb.store]


class Tokens(Protocol):
    """Words as the keyword index sees them (`text.tokens`): folded, stemmed, segmented.

    A keyword index takes `index` of a passage and `search` of a question; both have single Han characters
    besides words. `words` are all words of a text, `query` those without stop and question words, `content`
    the same once each, for telling how alike two texts are. `spans` are the tokens of `index` at their
    places.
    """

    def index(self, text: str) -> list[str]: ...

    def search(self, text: str) -> list[str]: ...

    def words(self, text: str) -> list[str]: ...

    def query(self, text: str) -> list[str]: ...

    def content(self, text: str) -> list[str]: ...

    def spans(self, text: str) -> Sequence[Span]: ...


class Reranker(Protocol):
    """Scores passages against a query: probabilities, or logits, which the stage tells by their range."""

    @property
    def name(self) -> str: ...

    async def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """One score per passage, in order; NaN for one that was left out. Raises DependencyFailed."""
        ...


# --- who answers ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMessage:
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotable:
    """A passage that an answer may cite by its alias; `found` is the part of it that matched, if known."""

    alias: str
    title: str
    text: str
    found: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatPrompt:
    """What a model is asked: rendered messages, and the parts they were rendered from.

    A generating model reads `messages`; the extractive one reads the parts. `resources` are what the short
    handles in `messages` stand for.
    """

    messages: Sequence[ChatMessage]
    resources: Mapping[str, str] = field(default_factory=dict[str, str])
    question: str = ""
    passages: Sequence[Quotable] = ()
    language: str = "en"
    intent: str = "kb_search"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions:
    """Sampling, and whether to think first; None leaves it to the provider."""

    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    thinking: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatPiece:
    """One piece of a streamed answer. `usage` comes with the last piece where the provider counts.

    `unfinished` is said where a stream ended in good order, but the provider has not said that the answer
    is whole, or has said that it is not; its text is a sentence for a person.
    """

    kind: Literal["thinking", "answer", "usage", "unfinished"]
    text: str = ""
    usage: Usage = field(default_factory=Usage)


class ChatModel(Protocol):
    """Answers in pieces.

    Raises DependencyFailed (down, slow) or DependencyRefused (401, garbage). What fails before the
    first piece is tried again by the adapter; after it the error goes through.
    """

    @property
    def name(self) -> str:
        """For people: never a path or an address."""
        ...

    @property
    def context_tokens(self) -> int: ...

    @property
    def generates(self) -> bool:
        """False for the extractive answerer: it quotes, and can neither rewrite nor chat."""
        ...

    def stream(self, prompt: ChatPrompt, options: ChatOptions) -> AsyncIterator[ChatPiece]: ...


class Prompts(Protocol):
    """Templates by kind, id and language. Placeholders are substituted once."""

    def text(self, kind: str, id: str = "default", *, language: str = "en", **values: str) -> str:
        """Raises KeyError for an unknown kind or id: a wrong name is a bug, found by tests."""
        ...


class Emitter(Protocol):
    """Appends to the run's event log; synchronous, so that a task's events precede its result."""

    def __call__(
        self, response_type: str, content: str = "", *, data: Mapping[str, Any] | None = None, **top: Any
    ) -> None: ...

    def new_segment(self) -> int:
        """A number for a run of `answer` or `thinking` pieces, not used before in this run."""
        ...

    def open_call(self, tool_name: str, arguments: Mapping[str, Any]) -> None:
        """Emit `tool_call` for a progress window."""
        ...

    def close_call(self, tool_name: str, result: Mapping[str, Any]) -> None:
        """Emit the `tool_result` of the open window of that name; nothing when none is open."""
        ...


# --- what need not be computed again ----------------------------------------------------------

T = TypeVar("T")


class ResultCache(Protocol):
    """Results of slow work by what they depend on.

    The same asked for twice at once is computed once. What fails is not kept, and who stops waiting disturbs
    nobody.
    """

    async def get(
        self, key: str, compute: Callable[[], Awaitable[T]], *, keep: Callable[[T], bool]
    ) -> tuple[T, bool]:
        """The result, and whether nothing had to be computed for it here; kept only if `keep` says so."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Caches:
    """`changing` says whether what is searched is being changed just now.

    `used` is what a run had from caches so far: "hit" or "miss" for query, embedding, rerank, understanding.
    """

    queries: ResultCache
    understanding: ResultCache
    changing: Callable[[], bool]
    used: dict[str, str]


class EverydayQuestions(Protocol):
    """Questions about anything at all: how near to a text chance alone brings one."""

    async def mean(self, language: str) -> Sequence[float]:
        """The mean of their unit vectors, embedded as queries with the product's own model."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberedAnswer:
    """An answer that was given, with its hits as they were then."""

    question: str
    answer: str
    hits: Sequence[Hit]


class AnswerCache(Protocol):
    """Answers by scope (all that an answer depends on but the question) and by the words of the question."""

    def find(self, scope: str, key: str) -> RememberedAnswer | None: ...

    def put(self, scope: str, key: str, answer: RememberedAnswer) -> None: ...


def _no_matter(kb_id: str, entry_ids: Sequence[str]) -> None:
    return


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """One per run; frozen. `understand` is None where no model can rewrite (rules do it then).

    `stale` is told of index entries, by knowledge base, that the catalogue does not have. `reindexing` tells
    which knowledge bases are found less well than they should be, as an index of theirs is being made again.
    Without `caches` everything is computed.
    """

    catalogue: SearchCatalogue
    passages: Passages
    messages: Messages
    embedder: Embedder
    stores: Mapping[str, SearchStore]  # by the name that knowledge bases have in `store`
    tokens: Tokens
    prompts: Prompts
    chat: ChatModel
    emit: Emitter
    understand: ChatModel | None = None
    reranker: Reranker | None = None
    stale: Callable[[str, Sequence[str]], None] = _no_matter
    reindexing: Callable[[], AbstractSet[str]] = frozenset[str]
    caches: Caches | None = None
    everyday: EverydayQuestions | None = None  # without: known questions are met by their words alone
    answers: AnswerCache | None = None
