"""`headrace doctor`: what is configured, what is missing, how to get it."""

import argparse

from ..doctor import examine, lines
from ..settings import Settings
from .arguments import Commands
from .output import FAILED, OK, print_json


def add_to(commands: Commands) -> None:
    commands.add(
        "doctor",
        doctor_command,
        "say what is configured, what is missing, how to get it",
        json="print one JSON document",
    )


def doctor_command(settings: Settings, arguments: argparse.Namespace) -> int:
    findings = examine(settings)
    if arguments.json:
        print_json({"findings": [one.as_dict() for one in findings]})
    else:
        print("\n".join(lines(findings)))
    return FAILED if any(one.state == "broken" for one in findings) else OK
