"""`headrace faq import` and `export`: entries from files and into files."""

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..client import reach
from ..errors import HeadraceError
from ..ingest.faq_files import FORMATS
from ..settings import Settings
from .arguments import Commands, filled
from .consent import add_yes, agreed, require_yes
from .output import FAILED, OK, WrongUse, print_json, tell
from .screen import cut, line

JSON = "print one JSON document"
PATIENCE_S = 3600.0  # ten thousand questions are embedded before it answers
QUESTION = 40  # columns


def add_to(faq: Commands) -> None:
    load = faq.add("import", import_command, "entries from a CSV, XLSX or JSON file", json=JSON)
    load.add_argument("file", type=Path, metavar="FILE")
    load.add_argument("--kb", required=True, type=filled, metavar="NAME", help="made if there is none of it")
    load.add_argument("--replace", action="store_true", help="delete the entries that the file lacks")
    add_yes(load)
    save = faq.add("export", export_command, "all entries to a file", json=JSON)
    save.add_argument("file", type=Path, nargs="?", metavar="FILE", help="default: standard output")
    save.add_argument("--kb", required=True, type=filled, metavar="NAME", help="the knowledge base")
    save.add_argument("--format", choices=FORMATS, help="default: by the file's name, else csv")


def import_command(settings: Settings, arguments: argparse.Namespace) -> int:
    if arguments.replace:
        require_yes(arguments, "Replacing the entries of a knowledge base")
    if not arguments.file.is_file():
        raise HeadraceError(f"There is no file {arguments.file}.", code="no_file")
    with reach(settings) as client:
        kb = client.kb_there(arguments.kb)
        if kb and arguments.replace and not arguments.yes:
            question = f"Delete the entries of {kb['name']!r} that {arguments.file.name} lacks?"
            if not agreed(question):
                tell("Nothing was changed.")
                return FAILED
        kb = kb or client.call("POST", "/knowledge-bases", json={"name": arguments.kb, "kind": "faq"})
        mode = {"mode": "replace" if arguments.replace else "append"}
        try:
            with arguments.file.open("rb") as content:
                told = client.call(
                    "POST",
                    f"/knowledge-bases/{kb['id']}/faq/import",
                    files={"file": (arguments.file.name, content)},
                    data=mode,
                    timeout=PATIENCE_S,
                )
        except OSError as error:
            raise HeadraceError(f"{arguments.file} cannot be read: {error.strerror}.") from error
    if arguments.json:
        print_json({"knowledge_base_id": kb["id"], **told})
    else:
        print("\n".join(import_lines(told)))
        for text in rejected_lines(told):
            tell(text)
    return FAILED if told["rejected"] else OK


def import_lines(told: Mapping[str, Any]) -> Iterator[str]:
    """What became of a file."""
    counts = [f"{told[name]} {name}" for name in ("created", "updated", "unchanged", "deleted")]
    yield f"Entries: {', '.join(counts)}. Rows rejected: {len(told['rejected'])}."
    if ignored := told["ignored_columns"]:
        yield line(f"Columns that say nothing of an entry: {', '.join(ignored)}.")


def rejected_lines(told: Mapping[str, Any]) -> Iterator[str]:
    """Every rejected row with its number, its question and the reason."""
    for row in told["rejected"]:
        question = cut(line(row["question"]), QUESTION)
        yield line(f"row {row['row']}{f' ({question})' if question else ''}: {row['reason']}")


def export_command(settings: Settings, arguments: argparse.Namespace) -> int:
    file, format = arguments.file, _format(arguments)
    if file is None and arguments.json:
        raise WrongUse("The entries go to standard output: name a FILE, or leave --json out.")
    if file is None and format == "xlsx" and sys.stdout.isatty():
        raise WrongUse("A workbook is nothing for a terminal: name a FILE.")
    with reach(settings) as client:
        kb = client.kb_named(arguments.kb)
        content = client.download(f"/knowledge-bases/{kb['id']}/faq/export", format=format)
    if file is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return OK
    try:
        file.write_bytes(content)
    except OSError as error:
        raise HeadraceError(f"{file} cannot be written: {error.strerror}.") from error
    if arguments.json:
        print_json({"file": str(file), "format": format, "bytes": len(content)})
    else:
        print(line(f"The entries of {kb['name']!r} are in {file}."))
    return OK


def _format(arguments: argparse.Namespace) -> str:
    if arguments.format:
        return arguments.format
    suffix = arguments.file.suffix.lower().removeprefix(".") if arguments.file else "csv"
    if suffix not in FORMATS:
        raise WrongUse(f"Say which format {arguments.file.name} is to have: --format {', '.join(FORMATS)}.")
    return suffix
