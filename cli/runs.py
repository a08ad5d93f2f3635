"""`headrace runs`: the latest runs, forks among them."""

import argparse
import sys
from collections.abc import Iterable

from ..client import reach
from ..graph.tracing.shapes import Run
from ..settings import Settings
from .arguments import Commands, filled, whole
from .output import OK, print_json, tell
from .screen import cut, duration, line, moment, padded, screen, state_of, total_ms

MAX_LIMIT = 1000  # as the server's largest page
PIPED_QUESTION = 200  # columns


def add_to(commands: Commands) -> None:
    runs = commands.add(
        "runs", runs_command, "list the latest runs, newest first", json="print one JSON document"
    )
    runs.add_argument("--session", type=filled, metavar="ID", help="only those of this session")
    runs.add_argument(
        "--limit", type=whole(1, MAX_LIMIT), default=20, metavar="N", help="how many (default 20)"
    )


def runs_command(settings: Settings, arguments: argparse.Namespace) -> int:
    asked = {"session_id": arguments.session} if arguments.session else {}
    with reach(settings) as client:
        runs = client.call("GET", "/runs", params={**asked, "page": 1, "page_size": arguments.limit})
    if arguments.json:
        print_json({"runs": runs})
        return OK
    for text in run_lines(runs, width=screen().width if sys.stdout.isatty() else None):
        print(text)
    if not runs:
        tell("There are no runs yet: `headrace ask` makes one.")
    return OK


def run_lines(runs: Iterable[Run], *, width: int | None = None) -> list[str]:
    """One line for each run; the question fills what is left of `width` columns, if that is given."""
    return [_line(run, width) for run in runs]


def _line(run: Run, width: int | None) -> str:
    start = (
        f"{padded(line(run['id']), 32)}  {moment(run['created_at'])[:16]:<16}  "
        f"{state_of(run):<9}  {duration(total_ms(run)):>8}  "
    )
    fork = f"↳ {line(run['fork_stage'])} · " if run["forked_from"] else ""
    room = PIPED_QUESTION if width is None else max(width - len(start), 8)
    return start + cut(fork + line(run["question"]), room)
