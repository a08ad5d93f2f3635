"""Stand-ins for what `Context` holds. Real behaviour, no network, nothing to patch."""

import hashlib
import math
import re
from collections.abc import AsyncIterable, AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.context import (
    ChatOptions,
    ChatPiece,
    ChatPrompt,
    Chunk,
    Context,
    Document,
    FaqEntry,
    IndexEntry,
    KnowledgeBase,
    QueryTerms,
    Reranker,
    Scored,
    SearchStore,
    Span,
)
from headrace.errors import DependencyFailed
from headrace.prompts.loader import load_prompts
from headrace.state import Asked, Hit, Source, Turn, Usage
from headrace.text.language import language_of
from headrace.text.similarity import signature

MODEL = "fake-embedder"
PROMPTS = load_prompts()  # the real ones; parsing them takes longer than most tests
WORD = re.compile(r"[a-z0-9]+|[\u4e00-\u9fff]")


def words(text: str) -> list[str]:
    return WORD.findall(text.lower())


class FakeTokens:
    """Latin words and single Han characters."""

    def index(self, text: str) -> list[str]:
        return words(text)

    def search(self, text: str) -> list[str]:
        return words(text)

    def words(self, text: str) -> list[str]:
        return words(text)

    def query(self, text: str) -> list[str]:
        return words(text)

    def content(self, text: str) -> list[str]:
        return words(text)

    def spans(self, text: str) -> list[Span]:
        found = WORD.finditer(text.lower())
        return [Span(token=word[0], start=word.start(), end=word.end()) for word in found]


class FakeEmbedder:
    """Bags of words hashed into 64 places: texts that share words are near each other."""

    def __init__(self, model: str = MODEL) -> None:
        self.model = model

    async def embed_queries(self, texts: Sequence[str]) -> list[list[float]]:
        return [bag(text) for text in texts]

    async def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        return [bag(text) for text in texts]


def bag(text: str) -> list[float]:
    counts = [0.0] * 64
    for word in words(text):
        counts[int(hashlib.sha256(word.encode()).hexdigest(), 16) % 64] += 1
    length = math.sqrt(sum(count * count for count in counts)) or 1.0
    return [count / length for count in counts]


class FakeVectors:
    """Exact cosine over what was added."""

    def __init__(self) -> None:
        self.entries: dict[tuple[str, str], dict[str, IndexEntry]] = {}
        self.failing: set[str] = set()

    async def add(self, kb_id: str, model: str, entries: Sequence[IndexEntry]) -> None:
        self.entries.setdefault((kb_id, model), {}).update({entry.chunk_id: entry for entry in entries})

    async def delete(self, kb_id: str, model: str, chunk_ids: Sequence[str]) -> None:
        for chunk_id in chunk_ids:
            self.entries.get((kb_id, model), {}).pop(chunk_id, None)

    async def drop(self, kb_id: str) -> None:
        self.entries = {key: value for key, value in self.entries.items() if key[0] != kb_id}

    async def keep_only(self, kb_ids: set[str]) -> None:
        self.entries = {key: value for key, value in self.entries.items() if key[0] in kb_ids}

    async def ids(self, kb_id: str, model: str) -> set[str]:
        return set(self.entries.get((kb_id, model), {}))

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
        if self.failing & {*kb_ids}:
            raise DependencyFailed("vector store", "The vector store is down.")
        found = [entry for kb_id in kb_ids for entry in self.entries.get((kb_id, model), {}).values()]
        meant = [
            one
            for one in narrowed(found, document_ids, kinds)
            if not languages or (one.language or language_of(one.text)) in languages
        ]
        return best({one.chunk_id: dot(vector, one) for one in meant}, limit)

    async def scores(
        self, kb_ids: Sequence[str], model: str, vector: Sequence[float], chunk_ids: Sequence[str]
    ) -> dict[str, float]:
        entries = {id: one for kb in kb_ids for id, one in self.entries.get((kb, model), {}).items()}
        return {id: dot(vector, entries[id]) for id in chunk_ids if id in entries}


def dot(vector: Sequence[float], entry: IndexEntry) -> float:
    return sum(a * b for a, b in zip(vector, entry.vector, strict=True))


