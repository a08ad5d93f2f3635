"""`headrace tag`: the tags of a knowledge base, and those of its documents."""

import argparse

from ..client import reach
from ..settings import Settings
from .arguments import Commands, filled
from .consent import add_yes, agreed, require_yes
from .output import FAILED, OK, print_json, report, tell
from .screen import line

JSON = "print one JSON document"


def add_to(commands: Commands) -> None:
    tag = commands.group("tag", "tags of documents and FAQ entries, to which a search can be narrowed")
    parsers = {
        "list": tag.add("list", list_command, "the tags, with how many documents have them", json=JSON),
        "add": tag.add("add", add_command, "a new tag", json=JSON),
        "rename": tag.add("rename", rename_command, "another name for a tag", json=JSON),
        "delete": tag.add("delete", delete_command, "remove a tag, also from documents", json=JSON),
        "set": tag.add("set", set_command, "the tags of a document, in place of those it has", json=JSON),
    }
    for name in ("add", "rename", "delete"):
        parsers[name].add_argument("name", type=filled, metavar="NAME")
    parsers["rename"].add_argument("new", type=filled, metavar="NEW")
    add_yes(parsers["delete"])
    parsers["set"].add_argument(
        "document", type=filled, metavar="DOCUMENT", help="its id or title, of an FAQ entry the question"
    )
    parsers["set"].add_argument(
        "tags", nargs="*", type=filled, metavar="TAG", help="none: it has no tags then"
    )
    for parser in parsers.values():
        parser.add_argument("--kb", required=True, type=filled, metavar="NAME", help="the knowledge base")


def list_command(settings: Settings, arguments: argparse.Namespace) -> int:
    with reach(settings) as client:
        tags = [*client.all(f"/knowledge-bases/{client.kb_named(arguments.kb)['id']}/tags")]
    if arguments.json:
        print_json({"tags": tags})
        return OK
    for tag in tags:
        print(f"{tag['document_count']:>7,}  {line(tag['name'])}")
    if not tags:
        tell("There are no tags yet.")
    return OK


def add_command(settings: Settings, arguments: argparse.Namespace) -> int:
    with reach(settings) as client:
        kb = client.kb_named(arguments.kb)
        tag = client.call("POST", f"/knowledge-bases/{kb['id']}/tags", json={"name": arguments.name})
    return report(arguments, tag, line(f"Made the tag {tag['name']!r}."))


def rename_command(settings: Settings, arguments: argparse.Namespace) -> int:
    with reach(settings) as client:
        old = client.tag_named(client.kb_named(arguments.kb), arguments.name)
        tag = client.call("PUT", f"/tags/{old['id']}", json={"name": arguments.new})
    return report(arguments, tag, line(f"{old['name']!r} is called {tag['name']!r} now."))


def delete_command(settings: Settings, arguments: argparse.Namespace) -> int:
    require_yes(arguments, "Deleting a tag")
    with reach(settings) as client:
        tag = client.tag_named(client.kb_named(arguments.kb), arguments.name)
        count = tag["document_count"]
        documents = f"{count} document{'' if count == 1 else 's'}"
        if not arguments.yes and not agreed(f"Delete the tag {tag['name']!r}, which {documents} have?"):
            tell("Nothing was deleted.")
            return FAILED
        client.call("DELETE", f"/tags/{tag['id']}")
    return report(arguments, tag, line(f"Deleted the tag {tag['name']!r}."))


def set_command(settings: Settings, arguments: argparse.Namespace) -> int:
    with reach(settings) as client:
        kb = client.kb_named(arguments.kb)
        ids = [client.tag_named(kb, name)["id"] for name in arguments.tags]
        document = client.document_named(kb, arguments.document)
        document = client.call("PUT", f"/documents/{document['id']}/tags", json={"tag_ids": ids})
    names = ", ".join(repr(tag["name"]) for tag in document["tags"]) or "none"
    return report(arguments, document, line(f"Tags of {document['title']!r}: {names}."))
