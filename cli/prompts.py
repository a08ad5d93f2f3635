"""`headrace prompts`: which prompts there are, what they say, and whether those of an installation fit."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..prompts.loader import PromptLibrary, Template, load_prompts
from ..prompts.own import OWN_FOLDER, own_files, with_own
from ..settings import Settings
from .arguments import Commands, filled
from .output import OK, WrongUse, print_json, report


def add_to(commands: Commands) -> None:
    prompts = commands.add(
        "prompts",
        prompts_command,
        "list and check the prompts, or show one",
        json="print one JSON document",
    )
    prompts.add_argument("name", type=filled, nargs="?", metavar="NAME", help="show what this one says")
    prompts.add_argument(
        "--check",
        type=Path,
        metavar="PATH",
        help="check this file or folder instead of that in the data folder",
    )


def prompts_command(settings: Settings, arguments: argparse.Namespace) -> int:
    """Raises StartRefused where a file does not fit: the server would refuse to start with it."""
    place = arguments.check or settings.data / OWN_FOLDER
    if arguments.check and not place.exists():
        raise WrongUse(f"There is no file or folder {place}.")
    builtin = load_prompts()
    files = own_files(place)
    library = with_own(builtin, files)
    listed = [*_shapes(library, builtin)]
    if arguments.name is None:
        return report(arguments, {"files": [str(path) for path in files], "prompts": listed}, _table(listed))
    found = next(
        (shape for shape in listed if shape["name"] in (arguments.name, f"{arguments.name}.default")), None
    )
    if found is None:
        raise WrongUse(f"There is no prompt {arguments.name!r}: `headrace prompts` lists them.")
    if arguments.json:
        print_json(found)
    else:
        print("\n\n".join(f"[{language}]\n{text.strip()}" for language, text in found["text"].items()))
    return OK


def _shapes(library: PromptLibrary, builtin: PromptLibrary) -> Iterator[dict[str, Any]]:
    """What is told of each prompt, `changed` in which languages."""
    for (kind, template), (_, was) in zip(_templates(library), _templates(builtin), strict=True):
        yield {
            "name": f"{kind}.{template.id}",
            "title": template.name,
            "description": template.description,
            "mode": template.mode,
            "editable": library.kinds()[kind].editable,
            "changed": [language for language, text in template.text.items() if text != was.text[language]],
            "text": dict(template.text),
        }


def _templates(library: PromptLibrary) -> list[tuple[str, Template]]:
    return [(kind, template) for kind, file in library.kinds().items() for template in file.templates]


def _table(shapes: list[dict[str, Any]]) -> str:
    width = max(len(shape["name"]) for shape in shapes)
    return "\n".join(f"{shape['name']:{width}}  {_state(shape)}{shape['description']}" for shape in shapes)


def _state(shape: dict[str, Any]) -> str:
    if shape["changed"]:
        return f"[changed: {', '.join(shape['changed'])}] "
    return "" if shape["editable"] else "[fixed] "
