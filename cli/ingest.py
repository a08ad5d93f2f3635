"""`headrace ingest`: files and folders into a knowledge base, followed until they can be found."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..client import Client, files_below, reach
from ..errors import HeadraceError
from ..settings import Settings
from ..terminal import harmless
from .arguments import Commands, filled
from .output import FAILED, OK, print_json

if TYPE_CHECKING:
    from rich.console import Console


def add_to(commands: Commands) -> None:
    ingest = commands.add(
        "ingest", ingest_command, "add files and folders to a knowledge base", json="print one JSON document"
    )
    ingest.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    ingest.add_argument(
        "--kb", required=True, type=filled, metavar="NAME", help="made if there is none of that name"
    )


def ingest_command(settings: Settings, arguments: argparse.Namespace) -> int:
    missing = [path for path in arguments.paths if not path.exists()]
    if missing:
        raise HeadraceError(f"There is no file or folder {', '.join(map(str, missing))}.")
    files = files_below(arguments.paths)
    if not files:
        raise HeadraceError("There are no files in what you named.")
    with reach(settings) as client:
        kb = _kb_for_ingest(client, arguments.kb)
        documents, refused = upload(client, kb["id"], files)
    failed = [one for one in documents if one["status"] != "ready"]
    if arguments.json:
        print_json({"knowledge_base_id": kb["id"], "documents": documents, "refused": refused})
    else:
        chunks = sum(one["chunk_count"] for one in documents)
        print(
            f"{len(documents) - len(failed)} of {len(files)} files are ready in {kb['name']!r}, "
            f"{chunks} passages in all."
        )
    return FAILED if failed or refused else OK


def _kb_for_ingest(client: Client, name: str) -> dict[str, Any]:
    return client.kb_there(name) or new_kb(client, name)


def new_kb(client: Client, name: str) -> dict[str, Any]:
    return client.call("POST", "/knowledge-bases", json={"name": name})


def upload(
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
            progress.update(bar, description=harmless(f"uploading {file.name}"))
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
                client, document, lambda text: progress.update(bar, description=harmless(text))
            )
            if documents[number]["status"] == "failed":
                _print_line(console, f"failed {document['title']}: {documents[number]['error']}")
            progress.advance(bar)
    return documents, refused


def _print_line(console: "Console", text: str) -> None:
    # Above the bar, and one line however long: whoever reads it may be a program.
    console.print(harmless(text), markup=False, highlight=False, soft_wrap=True)


def _followed(client: Client, document: dict[str, Any], tell: Callable[[str], object]) -> dict[str, Any]:
    for state in client.events("GET", f"/documents/{document['id']}/events"):
        document = state
        progress = state["progress"]
        tell(f"{state['title']}: {progress['stage']} {progress['done']}/{progress['total']}")
    return document
