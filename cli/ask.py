"""`headrace ask`: a question, its answer as it comes, and the sources."""

import argparse
import shlex
import sys

from ..client import reach
from ..settings import Settings
from .answers import Answer
from .arguments import Commands, filled
from .output import EXTRACTIVE, WRONG_USE, print_json, tell


def add_to(commands: Commands) -> None:
    ask = commands.add("ask", ask_command, "ask a question", json="print one JSON document")
    ask.add_argument("question", type=filled)
    ask.add_argument("--kb", metavar="NAME", help="knowledge base to ask")
    ask.add_argument("--session", metavar="ID", help="go on in this session")


def ask_command(settings: Settings, arguments: argparse.Namespace) -> int:
    if not arguments.kb and not arguments.session:
        tell("headrace: Name a knowledge base with --kb NAME, or go on in a session with --session ID.")
        return WRONG_USE
    with reach(settings) as client:
        # Given to a new session, which then keeps it; to an old one only for this question.
        scope = {"knowledge_base_ids": [client.kb_named(arguments.kb)["id"]]} if arguments.kb else {}
        session_id = arguments.session or client.call("POST", "/sessions", json=scope)["id"]
        body = {"query": arguments.question, **scope}
        generates = client.call("GET", "/info")["chat"]["generates"]
        if not generates:
            tell(EXTRACTIVE)
        answer = Answer(live=not arguments.json and sys.stdout.isatty())
        try:
            for event in client.events("POST", f"/sessions/{session_id}/knowledge-qa", json=body):
                answer.take(event)
        except KeyboardInterrupt:
            if answer.message_id:
                client.call("POST", f"/sessions/{session_id}/stop", json={"message_id": answer.message_id})
            raise
    if arguments.json:
        print_json(answer.report(session_id, generates=generates))
    else:
        answer.finish()
        data = f" --data {shlex.quote(str(arguments.data))}" if hasattr(arguments, "data") else ""
        tell(f"To go on: headrace{data} ask --session {session_id} …")
    return answer.exit_code
