"""Beside an answer: further questions and a title, behind its end and never in its way."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from headrace.checkpoints.beside import Beside
from headrace.checkpoints.events import Event
from headrace.checkpoints.runs import Runs
from headrace.context import ChatOptions, ChatPiece, ChatPrompt
from headrace.errors import DependencyFailed
from headrace.text.proposals import further_questions, title
from headrace.text.tokens import Tokens

from ..fakes import PROMPTS, ScriptedChat
from .library import EN, ZH, Library, a_library

pytestmark = pytest.mark.anyio

QUESTIONS = {
    ZH: "出差的住宿费每晚可以报销多少？",
    EN: "How much may a hotel cost per night?",
}
TITLES = {ZH: "报销的期限", EN: "Refunds of travel"}


class Proposing(ScriptedChat):
    """Proposes in the language of the question; says nothing at all while `silent`."""

    def __init__(self, *, silent: bool = False, error: Exception | None = None) -> None:
        super().__init__()
        self.silent, self.error = silent, error

    async def stream(self, prompt: ChatPrompt, options: ChatOptions) -> AsyncIterator[ChatPiece]:
        self.prompts.append(prompt)
        if self.silent:
            await anyio.sleep_forever()
        if self.error:
            raise self.error
        wants_list = "JSON" in prompt.messages[0].content
        said = f'["{QUESTIONS[prompt.question]}"]' if wants_list else TITLES[prompt.question]
        yield ChatPiece(kind="answer", text=said)


@asynccontextmanager
async def accompanied(folder: Path, chat: Proposing, *, latest_s: float = 3.0) -> AsyncGenerator[Library]:
    class Accompanied(Runs):
        def __init__(self, journal: Any, events: Any, *rest: Any, **named: Any) -> None:
            def questions(said: str, asked: str) -> list[str]:
                return further_questions(said, asked=asked, content=Tokens().content)

            beside = Beside(journal, events, chat, lambda asked: PROMPTS, questions, title, latest_s=latest_s)
            super().__init__(journal, events, *rest, beside=beside, **named)

    async with a_library(folder, runs_type=Accompanied) as library:
        yield library


async def followed(library: Library, run_id: str) -> list[Event]:
    with anyio.fail_after(20):
        return [event async for event in library.events.follow(run_id)]


@pytest.mark.parametrize("query", [ZH, EN])
async def test_questions_and_a_title_follow_the_end_and_are_there_on_reload(
    tmp_path: Path, query: str
) -> None:
    async with accompanied(tmp_path, Proposing()) as library:
        language = "zh" if query == ZH else "en"
        asked = await library.ask(query, suggestions_enabled=True, language=language)
        events = await followed(library, asked["run_id"])
        kinds = [event["response_type"] for event in events]
        end = kinds.index("complete")
        assert set(kinds[end + 1 :]) == {"suggested_questions", "session_title"}
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        assert [event["done"] for event in events].count(True) == 1
        message = await library.answer(asked["run_id"])
        assert message.details["suggested_questions"] == [QUESTIONS[query]]
        assert (await library.sessions.get(asked["session_id"])).title == TITLES[query]


async def test_a_title_that_a_person_gave_stays(tmp_path: Path) -> None:
    async with accompanied(tmp_path, Proposing()) as library:
        session = await library.sessions.create(title="我的对话")
        asked = await library.ask(ZH, session_id=session.id, suggestions_enabled=True, language="zh")
        kinds = [event["response_type"] for event in await followed(library, asked["run_id"])]
        assert "session_title" not in kinds
        assert (await library.sessions.get(session.id)).title == "我的对话"


@pytest.mark.parametrize("chat", [Proposing(silent=True), Proposing(error=DependencyFailed("chat", "down"))])
async def test_a_model_that_is_silent_or_down_delays_nothing(tmp_path: Path, chat: Proposing) -> None:
    async with accompanied(tmp_path, chat, latest_s=0.01) as library:
        asked = await library.ask(EN, suggestions_enabled=True)
        events = await followed(library, asked["run_id"])
        assert events[-1]["response_type"] == "complete"


async def test_where_they_are_not_wanted_no_model_is_asked(tmp_path: Path) -> None:
    chat = Proposing()
    async with accompanied(tmp_path, chat) as library:
        asked = await library.ask(EN, suggestions_enabled=False)
        assert (await followed(library, asked["run_id"]))[-1]["response_type"] == "complete"
        assert chat.prompts == []


async def test_a_shutdown_does_not_wait_for_them(tmp_path: Path) -> None:
    async with accompanied(tmp_path, Proposing(silent=True), latest_s=60) as library:
        await library.ask(EN, suggestions_enabled=True)
        with anyio.fail_after(5):
            await library.runs.drain()
