"""`headrace sessions`: the conversations of a data folder, and what was said in them."""

import argparse

from ..client import reach
from ..settings import Settings
from .arguments import Commands, filled, whole
from .consent import add_yes, agreed, require_yes
from .output import FAILED, NOTHING, OK, print_json, report, tell
from .screen import line, moment

JSON = "print one JSON document"
MAX_LIMIT = 1000  # as the server's largest page


def add_to(commands: Commands) -> None:
    sessions = commands.group("sessions", "conversations: listed, searched, pinned, deleted")
    listing = sessions.add("list", list_command, "pinned ones, then the latest used", json=JSON)
    listing.add_argument("--title", type=filled, metavar="WORDS", help="only those with this in their title")
    search = sessions.add("search", search_command, "what was said, by its words", json=JSON)
    search.add_argument("query", type=filled, metavar="WORDS")
    for parser in (listing, search):
        parser.add_argument(
            "--limit", type=whole(1, MAX_LIMIT), default=20, metavar="N", help="how many (default 20)"
        )
    pin = sessions.add("pin", pin_command, "keep one at the top of the list", json=JSON)
    pin.add_argument("session", type=filled, metavar="SESSION", help="its id")
    pin.add_argument("--off", action="store_true", help="no longer")
    delete = sessions.add("delete", delete_command, "delete some, with their messages", json=JSON)
    delete.add_argument("sessions", nargs="+", type=filled, metavar="SESSION", help="their ids")
    add_yes(delete)


def list_command(settings: Settings, arguments: argparse.Namespace) -> int:
    asked = {"search": arguments.title} if arguments.title else {}
    with reach(settings) as client:
        found = client.call("GET", "/sessions", params={**asked, "page": 1, "page_size": arguments.limit})
    if arguments.json:
        print_json({"sessions": found})
        return OK
    for one in found:
        pinned = "*" if one["pinned"] else " "
        print(f"{pinned} {line(one['id'])}  {moment(one['updated_at'])[:16]}  {line(one['title'])}")
    if not found:
        tell("There are no such sessions." if asked else "There are no sessions yet.")
    return OK


def search_command(settings: Settings, arguments: argparse.Namespace) -> int:
    asked = {"query": arguments.query, "page": 1, "page_size": arguments.limit}
    with reach(settings) as client:
        found = client.call("GET", "/messages/search", params=asked)
    if arguments.json:
        print_json({"messages": found})
        return OK if found else NOTHING
    for one in found:
        print(f"{line(one['session_id'])}  {line(one['session_title'])}: {line(one['snippet'])}")
    if not found:
        tell("Nobody said that.")
    return OK if found else NOTHING


def pin_command(settings: Settings, arguments: argparse.Namespace) -> int:
    pinned = not arguments.off
    with reach(settings) as client:
        session = client.call("PUT", f"/sessions/{arguments.session}/pin", json={"pinned": pinned})
    done = "stays at the top" if pinned else "is listed as the others"
    return report(arguments, session, line(f"{session['title']!r} {done}."))


def delete_command(settings: Settings, arguments: argparse.Namespace) -> int:
    require_yes(arguments, "Deleting a session")
    count = len(set(arguments.sessions))
    if not arguments.yes and not agreed(
        f"Delete {count} session{'' if count == 1 else 's'} with all messages?"
    ):
        tell("Nothing was deleted.")
        return FAILED
    with reach(settings) as client:
        deleted = client.call("POST", "/sessions/delete", json={"ids": arguments.sessions})
    return report(arguments, deleted, f"Deleted {deleted['deleted']} of {count}.")
