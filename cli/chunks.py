"""`headrace chunks`: the pieces in which a document is searched: shown, edited, kept from being found."""

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from ..client import Client, reach
from ..errors import HeadraceError
from ..settings import Settings
from .arguments import Commands, filled, readable
from .assignments import text_or_file
from .output import OK, print_json, report, tell
from .screen import cut, line, lines, padded, screen

JSON = "print one JSON document"
PIPED_TEXT = 200  # columns


def add_to(commands: Commands) -> None:
    chunks = commands.group("chunks", "the pieces that a document was cut into")
    listing = chunks.add("list", list_command, "the chunks of a document in the order of its text", json=JSON)
    listing.add_argument(
        "document", type=filled, metavar="DOCUMENT", help="its id; with --kb also its title, or the question"
    )
    listing.add_argument("--kb", type=filled, metavar="NAME", help="where to look for that title")
    listing.add_argument("--kind", type=filled, metavar="KIND", help="only these, such as text or parent")
    show = chunks.add("show", show_command, "the text of a chunk", json=JSON)
    show.add_argument("chunk", type=filled, metavar="CHUNK", help="its id, from `headrace chunks list`")
    edit = chunks.add("edit", edit_command, "another text for a chunk", json=JSON)
    edit.add_argument("chunk", type=filled, metavar="CHUNK")
    edit.add_argument(
        "--text",
        required=True,
        type=readable,
        metavar="TEXT",
        help="the text, @FILE that holds it, or - for standard input",
    )
    for name, run, help in (
        ("enable", enable_command, "let chunks be found again"),
        ("disable", disable_command, "keep chunks from being found"),
    ):
        command = chunks.add(name, run, help, json=JSON)
        command.add_argument("chunk", nargs="+", type=filled, metavar="CHUNK")


def list_command(settings: Settings, arguments: argparse.Namespace) -> int:
    asked = {"kind": arguments.kind} if arguments.kind else {}
    with reach(settings) as client:
        document = _document(client, arguments)
        chunks = [*client.all(f"/documents/{document['id']}/chunks", **asked)]
    if arguments.json:
        print_json({"document": document, "chunks": chunks})
        return OK
    for text in chunk_lines(chunks, width=screen().width if sys.stdout.isatty() else None):
        print(text)
    if not chunks:
        tell(f"{document['title']!r} has no such chunks.")
    return OK


def show_command(settings: Settings, arguments: argparse.Namespace) -> int:
    with reach(settings) as client:
        chunk = client.call("GET", _address(arguments.chunk))
    return report(arguments, chunk, "\n".join(chunk_report(chunk)))


def edit_command(settings: Settings, arguments: argparse.Namespace) -> int:
    text = _read() if arguments.text == "-" else text_or_file(arguments.text)
    with reach(settings) as client:
        chunk = client.call("PUT", _address(arguments.chunk), json={"content": text})
    return report(arguments, chunk, line(f"{chunk['id']} is at revision {chunk['revision']}."))


def enable_command(settings: Settings, arguments: argparse.Namespace) -> int:
    return _enable(settings, arguments, enabled=True)


def disable_command(settings: Settings, arguments: argparse.Namespace) -> int:
    return _enable(settings, arguments, enabled=False)


def chunk_lines(chunks: Iterable[Mapping[str, Any]], *, width: int | None = None) -> Iterator[str]:
    """One line for each; its text fills what is left of `width` columns, if that is given."""
    for chunk in chunks:
        off = "  off" if not chunk["enabled"] else "     "
        start = f"{padded(line(chunk['id']), 32)}  {line(chunk['kind']):<8} {chunk['chunk_index']:>5}{off}  "
        yield start + cut(line(chunk["content"]), PIPED_TEXT if width is None else max(width - len(start), 8))


def chunk_report(chunk: Mapping[str, Any]) -> Iterator[str]:
    """Where it stands, whether it is found, and its text."""
    place = f"{chunk['kind']} {chunk['chunk_index']} of document {chunk['knowledge_id']}"
    page = f", page {chunk['page']}" if chunk["page"] is not None else ""
    section = f", {chunk['section']}" if chunk["section"] else ""
    yield line(place + page + section)
    yield f"revision {chunk['revision']}, {'enabled' if chunk['enabled'] else 'disabled: never found'}"
    yield ""
    yield lines(chunk["content"])


def _read() -> str:
    text = sys.stdin.read()
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise HeadraceError("Standard input is not UTF-8 text.", code="unreadable_file") from error
    return text


def _document(client: Client, arguments: argparse.Namespace) -> dict[str, Any]:
    if arguments.kb:
        return client.document_named(client.kb_named(arguments.kb), arguments.document)
    return client.call("GET", f"/documents/{quote(arguments.document, safe='')}")


def _enable(settings: Settings, arguments: argparse.Namespace, *, enabled: bool) -> int:
    with reach(settings) as client:
        chunks = [client.call("PUT", _address(chunk), json={"enabled": enabled}) for chunk in arguments.chunk]
    return report(arguments, {"chunks": chunks}, f"{'Enabled' if enabled else 'Disabled'}: {len(chunks)}.")


def _address(chunk_id: str) -> str:
    return f"/chunks/{quote(chunk_id, safe='')}"
