"""`headrace faq`: the entries of a knowledge base of known questions."""

import argparse
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from ..client import Client, reach
from ..errors import NotFound
from ..settings import Settings
from ..text.similarity import signature
from . import faq_files
from .arguments import Commands, filled, readable
from .assignments import text_or_file
from .consent import add_yes, agreed, require_yes
from .output import FAILED, OK, WrongUse, print_json, report, tell
from .screen import line, lines, padded

JSON = "print one JSON document"
STRATEGIES = ("all", "first", "random")
ID = re.compile("[0-9a-f]{32}")


def add_to(commands: Commands) -> None:
    faq = commands.group("faq", "questions with answers: list, change, import and export them")
    add = faq.add("add", add_command, "a new entry", json=JSON)
    add.add_argument("question", type=filled, metavar="QUESTION")
    _add_fields(add)
    add.add_argument("--disabled", action="store_true", help="not found before it is enabled")
    listing = faq.add("list", list_command, "the entries, newest first", json=JSON)
    listing.add_argument("--search", type=filled, metavar="TEXT", help="only those that have it somewhere")
    listing.add_argument("--tag", type=filled, metavar="NAME", help="only those with this tag")
    listing.add_argument("--disabled", action="store_true", help="only those that are not found")
    _add_entry(faq.add("show", show_command, "everything that an entry says", json=JSON))
    edit = faq.add("edit", edit_command, "change what is given of an entry", json=JSON)
    _add_entry(edit)
    edit.add_argument("--question", type=filled, metavar="TEXT", help="another standard question")
    _add_fields(edit)
    for name, run, help in (
        ("delete", delete_command, "remove entries for good"),
        ("enable", enable_command, "let entries be found again"),
        ("disable", disable_command, "keep entries from being found"),
    ):
        command = faq.add(name, run, help, json=JSON)
        _add_entry(command, nargs="+")
        if name == "delete":
            add_yes(command)
    for parser in (add, listing):
        _add_kb(parser)
    faq_files.add_to(faq)


def add_command(settings: Settings, arguments: argparse.Namespace) -> int:
    with reach(settings) as client:
        kb = client.kb_named(arguments.kb)
        body = {"question": arguments.question, **_fields(arguments)}
        entry = client.call("POST", f"/knowledge-bases/{kb['id']}/faq", json=body)
    return report(arguments, entry, f"Added {entry['id']}.")


def list_command(settings: Settings, arguments: argparse.Namespace) -> int:
    with reach(settings) as client:
        kb = client.kb_named(arguments.kb)
        asked: dict[str, str] = {"search": arguments.search} if arguments.search else {}
        if arguments.tag:
            asked["tag_id"] = client.tag_named(kb, arguments.tag)["id"]
        if arguments.disabled:
            asked["enabled"] = "false"
        entries = [*client.all(f"/knowledge-bases/{kb['id']}/faq", **asked)]
    if arguments.json:
        print_json({"entries": entries})
        return OK
    for text in entry_lines(entries):
        print(text)
    if not entries:
        tell("There are no such entries.")
    return OK


def show_command(settings: Settings, arguments: argparse.Namespace) -> int:
    with reach(settings) as client:
        entry = _entry(client, client.kb_named(arguments.kb), arguments.entry)
    return report(arguments, entry, "\n".join(entry_report(entry)))


def edit_command(settings: Settings, arguments: argparse.Namespace) -> int:
    body = _fields(arguments)
    if arguments.question is not None:
        body["question"] = arguments.question
    if not body:
        raise WrongUse("Say what to change: --question, --answer, --similar, --negative, --strategy, --tag.")
    with reach(settings) as client:
        entry = _entry(client, client.kb_named(arguments.kb), arguments.entry)
        entry = client.call("PUT", f"/faq/{entry['id']}", json=body)
    return report(arguments, entry, f"{entry['id']} says now:\n" + "\n".join(entry_report(entry)))


def delete_command(settings: Settings, arguments: argparse.Namespace) -> int:
    require_yes(arguments, "Deleting entries")
    with reach(settings) as client:
        kb = client.kb_named(arguments.kb)
        entries = [_entry(client, kb, text) for text in arguments.entry]
        named = ", ".join(repr(entry["question"]) for entry in entries)
        if not arguments.yes and not agreed(f"Delete {named}?"):
            tell("Nothing was deleted.")
            return FAILED
        ids = [entry["id"] for entry in entries]
        told = client.call("POST", f"/knowledge-bases/{kb['id']}/faq/delete", json={"ids": ids})
    return report(arguments, told, f"Deleted: {told['deleted']}.")