def narrowed(
    entries: Sequence[IndexEntry], document_ids: Sequence[str], kinds: Sequence[str]
) -> list[IndexEntry]:
    return [
        entry
        for entry in entries
        if (not document_ids or entry.document_id in document_ids) and (not kinds or entry.kind in kinds)
    ]


class FakeKeywords:
    """Shared words, counted; of `failing` knowledge bases it can search but not score."""

    def __init__(self) -> None:
        self.entries: dict[str, dict[str, IndexEntry]] = {}
        self.failing: set[str] = set()
        self.asked: list[str] = []

    async def add(self, kb_id: str, entries: Sequence[IndexEntry]) -> None:
        self.entries.setdefault(kb_id, {}).update({entry.chunk_id: entry for entry in entries})

    async def delete(self, kb_id: str, chunk_ids: Sequence[str]) -> None:
        for chunk_id in chunk_ids:
            self.entries.get(kb_id, {}).pop(chunk_id, None)

    async def drop(self, kb_id: str) -> None:
        self.entries.pop(kb_id, None)

    async def keep_only(self, kb_ids: set[str]) -> None:
        self.entries = {id: entries for id, entries in self.entries.items() if id in kb_ids}

    async def ids(self, kb_id: str) -> set[str]:
        return set(self.entries.get(kb_id, {}))

    async def outdated(self) -> set[str]:
        return set()

    async def rewrite(self, kb_id: str, batches: AsyncIterable[Sequence[IndexEntry]]) -> None:
        self.entries[kb_id] = {entry.chunk_id: entry async for batch in batches for entry in batch}

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
        self.asked.append(query)
        found = narrowed([*self._of(kb_ids).values()], document_ids, kinds)
        return best({entry.chunk_id: shared(query, entry) for entry in found}, limit)

    async def scores(
        self,
        kb_ids: Sequence[str],
        query: str,
        chunk_ids: Sequence[str],
        *,
        terms: QueryTerms | None = None,
    ) -> dict[str, float]:
        if self.failing & {*kb_ids}:
            raise DependencyFailed("keyword index", "The keyword index is down.")
        entries = self._of(kb_ids)
        found = {id: shared(query, entries[id]) for id in chunk_ids if id in entries}
        return {id: score for id, score in found.items() if score}

    async def terms(self, kb_ids: Sequence[str], query: str) -> QueryTerms:
        texts = [{*words(entry.text)} for entry in self._of(kb_ids).values()]
        return QueryTerms(
            entries=len(texts),
            frequencies={word: sum(word in text for text in texts) for word in words(query)},
            saturation=1.0,
        )

    def _of(self, kb_ids: Sequence[str]) -> dict[str, IndexEntry]:
        return {id: entry for kb_id in kb_ids for id, entry in self.entries.get(kb_id, {}).items()}


def shared(query: str, entry: IndexEntry) -> float:
    return float(len({*words(query)} & {*words(entry.text)}))


def best(scores: Mapping[str, float], limit: int) -> list[Scored]:
    ordered = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    return [Scored(chunk_id=chunk_id, score=score) for chunk_id, score in ordered if score > 0][:limit]


