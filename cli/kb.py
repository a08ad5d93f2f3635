"""`headrace kb`: knowledge bases."""

import argparse
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..client import reach
from ..settings import Settings
from .arguments import Commands, filled
from .assignments import assignment, json_or_text
from .consent import add_yes, agreed, require_yes
from .output import FAILED, OK, print_json, report, tell, wrong_use_is
from .screen import line, padded

JSON = "print one JSON document"


def add_to(commands: Commands) -> None:
    kb = commands.group("kb", "list, make, rename and delete knowledge bases")
    kb.add("list", list_command, "what knowledge bases there are", json=JSON)
    create = kb.add("create", create_command, "a new knowledge base", json=JSON)
    create.add_argument("name", type=filled, metavar="NAME")
    create.add_argument(
        "--kind",
        choices=("document", "faq"),
        default="document",
        help="what it holds: files (default), or questions with answers",
    )
    create.add_argument("--description", default="", metavar="TEXT")
    create.add_argument(
        "--knob",
        action="append",
        default=[],
        type=assignment("--knob rerank_top_k=5"),
        metavar="NAME=VALUE",
        help="a default of questions to it; repeatable",
    )
    rename = kb.add("rename", rename_command, "another name for a knowledge base", json=JSON)
    rename.add_argument("name", type=filled, metavar="NAME")
    rename.add_argument("new", type=filled, metavar="NEW")
    delete = kb.add("delete", delete_command, "a knowledge base with all it holds", json=JSON)
    delete.add_argument("name", type=filled, metavar="NAME")
    add_yes(delete)


def list_command(settings: Settings, arguments: argparse.Namespace) -> int:
    with reach(settings) as client:
        kbs = [*client.all("/knowledge-bases")]
    if arguments.json:
        print_json({"knowledge_bases": kbs})
        return OK
    for text in kb_lines(kbs):
        print(text)
    if not kbs:
        tell("There are none yet: `headrace ingest PATH --kb NAME` makes one.")
    return OK


def create_command(settings: Settings, arguments: argparse.Namespace) -> int:
    body = {
        "name": arguments.name,
        "kind": arguments.kind,
        "description": arguments.description,
        "settings": {name: json_or_text(value) for name, value in arguments.knob},
    }
    with reach(settings) as client, wrong_use_is("bad_setting"):
        kb = client.call("POST", "/knowledge-bases", json=body)
    return report(arguments, kb, line(f"Made {kb['name']!r}."))


def rename_command(settings: Settings, arguments: argparse.Namespace) -> int:
    with reach(settings) as client:
        old = client.kb_named(arguments.name)
        kb = client.call("PUT", f"/knowledge-bases/{old['id']}", json={"name": arguments.new})
    return report(arguments, kb, line(f"{old['name']!r} is called {kb['name']!r} now."))


def delete_command(settings: Settings, arguments: argparse.Namespace) -> int:
    require_yes(arguments, "Deleting a knowledge base")
    with reach(settings) as client:
        kb = client.kb_named(arguments.name)
        if not arguments.yes and not agreed(f"Delete {kb['name']!r} with {contents(kb)}?"):
            tell("Nothing was deleted.")
            return FAILED
        client.call("DELETE", f"/knowledge-bases/{kb['id']}")
    return report(arguments, kb, line(f"Deleted {kb['name']!r} with {contents(kb)}."))


def kb_lines(kbs: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """One line for each: id, what is in it, name."""
    for kb in kbs:
        yield f"{padded(line(kb['id']), 32)}  {contents(kb):>16}  {line(kb['name'])}"


def contents(kb: Mapping[str, Any]) -> str:
    """How much it holds, in words."""
    one, many = ("entry", "entries") if kb["kind"] == "faq" else ("document", "documents")
    return f"{kb['document_count']:,} {one if kb['document_count'] == 1 else many}"
