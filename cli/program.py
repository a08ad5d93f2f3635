"""One command from its words to its exit code."""

import os
import sys
from collections.abc import Sequence

from .. import environment  # noqa: F401  # pyright: ignore[reportUnusedImport]  # before the libraries that read it
from ..errors import HeadraceError
from ..settings import load_settings
from . import (
    ask,
    chunks,
    diff,
    doctor,
    evaluate,
    faq,
    fork,
    ingest,
    kb,
    models,
    prompts,
    replay,
    runs,
    search,
    serve,
    sessions,
    tags,
    trace,
    upkeep,
)
from .arguments import Commands
from .output import FAILED, INTERRUPTED, WRONG_USE, WrongUse, print_json, tell

# In the order of the help.
GROUPS = (
    *(serve, ingest, ask, search),
    *(kb, faq, tags, chunks),
    *(sessions, runs, trace, replay, fork, diff, upkeep),
    *(evaluate, models, prompts, doctor),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # pyright: ignore[reportAttributeAccessIssue]
    commands = Commands()
    for group in GROUPS:
        group.add_to(commands)
    arguments = commands.parser.parse_args(argv)
    try:
        settings = load_settings(
            data=getattr(arguments, "data", None),
            config=getattr(arguments, "config", None),
            host=getattr(arguments, "host", None),
            port=getattr(arguments, "port", None),
        )
        return arguments.command(settings, arguments)
    except HeadraceError as error:
        tell(f"headrace: {error.message}")
        if getattr(arguments, "json", False):
            told = {"code": error.code, "message": error.message, "details": error.details}
            print_json({"error": told})
        return WRONG_USE if isinstance(error, WrongUse) else FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output left (`headrace search … | head`): nothing more to say, also not at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
