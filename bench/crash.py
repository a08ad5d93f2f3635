"""Kill a real server with -9 at random moments and look for anything that was lost, doubled or left in half.

`.venv/bin/python bench/crash.py [--kills 40] [--seed 1] [--keep FOLDER]`. Clients ask, let questions
wait in line, stop, fork, upload, replace, delete and collect what is old all the while, and reconnect after
each start; stand-ins for the chat and embedding models count what they are asked. The next process imports
its modules while the one before it runs. What broke goes to stderr, one JSON document to stdout; exit code 1
if anything did.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from langchain_core.runnables import RunnableConfig
from process import ALONE
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from headrace.checkpoints.journal import open_journal
from headrace.checkpoints.saver import JournalSaver
from headrace.serving import Serving, bind, url_of
from headrace.stores.catalogue import open_catalogue
from headrace.stores.chroma import ChromaVectors
from headrace.stores.tantivy import TantivyKeywords
from headrace.text.tokens import Tokens

API = "/api/v1"
SESSIONS = 4
TITLES = 4
SESSION_LENGTH = 100  # questions: all messages of a session are read back after each
KEPT = "员工手册.md"
# What a kill waits for, and how many seconds after it the kill comes at the latest.
MOMENTS = {
    "started": 3.0,
    "asked": 0.03,
    "query embedded": 0.05,
    "first piece": 0.02,
    "middle piece": 0.2,
    "last piece": 0.03,
    "all said": 0.03,
    "completed": 0.02,
    "question queued": 0.1,
    "fork asked": 0.2,
    "collecting": 0.1,
    "stop asked": 0.3,
    "passages embedded": 0.2,
    "uploaded": 0.1,
    "document deleted": 0.05,
    "knowledge base deleted": 0.05,
}
MOMENT_LIMIT_S = 15.0
# A run that finds itself at the same step after four starts is given up, so now and then all may end.
BREATHER = 3
AUDIT = 12  # kills between two looks into the files
PATIENCE_S = 120.0
SHOWN = 5  # violations of one kind that are printed
IN_LINE = 3  # questions that are asked at once
STAGES = ("load_history", "search_chunks", "rerank", "assemble_context", "generate_answer", "finalize")
RETENTION_DAYS = 0.0002  # a few seconds: what is old is collected while others go on
WORDS = "年休假 应当 在 当年 休完 ， 最多 可 结转 三天 𠮷野家 naïve 👩‍🔬 «да» 。 \n\n 凭 发票 报销 ".split(
    " "
)


@dataclass(slots=True)
class Question:
    """One question, what its client has read so far, and how often each model was asked at which time."""

    number: int
    session: str
    queued: bool = False
    message: str = ""  # of the answer, once known
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    events: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    stopped: str | None = None  # the status that the answer to a stop named
    # Calls counted when the stage's result was first found on the disk after a kill.
    durable: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def text(self) -> str:
        return f"问题{self.number}：年休假最多可以结转几天？"

    @property
    def request_id(self) -> str:
        return f"request-{self.number}"

    @property
    def ended(self) -> bool:
        return bool(self.events) and self.events[-1]["done"]


class Marks:
    """Places that clients and models pass; a kill waits for one of them."""

    def __init__(self) -> None:
        self._waiting: dict[str, asyncio.Event] = defaultdict(asyncio.Event)

    def passed(self, name: str) -> None:
        self._waiting.pop(name, asyncio.Event()).set()

    async def wait(self, name: str) -> bool:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._waiting[name].wait(), MOMENT_LIMIT_S)
            return True
        return False


class Models:
    """Both model servers: answers by the number in the question, vectors by the characters of a text."""

    def __init__(self, marks: Marks) -> None:
        self._marks = marks
        self.calls: Counter[tuple[str, int]] = Counter()
        self.app = Starlette(
            routes=[
                Route("/v1/chat/completions", self._chat, methods=["POST"]),
                Route("/v1/embeddings", self._embed, methods=["POST"]),
            ]
        )

    async def _chat(self, request: Request[Any]) -> Response:
        number = _number((await request.json())["messages"][-1]["content"])
        self.calls["answer", number] += 1
        return StreamingResponse(self._pieces(number), media_type="text/event-stream")

    async def _pieces(self, number: int) -> AsyncGenerator[bytes]:
        pieces = pieces_of(number)
        for place, piece in enumerate(pieces):
            # In two parts, mostly in the middle of a character.
            sent = _chunk(piece)
            cut = sent.index(piece.encode()[:1]) + 1
            yield sent[:cut]
            await asyncio.sleep(0.004)
            yield sent[cut:]
            name = {0: "first piece", len(pieces) // 2: "middle piece", len(pieces) - 1: "last piece"}
            if place in name:
                self._marks.passed(name[place])
        yield _chunk("", finish="stop") + b"data: [DONE]\n\n"
        self._marks.passed("all said")

    async def _embed(self, request: Request[Any]) -> Response:
        texts: list[str] = (await request.json())["input"]
        if len(texts) == 1 and "问题" in texts[0]:
            self.calls["search", _number(texts[0])] += 1
            self._marks.passed("query embedded")
        else:
            self._marks.passed("passages embedded")
        await asyncio.sleep(0.05)
        data = [{"index": place, "embedding": _vector(text)} for place, text in enumerate(texts)]
        return JSONResponse({"data": data})


class Server:
    """The server under test, one process after the other over the same folder."""

    def __init__(self, folder: Path, models: str) -> None:
        self.folder = folder
        self.up = asyncio.Event()
        self.url = ""
        self._process: asyncio.subprocess.Process | None = None
        self._spare: asyncio.subprocess.Process | None = None
        self._ready: asyncio.Task[None] | None = None
        self._environment = (
            os.environ
            | ALONE
            | {
                "HEADRACE_CHAT_BASE_URL": f"{models}/v1",
                "HEADRACE_CHAT_MODEL": "stub",
                "HEADRACE_EMBEDDING_BASE_URL": f"{models}/v1",
                "HEADRACE_EMBEDDING_MODEL": "stub",
                "HEADRACE_ENABLE_REWRITE": "false",
                "HEADRACE_RETENTION_DAYS": str(RETENTION_DAYS),
            }
        )

    async def start(self) -> None:
        self._process, self._spare = self._spare or await self._import(), None
        assert self._process.stdin is not None
        self._process.stdin.write(b"now\n")
        self._ready = asyncio.create_task(self._until_ready(self._process))

    async def _import(self) -> asyncio.subprocess.Process:
        """A process that has all modules and waits for its turn."""
        with (self.folder.parent / "server.log").open("ab") as log:
            return await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", WHEN_TOLD, "--data", self.folder, "serve", "--port", "0"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                env=self._environment,
            )

    async def ready(self) -> None:
        assert self._ready is not None
        await asyncio.wait_for(asyncio.shield(self._ready), PATIENCE_S)
        if not self.up.is_set():
            raise SystemExit("The server did not start again: see server.log (--keep).")

    async def kill(self) -> None:
        await self._end(lambda process: process.kill())

    async def terminate(self) -> int:
        return await self._end(lambda process: process.terminate())

    async def close(self) -> None:
        await self.kill()
        if self._spare is not None:
            self._spare.kill()
            await self._spare.wait()

    async def _end(self, signal: Callable[[asyncio.subprocess.Process], None]) -> int:
        assert self._process is not None
        self.up.clear()
        if self._process.returncode is None:
            signal(self._process)
        code = await asyncio.wait_for(self._process.wait(), PATIENCE_S)
        if self._ready is not None:
            await self._ready
        return code

    async def _until_ready(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            if found := re.search(rb"http://\S+", line):
                self.url = found[0].decode().rstrip("/")
                self.up.set()
                break
        self._spare = self._spare or await self._import()


class Trial:
    """Everything that clients do, what must come of it, and what did not."""

    def __init__(self, server: Server, models: Models, marks: Marks, seed: int) -> None:
        self.server, self.models, self.marks = server, models, marks
        self.random = random.Random(seed)
        self.checked: Counter[str] = Counter()
        self.violations: defaultdict[str, list[str]] = defaultdict(list)
        self.questions: list[Question] = []
        self.kb = ""
        self.passing: list[str] = []
        self.possible: dict[str, set[int | None]] = defaultdict(lambda: {None})  # versions, by title
        self.asking = asyncio.Event()
        self.busy = 0
        self.quiet = asyncio.Condition()
        self._http = httpx.AsyncClient(timeout=30, trust_env=False)
        self._versions = 0

    def check(self, name: str, holds: bool, *what: object) -> None:
        self.checked[name] += 1
        if not holds:
            self.violations[name].append(" ".join(map(str, what))[:1000])
            if len(self.violations[name]) <= SHOWN:
                print(f"BROKEN {name}: {self.violations[name][-1]}", file=sys.stderr)

    async def once(self, method: str, path: str, **given: Any) -> Any:
        """One call, that may be lost in a crash: TransportError."""
        await self.server.up.wait()
        answer = await self._http.request(method, self.server.url + API + path, **given)
        body = answer.json()
        if not body["success"]:
            raise LookupError(f"{method} {path}: {body['error']}")
        return body["data"]

    async def call(self, method: str, path: str, **given: Any) -> Any:
        """As `once`, again after each crash: for what may be done twice."""
        while True:
            try:
                return await self.once(method, path, **given)
            except httpx.TransportError:
                await asyncio.sleep(0.05)

    @contextlib.asynccontextmanager
    async def working(self) -> AsyncGenerator[None]:
        await self.asking.wait()
        self.busy += 1
        try:
            yield
        finally:
            async with self.quiet:
                self.busy -= 1
                self.quiet.notify_all()

    async def rest(self) -> None:
        """Nothing new is begun until all that was begun has ended."""
        self.asking.clear()
        async with self.quiet:
            await asyncio.wait_for(self.quiet.wait_for(lambda: self.busy == 0), PATIENCE_S)

    # --- conversations ---

    async def converse(self) -> None:
        session, asked = "", SESSION_LENGTH
        while True:
            async with self.working():
                if asked >= SESSION_LENGTH:
                    made = await self.call("POST", "/sessions", json={"knowledge_base_ids": [self.kb]})
                    session, asked = made["id"], 0
                line = [self._new_question(session)]
                while self.random.random() < 0.2 and len(line) < IN_LINE:
                    line.append(self._new_question(session, queued=True))
                asked += len(line)
                before = [None, *line]
                async with asyncio.TaskGroup() as asking:
                    for question, earlier in zip(line, before, strict=False):
                        asking.create_task(self._ask(question, earlier))
                for question in line:
                    await self._check_answer(question)
                await self._check_line(line)
                if self.random.random() < 0.3:
                    await self._fork(self.random.choice(line))

    def _new_question(self, session: str, *, queued: bool = False) -> Question:
        question = Question(len(self.questions), session, queued)
        self.questions.append(question)
        return question

    async def _ask(self, question: Question, earlier: Question | None) -> None:
        if earlier is not None:
            await earlier.begun.wait()
        stopping = asyncio.create_task(self._stop_some(question))
        await self._read(question)
        await stopping

    async def _read(self, question: Question) -> None:
        while not question.ended:
            with contextlib.suppress(httpx.TransportError):
                async for event in self._frames(question):
                    self._take(question, event)
            await asyncio.sleep(0.01)

    async def _frames(self, question: Question) -> AsyncIterator[dict[str, Any]]:
        await self.server.up.wait()
        last = len(question.events)
        path = f"{self.server.url}{API}/sessions"
        if question.message:
            address = f"{path}/continue-stream/{question.session}?message_id={question.message}"
            stream = self._http.stream("GET", address, headers={"Last-Event-ID": str(last)})
        else:
            body = {"query": question.text, "request_id": question.request_id}
            body |= {"on_busy": "queue"} if question.queued else {}
            stream = self._http.stream("POST", f"{path}/{question.session}/knowledge-qa", json=body)
            self.marks.passed("question queued" if question.queued else "asked")
        async with stream as response:
            if response.status_code != 200:
                self.check("asked again, the question is answered", False, (await response.aread()).decode())
                await asyncio.sleep(1)
                return
            async for event in _objects(response):
                yield event

    def _take(self, question: Question, event: dict[str, Any]) -> None:
        wanted = len(question.events) + 1
        self.check("no gap, no repeat", event["seq"] == wanted, question.number, "got", event["seq"], wanted)
        question.events.append(event)
        question.message = question.events[0]["assistant_message_id"]
        question.begun.set()
        if event["done"]:
            self.marks.passed("completed")

    async def _stop_some(self, question: Question) -> None:
        if self.random.random() > 0.2:
            return
        await asyncio.sleep(self.random.uniform(0, 0.6))
        if question.events and not question.ended:
            body = {"message_id": question.events[0]["assistant_message_id"]}
            self.marks.passed("stop asked")
            with contextlib.suppress(httpx.TransportError):
                answer = await self.once("POST", f"/sessions/{question.session}/stop", json=body)
                question.stopped = answer["status"]

    async def _check_answer(self, question: Question) -> None:
        events, number = question.events, question.number
        message_id = events[0]["assistant_message_id"]
        messages = await self.call("GET", f"/sessions/{question.session}/messages?page_size=1000")
        found = [one for one in messages if one["id"] == message_id]
        self.check("the answer's message is there, once", len(found) == 1, number, len(messages))
        if not found:
            return
        stored = found[0]
        shown, end = answer_of(events), events[-1]["response_type"]
        whole = "".join(pieces_of(number)).lstrip()
        self.check("one end, the last event", [e["done"] for e in events].count(True) == 1, number)
        self.check("live segments are the stored answer", shown == stored["content"], number, shown, stored)
        self.check("a stop that was confirmed holds", question.stopped != "stopped" or end == "stop", number)
        if question.stopped is None:
            self.check("ends complete", end in ("complete", "stop"), number, events[-1])
        said = shown == whole if end == "complete" else whole.startswith(shown)
        self.check("says what the model said", said, number, end, [shown, whole])
        status = {"complete": "complete", "stop": "stopped"}.get(end)
        self.check("message has the run's status", stored["status"] == status, number, stored["status"], end)
        opened = [e["data"]["tool_call_id"] for e in events if e["response_type"] == "tool_call"]
        closed = [e["data"]["tool_call_id"] for e in events if e["response_type"] == "tool_result"]
        self.check("every call has one result", sorted(opened) == sorted(closed), number)
        after = self.random.randrange(len(events) + 1)
        kept = await self.call("GET", f"/runs/{events[0]['run_id']}/events?after={after}")
        self.check("the log is what was read", kept == events[after:], number, "after", after)
        for stage, calls in question.durable.items():
            now = self.models.calls[stage, number]
            self.check("what is durable is not computed again", now == calls, number, stage, calls, now)

    async def _check_line(self, line: list[Question]) -> None:
        """Questions that waited in line: in the conversation and answered in the order they were asked."""
        if len(line) == 1:
            return
        listed = await self.call("GET", f"/sessions/{line[0].session}/messages?page_size=1000")
        shown = [one["request_id"] for one in listed if one["role"] == "user"][-len(line) :]
        self.check("in line as asked", shown == [one.request_id for one in line], shown)
        answered = [
            one for one in line if one.stopped is None and one.events[-1]["response_type"] == "complete"
        ]
        runs = [await self.call("GET", f"/runs/{one.events[0]['run_id']}") for one in answered]
        ended = [run["ended_at"] for run in runs]
        self.check("answered in line", ended == sorted(ended), [one.number for one in answered], ended)

    async def _fork(self, question: Question) -> None:
        """Once or not at all; it ends, says what the model said, and its origin stays as it was."""
        if question.events[-1]["response_type"] != "complete":
            return
        origin = f"/runs/{question.events[0]['run_id']}"
        body = {"from": self.random.choice(STAGES), "settings": {"rerank_top_k": self.random.randrange(1, 9)}}
        asking = asyncio.create_task(self.once("POST", f"{origin}/fork", json=body))
        self.marks.passed("fork asked")
        made: list[str] = []
        with contextlib.suppress(httpx.TransportError):
            try:
                made = [(await asking)["run_id"]]
            except LookupError as refused:
                # Its stages may be old enough to have been collected.
                self.check("a fork that is refused is too late", "checkpoint_gone" in str(refused), refused)
        forks = (await self.call("GET", origin))["forks"]
        self.check("a fork is made once or not at all", made in ([], forks) and len(forks) < 2, made, forks)
        for run_id in forks:
            run = await self.call("GET", f"/runs/{run_id}")
            fork = Question(question.number, question.session, message=run["message_id"])
            await asyncio.wait_for(self._read(fork), PATIENCE_S)
            run = await self.call("GET", f"/runs/{run_id}")
            shown, end = answer_of(fork.events), fork.events[-1]["response_type"]
            whole = "".join(pieces_of(question.number)).lstrip()
            self.check("a fork ends complete", (end, run["status"]) == ("complete", "complete"), body, run)
            self.check("a fork says what the model said", shown == run["answer"] == whole, body, shown, whole)
        kept = await self.call("GET", f"{origin}/events")
        self.check("a fork leaves its origin alone", kept == question.events, question.number, body)

    # --- what is old ---

    async def keeper(self) -> None:
        while True:
            async with self.working():
                collecting = asyncio.create_task(self.once("POST", "/gc", json={}))
                self.marks.passed("collecting")
                with contextlib.suppress(httpx.TransportError):
                    self.checked["runs that lost their stages"] += (await collecting)["runs_trimmed"]
                if ended := [question for question in self.questions if question.ended]:
                    old = self.random.choice(ended)
                    kept = await self.call("GET", f"/runs/{old.events[0]['run_id']}/events")
                    self.check("what is collected leaves the events", kept == old.events, old.number)
            await asyncio.sleep(self.random.uniform(0.5, 2))

    # --- documents ---

    async def librarian(self) -> None:
        while True:
            async with self.working():
                with contextlib.suppress(httpx.TransportError):
                    await self.random.choice(
                        [self._put, self._put, self._put, self._put_many, self._delete, self._passing_kb]
                    )()
            await asyncio.sleep(self.random.uniform(0, 0.3))

    async def prepare(self) -> None:
        """A knowledge base with a document that stays, so that there is always something to find."""
        self.kb = (await self.once("POST", "/knowledge-bases", json={"name": "文档"}))["id"]
        path = f"/knowledge-bases/{self.kb}/documents"
        [document] = await self.once("POST", path, files={"file": (KEPT, text_of(KEPT, 0).encode())})
        self.possible[KEPT] = {0}
        await self._settled(document["id"])

    async def _put(self, *, waits: bool | None = None) -> None:
        title = f"文档{self.random.randrange(TITLES)}.md"
        self._versions += 1
        version = self._versions
        self.possible[title] |= {version}
        self.marks.passed("uploaded")
        path = f"/knowledge-bases/{self.kb}/documents"
        [document] = await self.once("POST", path, files={"file": (title, text_of(title, version).encode())})
        self.possible[title] = {version}
        if waits or (waits is None and self.random.random() < 0.5):
            await self._settled(document["id"])

    async def _put_many(self) -> None:
        for _ in range(3):
            await self._put(waits=False)

    async def _delete(self) -> None:
        listed = await self.once("GET", f"/knowledge-bases/{self.kb}/documents?page_size=100")
        if documents := [one for one in listed if one["title"] != KEPT]:
            document = self.random.choice(documents)
            self.possible[document["title"]] |= {None}
            self.marks.passed("document deleted")
            await self.once("DELETE", f"/documents/{document['id']}")
            self.possible[document["title"]] = {None}

    async def _passing_kb(self) -> None:
        """A knowledge base that is filled and deleted: it must be there whole or not at all."""
        self._versions += 1
        name = f"临时{self._versions}"
        kb = (await self.once("POST", "/knowledge-bases", json={"name": name}))["id"]
        self.passing.append(kb)
        path = f"/knowledge-bases/{kb}/documents"
        for number in range(3):
            [document] = await self.once("POST", path, files={"file": (f"{number}.md", f"{name} {number}")})
            await self._settled(document["id"])
        deleting = asyncio.create_task(self.once("DELETE", f"/knowledge-bases/{kb}"))
        self.marks.passed("knowledge base deleted")
        try:
            await deleting
        except httpx.TransportError:
            left = [one["id"] for one in await self.call("GET", "/knowledge-bases?page_size=1000")]
            documents: list[Any] = await self.call("GET", path) if kb in left else []
            whole = [one["status"] for one in documents] == ["ready"] * 3
            self.check("a knowledge base is whole or gone", kb not in left or whole, name, documents)

    async def _settled(self, document_id: str) -> None:
        while True:
            document = await self.once("GET", f"/documents/{document_id}")
            if document["status"] in ("ready", "failed"):
                self.check("documents become ready", document["status"] == "ready", document)
                return
            await asyncio.sleep(0.05)

    async def check_library(self) -> None:
        """Nothing goes on: every document is there in one version, whole."""
        # One more document is worked on after whatever the start has to clear.
        await self._put(waits=True)
        documents = await self.call("GET", f"/knowledge-bases/{self.kb}/documents?page_size=100")
        found: dict[str, int | None] = dict.fromkeys(self.possible)
        self.check("one document per title", len(documents) == len({one["title"] for one in documents}))
        for document in documents:
            await asyncio.wait_for(self._settled(document["id"]), PATIENCE_S)
            chunks = await self.call("GET", f"/documents/{document['id']}/chunks?page_size=1000")
            read = {(int(v), int(s)) for one in chunks for v, s in SECTION.findall(one["content"])}
            [version, *others] = sorted({v for v, _ in read}) or [-1]
            whole = {(int(v), int(s)) for v, s in SECTION.findall(text_of(document["title"], version))}
            self.check("a document is one version, whole", not others and read == whole, document, read)
            found[document["title"]] = version
        for title, version in found.items():
            possible = self.possible[title]
            self.check("a confirmed change stays", version in possible, title, version, possible)
            self.possible[title] = {version}


# --- what the files say, while nobody serves them ---


async def note_durable(trial: Trial, folder: Path) -> None:
    """After a kill: which results are on the disk, and how often their model had been asked by then."""
    open_ones = [question for question in trial.questions if not question.ended and question.events]
    async with open_journal(folder / "journal.sqlite") as journal:
        saver = JournalSaver(journal)
        for question in open_ones:
            thread = question.events[0]["run_id"]
            found = await saver.aget_tuple(RunnableConfig(configurable={"thread_id": thread}))
            if found is None:
                continue
            channels = {*found.checkpoint["channel_values"], *(w[1] for w in found.pending_writes or [])}
            for stage, channel in {"search": "chunk_hits", "answer": "answer"}.items():
                if channel in channels:
                    calls = trial.models.calls[stage, question.number]
                    trial.checked[f"kills that found {stage} on the disk"] += 1
                    question.durable.setdefault(stage, calls)


async def audit(trial: Trial, folder: Path) -> None:
    """Catalogue, vectors, keywords and originals agree; the checkpoints hold the answers that were shown."""
    vectors = ChromaVectors(folder / "chroma")
    keywords = TantivyKeywords(folder / "keywords", Tokens())
    async with open_catalogue(folder / "catalogue.sqlite") as catalogue:
        kbs, _ = await catalogue.list_kbs(page_size=10_000)
        for kb in kbs:
            known = await catalogue.chunk_ids(kb.id)
            trial.check("vectors agree", await vectors.ids(kb.id, kb.embedding_model) == known, kb.name)
            trial.check("keywords agree", await keywords.ids(kb.id) == known, kb.name)
        for gone in {*trial.passing} - {kb.id for kb in kbs}:
            left = await vectors.ids(gone, kbs[0].embedding_model) | await keywords.ids(gone)
            trial.check("nothing indexed without a knowledge base", not left, gone, left)
        originals = {path.name for path in (folder / "files").glob("??/*")}
        used = await catalogue.files_in_use(originals)
        trial.check("no unused originals", used == originals, originals - used)
    await vectors.close()
    async with open_journal(folder / "journal.sqlite") as journal:
        saver = JournalSaver(journal)
        for question in trial.questions:
            if question.ended and question.events[-1]["response_type"] == "complete":
                config = RunnableConfig(configurable={"thread_id": question.events[0]["run_id"]})
                found = await saver.aget_tuple(config)
                answer = found.checkpoint["channel_values"].get("answer") if found else None
                same = answer == answer_of(question.events)
                trial.check("the checkpoint holds the answer", same, question.number)
        rows = await journal.read(
            lambda db: db.execute(
                "select session_id, request_id, role, count(*) from messages "
                "where not forked group by 1, 2, 3"
            ).fetchall()
        )
    asked = {(question.session, question.request_id) for question in trial.questions}
    trial.check("one message of each side per turn", all(row[3] == 1 for row in rows), rows)
    trial.check("no turn without a question", {(row[0], row[1]) for row in rows} == asked)
    trial.check("both sides of every turn", len(rows) == 2 * len(asked))


# --- the course of it ---


async def kill_at(trial: Trial, moment: str) -> str:
    """Wait for the moment and a little longer, then kill. Returns where it hit."""
    server = trial.server
    if moment != "started":
        await server.ready()
        if not await trial.marks.wait(moment):
            moment = "whenever"
    await asyncio.sleep(trial.random.uniform(0, MOMENTS.get(moment, 1.0)))
    await server.kill()
    return moment


async def run(folder: Path, *, kills: int, seed: int) -> dict[str, Any]:
    marks = Marks()
    models = Models(marks)
    with contextlib.closing(bind("127.0.0.1", 0)) as sock:
        models_open = asyncio.Event()
        serving = Serving(models.app, sock, on_ready=models_open.set)
        models.app.state.closing = asyncio.Event()
        serving_task = asyncio.create_task(serving.run_app())
        await models_open.wait()
        server = Server(folder, url_of("127.0.0.1", sock.getsockname()[1]))
        trial = Trial(server, models, marks, seed)
        await server.start()
        await trial.prepare()
        clients = [asyncio.create_task(trial.converse()) for _ in range(SESSIONS)]
        clients.append(asyncio.create_task(trial.librarian()))
        clients.append(asyncio.create_task(trial.keeper()))
        try:
            hit = await _kill_again_and_again(trial, kills, clients)
        finally:
            for client in clients:
                client.cancel()
            await asyncio.gather(*clients, return_exceptions=True)
            await server.close()
            serving.should_exit = True
            await serving_task
    return {
        "kills": sum(hit.values()),
        "seed": seed,
        "moments": dict(hit),
        "questions": len(trial.questions),
        "ends": Counter(question.events[-1]["response_type"] for question in trial.questions),
        "resets": sum(e["response_type"] == "reset" for q in trial.questions for e in q.events),
        "events": sum(len(question.events) for question in trial.questions),
        "checked": dict(trial.checked),
        "violations": {name: len(found) for name, found in trial.violations.items()},
    }


async def _kill_again_and_again(trial: Trial, kills: int, clients: list[asyncio.Task[None]]) -> Counter[str]:
    server, hit = trial.server, Counter[str]()
    for number in range(1, kills + 1):
        trial.asking.set()
        hit[await kill_at(trial, trial.random.choice([*MOMENTS]))] += 1
        await note_durable(trial, server.folder)
        await server.start()
        if number % BREATHER == 0 or number == kills:
            await server.ready()
            await trial.rest()
        if number % AUDIT == 0 or number == kills:
            await trial.check_library()
            trial.check("SIGTERM is exit code 0", await server.terminate() == 0)
            await audit(trial, server.folder)
            await server.start()
            print(f"{number} kills, {sum(map(len, trial.violations.values()))} violations", file=sys.stderr)
        for broken in [client for client in clients if client.done()]:
            broken.result()
    return hit


# --- small things ---

WHEN_TOLD = """
import sys
import langchain_openai, tiktoken, headrace.server
from headrace.cli import main
sys.stdin.readline() or sys.exit()
sys.exit(main(sys.argv[1:]))
"""

SECTION = re.compile(r"版本(\d+)第(\d+)节")


def text_of(title: str, version: int) -> str:
    """Several chunks, each of which says which version it is from."""
    sections = [
        f"## {title} 版本{version}第{number}节\n\n" + f"版本{version}第{number}节规定年休假最多可结转。" * 12
        for number in range(3 + version % 4)
    ]
    return "\n\n".join(sections)


def pieces_of(number: int) -> list[str]:
    chosen = random.Random(number)
    return [chosen.choice(WORDS) or "。" for _ in range(chosen.randrange(20, 60))]


def answer_of(events: list[dict[str, Any]]) -> str:
    """What a client that obeys `reset` shows."""
    void = {s for event in events if event["response_type"] == "reset" for s in event["data"]["segments"]}
    answers = [event for event in events if event["response_type"] == "answer"]
    return "".join(event["content"] for event in answers if event["data"]["segment"] not in void)


async def _objects(response: httpx.Response) -> AsyncIterator[dict[str, Any]]:
    rest = b""
    async for piece in response.aiter_raw():
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            if line.startswith(b"data: "):
                yield json.loads(line[6:])


def _number(text: str) -> int:
    found = re.findall(r"问题(\d+)", text)
    return int(found[-1]) if found else -1


def _vector(text: str) -> list[float]:
    vector = [0.01] * 16
    for character in text:
        vector[ord(character) % 16] += 1.0
    return vector


def _chunk(content: str, *, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": {"role": "assistant", "content": content}, "finish_reason": finish}
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "stub", "choices": [choice]}
    return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="work in this folder and leave it for a look")
    options = parser.parse_args()
    if options.kills < 1:
        parser.error("--kills must be at least 1")
    with contextlib.ExitStack() as opened:
        scratch = options.keep or Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="headrace-")))
        scratch.mkdir(parents=True, exist_ok=True)
        result = asyncio.run(run(scratch / "data", kills=options.kills, seed=options.seed))
    print(json.dumps(result, ensure_ascii=False, indent=1))
    sys.exit(1 if result["violations"] else 0)


if __name__ == "__main__":
    main()
