"""An answer put together from its events, for a terminal, a pipe or a JSON document."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

from ..client import Client
from ..terminal import CitedText, source_line, sources
from .output import FAILED, NOTHING, OK, tell


class Answer:
    """What an event stream has told so far; on a terminal it is shown as it comes (`live`)."""

    def __init__(self, *, live: bool) -> None:
        self._live = live
        self._pieces: dict[int, str] = {}
        self._cited = CitedText()
        self._references: list[dict[str, Any]] = []
        self._warnings: list[str] = []
        self._end: dict[str, Any] = {}
        self.run_id = ""
        self.message_id = ""

    def take(self, event: Mapping[str, Any]) -> None:
        match event["response_type"]:
            case "agent_query":
                self.message_id, self.run_id = event["assistant_message_id"], event["run_id"]
            case "answer":
                segment = event["data"]["segment"]
                self._pieces[segment] = self._pieces.get(segment, "") + event["content"]
                self._show(self._cited.feed(event["content"]))
            case "reset":
                self._start_over(event["data"]["segments"])
            case "references":
                self._references = event["knowledge_references"]
            case "warning":
                self._warnings.append(event["content"])
                tell(f"headrace: {event['content']}")
            case "complete" | "error" | "stop":
                self._end = dict(event)
            case _:
                pass

    @property
    def exit_code(self) -> int:
        if self._end.get("response_type") != "complete":
            return FAILED
        return NOTHING if self._end["data"].get("outcome") in ("declined", "fallback") else OK

    def finish(self) -> None:
        """Print what a live answer has not shown yet, then its sources."""
        if self._live:
            print(self._cited.close())
        elif self._pieces:
            print(self._text())
        listed = sources(self._cited.cited, self._references)
        if listed:
            print()
        for source in listed:
            print(source_line(source))
        self._tell_end()

    def report(self, session_id: str, *, generates: bool) -> dict[str, Any]:
        """The one JSON document of `--json`."""
        text = self._text()
        self._tell_end()
        data = self._end.get("data", {})
        failed = self._end.get("response_type") != "complete"
        return {
            "session_id": session_id,
            "message_id": self.message_id,
            "run_id": self.run_id,
            "outcome": data.get("outcome"),
            "answer": "".join(self._pieces.values()),
            "text": text,
            "sources": sources(self._cited.cited, self._references),
            "knowledge_references": self._references,
            "generated": generates,
            "model": data.get("model"),
            "timing": data.get("timing"),
            "usage": data.get("usage"),
            "warnings": self._warnings,
            "error": {"code": data.get("code"), "message": self._end.get("content")} if failed else None,
        }

    def _text(self) -> str:
        self._cited = CitedText()
        return self._cited.feed("".join(self._pieces.values())) + self._cited.close()

    def _show(self, text: str) -> None:
        if self._live:
            print(text, end="", flush=True)

    def _start_over(self, segments: Sequence[int]) -> None:
        shown = any(self._pieces.pop(segment, "") for segment in segments)
        self._cited = CitedText()
        if shown and self._live:
            print(flush=True)
            tell("(interrupted; the answer starts over)")

    def _tell_end(self) -> None:
        match self._end.get("response_type"):
            case "complete":
                pass
            case "error":
                tell(f"headrace: {self._end['content']}")
            case "stop":
                tell("headrace: the answer was stopped.")
            case _:
                tell(
                    "headrace: the server closed before the answer was complete. It is finished at the next "
                    f"start; then `headrace replay {self.run_id}` tells it."
                )


@contextmanager
def stopped_by_interrupt(client: Client, session_id: str, message_id: Callable[[], str]) -> Generator[None]:
    """Ctrl-C in the block stops the answer, once its id is known; it would go on without a reader."""
    try:
        yield
    except KeyboardInterrupt:
        if message_id():
            stop = {"message_id": message_id()}
            client.call("POST", f"/sessions/{quote(session_id, safe='')}/stop", json=stop)
            tell("\nheadrace: the answer was stopped.")  # below what was shown of it, and ^C
        raise