class MemoryCatalogue:
    """Knowledge bases, documents and chunks in dictionaries; `failing` makes reads of chunks fail."""

    def __init__(self) -> None:
        self.all_kbs: dict[str, KnowledgeBase] = {}
        self.all_documents: dict[str, Document] = {}
        self.all_chunks: dict[str, Chunk] = {}
        self.all_entries: dict[str, FaqEntry] = {}
        self.tags: dict[str, list[str]] = {}  # ids of documents by the id of the tag
        self.failing = False

    async def kbs(self, ids: Sequence[str]) -> Mapping[str, KnowledgeBase]:
        return {id: self.all_kbs[id] for id in ids if id in self.all_kbs}

    async def documents(self, ids: Sequence[str]) -> Mapping[str, Document]:
        return {id: self.all_documents[id] for id in ids if id in self.all_documents}

    async def chunks(self, ids: Sequence[str]) -> Mapping[str, Chunk]:
        if self.failing:
            raise DependencyFailed("catalogue", "The catalogue is down.")
        return {id: self.all_chunks[id] for id in ids if id in self.all_chunks}

    async def indexed_chunks(self, entry_ids: Sequence[str]) -> Mapping[str, Chunk]:
        if self.failing:
            raise DependencyFailed("catalogue", "The catalogue is down.")
        wanted = set(entry_ids)
        return {one.indexed_as: one for one in self.all_chunks.values() if one.indexed_as in wanted}

    async def faq_entries(self, ids: Sequence[str]) -> Mapping[str, FaqEntry]:
        return {id: self.all_entries[id] for id in ids if id in self.all_entries}

    async def kbs_of(self, tenant_id: str) -> Sequence[KnowledgeBase]:
        return [kb for kb in self.all_kbs.values() if kb.tenant_id == tenant_id]

    async def faq_questions(self, kb_id: str, signatures: Sequence[str]) -> Mapping[str, str]:
        return {
            mark: entry.id
            for entry in self.all_entries.values()
            if entry.kb_id == kb_id
            for mark in map(signature, [entry.question, *entry.similar_questions])
            if mark in signatures
        }

    async def tagged_documents(self, tag_ids: Sequence[str]) -> Mapping[str, Sequence[str]]:
        found: dict[str, list[str]] = {}
        for id in dict.fromkeys(id for tag_id in tag_ids for id in self.tags.get(tag_id, [])):
            found.setdefault(self.all_documents[id].kb_id, []).append(id)
        return found

    async def questions(self, chunk_ids: Sequence[str]) -> Mapping[str, Sequence[str]]:
        if self.failing:
            raise DependencyFailed("catalogue", "The catalogue is down.")
        found: dict[str, list[str]] = {}
        for chunk in sorted(self.all_chunks.values(), key=lambda chunk: chunk.chunk_index):
            if chunk.kind == "question" and chunk.enabled and chunk.parent_chunk_id in chunk_ids:
                found.setdefault(chunk.parent_chunk_id or "", []).append(chunk.text)
        return found

    async def kinds(self, kb_ids: Sequence[str], among: Sequence[str]) -> Mapping[str, set[str]]:
        found: dict[str, set[str]] = {}
        for chunk in self.all_chunks.values():
            if chunk.kb_id in kb_ids and chunk.enabled and chunk.kind in among:
                found.setdefault(chunk.kb_id, set()).add(chunk.kind)
        return found

    async def languages(self, kb_ids: Sequence[str]) -> Mapping[str, Mapping[str, int]]:
        found: dict[str, dict[str, int]] = {}
        for chunk in self.all_chunks.values():
            if chunk.kb_id in kb_ids and chunk.enabled and chunk.kind != "parent":
                counts = found.setdefault(chunk.kb_id, {})
                counts[language_of(chunk.text)] = counts.get(language_of(chunk.text), 0) + 1
        return found


class MemoryPassages:
    """Chunks of a catalogue, and kept texts by hash."""

    def __init__(self, catalogue: MemoryCatalogue) -> None:
        self.catalogue = catalogue
        self.texts: dict[str, str] = {}

    async def read(self, hits: Sequence[Hit]) -> list[str | None]:
        return [self._text(hit) for hit in hits]

    async def keep(self, texts: Sequence[str]) -> list[str]:
        hashes = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
        self.texts.update(zip(hashes, texts, strict=True))
        return hashes

    def _text(self, hit: Hit) -> str | None:
        if passage := hit.get("passage"):
            return self.texts.get(passage)
        chunk = self.catalogue.all_chunks.get(hit["chunk_id"])
        return chunk.text if chunk else None


