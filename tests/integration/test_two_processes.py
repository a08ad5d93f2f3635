"""Two processes on one data folder: one serves it, a second server is refused, readers read."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ..running import API, HANDBOOK, MANUAL, a_client, a_kb, a_session, add, ask, data, running

pytestmark = pytest.mark.integration

# As in a notebook: it opens the files themselves, while a server writes to them.
READ = """
import json, sys
import headrace
with headrace.open(sys.argv[1]) as folder:
    print(json.dumps([[run.question, run.answer, len(run.trace()["candidates"])] for run in folder.runs()]))
"""


def headrace(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "headrace.cli", "--data", str(folder), *command],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_second_server_is_refused_readers_read_and_the_first_goes_on(tmp_path: Path) -> None:
    with running(tmp_path) as url, a_client(url) as client:
        kb = a_kb(client, "文档 documents", [("员工手册.md", HANDBOOK)])
        events = ask(client, a_session(client, kb), "年休假最多可以结转几天？")
        assert events[-1]["response_type"] == "complete"

        second = headrace(tmp_path, "serve", "--port", "0")
        assert second.returncode == 1
        assert "already served by process" in second.stderr
        assert url in second.stderr
        assert "Traceback" not in second.stderr
        assert second.stdout == ""

        # A command of a third process goes to the server that is there.
        third = headrace(tmp_path, "search", "年休假 结转", "--kb", "文档 documents", "--json")
        assert third.returncode == 0, third.stderr
        assert "年休假" in third.stdout

        reader = subprocess.run(
            [sys.executable, "-c", READ, str(tmp_path)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        [[question, answer, candidates]] = json.loads(reader.stdout)
        assert question == "年休假最多可以结转几天？"
        assert "3 天" in answer
        assert candidates > 0

        # Neither left anything in the way of the first.
        assert add(client, kb, "pump.md", MANUAL.encode())["status"] == "ready"
        body = {"query": "lithium grease seal kit", "knowledge_base_ids": [kb]}
        found = data(client.post(f"{API}/search", json=body))["knowledge_references"]
        assert "4000 operating hours" in found[0]["content"]
