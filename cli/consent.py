"""A yes before what cannot be undone."""

import argparse
import sys

from .output import WrongUse, tell
from .screen import line

YES = ("y", "yes", "是")


def add_yes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="do not ask first")


def require_yes(arguments: argparse.Namespace, what: str) -> None:
    """Raises WrongUse when nobody is there to be asked, and --yes was not given."""
    if not arguments.yes and not sys.stdin.isatty():
        raise WrongUse(f"{what} cannot be undone: add --yes to do it without being asked.")


def agreed(question: str) -> bool:
    """Whether the person at the terminal says yes."""
    tell(line(f"{question} This cannot be undone. Type yes:"))
    return sys.stdin.readline().strip().casefold() in YES
