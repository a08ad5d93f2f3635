"""The command line: every command talks HTTP to the server that owns the data folder.

Exit codes: 0 right, 1 failed, 2 wrong use, 3 nothing found or declined, 130 interrupted.
"""

import argparse
import json
import os
import re
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from . import environment  # noqa: F401  # pyright: ignore[reportUnusedImport]  # before the libraries that read it
from .api.cleaning import without_controls
from .client import API, Client, files_below, reach
from .doctor import examine, lines
from .errors import HeadraceError
from .settings import Settings, load_settings
from .terminal import CitedText, source_line, sources

if TYPE_CHECKING:
    from rich.console import Console

MAX_SPEED = 1000  # of a replay, as the server's schema says
OK, FAILED, WRONG_USE, NOTHING, INTERRUPTED = 0, 1, 2, 3, 130
EXAMPLES = Path(__file__).parent / "examples"
SAMPLES_KB = "samples"
SAMPLES_SESSION = "示例 · Samples"
SNIPPET = 200
EXTRACTIVE = (
    "No chat model is configured: answers quote your documents word for word. "
    "`headrace doctor` says how to add a model."
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # pyright: ignore[reportAttributeAccessIssue]
    arguments = _parser().parse_args(argv)
    try:
        settings = load_settings(
            data=getattr(arguments, "data", None),
            config=getattr(arguments, "config", None),
            host=getattr(arguments, "host", None),
            port=getattr(arguments, "port", None),
        )
        return arguments.command(settings, arguments)
    except HeadraceError as error:
        _tell(f"headrace: {error.message}")
        if getattr(arguments, "json", False):
            _print_json({"error": {"code": error.code, "message": error.message}})
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output left (`headrace search … | head`): nothing more to say, also not at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


# --- serve ------------------------------------------------------------------------------------


def serve_command(settings: Settings, arguments: argparse.Namespace) -> int:
    from .server import serve

    def on_ready(url: str) -> None:
        # Beside the server: it answers the requests that the announcement makes.
        threading.Thread(target=_announce, args=(url, arguments.samples), daemon=True).start()

    number = serve(settings, on_ready=on_ready)
    return INTERRUPTED if number == signal.SIGINT else OK


def _announce(url: str, with_samples: bool) -> None:
    client = Client(url)
    try:
        question = _prepare_samples(client) if with_samples else None
        chat = client.call("GET", "/info")["chat"]
    except HeadraceError as error:
        _tell(f"headrace: {error.message}")
        return
    finally:
        client.close()
    print(f"\nheadrace is ready: {url}/")
    print(f"Answers by {chat['model']}." if chat["generates"] else EXTRACTIVE)
    if question:
        print(f"Ask in another terminal:\n\n{question}")
    print(flush=True)


def _prepare_samples(client: Client) -> str:
    """Index the sample documents the first time; returns a command that asks about them."""
    kbs = [kb for kb in client.all("/knowledge-bases", search=SAMPLES_KB) if kb["name"] == SAMPLES_KB]
    kb = kbs[0] if kbs else _new_kb(client, SAMPLES_KB)
    if not kb["document_count"]:
        _tell("Indexing the sample documents, once …")
        _ingest(client, kb["id"], files_below([EXAMPLES / "documents"]))
    sessions = client.all("/sessions", search=SAMPLES_SESSION)
    session = next((one for one in sessions if one["knowledge_base_ids"] == [kb["id"]]), None) or client.call(
        "POST", "/sessions", json={"title": SAMPLES_SESSION, "knowledge_base_ids": [kb["id"]]}
    )
    body = json.dumps({"query": _sample_question()}, ensure_ascii=False)
    address = f"{client.url}{API}/sessions/{session['id']}/knowledge-qa"
    return f"  curl -N {address} -H 'Content-Type: application/json' -d {shlex.quote(body)}"


def _sample_question() -> str:
    lines = (EXAMPLES / "questions.jsonl").read_text("utf-8").splitlines()
    return next(question["question"] for question in map(json.loads, lines) if question["lang"] == "zh")


# --- ingest -----------------------------------------------------------------------------------


def ingest_command(settings: Settings, arguments: argparse.Namespace) -> int:
    missing = [path for path in arguments.paths if not path.exists()]
    if missing:
        raise HeadraceError(f"There is no file or folder {', '.join(map(str, missing))}.")
    files = files_below(arguments.paths)
    if not files:
        raise HeadraceError("There are no files in what you named.")
    with reach(settings) as client:
        kb = _kb_for_ingest(client, arguments.kb)
        documents, refused = _ingest(client, kb["id"], files)
    failed = [one for one in documents if one["status"] != "ready"]
    if arguments.json:
        _print_json({"knowledge_base_id": kb["id"], "documents": documents, "refused": refused})
    else:
        chunks = sum(one["chunk_count"] for one in documents)
        print(
            f"{len(documents) - len(failed)} of {len(files)} files are ready in {kb['name']!r}, "
            f"{chunks} passages in all."
        )
    return FAILED if failed or refused else OK


def _kb_for_ingest(client: Client, name: str) -> dict[str, Any]:
    kbs = [kb for kb in client.all("/knowledge-bases") if kb["name"].casefold() == name.strip().casefold()]
    return kbs[0] if kbs else _new_kb(client, name)


def _new_kb(client: Client, name: str) -> dict[str, Any]:
    return client.call("POST", "/knowledge-bases", json={"name": name})


def _ingest(
    client: Client, kb_id: str, files: Sequence[Path]
) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """Upload, then follow until every document is ready or has failed: (documents, refused files)."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
    )
    documents: list[dict[str, Any]] = []
    refused: list[dict[str, str]] = []
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        bar = progress.add_task("uploading", total=2 * len(files))
        for file in files:
            progress.update(bar, description=f"uploading {file.name}")
            try:
                with file.open("rb") as content:
                    documents += client.call(
                        "POST", f"/knowledge-bases/{kb_id}/documents", files={"file": (file.name, content)}
                    )
            except (HeadraceError, OSError) as error:
                reason = error.message if isinstance(error, HeadraceError) else str(error.strerror)
                refused.append({"file": str(file), "reason": reason})
                _print_line(console, f"refused {file}: {reason}")
            progress.advance(bar)
        for number, document in enumerate(documents):
            documents[number] = _followed(
                client, document, lambda text: progress.update(bar, description=text)
            )
            if documents[number]["status"] == "failed":
                _print_line(console, f"failed {document['title']}: {documents[number]['error']}")
            progress.advance(bar)
    return documents, refused


def _print_line(console: "Console", text: str) -> None:
    # Above the bar, and one line however long: whoever reads it may be a program.
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _followed(client: Client, document: dict[str, Any], tell: Callable[[str], object]) -> dict[str, Any]:
    for state in client.events("GET", f"/documents/{document['id']}/events"):
        document = state
        progress = state["progress"]
        tell(f"{state['title']}: {progress['stage']} {progress['done']}/{progress['total']}")
    return document


# --- ask --------------------------------------------------------------------------------------


def ask_command(settings: Settings, arguments: argparse.Namespace) -> int:
    if not arguments.kb and not arguments.session:
        _tell("headrace: Name a knowledge base with --kb NAME, or go on in a session with --session ID.")
        return WRONG_USE
    with reach(settings) as client:
        # Given to a new session, which then keeps it; to an old one only for this question.
        scope = {"knowledge_base_ids": [client.kb_named(arguments.kb)["id"]]} if arguments.kb else {}
        session_id = arguments.session or client.call("POST", "/sessions", json=scope)["id"]
        body = {"query": arguments.question, **scope}
        generates = client.call("GET", "/info")["chat"]["generates"]
        if not generates:
            _tell(EXTRACTIVE)
        answer = _Answer(live=not arguments.json and sys.stdout.isatty())
        try:
            for event in client.events("POST", f"/sessions/{session_id}/knowledge-qa", json=body):
                answer.take(event)
        except KeyboardInterrupt:
            if answer.message_id:
                client.call("POST", f"/sessions/{session_id}/stop", json={"message_id": answer.message_id})
            raise
    if arguments.json:
        _print_json(answer.report(session_id, generates=generates))
    else:
        answer.finish()
        data = f" --data {shlex.quote(str(arguments.data))}" if hasattr(arguments, "data") else ""
        _tell(f"To go on: headrace{data} ask --session {session_id} …")
    return answer.exit_code


class _Answer:
    """What an event stream has told so far; on a terminal it is shown as it comes (`live`)."""

    def __init__(self, *, live: bool) -> None:
        self._live = live
        self._pieces: dict[int, str] = {}
        self._cited = CitedText()
        self._references: list[dict[str, Any]] = []
        self._warnings: list[str] = []
        self._end: dict[str, Any] = {}
        self._run_id = ""
        self.message_id = ""

    def take(self, event: Mapping[str, Any]) -> None:
        match event["response_type"]:
            case "agent_query":
                self.message_id, self._run_id = event["assistant_message_id"], event["run_id"]
            case "answer":
                segment = event["data"]["segment"]
                self._pieces[segment] = self._pieces.get(segment, "") + event["content"]
                self._show(self._cited.feed(event["content"]))
            case "reset":
                self._start_over(event["data"]["segments"])
            case "references":
                self._references = event["knowledge_references"]
            case "warning":
                self._warnings.append(event["content"])
                _tell(f"headrace: {event['content']}")
            case "complete" | "error" | "stop":
                self._end = dict(event)
            case _:
                pass

    @property
    def exit_code(self) -> int:
        if self._end.get("response_type") != "complete":
            return FAILED
        return NOTHING if self._end["data"].get("outcome") in ("declined", "fallback") else OK

    def finish(self) -> None:
        """Print what a live answer has not shown yet, then its sources."""
        if self._live:
            print(self._cited.close())
        elif self._pieces:
            print(self._text())
        listed = sources(self._cited.cited, self._references)
        if listed:
            print()
        for source in listed:
            print(source_line(source))
        self._tell_end()

    def report(self, session_id: str, *, generates: bool) -> dict[str, Any]:
        """The one JSON document of `--json`."""
        text = self._text()
        self._tell_end()
        data = self._end.get("data", {})
        failed = self._end.get("response_type") != "complete"
        return {
            "session_id": session_id,
            "message_id": self.message_id,
            "run_id": self._run_id,
            "outcome": data.get("outcome"),
            "answer": "".join(self._pieces.values()),
            "text": text,
            "sources": sources(self._cited.cited, self._references),
            "knowledge_references": self._references,
            "generated": generates,
            "model": data.get("model"),
            "timing": data.get("timing"),
            "usage": data.get("usage"),
            "warnings": self._warnings,
            "error": {"code": data.get("code"), "message": self._end.get("content")} if failed else None,
        }

    def _text(self) -> str:
        self._cited = CitedText()
        return self._cited.feed("".join(self._pieces.values())) + self._cited.close()

    def _show(self, text: str) -> None:
        if self._live:
            print(text, end="", flush=True)

    def _start_over(self, segments: Sequence[int]) -> None:
        shown = any(self._pieces.pop(segment, "") for segment in segments)
        self._cited = CitedText()
        if shown and self._live:
            print(flush=True)
            _tell("(interrupted; the answer starts over)")

    def _tell_end(self) -> None:
        match self._end.get("response_type"):
            case "complete":
                pass
            case "error":
                _tell(f"headrace: {self._end['content']}")
            case "stop":
                _tell("headrace: the answer was stopped.")
            case _:
                _tell("headrace: the server closed before the answer was complete; it goes on at its start.")


# --- replay -----------------------------------------------------------------------------------


def replay_command(settings: Settings, arguments: argparse.Namespace) -> int:
    """Exit code 0 once all is told, however the run itself has ended."""
    events: list[dict[str, Any]] = []
    answer = _Answer(live=not arguments.json and sys.stdout.isatty())
    with reach(settings) as client:
        path = f"/runs/{quote(arguments.run, safe='')}/replay"
        for event in client.events("POST", path, json={"speed": arguments.speed}):
            events.append(event)
            if not arguments.json:
                answer.take(event)
    if not any(event["done"] for event in events):
        raise HeadraceError("The server closed before the whole run was told; replay it again.")
    if arguments.json:
        _print_json({"run_id": arguments.run, "events": events})
    else:
        answer.finish()
    return OK


# --- search -----------------------------------------------------------------------------------


def search_command(settings: Settings, arguments: argparse.Namespace) -> int:
    with reach(settings) as client:
        body = {"query": arguments.question, "knowledge_base_ids": [client.kb_named(arguments.kb)["id"]]}
        if arguments.top_k is not None:
            body["top_k"] = arguments.top_k
        found = client.call("POST", "/search", json=body)
    if arguments.json:
        _print_json(found)
    else:
        for number, reference in enumerate(found["knowledge_references"], 1):
            _print_reference(number, reference)
    if not found["knowledge_references"]:
        _tell("Nothing found.")
        return NOTHING
    return OK


def _print_reference(number: int, reference: Mapping[str, Any]) -> None:
    named = {**reference, "number": number, "title": reference["knowledge_title"]}
    print(f"{source_line(named)}  ({reference['score']:.2f})")
    text = " ".join(CitedText().feed(reference["content"]).split())
    print(f"    {text[:SNIPPET]}{'…' if len(text) > SNIPPET else ''}")


# --- doctor -----------------------------------------------------------------------------------


def doctor_command(settings: Settings, arguments: argparse.Namespace) -> int:
    findings = examine(settings)
    if arguments.json:
        _print_json({"findings": [one.as_dict() for one in findings]})
    else:
        print("\n".join(lines(findings)))
    return FAILED if any(one.state == "broken" for one in findings) else OK


# --- arguments --------------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    # Before and after the command; SUPPRESS keeps the second from resetting the first.
    everywhere = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    everywhere.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="data folder (default ~/.local/share/headrace, or HEADRACE_DATA)",
    )
    everywhere.add_argument(
        "--config", type=Path, metavar="FILE", help="settings (default headrace.toml in the data folder)"
    )
    parser = argparse.ArgumentParser(
        prog="headrace", description="Ask your own documents.", parents=[everywhere]
    )
    parser.add_argument("--version", action="version", version=f"headrace {version('headrace')}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Any, help: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=help, description=help, parents=[everywhere])
        sub.set_defaults(command=run)
        return sub

    serve = command("serve", serve_command, "serve the page and the API")
    serve.add_argument("--host", help="address to bind to (default 127.0.0.1)")
    serve.add_argument("--port", type=_whole(0, 65535), help="port (default 8000)")
    serve.add_argument(
        "--samples", action="store_true", help="index the sample documents if that is not done yet"
    )

    ingest = command("ingest", ingest_command, "add files and folders to a knowledge base")
    ingest.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    ingest.add_argument(
        "--kb", required=True, type=_filled, metavar="NAME", help="made if there is none of that name"
    )
    ingest.add_argument("--json", action="store_true", help="print one JSON document")

    ask = command("ask", ask_command, "ask a question")
    ask.add_argument("question", type=_filled)
    ask.add_argument("--kb", metavar="NAME", help="knowledge base to ask")
    ask.add_argument("--session", metavar="ID", help="go on in this session")
    ask.add_argument("--json", action="store_true", help="print one JSON document")

    replay = command("replay", replay_command, "tell a recorded run again, without asking any model")
    replay.add_argument("run", type=_filled, metavar="RUN", help="id of the run, from `ask --json`")
    replay.add_argument(
        "--speed",
        type=_whole(0, MAX_SPEED),
        default=0,
        metavar="N",
        help="0 at once (default), 1 at the recorded pace, N so many times faster",
    )
    replay.add_argument("--json", action="store_true", help="print one JSON document with the events")

    search = command("search", search_command, "find passages, without an answer")
    search.add_argument("question", type=_filled)
    search.add_argument("--kb", required=True, metavar="NAME", help="knowledge base to search")
    search.add_argument("--top-k", type=_whole(1, 100), metavar="N", help="how many (default 10)")
    search.add_argument("--json", action="store_true", help="print one JSON document")

    doctor = command("doctor", doctor_command, "say what is configured, what is missing, how to get it")
    doctor.add_argument("--json", action="store_true", help="print one JSON document")
    return parser


def _filled(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("it is empty")
    return text


def _whole(least: int, most: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,9}", text) or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {least} to {most}")
        return int(text)

    return number


def _print_json(document: object) -> None:
    print(json.dumps(document, ensure_ascii=False, indent=2))


def _tell(text: str) -> None:
    # Some of it is a model server's: it must not be able to steer the terminal.
    print(without_controls(text), file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
