"""Every address of the server, in one list."""

from pathlib import Path

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Router
from starlette.staticfiles import StaticFiles

from ..ingest.faq_files import MEDIA_TYPES
from . import (
    chunks,
    documents,
    faq,
    faq_files,
    forks,
    info,
    knowledge_bases,
    messages,
    openapi,
    qa,
    runs,
    search,
    sessions,
    tags,
    traces,
    upkeep,
)
from .routing import Call
from .schemas import (
    AddDocument,
    AddFaqEntry,
    ChangeChunk,
    ChangeFaqEntry,
    Collect,
    CreateKnowledgeBase,
    CreateSession,
    DeleteFaqEntries,
    DeleteSessions,
    EnableFaqEntries,
    Erase,
    ForkRun,
    KnowledgeQa,
    NameTag,
    PinSession,
    Rate,
    Regenerate,
    RenameSession,
    Replay,
    Search,
    SetTags,
    Stop,
    UpdateKnowledgeBase,
)
from .stack import Shared

API = "/api/v1"
SESSIONS = f"{API}/sessions"
KBS = f"{API}/knowledge-bases"
DOCUMENTS = f"{API}/documents"
RUNS = f"{API}/runs"
ONE_SESSION = f"{SESSIONS}/{{session_id}}"
ONE_KB = f"{KBS}/{{kb_id}}"
ONE_DOCUMENT = f"{DOCUMENTS}/{{document_id}}"
ONE_MESSAGE = f"{API}/messages/{{message_id}}"
ONE_ENTRY = f"{API}/faq/{{entry_id}}"
ONE_TAG = f"{API}/tags/{{tag_id}}"
ONE_CHUNK = f"{API}/chunks/{{chunk_id}}"


async def openapi_json(request: Request[Shared]) -> Response:
    return JSONResponse(openapi.document([*OPS, *CALLS]))


OPS = [
    Call(method="GET", path="/healthz", endpoint=info.healthz, summary="the process is up"),
    Call(method="GET", path="/readyz", endpoint=info.readyz, summary="stores and embedder answer"),
    Call(method="GET", path="/openapi.json", endpoint=openapi_json, summary="this description"),
]