class MemoryMessages:
    """The turns it was given, whatever the session."""

    def __init__(self, turns: Sequence[Turn] = ()) -> None:
        self.given = list(turns)

    async def turns(self, session_id: str, *, before: str, limit: int) -> list[Turn]:
        return self.given[-(limit // 2) :]


class ScriptedChat:
    """Answers with the given pieces, one script per call; an exception in a script is raised there."""

    def __init__(
        self,
        *scripts: Sequence[str | ChatPiece | Exception],
        name: str = "scripted",
        context_tokens: int = 8192,
        generates: bool = True,
    ) -> None:
        self.name = name
        self.context_tokens = context_tokens
        self.generates = generates
        self.scripts = list(scripts)
        self.prompts: list[ChatPrompt] = []
        self.options: list[ChatOptions] = []

    async def stream(self, prompt: ChatPrompt, options: ChatOptions) -> AsyncIterator[ChatPiece]:
        self.prompts.append(prompt)
        self.options.append(options)
        script = self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]
        for piece in script:
            match piece:
                case Exception():
                    raise piece
                case str():
                    yield ChatPiece(kind="answer", text=piece)
                case ChatPiece():
                    yield piece


class FakeReranker:
    """The given score for the first passage that holds a given word, else `rest`.

    Those of the rest are a hair apart: a real one never gives different texts the same score.
    """

    name = "fake-reranker"

    def __init__(
        self, scores: Mapping[str, float] | None = None, *, rest: float = 0.0, error: Exception | None = None
    ) -> None:
        self.by_word = dict(scores or {})
        self.rest = rest
        self.error = error
        self.passages: list[str] = []

    async def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        if self.error:
            raise self.error
        self.passages = list(passages)
        return [
            next(
                (score for word, score in self.by_word.items() if word in passage), self.rest * (1 - n / 1e9)
            )
            for n, passage in enumerate(passages)
        ]


@dataclass
class Emitted:
    response_type: str
    content: str
    data: Mapping[str, Any]
    top: Mapping[str, Any]


@dataclass
class RecordingEmitter:
    """Keeps events in order; `open` are the windows that nobody has closed."""

    events: list[Emitted] = field(default_factory=list[Emitted])
    open: list[str] = field(default_factory=list[str])
    segments: int = 0

    def __call__(
        self, response_type: str, content: str = "", *, data: Mapping[str, Any] | None = None, **top: Any
    ) -> None:
        self.events.append(Emitted(response_type, content, dict(data or {}), top))

    def new_segment(self) -> int:
        self.segments += 1
        return self.segments

    def open_call(self, tool_name: str, arguments: Mapping[str, Any]) -> None:
        self.open.append(tool_name)
        self("tool_call", data={"tool_name": tool_name, "arguments": arguments})

    def close_call(self, tool_name: str, result: Mapping[str, Any]) -> None:
        if tool_name in self.open:
            self.open.remove(tool_name)
            self("tool_result", data={"tool_name": tool_name, "result": result})

    def types(self) -> list[str]:
        return [event.response_type for event in self.events]

    def of(self, response_type: str) -> list[Emitted]:
        return [event for event in self.events if event.response_type == response_type]

    def text(self, response_type: str = "answer") -> str:
        return "".join(event.content for event in self.of(response_type))


@dataclass
class World:
    """Everything a run talks to, filled with `add`, given to a run by `context`."""

    catalogue: MemoryCatalogue = field(default_factory=MemoryCatalogue)
    vectors: FakeVectors = field(default_factory=FakeVectors)
    keywords: FakeKeywords = field(default_factory=FakeKeywords)
    emit: RecordingEmitter = field(default_factory=RecordingEmitter)
    embedder: FakeEmbedder = field(default_factory=FakeEmbedder)
    passages: MemoryPassages = field(init=False)

    def __post_init__(self) -> None:
        self.passages = MemoryPassages(self.catalogue)

    async def add(self, *chunks: Chunk, title: str | None = None, model: str = MODEL) -> None:
        """Catalogue and index chunks; parents are catalogued alone. Their documents and KBs are made."""
        for chunk in chunks:
            self.catalogue.all_kbs.setdefault(chunk.kb_id, a_kb(chunk.kb_id, model=model))
            self.catalogue.all_documents.setdefault(
                chunk.document_id,
                a_document(chunk.document_id, kb_id=chunk.kb_id, title=title or chunk.document_id),
            )
            self.catalogue.all_chunks[chunk.id] = chunk
            if chunk.kind != "parent":
                entry = IndexEntry(
                    chunk_id=chunk.indexed_as,
                    document_id=chunk.document_id,
                    text=chunk.text,
                    vector=bag(chunk.text),
                    kind=chunk.kind,
                )
                await self.vectors.add(chunk.kb_id, model, [entry])
                await self.keywords.add(chunk.kb_id, [entry])

    def context(
        self,
        *,
        chat: ScriptedChat | None = None,
        understand: ScriptedChat | None = None,
        reranker: Reranker | None = None,
        history: Sequence[Turn] = (),
    ) -> Context:
        return Context(
            catalogue=self.catalogue,
            passages=self.passages,
            messages=MemoryMessages(history),
            embedder=self.embedder,
            stores={"embedded": SearchStore(vectors=self.vectors, keywords=self.keywords)},
            tokens=FakeTokens(),
            prompts=PROMPTS,
            chat=chat or ScriptedChat(["An answer."]),
            emit=self.emit,
            understand=understand,
            reranker=reranker,
        )


def a_context(**parts: Any) -> Context:
    """A context of an empty world; `parts` as for `World.context`."""
    return World().context(**parts)


def a_kb(id: str = "kb1", *, model: str = MODEL) -> KnowledgeBase:
    return KnowledgeBase(
        id=id,
        tenant_id="default",
        name=id,
        description="",
        kind="document",
        settings={},
        embedding_model=model,
        version=1,
        created_at="2026-01-01T00:00:00Z",
        updated_at="2026-01-01T00:00:00Z",
    )


def a_document(id: str = "doc1", *, kb_id: str = "kb1", title: str = "Handbook") -> Document:
    return Document(
        id=id,
        kb_id=kb_id,
        title=title,
        media_type="text/plain",
        sha256="0" * 64,
        bytes=1,
        status="ready",
        error=None,
        revision=1,
        chunk_count=1,
        stage="",
        done=0,
        total=0,
        created_at="2026-01-01T00:00:00Z",
        updated_at="2026-01-01T00:00:00Z",
    )


def a_chunk(id: str = "c1", text: str = "text", **parts: Any) -> Chunk:
    """A child chunk; `parts` are other fields of `Chunk`."""
    given: dict[str, Any] = {"kb_id": "kb1", "document_id": "doc1", "kind": "text"}
    given |= {"chunk_index": 0, "revision": 1, **parts}
    return Chunk(id=id, text=text, **given)


def a_hit(chunk_id: str = "c1", *, score: float = 0.9, **parts: Any) -> Hit:
    """A hit; `parts` are other fields of `Hit`."""
    hit = Hit(
        chunk_id=chunk_id,
        chunk_revision=1,
        kb_id="kb1",
        document_id="doc1",
        kind="text",
        match_type="both",
        chunk_index=0,
        score=score,
        scores={"vector": score, "keyword": None, "fused": score},
        ranks={"vector": 1},
        marks=[],
        sub_chunk_ids=[],
        source=Source(page=None, boxes=[], section=None, url=None),
    )
    hit.update(parts)  # pyright: ignore[reportArgumentType, reportCallIssue]  # named fields of a TypedDict
    return hit


def a_turn(user: str, assistant: str = "An answer.", *, references: Sequence[Hit] = ()) -> Turn:
    return Turn(request_id=f"r-{user}", user=user, assistant=assistant, references=list(references))


def asked(query: str = "question", **parts: Any) -> Asked:
    """A request over knowledge base kb1; `parts` are other fields of `Asked`."""
    request = Asked(
        query=query,
        session_id="s1",
        message_id="m2",
        user_message_id="m1",
        request_id="q1",
        run_id="run1",
        tenant_id="default",
        language="en",
        kb_ids=["kb1"],
        document_ids=[],
        tag_ids=[],
        standard_answer_kb_ids=[],
        quoted_context=None,
        embedding_top_k=50,
        rerank_top_k=10,
        vector_threshold=0.0,
        keyword_threshold=0.0,
        rerank_threshold=0.3,
        mmr_lambda=None,
        max_rounds=5,
        enable_rewrite=True,
        citation_enabled=True,
        fusion="auto",
        enable_query_expansion=False,
        faq_priority_enabled=True,
        faq_score_boost=1.2,
        faq_search_answers=False,
        wiki_enabled=False,
        standard_answers_enabled=False,
        faq_direct_answer_threshold=0.9,
        answer_cache_enabled=False,
        auto_select=False,
        kb_match_threshold=0.5,
        suggestions_enabled=False,
        fallback_strategy="fixed",
        fallback_response=None,
        partial_ok=False,
        run_limit_s=1800,
        temperature=None,
        top_p=None,
        seed=None,
        max_tokens=None,
        thinking=None,
        chat_model=None,
        prompts={},
    )
    request.update(parts)  # pyright: ignore[reportArgumentType, reportCallIssue]  # named fields of a TypedDict
    return request


def usage_piece(prompt: int, completion: int) -> ChatPiece:
    return ChatPiece(kind="usage", usage=Usage(prompt_tokens=prompt, completion_tokens=completion))
