"""`headrace gc`, `headrace erase` and `headrace cache`: giving back what is not needed, or not wanted."""

import argparse
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from rich.filesize import decimal

from ..client import Client, reach
from ..settings import Settings
from .arguments import Commands, filled
from .consent import add_yes, agreed, require_yes
from .output import FAILED, OK, print_json, tell
from .screen import line

# Both rewrite what may be gigabytes, and answer when that is done.
PATIENCE_S = 3600.0


def add_to(commands: Commands) -> None:
    gc = commands.add(
        "gc",
        gc_command,
        "remove what is older than retention_days or over the size limit",
        json="print one JSON document",
    )
    gc.add_argument("--dry-run", action="store_true", help="only say what would be removed")
    erase = commands.add(
        "erase",
        erase_command,
        "remove every text of a session or a document, from its runs and indexes too",
        json="print one JSON document",
    )
    cache = commands.group("cache", "what a running server keeps so as not to compute it again")
    cache.add("clear", clear_command, "forget all of it", json="print one JSON document")
    subject = erase.add_mutually_exclusive_group(required=True)
    subject.add_argument(
        "--session", type=filled, metavar="ID", help="a session with its questions and answers"
    )
    subject.add_argument("--document", type=filled, metavar="ID", help="a document and what was quoted of it")
    add_yes(erase)


def gc_command(settings: Settings, arguments: argparse.Namespace) -> int:
    with reach(settings) as client:
        told = client.call("POST", "/gc", json={"dry_run": arguments.dry_run}, timeout=PATIENCE_S)
    if arguments.json:
        print_json(told)
    else:
        print("\n".join(gc_lines(told)))
    return OK


def gc_lines(told: Mapping[str, Any]) -> list[str]:
    """What was removed, or would be, and what that gives back."""
    dry = told["dry_run"]
    counts = {
        "runs trimmed to their last checkpoint": told["runs_trimmed"],
        "runs emptied (their answers stay)": told["runs_emptied"],
        "checkpoints": told["checkpoints"],
        "events": told["events"],
        "passages": told["passages"],
        "threads without a run": told["threads"],
    }
    removed = [f"  {number:>9,} {name}" for name, number in counts.items() if number]
    if removed:
        first = "To be removed:" if dry else "Removed:"
    else:
        first = "No run is old enough, and all of them fit."
    before, after, freed = (decimal(told[name]) for name in ("bytes_before", "bytes_after", "freed_bytes"))
    return [first, *removed, f"Size: {before} → {after}, {freed} {'to be ' if dry else ''}given back."]


def clear_command(settings: Settings, arguments: argparse.Namespace) -> int:
    with reach(settings) as client:
        told = client.call("POST", "/cache/clear")
    if arguments.json:
        print_json(told)
    else:
        print(cleared_line(told["cleared"]))
    return OK


def cleared_line(cleared: Mapping[str, int]) -> str:
    """How much was forgotten of what."""
    counts = [f"{number:,} {name}" for name, number in cleared.items() if number]
    return f"Forgotten: {', '.join(counts)}." if counts else "Nothing was kept."


def erase_command(settings: Settings, arguments: argparse.Namespace) -> int:
    require_yes(arguments, "Erasing")
    with reach(settings) as client:
        if not arguments.yes and not agreed(_question(client, arguments)):
            tell("Nothing was erased.")
            return FAILED
        body = (
            {"session_id": arguments.session} if arguments.session else {"knowledge_id": arguments.document}
        )
        told = client.call("POST", "/erase", json=body, timeout=PATIENCE_S)
    if arguments.json:
        print_json(told)
    else:
        print(erased_line(told["removed"]))
    return OK


def erased_line(removed: Mapping[str, int]) -> str:
    # The names are the server's, in the plural.
    parts = [f"{number} {name if number != 1 else name[:-1]}" for name, number in removed.items() if number]
    return line(f"Erased: {', '.join(parts) or 'nothing was left of it'}.")


def _question(client: Client, arguments: argparse.Namespace) -> str:
    """Raises NotFound before anybody has said yes to it."""
    if arguments.session:
        session = client.call("GET", f"/sessions/{quote(arguments.session, safe='')}")
        return f"Erase the session {session['title']!r} with its questions, answers and runs?"
    document = client.call("GET", f"/documents/{quote(arguments.document, safe='')}")
    return f"Erase the document {document['title']!r} and what runs have quoted of it?"
