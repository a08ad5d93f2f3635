"""Over HTTP: a run that a newer program has to go on with, and events that this one does not know."""

import asyncio
from pathlib import Path

import httpx

from ..checkpoints.test_newer import UNKNOWN, a_killed_run, make_newer
from ..checkpoints.toys import a_stack
from ..running import API, a_client, data, follow, objects, refused, running


async def with_a_newer_run(folder: Path) -> tuple[str, str, str]:
    asked = await a_killed_run(folder)
    async with a_stack(folder) as stack:
        await stack.journal.write(make_newer)
    return asked["session_id"], asked["message_id"], asked["run_id"]


async def with_an_unknown_event(folder: Path) -> tuple[str, str, str]:
    asked = await a_killed_run(folder)
    async with a_stack(folder) as stack:
        last = await stack.events.last(asked["run_id"])
        await stack.journal.write(
            lambda c: c.execute(
                "insert into events select id, ?, 'tomorrow', null, ?, 1 from runs", (last + 1, UNKNOWN)
            )
        )
        await stack.stop(asked)
    return asked["session_id"], asked["message_id"], asked["run_id"]


def read_until_told(client: httpx.Client, address: str) -> httpx.Response:
    """Who comes while the server is still looking is let go, and comes again."""
    while True:
        with client.stream("GET", address) as response:
            response.read()
        if response.status_code != 200:
            return response


def test_a_run_of_a_newer_program_is_told_apart_and_can_be_stopped(tmp_path: Path) -> None:
    session, message, run = asyncio.run(with_a_newer_run(tmp_path))
    with running(tmp_path) as url, a_client(url) as client:
        address = f"{API}/sessions/continue-stream/{session}?message_id={message}"
        told = refused(read_until_told(client, address), 409, "checkpoint_too_new")
        assert "newer program" in told
        assert data(client.get(f"{API}/runs/{run}"))["status"] == "running"
        assert len(data(client.get(f"{API}/runs/{run}/events"))) == 5
        stopped = data(client.post(f"{API}/sessions/{session}/stop", json={"message_id": message}))
        assert stopped == {"status": "stopped"}
        assert follow(client, session, message)[-1]["response_type"] == "stop"


def test_an_event_of_an_unknown_type_is_passed_on_by_every_route(tmp_path: Path) -> None:
    session, message, run = asyncio.run(with_an_unknown_event(tmp_path))
    with running(tmp_path) as url, a_client(url) as client:
        events = follow(client, session, message)
        assert data(client.get(f"{API}/runs/{run}/events")) == events
        with client.stream("POST", f"{API}/runs/{run}/replay", json={}) as response:
            assert list(objects(response)) == events
    (unknown,) = [event for event in events if event["response_type"] == "tomorrow"]
    assert (unknown["content"], unknown["data"]["of"], unknown["new_field"]) == (
        "渠 canal",
        ["tomorrow"],
        {"a": 1},
    )
