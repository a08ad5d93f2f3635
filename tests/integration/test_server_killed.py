"""A server that is killed in mid-answer, by every means, and its next start."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from ..running import API, HANDBOOK, a_client, a_kb, a_session, answer_of, data, follow, objects, serving
from ..stub_model import a_model_server

pytestmark = pytest.mark.integration

QUESTION = "年休假 slowly: 120"


@contextmanager
def a_server(folder: Path, model: str) -> Generator[tuple[subprocess.Popen[str], httpx.Client]]:
    environment = os.environ | {
        "HEADRACE_CHAT_BASE_URL": f"{model}/v1",
        "HEADRACE_SUGGESTIONS_ENABLED": "false",
        "HEADRACE_CHAT_MODEL": "stub",
        "HEADRACE_ENABLE_REWRITE": "false",
    }
    command = [sys.executable, "-m", "headrace.cli", "--data", str(folder), "serve", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        ready = next(line for line in process.stdout if "http://" in line)
        with a_client(ready.split()[-1].rstrip("/")) as client:
            yield process, client
    finally:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


def read_until_answer(client: httpx.Client, session: str, pieces: int) -> list[dict[str, Any]]:
    seen: list[dict[str, Any]] = []
    address = f"{API}/sessions/{session}/knowledge-qa"
    with client.stream("POST", address, json={"query": QUESTION}) as response:
        for event in objects(response):
            seen.append(event)
            if sum(one["response_type"] == "answer" for one in seen) == pieces:
                break
    return seen


@pytest.mark.parametrize("pieces", [1, 40])
def test_after_kill_9_the_answer_is_finished_without_a_gap_or_a_repeat(tmp_path: Path, pieces: int) -> None:
    with serving(a_model_server()) as model:
        with a_server(tmp_path, model) as (process, client):
            session = a_session(client, a_kb(client, "文档", [("员工手册.md", HANDBOOK)]))
            seen = read_until_answer(client, session, pieces)
            process.send_signal(signal.SIGKILL)
            process.wait()
        with a_server(tmp_path, model) as (_, client):
            message = seen[0]["assistant_message_id"]
            seen += follow(client, session, message, after=seen[-1]["seq"])
            stored = data(client.get(f"{API}/sessions/{session}/messages"))[1]
            assert follow(client, session, message) == seen
    assert [event["seq"] for event in seen] == list(range(1, len(seen) + 1))
    assert [event["done"] for event in seen].count(True) == 1
    assert "reset" in [event["response_type"] for event in seen]
    assert (stored["status"], stored["content"]) == ("complete", answer_of(seen))
    assert stored["content"].split() == [f"词{n}" for n in range(120)]


def test_sigterm_ends_the_stream_with_a_hint_within_ten_seconds_and_the_answer_goes_on(
    tmp_path: Path,
) -> None:
    with serving(a_model_server()) as model:
        with a_server(tmp_path, model) as (process, client):
            session = a_session(client)
            with client.stream(
                "POST", f"{API}/sessions/{session}/knowledge-qa", json={"query": QUESTION}
            ) as response:
                pieces = response.iter_text()
                text = ""
                while '"answer"' not in text:
                    text += next(pieces)
                process.send_signal(signal.SIGTERM)
                began = time.monotonic()
                text += "".join(pieces)
            assert process.wait() == 0
            assert time.monotonic() - began < 10
        assert text.endswith("retry: 2000\n\n")
        with a_server(tmp_path, model) as (_, client):
            message = data(client.get(f"{API}/sessions/{session}/messages"))[1]
            events = follow(client, session, message["id"])
    assert answer_of(events).split() == [f"词{n}" for n in range(120)]


def test_ctrl_c_is_exit_code_130(tmp_path: Path) -> None:
    with serving(a_model_server()) as model, a_server(tmp_path, model) as (process, _):
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
