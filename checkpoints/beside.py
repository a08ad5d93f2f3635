"""Beside a run, without delaying it: questions that may follow its answer, and a title of its session."""

import asyncio
import json
import logging
import sqlite3
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, cast

from ..context import ChatMessage, ChatModel, ChatOptions, ChatPrompt, Prompts
from ..errors import HeadraceError, NotFound
from ..state import Asked
from .event_rows import Event, insert_event, read_last, to_body
from .events import EventLog
from .journal import Journal, JournalClosed
from .run_rows import read_run
from .sessions import title_from

logger = logging.getLogger(__name__)

LATEST_S = 3.0  # behind the end of a run; what comes later is not shown
LONGEST_S = 60.0  # of one call, however long the answer takes
PASSAGES = 3
PASSAGE_CHARACTERS = 1_200
QUESTION_CHARACTERS = 2_000
ANSWER_CHARACTERS = 4_000
_Work = Callable[[sqlite3.Connection], None]
OPTIONS = ChatOptions(temperature=0.0, max_tokens=300, thinking=False)


class Beside:
    """One for all runs of a process. What is made during a run is told and stored behind its end."""

    def __init__(
        self,
        journal: Journal,
        events: EventLog,
        model: ChatModel,
        prompts: Callable[[Asked], Prompts],
        read_questions: Callable[[str, str], Sequence[str]],
        read_title: Callable[[str], str],
        *,
        latest_s: float = LATEST_S,
    ) -> None:
        self._journal = journal
        self._events = events
        self._model = model
        self._prompts = prompts
        self._read_questions = read_questions  # of what was said, and what had been asked
        self._read_title = read_title
        self._latest_s = latest_s

    async def accompany(self, asked: Asked, over: "asyncio.Future[None]") -> None:
        """From the beginning of a run, for which the event log lingers, to at most 3 s behind its end."""
        wanted = asked.get("suggestions_enabled", False)  # a run stored by an older program does not say
        making = (
            []
            if not wanted
            else [
                asyncio.create_task(self._quietly(self._questions(asked))),
                asyncio.create_task(self._quietly(self._title(asked))),
            ]
        )
        try:
            await asyncio.shield(over)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._latest_s):
                    for made in asyncio.as_completed(making):
                        if (work := await made) is not None:
                            await self._journal.write(work)
                            self._events.wake(asked["run_id"])
        except (JournalClosed, HeadraceError) as error:
            logger.info("nothing is told behind the end of run %s: %s", asked["run_id"], error)
        finally:
            for task in making:
                task.cancel()
            await asyncio.gather(*making, return_exceptions=True)
            self._events.settle(asked["run_id"])

    async def _quietly(self, making: Awaitable[_Work | None]) -> _Work | None:
        """An answer is none the worse for what could not be made beside it."""
        try:
            async with asyncio.timeout(LONGEST_S):
                return await making
        except (HeadraceError, JournalClosed, TimeoutError) as error:
            logger.info("made nothing beside a run: %s", error)
            return None

    async def _questions(self, asked: Asked) -> _Work | None:
        contexts = await self._contexts(asked["run_id"])
        if not contexts:
            return None
        query = asked["query"][:QUESTION_CHARACTERS]
        said = await self._said(asked, "suggest_questions", query=query, contexts="\n\n".join(contexts))
        questions = self._read_questions(said, asked["query"])
        return partial(_tell_questions, run_id=asked["run_id"], questions=questions) if questions else None

    async def _title(self, asked: Asked) -> _Work | None:
        """For a session whose title is still what its first question lent it."""
        lent = title_from(asked["query"])
        with suppress(NotFound):
            if not await self._journal.read(partial(_is_lent, asked=asked, lent=lent)):
                return None
            said = await self._said(
                asked, "generate_session_title", query=asked["query"][:QUESTION_CHARACTERS]
            )
            if made := self._read_title(said):
                return partial(_tell_title, run_id=asked["run_id"], title=made, lent=lent)
        return None

    async def _contexts(self, run_id: str) -> list[str]:
        """The first passages, as soon as they are known."""
        events = cast(AsyncGenerator[Event], self._events.follow(run_id))
        try:
            async for event in events:
                if event["done"]:
                    break
                if references := event.get("knowledge_references"):
                    texts = [str(one.get("content") or "")[:PASSAGE_CHARACTERS] for one in references]
                    return [text for text in texts[:PASSAGES] if text.strip()]
        finally:
            await events.aclose()
        return []

    async def _said(self, asked: Asked, kind: str, **values: str) -> str:
        text = self._prompts(asked).text(kind, language=asked["language"], **values)
        message = ChatMessage(role="user", content=text)
        prompt = ChatPrompt(messages=[message], question=asked["query"], language=asked["language"])
        said = ""
        pieces = self._model.stream(prompt, OPTIONS)
        try:
            async for piece in pieces:
                said += piece.text if piece.kind == "answer" else ""
                if len(said) > ANSWER_CHARACTERS:
                    break
        finally:
            if isinstance(pieces, AsyncGenerator):
                await cast("AsyncGenerator[Any]", pieces).aclose()
        return said[:ANSWER_CHARACTERS]


def _tell_questions(connection: sqlite3.Connection, *, run_id: str, questions: Sequence[str]) -> None:
    listed = list(questions)
    if _tell(connection, run_id, "suggested_questions", data={"questions": listed}):
        connection.execute(
            "update messages set details = json_set(details, '$.suggested_questions', json(?)) "
            "where id = (select message_id from runs where id = ?)",
            (json.dumps(listed, ensure_ascii=False), run_id),
        )


def _tell_title(connection: sqlite3.Connection, *, run_id: str, title: str, lent: str) -> None:
    """Unless somebody has given the session another one meanwhile."""
    row = read_run(connection, run_id=run_id)
    found = connection.execute("select title from sessions where id = ?", (row.session_id,)).fetchone()
    if found == (lent,) and _tell(connection, run_id, "session_title", content=title):
        connection.execute("update sessions set title = ? where id = ?", (title, row.session_id))


def _tell(
    connection: sqlite3.Connection,
    run_id: str,
    response_type: str,
    content: str = "",
    data: dict[str, Any] | None = None,
) -> bool:
    """Behind the end of a run that has come to one and is as it was. Raises NotFound."""
    row = read_run(connection, run_id=run_id)
    erased = connection.execute(
        "select erased_at is not null from messages where id = ?", (row.message_id,)
    ).fetchone()
    last = read_last(connection, run_id=run_id)
    if row.status != "complete" or erased != (0,) or last == 0:
        return False
    body = to_body(content, data or {}, {})
    insert_event(connection, run_id=run_id, seq=last + 1, response_type=response_type, body=body)
    return True


def _is_lent(connection: sqlite3.Connection, *, asked: Asked, lent: str) -> bool:
    """Its only question so far has lent the session its title."""
    row = connection.execute(
        "select title = ?1 and ?1 != '' and "
        "(select count(*) from messages where session_id = ?2 and role = 'user') = 1 "
        "from sessions where id = ?2",
        (lent, asked["session_id"]),
    ).fetchone()
    return row is not None and bool(row[0])
