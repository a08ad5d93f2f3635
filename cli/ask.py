"""`headrace ask`: a question, its answer as it comes, and the sources."""

import argparse
import sys
from collections.abc import Generator
from contextlib import contextmanager
from urllib.parse import quote

from ..client import reach
from ..errors import HeadraceError
from ..settings import Settings
from .answers import Answer, stopped_by_interrupt
from .arguments import Commands, filled
from .output import EXTRACTIVE, WrongUse, again, print_json, tell


def add_to(commands: Commands) -> None:
    ask = commands.add("ask", ask_command, "ask a question", json="print one JSON document")
    ask.add_argument("question", type=filled)
    ask.add_argument("--kb", metavar="NAME", help="knowledge base to ask")
    ask.add_argument("--session", metavar="ID", help="go on in this session")
    ask.add_argument(
        "--on-busy",
        choices=("reject", "queue", "stop"),
        default="reject",
        help="while the session answers another question: say so (default), wait for its end, or stop it",
    )


def ask_command(settings: Settings, arguments: argparse.Namespace) -> int:
    if not arguments.kb and not arguments.session:
        raise WrongUse("Name a knowledge base with --kb NAME, or go on in a session with --session ID.")
    with reach(settings) as client:
        # Given to a new session, which then keeps it; to an old one only for this question.
        scope = {"knowledge_base_ids": [client.kb_named(arguments.kb)["id"]]} if arguments.kb else {}
        session_id = arguments.session or client.call("POST", "/sessions", json=scope)["id"]
        body = {"query": arguments.question, **scope, "on_busy": arguments.on_busy}
        generates = client.call("GET", "/info")["chat"]["generates"]
        if not generates:
            tell(EXTRACTIVE)
        answer = Answer(live=not arguments.json and sys.stdout.isatty())
        with stopped_by_interrupt(client, session_id, lambda: answer.message_id), when_busy_told_how():
            for event in client.events(
                "POST", f"/sessions/{quote(session_id, safe='')}/knowledge-qa", json=body
            ):
                answer.take(event)
    if arguments.json:
        print_json(answer.report(session_id, generates=generates))
    else:
        answer.finish()
        tell(f"To go on: {again(arguments, f'ask --session {session_id} …')}")
        tell(f"To see why: {again(arguments, f'trace {answer.run_id}')}")
    return answer.exit_code


@contextmanager
def when_busy_told_how() -> Generator[None]:
    try:
        yield
    except HeadraceError as error:
        if error.code != "session_busy":
            raise
        how = "To ask nevertheless: --on-busy queue waits for its end, --on-busy stop stops it."
        raise HeadraceError(f"{error.message} {how}", code=error.code, details=error.details) from error
