"""`headrace fork`: a run once more from one of its stages, with something changed."""

import argparse
import sys
from typing import Any
from urllib.parse import quote

from ..client import Client, reach
from ..settings import Settings
from .answers import Answer, stopped_by_interrupt
from .arguments import Commands, filled
from .assignments import assignment, json_or_text, text_or_file
from .output import EXTRACTIVE, again, print_json, tell, wrong_use_is

# What the server says of words that stand on the command line.
OF_THE_COMMAND_LINE = ("bad_stage", "bad_setting", "bad_prompt", "bad_state")


def add_to(commands: Commands) -> None:
    fork = commands.add(
        "fork",
        fork_command,
        "run again from a stage with other settings, prompts or state; the original stays as it is",
        json="print one JSON document",
    )
    fork.add_argument("run", type=filled, metavar="RUN", help="id of the run, from `headrace runs`")
    fork.add_argument("--from", dest="stage", required=True, type=filled, metavar="STAGE", help="first stage")
    fork.add_argument(
        "--set",
        action="append",
        default=[],
        type=assignment("--set rerank_threshold=0.1"),
        metavar="NAME=VALUE",
        help="a setting of the run, chat_model included; repeatable",
    )
    fork.add_argument(
        "--prompt",
        action="append",
        default=[],
        type=assignment("--prompt system_prompt=@prompt.txt"),
        metavar="KIND[.ID]=TEXT",
        help="a prompt template, or @FILE that holds it; repeatable",
    )
    fork.add_argument(
        "--state",
        action="append",
        default=[],
        type=assignment('--state rewritten_query="国内出差的住宿标准"'),
        metavar="CHANNEL=VALUE",
        help="what a channel of the state holds before the stage, JSON or text; repeatable",
    )


def fork_command(settings: Settings, arguments: argparse.Namespace) -> int:
    body = {
        "from": arguments.stage,
        "settings": {name: json_or_text(value) for name, value in arguments.set},
        "prompts": {name: text_or_file(value) for name, value in arguments.prompt},
        "state": {name: json_or_text(value) for name, value in arguments.state},
    }
    answer = Answer(live=not arguments.json and sys.stdout.isatty())
    with reach(settings) as client:
        generates = client.call("GET", "/info")["chat"]["generates"]
        fork = _forked(client, arguments.run, body)
        with stopped_by_interrupt(client, fork["session_id"], lambda: fork["message_id"]):
            path = f"/sessions/continue-stream/{fork['session_id']}?message_id={fork['message_id']}"
            for event in client.events("GET", path):
                answer.take(event)
    if arguments.json:
        links = {
            "run_id": fork["run_id"],
            "forked_from": fork["forked_from"],
            "fork_stage": fork["fork_stage"],
        }
        print_json({**answer.report(fork["session_id"], generates=generates), **links})
        return answer.exit_code
    if not generates:
        tell(EXTRACTIVE)
    answer.finish()
    tell(f"This is run {fork['run_id']}, a fork of {fork['forked_from']} from {fork['fork_stage']}.")
    diff = again(arguments, f"diff {fork['forked_from']} {fork['run_id']}")
    tell(f"To compare: {diff}")
    return answer.exit_code


def _forked(client: Client, run_id: str, body: dict[str, Any]) -> dict[str, Any]:
    with wrong_use_is(*OF_THE_COMMAND_LINE):
        return client.call("POST", f"/runs/{quote(run_id, safe='')}/fork", json=body)
