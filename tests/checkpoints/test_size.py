"""What a long conversation costs on the disk: 50 turns, each with 30 passages, through the real graph."""

import random
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from headrace.checkpoints.events import EventLog, RunEmitter
from headrace.checkpoints.journal import Journal, open_journal
from headrace.checkpoints.retention import Collected, Limits, Retention
from headrace.checkpoints.runs import Runs
from headrace.checkpoints.saver import JournalSaver
from headrace.checkpoints.sessions import Message, Sessions
from headrace.checkpoints.space import bytes_on_disk, empty_log
from headrace.checkpoints.texts import KeptTexts
from headrace.context import Chunk, Context
from headrace.graph.build import build
from headrace.ids import new_id
from headrace.state import Asked
from headrace.stores.passages import RunPassages
from headrace.text.signature import chunk_id

from ..fakes import ScriptedChat, World, asked

pytestmark = pytest.mark.anyio

TURNS, PASSAGES, CHARACTERS, PIECES = 50, 30, 1200, 400
# Measured 14.9, 14.0 and 1.6 MB: with ids and texts as long as real ones, a tenth to spare.
BEFORE_BYTES = 16_000_000
AFTER_BYTES = 15_000_000
EMPTIED_BYTES = 1_800_000
# The 3,755 characters of the first level of GB 2312, drawn at random: they shrink no better than prose.
COMMON = bytes(
    byte for high in range(0xB0, 0xD8) for low in range(0xA1, 0xFF) for byte in (high, low)
).decode("gb2312", "ignore")


async def test_fifty_turns_of_thirty_passages_stay_under_a_stated_size(tmp_path: Path) -> None:
    async with open_journal(tmp_path / "journal.sqlite") as journal:
        async with a_conversation(journal) as messages:
            assert {len(one.references) for one in messages} == {PASSAGES}
            assert {len(one.references[0]["content"]) for one in messages} == {CHARACTERS}
            await empty_log(journal)
            sizes = [bytes_on_disk(journal.path)]
            for limit in (None, 0.001):
                await collected(journal, limit)
                sizes.append(bytes_on_disk(journal.path))
    before, after, emptied = sizes
    assert before <= BEFORE_BYTES
    assert after <= AFTER_BYTES
    assert emptied <= EMPTIED_BYTES


async def collected(journal: Journal, megabytes: float | None) -> Collected:
    """As it is after the thirty days of the default, and then with a limit that keeps only messages."""
    later = datetime.now(UTC) + timedelta(days=31)
    limits = Limits(megabytes=megabytes)
    return await Retention(journal, JournalSaver(journal), limits, clock=lambda: later).collect()


@asynccontextmanager
async def a_conversation(journal: Journal) -> AsyncGenerator[list[Message]]:
    world = World()
    # Each turn finds passages of its own: none is shared with an earlier one.
    await world.add(
        *(a_chunk(turn, number, length=40) for turn in range(TURNS) for number in range(PASSAGES))
    )
    # Indexed by their beginnings, to save time; read as they are.
    for turn in range(TURNS):
        whole = [a_chunk(turn, number) for number in range(PASSAGES)]
        world.catalogue.all_chunks.update((chunk.id, chunk) for chunk in whole)
    events, sessions = EventLog(journal), Sessions(journal)
    graph = build().compile(checkpointer=JournalSaver(journal))
    runs = Runs(journal, events, sessions, graph, a_context_maker(world, sessions, KeptTexts(journal)))
    session = await sessions.create()
    yield [await a_turn(runs, session.id, turn) for turn in range(TURNS)]
    await runs.drain()


def a_context_maker(
    world: World, sessions: Sessions, texts: KeptTexts
) -> Callable[[RunEmitter, Asked], Context]:
    chat = ScriptedChat(pieces_of_an_answer(), context_tokens=200_000)
    context = replace(
        world.context(chat=chat), passages=RunPassages(world.catalogue, texts), messages=sessions
    )
    return lambda emit, asked: replace(context, emit=emit)


async def a_turn(runs: Runs, session_id: str, turn: int) -> Message:
    ids = {name: new_id() for name in ("message_id", "user_message_id", "request_id", "run_id")}
    request = asked(
        f"第{turn}号泵站的密封件多久检修一次？",
        session_id=session_id,
        language="zh",
        kb_ids=["kb1"],
        document_ids=[document_id(turn)],
        embedding_top_k=PASSAGES,
        rerank_top_k=PASSAGES,
        **ids,
    )
    return await runs.finished(await runs.start(request))


def a_chunk(turn: int, number: int, *, length: int = CHARACTERS) -> Chunk:
    chosen = random.Random(turn * 1000 + number)
    text = f"第{turn}号泵站的密封件每{chosen.randrange(1000, 9000)}小时检修一次。"
    while len(text) < length:
        text += "".join(chosen.choices(COMMON, k=chosen.randrange(8, 40))) + "。"
    document = document_id(turn)
    return Chunk(
        id=chunk_id(document, 1, "text", number),
        revision=1,
        kb_id="kb1",
        document_id=document,
        kind="text",
        chunk_index=number * 2,  # neighbours would be joined to one passage
        text=text[:length],
        section="检修 > 密封件",
    )


def document_id(turn: int) -> str:
    return f"{turn:032x}"


def pieces_of_an_answer() -> list[str]:
    chosen = random.Random(0)
    tags = {number: f'<ref id="c{number // 40 + 1}"/>' for number in range(39, PIECES, 40)}
    return ["".join(chosen.choices(COMMON, k=2)) + tags.get(number, "") for number in range(PIECES)]
