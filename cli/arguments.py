"""How a command line is taken apart: the options every command has, and what values may be."""

import argparse
import re
from collections.abc import Callable
from copy import copy
from importlib.metadata import version
from pathlib import Path

from ..settings import Settings

Command = Callable[[Settings, argparse.Namespace], int]


class Commands:
    """The parser, to which each group adds its commands."""

    def __init__(self) -> None:
        # Before and after the command; SUPPRESS keeps the second from resetting the first.
        self._everywhere = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
        self._everywhere.add_argument(
            "--data",
            type=Path,
            metavar="DIR",
            help="data folder (default ~/.local/share/headrace, or HEADRACE_DATA)",
        )
        self._everywhere.add_argument(
            "--config", type=Path, metavar="FILE", help="settings (default headrace.toml in the data folder)"
        )
        self.parser = argparse.ArgumentParser(
            prog="headrace", description="Ask your own documents.", parents=[self._everywhere]
        )
        self.parser.add_argument("--version", action="version", version=f"headrace {version('headrace')}")
        self._commands = self.parser.add_subparsers(required=True, metavar="COMMAND")

    def group(self, name: str, help: str) -> "Commands":
        """A command that has commands of its own, to be added to what is returned: `headrace models list`."""
        group = copy(self)
        group.parser = self._commands.add_parser(
            name, help=help, description=help, parents=[self._everywhere]
        )
        group._commands = group.parser.add_subparsers(required=True, metavar="COMMAND")
        return group

    def add(self, name: str, run: Command, help: str, *, json: str | None = None) -> argparse.ArgumentParser:
        """A command; `json` says what `--json` prints, for those that have it."""
        command = self._commands.add_parser(name, help=help, description=help, parents=[self._everywhere])
        command.set_defaults(command=run)
        if json is not None:
            command.add_argument("--json", action="store_true", help=json)
        return command


def filled(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("it is empty")
    return readable(text)


def readable(text: str) -> str:
    if not text.isprintable() and any("\ud800" <= character <= "\udfff" for character in text):
        # Bytes of another encoding: nothing that is sent as JSON could hold them.
        raise argparse.ArgumentTypeError("it is not UTF-8 text")
    return text


def whole(least: int, most: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,9}", text) or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {least} to {most}")
        return int(text)

    return number
