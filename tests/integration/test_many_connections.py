"""A server that may have few files open, and more clients than that."""

import subprocess
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from headrace.serving import RESERVED_FILES, most_connections

from ..running import API, HANDBOOK, a_client, a_kb, a_session, answer_of, ask, refused

pytestmark = pytest.mark.integration

FILES = 300


@contextmanager
def a_server(folder: Path) -> Generator[httpx.URL]:
    program = (
        f"ulimit -n {FILES}; exec {sys.executable} -m headrace.cli --data '{folder / 'data'}' serve --port 0"
    )
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(["bash", "-c", program], stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        assert process.stdout is not None
        yield httpx.URL(next(line for line in process.stdout if "http://" in line).split()[-1])
    finally:
        process.terminate()
        assert process.wait(timeout=30) == 0
        if process.stdout:
            process.stdout.close()


def test_who_does_not_fit_is_told_so_and_the_others_are_served(tmp_path: Path) -> None:
    with a_server(tmp_path) as url:
        with a_client(str(url)) as client, ExitStack() as crowd:
            kb = a_kb(client, "文档", [("员工手册.md", HANDBOOK)])
            crowding = [crowd.enter_context(a_client(str(url))) for _ in range(FILES - RESERVED_FILES // 2)]
            told = [one.get("/healthz").status_code for one in crowding]
            assert told == sorted(told)
            assert set(told) == {200, 503}
            assert told.count(200) in (most_connections(FILES) - 1, most_connections(FILES))
            refused(crowding[-1].get(f"{API}/info"), 503, "too_many_connections")
            crowding[0].close()
            # There is room for one again, and for the files that an answer needs.
            assert "450 元" in answer_of(ask(client, a_session(client, kb), "国内出差住宿标准是多少？"))
    assert "connections are open" in (tmp_path / "log").read_text()


@pytest.mark.parametrize(("files", "connections"), [(-1, 65_336), (65_536, 65_336), (1024, 824), (256, 128)])
def test_some_files_are_kept_for_the_stores(files: int, connections: int) -> None:
    assert most_connections(files) == connections
