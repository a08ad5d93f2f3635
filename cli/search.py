"""`headrace search`: passages, without an answer."""

import argparse
from collections.abc import Mapping
from typing import Any

from ..client import reach
from ..settings import Settings
from ..terminal import CitedText, source_line
from .arguments import Commands, filled, whole
from .output import NOTHING, OK, print_json, tell

SNIPPET = 200  # characters


def add_to(commands: Commands) -> None:
    search = commands.add(
        "search", search_command, "find passages, without an answer", json="print one JSON document"
    )
    search.add_argument("question", type=filled)
    search.add_argument("--kb", required=True, metavar="NAME", help="knowledge base to search")
    search.add_argument("--top-k", type=whole(1, 100), metavar="N", help="how many (default 10)")


def search_command(settings: Settings, arguments: argparse.Namespace) -> int:
    with reach(settings) as client:
        body = {"query": arguments.question, "knowledge_base_ids": [client.kb_named(arguments.kb)["id"]]}
        if arguments.top_k is not None:
            body["top_k"] = arguments.top_k
        found = client.call("POST", "/search", json=body)
    if arguments.json:
        print_json(found)
    else:
        for number, reference in enumerate(found["knowledge_references"], 1):
            _print_reference(number, reference)
    if not found["knowledge_references"]:
        tell("Nothing found.")
        return NOTHING
    return OK


def _print_reference(number: int, reference: Mapping[str, Any]) -> None:
    named = {**reference, "number": number, "title": reference["knowledge_title"]}
    print(f"{source_line(named)}  ({reference['score']:.2f})")
    text = " ".join(CitedText().feed(reference["content"]).split())
    print(f"    {text[:SNIPPET]}{'…' if len(text) > SNIPPET else ''}")
