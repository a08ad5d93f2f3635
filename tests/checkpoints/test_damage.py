"""A page in the middle of the journal is broken: what lies on it is refused, the rest is served."""

import sqlite3
from pathlib import Path

import httpx
import pytest

from headrace.checkpoints.event_rows import Told
from headrace.checkpoints.events import EventLog, RunEmitter
from headrace.checkpoints.journal import open_journal
from headrace.checkpoints.run_rows import End, end_run, insert_run
from headrace.checkpoints.sessions import Sessions
from headrace.databases import read_through
from headrace.doctor import examine
from headrace.errors import Damaged
from headrace.settings import load_settings

from ..running import API, a_client, a_session, data, objects, refused, running
from .toys import an_asked

pytestmark = pytest.mark.anyio
PAGE = 4096


async def two_runs(folder: Path) -> list[tuple[str, str, str]]:
    """Two finished runs of many pages each: (session, message, run); every event names its run."""
    made: list[tuple[str, str, str]] = []
    async with open_journal(folder / "journal.sqlite") as journal:
        log = EventLog(journal)
        for name in ("坏", "whole"):
            asked = an_asked((await Sessions(journal).create()).id)
            run_id = await journal.write(lambda c, asked=asked: insert_run(c, asked=asked))
            emit = RunEmitter(log, run_id, Told(seq=1))
            for number in range(60):
                emit("warning", f"{name}-{number} " + "水" * 400)
            emit.close()
            end = End(status="complete", response_type="complete")
            await journal.write(lambda c, run_id=run_id, end=end: end_run(c, run_id=run_id, end=end))
            made.append((asked["session_id"], asked["message_id"], run_id))
    return made


def break_the_page_of(path: Path, text: str) -> None:
    whole = bytearray(path.read_bytes())
    at = whole.index(text.encode()) // PAGE * PAGE
    whole[at : at + PAGE] = b"\xee" * PAGE
    path.write_bytes(whole)


async def test_what_lies_on_a_broken_page_is_refused_and_the_rest_is_read(tmp_path: Path) -> None:
    (_, _, broken), (_, _, sound) = await two_runs(tmp_path)
    break_the_page_of(tmp_path / "journal.sqlite", "坏-30 ")
    async with open_journal(tmp_path / "journal.sqlite") as journal:
        log = EventLog(journal)
        with pytest.raises(Damaged, match=r"journal\.sqlite is damaged .*headrace doctor") as error:
            await log.read(broken)
        assert (error.value.status, error.value.code) == (500, "journal_damaged")
        assert len(await log.read(sound)) == 62
        with pytest.raises(Damaged):
            await journal.write(lambda c: c.execute("update events set at = 0 where run_id = ?", (broken,)))
        assert (await Sessions(journal).list())[1] == 2
        await Sessions(journal).create(title="还能写")


async def test_over_http_the_broken_run_is_a_500_and_everything_else_goes_on(tmp_path: Path) -> None:
    (session, message, broken), (_, _, sound) = await two_runs(tmp_path)
    break_the_page_of(tmp_path / "journal.sqlite", "坏-30 ")
    with running(tmp_path) as url, a_client(url) as client:
        refused(client.get(f"{API}/runs/{broken}/events"), 500, "journal_damaged")
        assert len(data(client.get(f"{API}/runs/{sound}/events?page_size=1000"))) == 62
        assert len(data(client.get(f"{API}/sessions"))) == 2
        assert ends_with_an_error(client, session, message)
        assert a_session(client)


def ends_with_an_error(client: httpx.Client, session: str, message: str) -> bool:
    address = f"{API}/sessions/continue-stream/{session}?message_id={message}"
    with client.stream("GET", address) as response:
        last = list(objects(response))[-1]
    return last["done"] and last["data"] == {"code": "journal_damaged", "status": 500}


async def test_the_doctor_reads_the_whole_file(tmp_path: Path) -> None:
    await two_runs(tmp_path)
    path, settings = tmp_path / "journal.sqlite", load_settings(data=tmp_path)
    [finding] = [one for one in examine(settings) if one.name == "journal"]
    assert (finding.state, "read through" in finding.now) == ("ok", True)

    break_the_page_of(path, "坏-30 ")
    [finding] = [one for one in examine(settings) if one.name == "journal"]
    assert finding.state == "broken"
    assert "journal.sqlite is damaged" in finding.now
    assert finding.todo


async def test_reading_through_ends_in_time(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("create table rows (text text)")
    connection.executemany("insert into rows values (?)", [("水 water",)] * 20_000)
    connection.commit()
    connection.close()
    assert read_through(path, limit_s=-1) is None
    assert read_through(path, limit_s=60) == []
