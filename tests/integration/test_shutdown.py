"""SIGTERM while much goes on: out in ten seconds, nothing lost, all of it finished after the next start."""

import asyncio
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from ..running import API, a_session, answer_of, data, follow, serving
from ..stub_model import a_model_server
from .test_server_killed import a_server

pytestmark = pytest.mark.integration

RUNS = 20
STREAMS = 50
WORDS = 150
QUESTIONS = (f"请慢慢回答。 slowly: {WORDS}", f"Take your time. slowly: {WORDS}")
MOST_S = 10.0


class Reader:
    """One open stream: what it has got, and whether it ended as a server that goes away ends it."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.last_line = ""
        self.answering = asyncio.Event()

    async def read(self, client: httpx.AsyncClient, method: str, address: str, **given: Any) -> None:
        async with client.stream(method, address, **given) as response:
            assert response.status_code == 200
            async for line in response.aiter_lines():
                self.last_line = line or self.last_line
                if line.startswith("data: "):
                    self.events.append(httpx.Response(200, text=line.removeprefix("data: ")).json())
                    if self.events[-1]["response_type"] == "answer":
                        self.answering.set()


async def crowd(process: subprocess.Popen[str], url: str, sessions: list[str]) -> tuple[list[Reader], float]:
    """Open all streams, end the server once every answer has begun. Gives readers and seconds."""
    limits = httpx.Limits(max_connections=STREAMS + 1)
    async with httpx.AsyncClient(base_url=url, limits=limits, timeout=30, trust_env=False) as client:
        askers, readers = [Reader() for _ in sessions], [Reader() for _ in range(STREAMS - RUNS)]
        reading = [
            asyncio.create_task(
                asker.read(client, "POST", f"{API}/sessions/{session}/knowledge-qa", json={"query": query})
            )
            for asker, session, query in zip(askers, sessions, QUESTIONS * (RUNS // 2), strict=True)
        ]
        await asyncio.gather(*(asker.answering.wait() for asker in askers))
        for number, reader in enumerate(readers):
            asker = askers[number % RUNS]
            address = f"{API}/sessions/continue-stream/{sessions[number % RUNS]}"
            params = {"message_id": asker.events[0]["assistant_message_id"]}
            reading.append(asyncio.create_task(reader.read(client, "GET", address, params=params)))
        await asyncio.gather(*(reader.answering.wait() for reader in readers))
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(process.wait, 30) == 0
        took = time.monotonic() - began
        await asyncio.gather(*reading)
        return [*askers, *readers], took


def test_fifty_streams_and_twenty_answers_are_let_go_in_time_and_the_answers_are_finished(
    tmp_path: Path,
) -> None:
    with serving(a_model_server()) as model:
        with a_server(tmp_path, model) as (process, client):
            sessions = [a_session(client) for _ in range(RUNS)]
            readers, took = asyncio.run(crowd(process, str(client.base_url), sessions))
        assert took < MOST_S
        assert {reader.last_line for reader in readers} == {"retry: 2000"}
        assert not any(event["done"] for reader in readers for event in reader.events)
        with a_server(tmp_path, model) as (_, client):
            for number, reader in enumerate(readers):
                session, message = sessions[number % RUNS], reader.events[0]["assistant_message_id"]
                events = reader.events + follow(client, session, message, after=reader.events[-1]["seq"])
                assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
                assert [event["done"] for event in events].count(True) == 1
                assert answer_of(events).split() == [f"词{n}" for n in range(WORDS)]
            stored = [data(client.get(f"{API}/sessions/{session}/messages")) for session in sessions]
    assert {len(messages) for messages in stored} == {2}
    assert {messages[1]["status"] for messages in stored} == {"complete"}
