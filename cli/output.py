"""What every command says in the same way: exit codes, the one JSON document, lines on stderr."""

import json
import shlex
import sys
from argparse import Namespace
from collections.abc import Generator
from contextlib import contextmanager

from ..errors import BadRequest, HeadraceError
from ..terminal import harmless

OK, FAILED, WRONG_USE, NOTHING, INTERRUPTED = 0, 1, 2, 3, 130
EXTRACTIVE = (
    "No chat model is configured: answers quote your documents word for word. "
    "`headrace doctor` says how to add a model."
)


class WrongUse(BadRequest):
    """The command line itself asks for something impossible: exit code 2."""

    code = "wrong_use"


@contextmanager
def wrong_use_is(*codes: str) -> Generator[None]:
    """What the server refuses with one of these codes was wrong on the command line."""
    try:
        yield
    except HeadraceError as error:
        if error.code in codes:
            raise WrongUse(error.message, code=error.code, details=error.details) from error
        raise


def print_json(document: object) -> None:
    print(json.dumps(document, ensure_ascii=False, indent=2))


def report(arguments: Namespace, document: object, text: str) -> int:
    """The result of a command that has done what it should: as JSON where that was asked for."""
    if arguments.json:
        print_json(document)
    else:
        print(text)
    return OK


def tell(text: str) -> None:
    # Some of it is a model server's: it must not be able to steer the terminal.
    print(harmless(text), file=sys.stderr, flush=True)


def again(arguments: Namespace, words: str) -> str:
    """Another command over the same data folder, to be typed as it stands."""
    data = f" --data {shlex.quote(str(arguments.data))}" if hasattr(arguments, "data") else ""
    return f"headrace{data} {words}"
