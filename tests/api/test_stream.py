import asyncio
import json
from collections.abc import AsyncGenerator

import pytest

from headrace.api.stream import KEEP_ALIVE, RETRY, RETRY_LATER, frame, object_frames, run_frames
from headrace.checkpoints.events import Event

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