CALLS = [
    Call(method="GET", path=f"{API}/info", endpoint=info.info, summary="models, limits, formats, version"),
    # the literal path first: {session_id} would match it too
    Call(
        method="GET",
        path=f"{SESSIONS}/continue-stream/{{session_id}}",
        endpoint=qa.continue_stream,
        summary="the events of an answer after Last-Event-ID or ?after=, then live ones",
        query=("message_id", "after", "compact"),
        streams="only",
    ),
    Call(
        method="POST",
        path=f"{ONE_SESSION}/knowledge-qa",
        endpoint=qa.knowledge_qa,
        summary="ask; Accept: application/json waits for the finished answer",
        body=KnowledgeQa,
        streams="default",
    ),
    Call(
        method="POST",
        path=f"{ONE_SESSION}/regenerate",
        endpoint=messages.regenerate,
        summary="ask the last question anew, perhaps edited; it takes the place of that turn",
        body=Regenerate,
        streams="default",
    ),
    Call(
        method="POST",
        path=f"{ONE_MESSAGE}/feedback",
        endpoint=messages.rate,
        summary="thumbs up or down for an answer, with a reason",
        body=Rate,
    ),
    Call(
        method="GET",
        path=f"{API}/messages/search",
        endpoint=messages.search_messages,
        summary="what was said in finished turns, by its words: ?query=",
    ),
    Call(method="DELETE", path=f"{ONE_MESSAGE}/feedback", endpoint=messages.unrate, summary="take that back"),
    Call(
        method="POST",
        path=f"{ONE_MESSAGE}/faq-draft",
        endpoint=messages.faq_draft,
        summary="the draft of an FAQ entry from a question and its answer; stores nothing",
    ),
    Call(
        method="PUT",
        path=f"{ONE_SESSION}/pin",
        endpoint=sessions.pin_session,
        summary="keep a session at the top of the list, or no longer",
        body=PinSession,
    ),
    Call(
        method="POST",
        path=f"{SESSIONS}/delete",
        endpoint=sessions.delete_sessions,
        summary="delete several sessions with all they hold",
        body=DeleteSessions,
    ),
    Call(
        method="POST",
        path=f"{ONE_SESSION}/stop",
        endpoint=qa.stop,
        summary="stop an answer; what it has said so far is kept",
        body=Stop,
    ),
    Call(
        method="POST",
        path=SESSIONS,
        endpoint=sessions.create_session,
        summary="a new session",
        body=CreateSession,
        status=201,
    ),
    Call(
        method="GET",
        path=SESSIONS,
        endpoint=sessions.list_sessions,
        summary="sessions, newest first",
        query=("search",),
        paged=True,
    ),
    Call(method="GET", path=ONE_SESSION, endpoint=sessions.get_session, summary="one session"),
    Call(
        method="PUT",
        path=ONE_SESSION,
        endpoint=sessions.rename_session,
        summary="another title",
        body=RenameSession,
    ),
    Call(
        method="PATCH",
        path=ONE_SESSION,
        endpoint=sessions.rename_session,
        summary="another title",
        body=RenameSession,
    ),
    Call(
        method="DELETE",
        path=ONE_SESSION,
        endpoint=sessions.delete_session,
        summary="remove a session and all it holds; stops a running answer",
    ),
    Call(
        method="GET",
        path=f"{ONE_SESSION}/messages",
        endpoint=sessions.list_messages,
        summary="messages, oldest first",
        paged=True,
    ),
    Call(
        method="POST",
        path=KBS,
        endpoint=knowledge_bases.create_kb,
        summary="a new knowledge base",
        body=CreateKnowledgeBase,
        status=201,
    ),
    Call(
        method="GET",
        path=KBS,
        endpoint=knowledge_bases.list_kbs,
        summary="knowledge bases, newest first",
        query=("search",),
        paged=True,
    ),
    Call(method="GET", path=ONE_KB, endpoint=knowledge_bases.get_kb, summary="one knowledge base"),
    Call(
        method="PUT",
        path=ONE_KB,
        endpoint=knowledge_bases.update_kb,
        summary="change name, description or settings",
        body=UpdateKnowledgeBase,
    ),
    Call(
        method="PATCH",
        path=ONE_KB,
        endpoint=knowledge_bases.update_kb,
        summary="change name, description or settings",
        body=UpdateKnowledgeBase,
    ),
    Call(
        method="DELETE",
        path=ONE_KB,
        endpoint=knowledge_bases.delete_kb,
        summary="remove a knowledge base with its documents",
    ),
    Call(
        method="POST",
        path=f"{ONE_KB}/documents",
        endpoint=documents.add_documents,
        summary="add files (field `file`, repeatable) or a text",
        body=AddDocument,
        files=True,
        status=202,
    ),
    Call(
        method="GET",
        path=f"{ONE_KB}/documents",
        endpoint=documents.list_documents,
        summary="documents, newest first",
        query=("tag_id",),
        paged=True,
    ),
    Call(method="GET", path=ONE_DOCUMENT, endpoint=documents.get_document, summary="one document"),
    Call(
        method="DELETE",
        path=ONE_DOCUMENT,
        endpoint=documents.delete_document,
        summary="remove a document with its vectors, keywords, chunks and file",
    ),
    Call(
        method="GET",
        path=f"{ONE_DOCUMENT}/events",
        endpoint=documents.document_events,
        summary="progress until the document is ready or has failed",
        streams="only",
    ),
    Call(
        method="GET",
        path=f"{ONE_DOCUMENT}/chunks",
        endpoint=documents.document_chunks,
        summary="chunks in the order of the text",
        query=("kind",),
        paged=True,
    ),
    Call(
        method="PUT",
        path=f"{ONE_DOCUMENT}/tags",
        endpoint=tags.set_document_tags,
        summary="other tags for a document or an FAQ entry",
        body=SetTags,
    ),
    Call(method="GET", path=ONE_CHUNK, endpoint=chunks.get_chunk, summary="one chunk"),
    *(
        Call(
            method=method,
            path=ONE_CHUNK,
            endpoint=chunks.change_chunk,
            summary="another text for a chunk, or whether it is found",
            body=ChangeChunk,
        )
        for method in ("PUT", "PATCH")
    ),
    Call(
        method="POST",
        path=f"{ONE_KB}/tags",
        endpoint=tags.create_tag,
        summary="a new tag",
        body=NameTag,
        status=201,
    ),
    Call(method="GET", path=f"{ONE_KB}/tags", endpoint=tags.list_tags, summary="tags by name", paged=True),
    *(
        Call(method=method, path=ONE_TAG, endpoint=tags.rename_tag, summary="another name", body=NameTag)
        for method in ("PUT", "PATCH")
    ),
    Call(
        method="DELETE", path=ONE_TAG, endpoint=tags.delete_tag, summary="remove a tag, also from documents"
    ),
    Call(
        method="POST",
        path=f"{ONE_KB}/faq",
        endpoint=faq.create_entry,
        summary="a new FAQ entry",
        body=AddFaqEntry,
        status=201,
    ),
    Call(
        method="GET",
        path=f"{ONE_KB}/faq",
        endpoint=faq.list_entries,
        summary="FAQ entries, newest first",
        query=("search", "tag_id", "enabled"),
        paged=True,
    ),
    Call(
        method="POST",
        path=f"{ONE_KB}/faq/delete",
        endpoint=faq.delete_entries,
        summary="remove FAQ entries",
        body=DeleteFaqEntries,
    ),
    Call(
        method="PUT",
        path=f"{ONE_KB}/faq/enabled",
        endpoint=faq.enable_entries,
        summary="whether FAQ entries are found",
        body=EnableFaqEntries,
    ),
    Call(
        method="POST",
        path=f"{ONE_KB}/faq/import",
        endpoint=faq_files.import_faq,
        summary="FAQ entries from a CSV, XLSX or JSON file (field `file`); field `mode`: append or replace",
        files=True,
    ),
    Call(
        method="GET",
        path=f"{ONE_KB}/faq/export",
        endpoint=faq_files.export_faq,
        summary="all FAQ entries as a file; format: csv, xlsx or json",
        query=("format",),
        serves=tuple(MEDIA_TYPES.values()),
    ),
    Call(method="GET", path=ONE_ENTRY, endpoint=faq.get_entry, summary="one FAQ entry"),
    *(
        Call(
            method=method,
            path=ONE_ENTRY,
            endpoint=faq.change_entry,
            summary="change what is given of an FAQ entry",
            body=ChangeFaqEntry,
        )
        for method in ("PUT", "PATCH")
    ),
    Call(method="DELETE", path=ONE_ENTRY, endpoint=faq.delete_entry, summary="remove an FAQ entry"),
    Call(
        method="POST",
        path=f"{API}/search",
        endpoint=search.search,
        summary="passages for a question, without an answer",
        body=Search,
    ),
    Call(
        method="GET",
        path=RUNS,
        endpoint=runs.list_runs,
        summary="runs, newest first, forks among them",
        query=("session_id",),
        paged=True,
    ),
    Call(
        method="GET",
        path=f"{RUNS}/{{run_id}}",
        endpoint=runs.get_run,
        summary="status, timings and answer of a run",
    ),
    Call(
        method="GET",
        path=f"{RUNS}/{{run_id}}/trace",
        endpoint=traces.get_trace,
        summary="what a run did: its stages, what became of every candidate, what models were asked",
    ),
    Call(
        method="GET",
        path=f"{RUNS}/{{run_id}}/diff",
        endpoint=traces.get_diff,
        summary="what differs between this run and another, stage by stage",
        query=("with",),
    ),
    Call(
        method="GET",
        path=f"{RUNS}/{{run_id}}/events",
        endpoint=runs.list_run_events,
        summary="the recorded events of a run",
        query=("after", "compact"),
        paged=True,
    ),
    Call(
        method="POST",
        path=f"{RUNS}/{{run_id}}/replay",
        endpoint=runs.replay_run,
        summary="the events of an ended run told again; no model and no store is asked",
        body=Replay,
        streams="only",
    ),
    Call(
        method="POST",
        path=f"{RUNS}/{{run_id}}/fork",
        endpoint=forks.fork_run,
        summary="a new run from a stage of this one, with other settings, prompts, model or state",
        body=ForkRun,
        status=202,
    ),
    Call(
        method="POST",
        path=f"{API}/gc",
        endpoint=upkeep.collect,
        summary="trim old runs and give their space back, as the server does every hour",
        body=Collect,
    ),
    Call(
        method="POST",
        path=f"{API}/cache/clear",
        endpoint=upkeep.clear_caches,
        summary="forget kept results of searches, embeddings, rerankings and understanding",
    ),
    Call(
        method="POST",
        path=f"{API}/erase",
        endpoint=upkeep.erase,
        summary="remove every text of a session, or of a document and what was answered from it",
        body=Erase,
    ),
]


def routes(page: Path) -> list[BaseRoute]:
    """All routes; `page` is the folder of the web page, served at the root."""
    # A router of its own: below the page's mount a wrong method would look like a missing file.
    api = Router([call.route(below=API) for call in CALLS], redirect_slashes=False)
    return [*(call.route() for call in OPS), Mount(API, api), Mount("/", Page(directory=page, html=True))]


class Page(StaticFiles):
    """The files of the page. Browsers ask each time whether they changed: an update shows at once."""

    def file_response(self, *args: object, **kwargs: object) -> Response:
        response = super().file_response(*args, **kwargs)  # pyright: ignore[reportArgumentType]
        response.headers["Cache-Control"] = "no-cache"
        return response
