"""A disk that is really full under a real server: a small file system in memory, where one can be mounted."""

import subprocess
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from ..running import API, a_session, answer_of, ask, data, follow, objects, refused, serving
from ..stub_model import a_model_server
from .test_server_killed import a_server

pytestmark = pytest.mark.integration

SIZE_MB = 16
WORDS = 150


@pytest.fixture
def small_disk(tmp_path: Path) -> Generator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE_MB}m", "tmpfs", str(disk)]
    try:
        mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount command here")
    if mounted.returncode != 0:
        pytest.skip(f"no small file system can be mounted here: {mounted.stderr.strip()}")
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def types(events: list[dict[str, Any]]) -> list[str]:
    return [event["response_type"] for event in events]


def fill(disk: Path) -> Path:
    """To the last byte."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            try:
                while file.write(bytes(size)) == size:
                    pass
            except OSError:
                continue
    return ballast


def test_answers_pause_while_the_disk_is_full_and_reading_goes_on(small_disk: Path) -> None:
    with serving(a_model_server()) as model, a_server(small_disk, model) as (_, client):
        earlier, session = a_session(client), a_session(client)
        assert answer_of(ask(client, earlier, "say: 先前 earlier")) == "先前 earlier"
        seen: list[dict[str, Any]] = []
        begun = threading.Event()

        def read() -> None:
            address = f"{API}/sessions/{session}/knowledge-qa"
            with client.stream("POST", address, json={"query": f"slowly: {WORDS}"}) as response:
                for event in objects(response):
                    seen.append(event)
                    if event["response_type"] == "answer":
                        begun.set()

        reading = threading.Thread(target=read)
        reading.start()
        assert begun.wait(20)
        ballast = fill(small_disk)
        # Room that the journal had taken before lasts for a while.
        while (refusal := client.post(f"{API}/sessions", json={})).status_code == 201:
            pass
        refused(refusal, 507, "disk_full")
        address = f"{API}/sessions/{earlier}/knowledge-qa"
        refused(client.post(address, json={"query": "say: x"}), 507, "disk_full")
        message = seen[0]["assistant_message_id"]
        reading.join(5)
        assert reading.is_alive()
        assert not seen[-1]["done"]
        assert client.get("/healthz").status_code == 200
        told = data(client.get(f"{API}/sessions/{earlier}/messages"))
        assert [one["content"] for one in told] == ["say: 先前 earlier", "先前 earlier"]
        assert data(client.get(f"{API}/runs/{seen[0]['run_id']}/events"))[: len(seen)] == seen

        ballast.unlink()
        reading.join(30)
        assert not reading.is_alive()
        assert [event["seq"] for event in seen] == list(range(1, len(seen) + 1))
        assert "reset" in types(seen)
        assert types(seen)[-1] == "complete"
        assert answer_of(seen).split() == [f"词{n}" for n in range(WORDS)]
        assert follow(client, session, message) == seen
        assert answer_of(ask(client, earlier, "say: 之后 after")) == "之后 after"
