"""A server that speaks the shapes of the page's API and tells what a test has written down."""

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import UploadFile
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headrace.api.guard import HEADERS

from .library import Library
from .told import Json, failure, listing, success
from .wire import frame

WEB = Path(__file__).resolve().parents[2] / "web"


class ConnectionCut(Exception):
    """Raised inside a stream so that the server drops the connection in mid-answer."""


@dataclass
class Run:
    """The events of one answer, and how many of them have happened."""

    events: list[Json]
    happened: int
    session_id: str
    message: Json
    asked: list[int] = field(default_factory=list[int])  # `after` of each connection

    @property
    def over(self) -> bool:
        return any(event["done"] for event in self.events[: self.happened])


class ScriptedServer:
    """Serves the real page. Tests set what is told, then look at what the page asked."""

    def __init__(self) -> None:
        self.url = ""
        self.info: Json = {"chat": {"name": "scripted", "generates": True}, "formats": ["txt", "md", "pdf"]}
        self.kbs: list[Json] = []
        self.sessions: dict[str, Json] = {}
        self.messages: dict[str, list[Json]] = {}
        self.documents: dict[str, Json] = {}
        self.document_states: dict[str, list[Json]] = {}  # by title
        self.list_after_uploads = 0  # a list of documents is told when so many came after it was asked for
        self.answers: dict[str, list[Json]] = {}  # by question
        self.runs: dict[str, Run] = {}  # by message id
        self.questions: list[Json] = []
        self.hold_after: int | None = None  # a new run goes on only when a test releases it
        self.cut_after: list[int] = []  # the next streams are cut behind these numbers
        self.bytes_at_once: int | None = None
        self.refuse_ask: Response | None = None
        self.traces: dict[str, Json] = {}  # by run id; "*" is that of every other run
        self.diffs: dict[str, Json] = {}  # by the id of the second run
        self.forks: list[Json] = []  # bodies, with the run they were asked of
        self.refuse_fork: Response | None = None
        self.regenerated: list[Json] = []  # bodies
        self.library = Library(self._id, self.documents)
        self._count = 0
        self._changed = asyncio.Event()
        self._closing = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    # --- what a test does -------------------------------------------------------------------

    def release(self, upto: int | None = None, *, only: Run | None = None) -> None:
        """Let runs go on, all of them or one: up to event `upto`, or to their end."""

        def go_on() -> None:
            self.hold_after = upto
            for run in [only] if only else self.runs.values():
                run.happened = len(run.events) if upto is None else upto
                self._settle(run)
            self._wake()

        self._call(go_on)

    def add_kb(self, name: str, kind: str = "document") -> str:
        kb = {"id": self._id("kb"), "name": name, "kind": kind, "document_count": 0}
        self.kbs.append(kb)
        return str(kb["id"])

    def run_of(self, question: str) -> Run:
        return next(run for run in self.runs.values() if run.events[0]["content"] == question)

    # --- what the page asks -----------------------------------------------------------------

    async def get_info(self, request: Request) -> Response:
        return success(self.info)

    async def list_sessions(self, request: Request) -> Response:
        newest = list(reversed(self.sessions.values()))
        return listing(sorted(newest, key=lambda one: not one.get("pinned")), request)

    async def create_session(self, request: Request) -> Response:
        body = await request.json()
        session = {"id": self._id("s"), "title": "", "knowledge_base_ids": body["knowledge_base_ids"]}
        self.sessions[session["id"]] = session
        self.messages[session["id"]] = []
        return success(session)

    async def one_session(self, request: Request) -> Response:
        session_id = request.path_params["id"]
        if session_id not in self.sessions:
            return failure(404, "session_not_found", "There is no such session.")
        if request.method == "PUT":
            self.sessions[session_id]["title"] = (await request.json())["title"]
        if request.method == "DELETE":
            return success(self.sessions.pop(session_id))
        return success(self.sessions[session_id])

    async def list_messages(self, request: Request) -> Response:
        if request.path_params["id"] not in self.sessions:
            return failure(404, "session_not_found", "There is no such session.")
        return listing(self.messages[request.path_params["id"]], request)

    async def ask(self, request: Request) -> Response:
        if self.refuse_ask:
            return self.refuse_ask
        body = await request.json()
        session_id = request.path_params["id"]
        unfinished = [run for run in self.runs.values() if run.session_id == session_id and not run.over]
        if unfinished and body["on_busy"] == "reject":
            return failure(409, "session_busy", "Another answer is being written.")
        self.questions.append(body)
        for run in unfinished if body["on_busy"] == "stop" else []:
            self._stop(run)
        run = self._start(session_id, body, waits=any(not run.over for run in unfinished))
        self._wake()
        return self._stream(run, after=0)

    async def regenerate(self, request: Request) -> Response:
        """The last turn of the session leaves, and the question is answered as any other."""
        body = await request.json()
        session_id = request.path_params["id"]
        *rest, question, _ = self.messages[session_id]
        self.messages[session_id] = rest
        self.regenerated.append(body)
        asked = {**body, "query": body.get("query") or question["content"], "on_busy": "reject"}
        run = self._start(session_id, asked, waits=False)
        self._wake()
        return self._stream(run, after=0)

    async def pin(self, request: Request) -> Response:
        session = self.sessions[request.path_params["id"]]
        session["pinned"] = (await request.json())["pinned"]
        return success(session)

    async def rate(self, request: Request) -> Response:
        message = next(
            one for all in self.messages.values() for one in all if one["id"] == request.path_params["id"]
        )
        message["feedback"] = await request.json() if request.method == "POST" else None
        return success(message)

    async def continue_stream(self, request: Request) -> Response:
        run = self.runs[request.query_params["message_id"]]
        return self._stream(run, after=int(request.query_params["after"]))

    async def stop(self, request: Request) -> Response:
        self._stop(self.runs[(await request.json())["message_id"]])
        self._wake()
        return success({"status": "stopping"})

    async def trace(self, request: Request) -> Response:
        run_id = request.path_params["id"]
        told = self.traces.get(run_id, self.traces.get("*"))
        if told is None:
            return failure(410, "run_erased", "The record of this run was erased.")
        return success({**told, "run": {**told["run"], "id": run_id}})

    async def fork(self, request: Request) -> Response:
        if self.refuse_fork:
            return self.refuse_fork
        body = await request.json()
        self.forks.append({"run_id": request.path_params["id"], **body})
        run = self._start("", {"query": "fork", "request_id": self._id("q")})
        forked = {"message_id": run.message["id"], "run_id": run.message["run_id"], "session_id": "s1"}
        return success({**forked, "forked_from": request.path_params["id"]}, status=202)

    async def diff(self, request: Request) -> Response:
        return success(self.diffs[request.query_params["with"]])

    async def list_kbs(self, request: Request) -> Response:
        return listing(self.kbs, request)

    async def create_kb(self, request: Request) -> Response:
        body = await request.json()
        name = body["name"]
        if any(kb["name"] == name for kb in self.kbs):
            return failure(409, "kb_name_taken", f"There is a knowledge base {name} already.")
        self.add_kb(name, body["kind"])
        return success(self.kbs[-1])

    async def delete_kb(self, request: Request) -> Response:
        self.kbs = [kb for kb in self.kbs if kb["id"] != request.path_params["id"]]
        return success({})

    async def upload(self, request: Request) -> Response:
        form = await request.form()
        added: list[Json] = []
        for file in form.getlist("file"):
            assert isinstance(file, UploadFile)
            title = file.filename or ""
            document: Json = {
                "id": self._id("d"),
                "knowledge_base_id": request.path_params["id"],
                "title": title,
                "status": "pending",
                "error": None,
                "chunk_count": 0,
                "tags": [],
                "progress": {"stage": "", "done": 0, "total": 0},
            }
            self.documents[document["id"]] = document
            added.append(document)
        await form.close()
        self._wake()
        return success(added, status=202)

    async def list_documents(self, request: Request) -> Response:
        kb_id = request.path_params["id"]
        tag = request.query_params.get("tag_id")
        found = [
            one
            for one in reversed(self.documents.values())
            if one["knowledge_base_id"] == kb_id and (not tag or tag in [has["id"] for has in one["tags"]])
        ]
        awaited, self.list_after_uploads = len(self.documents) + self.list_after_uploads, 0
        while len(self.documents) < awaited:
            await self._changed.wait()
        return listing(found, request)

    async def one_document(self, request: Request) -> Response:
        document_id = request.path_params["id"]
        if request.method == "DELETE":
            return success(self.documents.pop(document_id))
        return success(self.documents[document_id])

    async def document_events(self, request: Request) -> Response:
        document = self.documents[request.path_params["id"]]
        usual: list[Json] = [
            {"status": "processing", "progress": {"stage": "embed", "done": 1, "total": 3}},
            {"status": "ready", "chunk_count": 3},
        ]

        async def states() -> AsyncIterator[bytes]:
            for state in self.document_states.get(document["title"], usual):
                document.update(state)
                yield frame(document)

        return StreamingResponse(states(), media_type="text/event-stream")

    # --- how it works -----------------------------------------------------------------------

    def app(self) -> Starlette:
        api = [
            Route("/info", self.get_info),
            Route("/sessions", self.list_sessions),
            Route("/sessions", self.create_session, methods=["POST"]),
            Route("/sessions/continue-stream/{id}", self.continue_stream),
            Route("/sessions/{id}", self.one_session, methods=["GET", "PUT", "DELETE"]),
            Route("/sessions/{id}/messages", self.list_messages),
            Route("/sessions/{id}/knowledge-qa", self.ask, methods=["POST"]),
            Route("/sessions/{id}/stop", self.stop, methods=["POST"]),
            Route("/sessions/{id}/pin", self.pin, methods=["PUT"]),
            Route("/sessions/{id}/regenerate", self.regenerate, methods=["POST"]),
            Route("/messages/{id}/feedback", self.rate, methods=["POST", "DELETE"]),
            Route("/runs/{id}/trace", self.trace),
            Route("/runs/{id}/fork", self.fork, methods=["POST"]),
            Route("/runs/{id}/diff", self.diff),
            Route("/knowledge-bases", self.list_kbs),
            Route("/knowledge-bases", self.create_kb, methods=["POST"]),
            Route("/knowledge-bases/{id}", self.delete_kb, methods=["DELETE"]),
            Route("/knowledge-bases/{id}/documents", self.list_documents),
            Route("/knowledge-bases/{id}/documents", self.upload, methods=["POST"]),
            Route("/documents/{id}", self.one_document, methods=["GET", "DELETE"]),
            Route("/documents/{id}/events", self.document_events),
            *self.library.routes(),
        ]
        page = Mount("/", StaticFiles(directory=WEB, html=True))
        app = Starlette(
            routes=[Mount("/api/v1", routes=api), page],
            middleware=[Middleware(Guarded)],
            lifespan=self._lifespan,
        )
        app.state.closing = self._closing
        return app

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncGenerator[None]:
        self._loop = asyncio.get_running_loop()
        yield

    def _start(self, session_id: str, body: Json, *, waits: bool = False) -> Run:
        question = body["query"]
        common: Json = {"request_id": body["request_id"], "knowledge_references": []}
        user: Json = {
            **common,
            "id": self._id("m"),
            "role": "user",
            "content": question,
            "status": "complete",
        }
        message: Json = {
            **common,
            "id": self._id("m"),
            "role": "assistant",
            "content": "",
            "status": "waiting" if waits else "running",
            "run_id": self._id("r"),
        }
        if session_id:  # a fork's messages are no part of a conversation
            self.messages[session_id] += [user, message]
            self.sessions[session_id]["title"] = self.sessions[session_id]["title"] or question[:40]
        events = [an_event("agent_query", question), *self.answers[question]]
        number(events, message)
        happened = len(events) if self.hold_after is None else self.hold_after
        if waits:
            happened = 1
        run = Run(events, happened, session_id, message)
        self.runs[message["id"]] = run
        self._settle(run)
        return run

    def _stop(self, run: Run) -> None:
        run.events = [*run.events[: run.happened], an_event("stop", done=True)]
        number(run.events, run.message)
        run.happened = len(run.events)
        self._settle(run)

    def _settle(self, run: Run) -> None:
        """Once a run is over its message holds what the events told."""
        if not run.over:
            return
        told = run.events[: run.happened]
        end = next(event for event in told if event["done"])
        void = {
            segment
            for event in told
            if event["response_type"] == "reset"
            for segment in event["data"]["segments"]
        }
        run.message["content"] = "".join(
            event["content"]
            for event in told
            if event["response_type"] == "answer" and event["data"]["segment"] not in void
        )
        references = [event for event in told if event["response_type"] == "references"]
        run.message["knowledge_references"] = references[-1]["knowledge_references"] if references else []
        run.message["status"] = {"stop": "stopped", "error": "failed"}.get(end["response_type"], "complete")
        run.message["outcome"] = end["data"].get("outcome")
        run.message["error"] = {"message": end["content"]} if end["response_type"] == "error" else None

    def _stream(self, run: Run, *, after: int) -> Response:
        run.asked.append(after)
        cut = self.cut_after.pop(0) if self.cut_after else None
        return StreamingResponse(self._pieces(run, after, cut), media_type="text/event-stream")

    async def _pieces(self, run: Run, after: int, cut: int | None) -> AsyncIterator[bytes]:
        yield b"retry: 10\n\n: hello\n\n"
        while True:
            while after < run.happened:
                told = frame(run.events[after], number=after + 1)
                size = self.bytes_at_once or len(told)
                for start in range(0, len(told), size):
                    yield told[start : start + size]
                after += 1
                if after == cut:
                    raise ConnectionCut
            if run.over:
                return
            await self._changed.wait()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def _call(self, work: Callable[[], None]) -> None:
        """Do it in the thread of the server, and wait until it is done."""
        assert self._loop
        done = threading.Event()
        self._loop.call_soon_threadsafe(lambda: (work(), done.set()))
        assert done.wait(10)

    def _id(self, kind: str) -> str:
        self._count += 1
        return f"{kind}{self._count}"


def an_event(response_type: str, content: str = "", *, done: bool = False, **more: Any) -> Json:
    top = {name: more.pop(name) for name in ["knowledge_references"] if name in more}
    return {"response_type": response_type, "content": content, "done": done, "data": more, **top}


def a_run(run_id: str, **more: Any) -> Json:
    return {
        "id": run_id,
        "session_id": "s1",
        "message_id": "m1",
        "status": "complete",
        "kept": "all",
        "forked_from": None,
        "fork_stage": None,
        "question": "",
        "outcome": "answered",
        "timing": {"total_ms": 1234},
        "forks": [],
        **more,
    }


def number(events: list[Json], message: Json) -> None:
    for seq, event in enumerate(events, start=1):
        event.update(id=message["request_id"], seq=seq, run_id=message["run_id"])
    events[0]["assistant_message_id"] = message["id"]


class Guarded:
    """Puts the policy of the real server on every answer: the page must work under it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.extra = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_more(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *self.extra]
            await send(message)

        await self.app(scope, receive, send_more)
