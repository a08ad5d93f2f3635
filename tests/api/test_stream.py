import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from headrace.api.stream import KEEP_ALIVE, RETRY, RETRY_LATER, frame, object_frames, run_frames
from headrace.checkpoints.event_rows import Told
from headrace.checkpoints.events import Event, EventLog, RunEmitter
from headrace.checkpoints.journal import open_journal
from headrace.checkpoints.run_rows import End, end_run, insert_run
from headrace.checkpoints.sessions import Sessions
from headrace.errors import Damaged

from ..checkpoints.toys import an_asked
from ..leaping import LeapingLoop

pytestmark = pytest.mark.anyio


def an_event(seq: int, *, done: bool = False) -> Event:
    return Event(
        id="r", seq=seq, run_id="run", response_type="answer", content="你好", done=done, data={"segment": 1}
    )


async def three_events() -> AsyncGenerator[Event]:
    for seq in (1, 2, 3):
        yield an_event(seq, done=seq == 3)


def test_a_frame_is_an_id_a_name_and_one_line_of_json() -> None:
    text = frame({"content": "第一行\nsecond\u2028third\x85"}, id=7)
    assert text.startswith("id: 7\nevent: message\ndata: {")
    assert text.endswith("}\n\n")
    data = text.split("data: ")[1][:-2]
    assert len(data.splitlines()) == 1
    assert json.loads(data) == {"content": "第一行\nsecond\u2028third\x85"}


async def test_frames_are_numbered_and_end_with_the_run() -> None:
    frames = [one async for one in run_frames(three_events(), closing=asyncio.Event())]
    assert frames[0] == RETRY
    assert [one.splitlines()[0] for one in frames[1:]] == ["id: 1", "id: 2", "id: 3"]


async def test_a_silent_run_gets_keep_alives() -> None:
    speak = asyncio.Event()

    async def slow() -> AsyncGenerator[Event]:
        await speak.wait()
        yield an_event(1, done=True)

    frames = run_frames(slow(), closing=asyncio.Event(), keep_alive_s=0.001)
    assert await anext(frames) == RETRY
    assert await anext(frames) == KEEP_ALIVE
    assert await anext(frames) == KEEP_ALIVE
    speak.set()
    rest = [one async for one in frames if one != KEEP_ALIVE]
    assert len(rest) == 1


async def test_streams_end_with_a_hint_when_the_server_closes() -> None:
    closing = asyncio.Event()

    async def endless() -> AsyncGenerator[Event]:
        yield an_event(1)
        await asyncio.Event().wait()

    frames = run_frames(endless(), closing=closing)
    assert [await anext(frames), await anext(frames)] == [RETRY, frame(an_event(1), id=1)]
    closing.set()
    assert [one async for one in frames] == [RETRY_LATER]


async def test_what_breaks_the_log_is_told_at_the_end_of_the_stream() -> None:
    async def broken() -> AsyncGenerator[Event]:
        yield an_event(1)
        raise Damaged("journal.sqlite is damaged", code="journal_damaged")

    *_, last = [one async for one in run_frames(broken(), closing=asyncio.Event())]
    assert not last.startswith("id:")
    told = json.loads(last.split("data: ")[1])
    assert (told["response_type"], told["done"]) == ("error", True)
    assert told["data"] == {"code": "journal_damaged", "status": 500}


async def test_a_reader_that_leaves_closes_its_source() -> None:
    closed = asyncio.Event()

    async def watched() -> AsyncGenerator[dict[str, int]]:
        try:
            yield {"done": 1}
            await asyncio.Event().wait()
        finally:
            closed.set()

    frames = object_frames(watched(), closing=asyncio.Event())
    await anext(frames)
    assert await anext(frames) == 'event: message\ndata: {"done":1}\n\n'
    reading = asyncio.ensure_future(anext(frames))
    await asyncio.sleep(0)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    assert closed.is_set()


def test_seventy_seconds_of_silence_have_seven_comments_and_then_the_stream_goes_on(tmp_path: Path) -> None:
    async def through_silence() -> tuple[list[tuple[str, float]], list[str]]:
        clock = asyncio.get_running_loop().time
        async with open_journal(tmp_path / "journal.sqlite") as journal:
            log, asked = EventLog(journal), an_asked((await Sessions(journal).create()).id)
            run_id = await journal.write(lambda c: insert_run(c, asked=asked))
            frames = run_frames(log.follow(run_id), closing=asyncio.Event())
            assert await anext(frames) == RETRY
            # The journal's own thread takes real time, in which this clock leaps on: comments in between.
            while (first := await anext(frames)) == KEEP_ALIVE:
                pass
            assert first.startswith("id: 1")
            began = clock()
            heard = [(await anext(frames), clock() - began) for _ in range(7)]
            emit = RunEmitter(log, run_id, Told(seq=1))
            emit("answer", "还在 still here", data={"segment": emit.new_segment()})
            emit.close()
            end = End(status="complete", response_type="complete")
            await journal.write(lambda c: end_run(c, run_id=run_id, end=end))
            log.wake(run_id)
            return heard, [one async for one in frames if one != KEEP_ALIVE]

    with asyncio.Runner(loop_factory=LeapingLoop) as runner:
        heard, rest = runner.run(through_silence())
    assert [comment for comment, _ in heard] == [KEEP_ALIVE] * 7
    assert [round(moment, 3) for _, moment in heard] == [10, 20, 30, 40, 50, 60, 70]
    assert [one.splitlines()[0] for one in rest] == ["id: 2", "id: 3"]
    assert "还在 still here" in rest[0]