def enable_command(settings: Settings, arguments: argparse.Namespace) -> int:
    return _enable(settings, arguments, enabled=True)


def disable_command(settings: Settings, arguments: argparse.Namespace) -> int:
    return _enable(settings, arguments, enabled=False)


def entry_lines(entries: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """One line for each: id, what it has, question, tags."""
    for entry in entries:
        answers, questions = len(entry["answers"]), 1 + len(entry["similar_questions"])
        has = f"{_counted(questions, 'question')}, {_counted(answers, 'answer')}"
        tags = f"  [{', '.join(entry['tags'])}]" if entry["tags"] else ""
        off = "" if entry["enabled"] else "  (disabled)"
        yield f"{padded(line(entry['id']), 32)}  {has:<25}  {line(entry['question'] + tags)}{off}"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def entry_report(entry: Mapping[str, Any]) -> Iterator[str]:
    """Everything it says, as a person reads it."""
    yield f"Question    {line(entry['question'])}"
    for heading, name in (("Similar", "similar_questions"), ("Not meant", "negative_questions")):
        for number, question in enumerate(entry[name]):
            yield f"{'' if number else heading:<12}{line(question)}"
    for number, answer in enumerate(entry["answers"], start=1):
        yield f"Answer {number:<5}" + lines(answer).replace("\n", "\n" + " " * 12)
    yield f"Strategy    {line(entry['answer_strategy'])}"
    yield f"Tags        {line(', '.join(entry['tags'])) or '–'}"
    yield f"Enabled     {'yes' if entry['enabled'] else 'no'}"
    yield f"Id          {line(entry['id'])}, revision {entry['revision']}"


def _add_fields(parser: argparse.ArgumentParser) -> None:
    many = "; repeatable; an empty one alone leaves none"
    for name, metavar, help in (
        ("--answer", "TEXT", f"an answer, or @FILE that holds it{many}"),
        ("--similar", "QUESTION", f"another way to ask it{many}"),
        ("--negative", "QUESTION", f"asked like this, the entry is not meant{many}"),
        ("--tag", "NAME", f"a tag, made where it is new{many}"),
    ):
        parser.add_argument(name, action="append", type=readable, metavar=metavar, help=help)
    parser.add_argument("--strategy", choices=STRATEGIES, help="which answers are given (default all)")


def _fields(arguments: argparse.Namespace) -> dict[str, Any]:
    """What the command line says of an entry."""
    lists: dict[str, Sequence[str] | None] = {
        "answers": [text_or_file(text) for text in arguments.answer] if arguments.answer else None,
        "similar_questions": arguments.similar,
        "negative_questions": arguments.negative,
        "tags": arguments.tag,
    }
    given: dict[str, Any] = {
        name: [text for text in texts if text.strip()] for name, texts in lists.items() if texts is not None
    }
    if arguments.strategy:
        given["answer_strategy"] = arguments.strategy
    if getattr(arguments, "disabled", False):
        given["enabled"] = False
    return given


def _add_entry(parser: argparse.ArgumentParser, nargs: str | None = None) -> None:
    parser.add_argument("entry", type=filled, nargs=nargs, metavar="ENTRY", help="its id, or its question")
    _add_kb(parser)


def _add_kb(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kb", required=True, type=filled, metavar="NAME", help="the knowledge base")


def _entry(client: Client, kb: Mapping[str, Any], text: str) -> dict[str, Any]:
    """By id or standard question. Raises NotFound."""
    if ID.fullmatch(text.strip()):
        entry = client.call("GET", f"/faq/{quote(text.strip(), safe='')}")
        if entry["knowledge_base_id"] == kb["id"]:
            return entry
    else:
        for entry in client.all(f"/knowledge-bases/{kb['id']}/faq"):
            if signature(entry["question"]) == signature(text):
                return entry
    raise NotFound(f"There is no entry {text!r} in {kb['name']!r}.", code="faq_entry_not_found")


def _enable(settings: Settings, arguments: argparse.Namespace, *, enabled: bool) -> int:
    with reach(settings) as client:
        kb = client.kb_named(arguments.kb)
        ids = [_entry(client, kb, text)["id"] for text in arguments.entry]
        body = {"ids": ids, "enabled": enabled}
        told = client.call("PUT", f"/knowledge-bases/{kb['id']}/faq/enabled", json=body)
    return report(arguments, told, f"{'Enabled' if enabled else 'Disabled'}: {told['changed']}.")
