"""`headrace search`: passages, without an answer, and why these."""

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..client import Client, reach
from ..errors import NotFound
from ..settings import Settings
from ..terminal import CitedText, source_line
from .arguments import Commands, filled, whole
from .assignments import assignment, json_or_text
from .output import NOTHING, OK, print_json, tell, wrong_use_is
from .screen import show
from .search_trace import search_report

SNIPPET = 200  # characters
ID = re.compile("[0-9a-f]{32}")


def add_to(commands: Commands) -> None:
    search = commands.add(
        "search", search_command, "find passages, without an answer", json="print one JSON document"
    )
    search.add_argument("question", type=filled)
    search.add_argument(
        "--kb", required=True, action="append", metavar="NAME", help="knowledge base to search; repeatable"
    )
    search.add_argument(
        "--document",
        action="append",
        default=[],
        type=filled,
        metavar="DOCUMENT",
        help="only in it: its id or title, of an FAQ entry the question; repeatable",
    )
    search.add_argument(
        "--tag",
        action="append",
        default=[],
        type=filled,
        metavar="NAME",
        help="only in documents with any of these tags; repeatable",
    )
    search.add_argument("--top-k", type=whole(1, 100), metavar="N", help="how many (default 10)")
    search.add_argument(
        "--knob",
        action="append",
        default=[],
        type=assignment("--knob fusion=rrf"),
        metavar="NAME=VALUE",
        help="a setting for this search (docs/settings.md); repeatable",
    )
    search.add_argument("--no-rerank", action="store_true", help="leave the reranker out")
    search.add_argument(
        "--trace", action="store_true", help="also show where every candidate came from, and why it left"
    )
    search.add_argument("--all", action="store_true", help="with --trace: every candidate and every setting")


def search_command(settings: Settings, arguments: argparse.Namespace) -> int:
    with reach(settings) as client:
        body = _body(client, arguments)
        with wrong_use_is("bad_setting"):
            found = client.call("POST", "/search", json=body)
    if arguments.json:
        print_json(found)
    else:
        for number, reference in enumerate(found["knowledge_references"], 1):
            _print_reference(number, reference)
        if arguments.trace:
            show(search_report(found["trace"], everything=arguments.all))
    if not found["knowledge_references"]:
        tell("Nothing found.")
        return NOTHING
    return OK


def _body(client: Client, arguments: argparse.Namespace) -> dict[str, Any]:
    kbs = [client.kb_named(name) for name in arguments.kb]
    body: dict[str, Any] = {
        "query": arguments.question,
        "knowledge_base_ids": [kb["id"] for kb in kbs],
        "knowledge_ids": [_document(client, kbs, text) for text in arguments.document],
        "tag_ids": [tag for name in arguments.tag for tag in _tags(client, kbs, name)],
        "settings": {name: json_or_text(value) for name, value in arguments.knob},
        "rerank": not arguments.no_rerank,
        "trace": arguments.trace,
    }
    return body if arguments.top_k is None else {**body, "top_k": arguments.top_k}


def _document(client: Client, kbs: Sequence[Mapping[str, Any]], text: str) -> str:
    if ID.fullmatch(text):
        return text  # the server knows whether there is one
    return _in_any(lambda kb: client.document_named(kb, text)["id"], kbs)[0]


def _tags(client: Client, kbs: Sequence[Mapping[str, Any]], name: str) -> list[str]:
    """A tag belongs to one knowledge base: that of this name in each that has one."""
    return _in_any(lambda kb: client.tag_named(kb, name)["id"], kbs)


def _in_any(look: Callable[[Mapping[str, Any]], str], kbs: Sequence[Mapping[str, Any]]) -> list[str]:
    """What is found in some of them. Raises the last refusal when it is in none."""
    found: list[str] = []
    refusal: NotFound | None = None
    for kb in kbs:
        try:
            found.append(look(kb))
        except NotFound as error:
            refusal = error
    if refusal and not found:
        raise refusal
    return found


def _print_reference(number: int, reference: Mapping[str, Any]) -> None:
    named = {**reference, "number": number, "title": reference["knowledge_title"]}
    print(f"{source_line(named)}  ({reference['score']:.2f})")
    text = " ".join(CitedText().feed(reference["content"]).split())
    print(f"    {text[:SNIPPET]}{'…' if len(text) > SNIPPET else ''}")
