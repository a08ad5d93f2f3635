"""What a scripted server tells of FAQ entries, tags, passages and searches, in the shapes of the API."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from .candidates import a_candidate
from .told import Json, failure, listing, success


class Library:
    """Keeps what the page writes, so that it can be read back."""

    def __init__(self, new_id: Callable[[str], str], documents: dict[str, Json]) -> None:
        self.entries: dict[str, Json] = {}
        self.tags: dict[str, Json] = {}
        self.chunks: dict[str, Json] = {}
        self.imports: list[tuple[str, str, bytes]] = []  # name of the file, mode, content
        self.import_report: Json = {"created": 0, "updated": 0, "unchanged": 0, "rejected": []}
        self.searches: list[Json] = []
        self.found: Callable[[Json], Json] = lambda body: a_search(body["query"])
        self.refuse_search: Response | None = None
        self.held: dict[str, asyncio.Event] = {}  # searches for these wait
        self._loop: asyncio.AbstractEventLoop | None = None
        self._id = new_id
        self._documents = documents

    # --- what a test does -------------------------------------------------------------------

    def add_entry(self, kb: str, question: str, **more: Any) -> str:
        entry = an_entry(self._id("e"), kb, question, **more)
        self.entries[entry["id"]] = entry
        for name in entry["tags"]:
            self.add_tag(kb, name)
        return str(entry["id"])

    def add_tag(self, kb: str, name: str) -> str:
        for tag in self.tags.values():
            if (tag["knowledge_base_id"], tag["name"]) == (kb, name):
                return str(tag["id"])
        tag: Json = {"id": self._id("t"), "knowledge_base_id": kb, "name": name, "document_count": 0}
        self.tags[tag["id"]] = tag
        return str(tag["id"])

    def add_document(
        self, kb: str, title: str, chunks: list[str] | None = None, tags: tuple[str, ...] = ()
    ) -> str:
        document: Json = {
            "id": self._id("d"),
            "knowledge_base_id": kb,
            "title": title,
            "status": "ready",
            "error": None,
            "revision": 1,
            "chunk_count": len(chunks or []),
            "tags": [{"id": self.add_tag(kb, name), "name": name} for name in tags],
            "progress": {"stage": "", "done": 0, "total": 0},
        }
        self._documents[document["id"]] = document
        for index, content in enumerate(chunks or []):
            self.add_chunk(document, index, content)
        return str(document["id"])

    def add_chunk(self, document: Json, index: int, content: str, kind: str = "text") -> str:
        chunk: Json = {
            "id": self._id("c"),
            "knowledge_base_id": document["knowledge_base_id"],
            "knowledge_id": document["id"],
            "chunk_index": index,
            "content": content,
            "kind": kind,
            "page": None,
            "section": None,
            "enabled": True,
            "revision": 1,
        }
        self.chunks[chunk["id"]] = chunk
        return str(chunk["id"])

    def hold(self, query: str) -> None:
        self.held[query] = asyncio.Event()

    def let_go(self, query: str) -> None:
        assert self._loop
        done = threading.Event()
        event = self.held.pop(query)
        self._loop.call_soon_threadsafe(lambda: (event.set(), done.set()))
        assert done.wait(10)

    # --- what the page asks: tags -----------------------------------------------------------

    async def list_tags(self, request: Request) -> Response:
        kb = request.path_params["id"]
        return listing([tag for tag in self.tags.values() if tag["knowledge_base_id"] == kb], request)

    async def create_tag(self, request: Request) -> Response:
        kb, name = request.path_params["id"], (await request.json())["name"]
        if self._named(kb, name):
            return failure(409, "tag_name_taken", f"There is a tag {name} already.")
        return success(self.tags[self.add_tag(kb, name)], status=201)

    async def one_tag(self, request: Request) -> Response:
        tag = self.tags[request.path_params["id"]]
        if request.method == "DELETE":
            return success(self.tags.pop(tag["id"]))
        name = (await request.json())["name"]
        if self._named(tag["knowledge_base_id"], name):
            return failure(409, "tag_name_taken", f"There is a tag {name} already.")
        tag["name"] = name
        return success(tag)

    async def set_tags(self, request: Request) -> Response:
        document = self._documents[request.path_params["id"]]
        ids = (await request.json())["tag_ids"]
        document["tags"] = [{"id": id, "name": self.tags[id]["name"]} for id in ids]
        return success(document)

    def _named(self, kb: str, name: str) -> bool:
        return any((tag["knowledge_base_id"], tag["name"]) == (kb, name) for tag in self.tags.values())

    # --- passages ---------------------------------------------------------------------------

    async def list_chunks(self, request: Request) -> Response:
        document, kind = request.path_params["id"], request.query_params.get("kind")
        found = [chunk for chunk in self.chunks.values() if chunk["knowledge_id"] == document]
        return listing([chunk for chunk in found if not kind or chunk["kind"] == kind], request)

    async def one_chunk(self, request: Request) -> Response:
        chunk = self.chunks.get(request.path_params["id"])
        if chunk is None:
            return failure(404, "chunk_not_found", "There is no such chunk.")
        if request.method == "PUT":
            change = await request.json()
            if not change.get("content", "x").strip():
                return failure(422, "empty_chunk", "A chunk needs some text.")
            chunk.update(change, revision=chunk["revision"] + ("content" in change))
        return success(chunk)

    # --- FAQ --------------------------------------------------------------------------------

    async def list_entries(self, request: Request) -> Response:
        asked = request.query_params
        found = [
            entry
            for entry in reversed(self.entries.values())
            if entry["knowledge_base_id"] == request.path_params["id"]
            and asked.get("search", "").lower() in entry["question"].lower()
            and asked.get("enabled", str(entry["enabled"]).lower()) == str(entry["enabled"]).lower()
            and (not asked.get("tag_id") or self.tags[asked["tag_id"]]["name"] in entry["tags"])
        ]
        return listing(found, request)

    async def create_entry(self, request: Request) -> Response:
        kb, body = request.path_params["id"], await request.json()
        if refused := self._refused(kb, body):
            return refused
        return success(self.entries[self.add_entry(kb, **body)], status=201)

    async def one_entry(self, request: Request) -> Response:
        entry = self.entries.get(request.path_params["id"])
        if entry is None:
            return failure(404, "faq_entry_not_found", "There is no such entry.")
        if request.method == "PUT":
            body = await request.json()
            if refused := self._refused(entry["knowledge_base_id"], body, but=entry["id"]):
                return refused
            entry.update(body)
        return success(entry)

    async def delete_entries(self, request: Request) -> Response:
        ids = (await request.json())["ids"]
        return success({"deleted": len([self.entries.pop(id) for id in ids if id in self.entries])})

    async def enable_entries(self, request: Request) -> Response:
        body = await request.json()
        changed = [self.entries[id] for id in body["ids"] if self.entries[id]["enabled"] != body["enabled"]]
        for entry in changed:
            entry["enabled"] = body["enabled"]
        return success({"changed": len(changed)})

    async def import_entries(self, request: Request) -> Response:
        async with request.form() as form:
            file = form["file"]
            assert isinstance(file, UploadFile)
            self.imports.append((file.filename or "", str(form["mode"]), await file.read()))
        return success(self.import_report)

    async def export_entries(self, request: Request) -> Response:
        format = request.query_params["format"]
        disposition = f'attachment; filename="faq.{format}"'
        return Response("question", headers={"Content-Disposition": disposition}, media_type="text/csv")

    def _refused(self, kb: str, body: Json, *, but: str = "") -> Response | None:
        if len(body["question"]) > 1000:
            return failure(422, "faq_question_too_long", "A question is too long.", limit=1000)
        for entry in self.entries.values():
            same = (entry["knowledge_base_id"], entry["question"]) == (kb, body["question"])
            if same and entry["id"] != but:
                details = {"id": entry["id"], "question": body["question"]}
                return failure(409, "faq_question_taken", "It is asked already.", **details)
        return None

    # --- search -----------------------------------------------------------------------------

    async def search(self, request: Request) -> Response:
        self._loop = asyncio.get_running_loop()
        body = await request.json()
        self.searches.append(body)
        if body["query"] in self.held:
            await self.held[body["query"]].wait()
        return self.refuse_search or success(self.found(body))

    def routes(self) -> list[Route]:
        kb = "/knowledge-bases/{id}"
        return [
            Route(f"{kb}/tags", self.list_tags),
            Route(f"{kb}/tags", self.create_tag, methods=["POST"]),
            Route("/tags/{id}", self.one_tag, methods=["PUT", "DELETE"]),
            Route("/documents/{id}/tags", self.set_tags, methods=["PUT"]),
            Route("/documents/{id}/chunks", self.list_chunks),
            Route("/chunks/{id}", self.one_chunk, methods=["GET", "PUT"]),
            Route(f"{kb}/faq", self.list_entries),
            Route(f"{kb}/faq", self.create_entry, methods=["POST"]),
            Route(f"{kb}/faq/delete", self.delete_entries, methods=["POST"]),
            Route(f"{kb}/faq/enabled", self.enable_entries, methods=["PUT"]),
            Route(f"{kb}/faq/import", self.import_entries, methods=["POST"]),
            Route(f"{kb}/faq/export", self.export_entries),
            Route("/faq/{id}", self.one_entry, methods=["GET", "PUT"]),
            Route("/search", self.search, methods=["POST"]),
        ]


def an_entry(entry_id: str, kb: str, question: str, **more: Any) -> Json:
    return {
        "id": entry_id,
        "knowledge_base_id": kb,
        "question": question,
        "similar_questions": [],
        "negative_questions": [],
        "answers": [f"answer to {question}"],
        "answer_strategy": "all",
        "tags": [],
        "enabled": True,
        "revision": 1,
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z",
        **more,
    }


def a_found(chunk_id: str, title: str, text: str, fate: str = "selected", **more: Any) -> Json:
    """A candidate of a search."""
    return a_candidate(chunk_id, title, fate, snippet=text[:200], **more)


def a_search(query: str, candidates: list[Json] | None = None, **more: Any) -> Json:
    """The answer of POST /search with `trace`."""
    found = FOUND if candidates is None else candidates
    kept = [one for one in found if one["fate"] == "selected"]
    return {
        "knowledge_references": [{"id": one["chunk_id"], "content": one["snippet"]} for one in kept],
        "trace": {
            "query": query,
            "queries": {"en": query},
            "variants": [],
            "stages": [
                {"stage": "search_chunks", "duration_ms": 40.0, "hits_in": None, "hits_out": 4},
                {"stage": "collect_results", "duration_ms": 2.0, "hits_in": 4, "hits_out": 4},
                {"stage": "rerank", "duration_ms": 20.0, "hits_in": 4, "hits_out": 3},
                {"stage": "filter_top_k", "duration_ms": 1.0, "hits_in": 3, "hits_out": 2},
            ],
            "candidates": found,
            "channels": {"vector": 4, "keyword": 2},
            "departures": [{"stage": "rerank", "reason": "below_threshold", "chunk_id": "c4"}],
            "warnings": [],
            "calls": [],
            "rerank_verdict": "ok",
            "cache": {"query": "miss"},
            "settings": {"rerank_threshold": 0.3, "rerank_top_k": 10, "fusion": "auto", "mmr_lambda": None},
            **more,
        },
    }


FOUND = [
    a_found(
        "c1",
        "手册",
        "水渠的设计流量为 12 m³/s。",
        ranks={"vector": 2, "keyword": 1, "fused": 1, "selected": 1},
        scores={"vector": 0.8, "keyword": 7.25, "fused": 0.9, "rerank": 0.95, "final": 0.93},
    ),
    a_found(
        "c2",
        "Manual",
        "The design flow of the canal is 12 m³/s.",
        ranks={"vector": 1, "keyword": 2, "fused": 2, "selected": 2},
        scores={"vector": 0.85, "keyword": 3.0, "fused": 0.8, "rerank": 0.6, "final": 0.61},
    ),
    a_found(
        "c3",
        "Zoo",
        "Opening hours.",
        "left",
        ranks={"vector": 3, "fused": 3},
        scores={"vector": 0.7, "fused": 0.6, "rerank": 0.4},
        left={"stage": "filter_top_k", "reason": "over_limit", "score": 0.4, "limit": 2, "other": None},
    ),
    a_found(
        "c4",
        "Zoo",
        "Feeding times.",
        "left",
        ranks={"vector": 4, "fused": 4},
        scores={"vector": 0.6, "fused": 0.5, "rerank": 0.12},
        left={"stage": "rerank", "reason": "below_threshold", "score": 0.12, "limit": 0.3, "other": None},
    ),
]
