"""`name=value` on a command line, and what a value may be."""

import argparse
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import HeadraceError
from .arguments import readable


def assignment(example: str) -> Callable[[str], tuple[str, str]]:
    """An argument of the form name=value; a refusal shows `example`."""

    def taken_apart(text: str) -> tuple[str, str]:
        name, equals, value = readable(text).partition("=")
        if not equals or not name.strip():
            raise argparse.ArgumentTypeError(f"{text!r} is no name=value; an example: {example}")
        return name.strip(), value

    return taken_apart


def json_or_text(text: str) -> Any:
    """0.1, true, null, "…", […] and {…} are read as JSON; everything else is the text as it stands."""
    try:
        return json.loads(text, parse_float=_finite, parse_constant=_refused)
    except (ValueError, RecursionError):
        return text


def text_or_file(text: str) -> str:
    """`@path` is the text of that file.

    Raises HeadraceError: the file cannot be read.
    """
    if not text.startswith("@"):
        return text
    path = Path(text[1:])
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise HeadraceError(f"{path} is not UTF-8 text.", code="unreadable_file") from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise HeadraceError(f"{path} cannot be read: {reason}.", code="unreadable_file") from error


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):  # 1e999: JSON to the eye, but no JSON can say what came of it
        raise ValueError(text)
    return number


def _refused(text: str) -> float:
    raise ValueError(text)
