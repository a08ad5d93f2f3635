"""`headrace replay`: a recorded run told again, without asking any model."""

import argparse
import sys
from typing import Any
from urllib.parse import quote

from ..client import reach
from ..errors import HeadraceError
from ..settings import Settings
from .answers import Answer
from .arguments import Commands, filled, whole
from .output import OK, print_json

MAX_SPEED = 1000  # as the server's schema says


def add_to(commands: Commands) -> None:
    replay = commands.add(
        "replay",
        replay_command,
        "tell a recorded run again, without asking any model",
        json="print one JSON document with the events",
    )
    replay.add_argument("run", type=filled, metavar="RUN", help="id of the run, from `headrace runs`")
    replay.add_argument(
        "--speed",
        type=whole(0, MAX_SPEED),
        default=0,
        metavar="N",
        help="0 at once (default), 1 at the recorded pace, N so many times faster",
    )


def replay_command(settings: Settings, arguments: argparse.Namespace) -> int:
    """Exit code 0 once all is told, however the run itself has ended."""
    events: list[dict[str, Any]] = []
    answer = Answer(live=not arguments.json and sys.stdout.isatty())
    with reach(settings) as client:
        path = f"/runs/{quote(arguments.run, safe='')}/replay"
        for event in client.events("POST", path, json={"speed": arguments.speed}):
            events.append(event)
            if not arguments.json:
                answer.take(event)
    if not any(event["done"] for event in events):
        raise HeadraceError("The server closed before the whole run was told; replay it again.")
    if arguments.json:
        print_json({"run_id": arguments.run, "events": events})
    else:
        answer.finish()
    return OK
