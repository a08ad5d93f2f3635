"""`headrace serve`: the page and the API, with the sample documents if asked for."""

import argparse
import json
import shlex
import signal
import threading
from pathlib import Path

from ..client import API, Client, files_below
from ..errors import HeadraceError
from ..settings import Settings
from .arguments import Commands, whole
from .ingest import new_kb, upload
from .output import EXTRACTIVE, INTERRUPTED, OK, tell

EXAMPLES = Path(__file__).parents[1] / "examples"
SAMPLES_KB = "samples"
SAMPLES_SESSION = "示例 · Samples"


def add_to(commands: Commands) -> None:
    serve = commands.add("serve", serve_command, "serve the page and the API")
    serve.add_argument("--host", help="address to bind to (default 127.0.0.1)")
    serve.add_argument("--port", type=whole(0, 65535), help="port (default 8000)")
    serve.add_argument(
        "--samples", action="store_true", help="index the sample documents if that is not done yet"
    )


def serve_command(settings: Settings, arguments: argparse.Namespace) -> int:
    from ..server import serve

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
        tell(f"headrace: {error.message}")
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
    kb = kbs[0] if kbs else new_kb(client, SAMPLES_KB)
    if not kb["document_count"]:
        tell("Indexing the sample documents, once …")
        upload(client, kb["id"], files_below([EXAMPLES / "documents"]))
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
