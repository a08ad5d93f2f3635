"""A data folder read in a notebook: as its server would tell it, without the server, and without a trace."""

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import headrace
from headrace.errors import Conflict, Gone, HeadraceError, NotFound, StartRefused
from headrace.folder import running_owner
from headrace.inspection import DataFolder, Run

from .running import API, HANDBOOK, MANUAL, a_client, a_kb, a_session, ask, data, running
from .test_read_only import everything

QUESTION = "工龄满十年的员工每年有几天年休假？"
STAGES = [
    "load_history",
    "match_ready_answer",
    "understand_query",
    "search_chunks",
    "collect_results",
    "rerank",
    "boost_wiki",
    "merge_chunks",
    "filter_top_k",
    "assemble_context",
    "emit_references",
    "generate_answer",
    "finalize",
]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a server did in a folder, and what it says of it; the server has ended."""
    path = tmp_path_factory.mktemp("headrace") / "数据"
    with running(path) as url, a_client(url) as client:
        kb = a_kb(client, "手册", [("员工手册.md", HANDBOOK), ("pump.md", MANUAL)])
        session, other = a_session(client, kb), a_session(client, kb)
        run = ask(client, session, QUESTION)[0]["run_id"]
        ask(client, other, "How loud is the pump?")
        with headrace.open(path) as folder:
            fork = folder.run(run).fork("rerank", settings={"rerank_top_k": 1}).id
        return {
            "path": path,
            "session": session,
            "run": run,
            "fork": fork,
            "events": data(client.get(f"{API}/runs/{run}/events")),
            "trace": data(client.get(f"{API}/runs/{run}/trace")),
            "diff": data(client.get(f"{API}/runs/{run}/diff", params={"with": fork})),
            "runs": data(client.get(f"{API}/runs")),
        }


@pytest.fixture
def folder(told: dict[str, Any]) -> Iterator[DataFolder]:
    with headrace.open(told["path"]) as folder:
        yield folder


@pytest.fixture
def run(told: dict[str, Any], folder: DataFolder) -> Run:
    return folder.run(told["run"])


def test_looking_at_everything_changes_nothing_in_the_folder(told: dict[str, Any]) -> None:
    before = everything(told["path"])
    with headrace.open(told["path"]) as folder:
        for run in folder.runs():
            chunk = run.trace()["candidates"][0]["chunk_id"]
            looks: list[object] = [run.answer, run.events, run.checkpoints, run.state(), [*run.replay()]]
            looks += [run.picture(), run.timings(), run.follow(chunk), run.way(chunk)]
            assert all(looks)
        folder.diff(told["run"], told["fork"])
    assert everything(told["path"]) == before


def test_nothing_stays_open_and_no_thread_is_left(told: dict[str, Any]) -> None:
    threads = threading.enumerate()
    folder = headrace.open(told["path"])
    folder.run(told["run"]).trace()
    assert threading.enumerate() == threads
    assert open_files_in(told["path"]) == []


def test_runs_are_those_the_server_lists_the_newest_first(told: dict[str, Any], folder: DataFolder) -> None:
    assert [run.summary for run in folder.runs()] == told["runs"]
    assert {run.id for run in folder.runs(told["session"])} == {told["run"], told["fork"]}
    assert len(folder.runs(limit=2)) == 2


def test_a_run_tells_what_was_asked_and_answered(run: Run) -> None:
    assert (run.question, run.summary["status"], run.summary["outcome"]) == (QUESTION, "complete", "answered")
    assert "12 天" in run.answer


def test_events_are_those_of_the_log_and_replay_tells_them_again(told: dict[str, Any], run: Run) -> None:
    assert run.events == told["events"]
    assert [*run.replay()] == told["events"]


def test_each_checkpoint_names_the_stage_it_was_written_after_and_what_comes_next(run: Run) -> None:
    assert [one.stage for one in run.checkpoints if one.stage] == STAGES
    assert [one.next for one in run.checkpoints if one.stage == "rerank"] == [["boost_wiki"]]
    times = [one.created_at for one in run.checkpoints]
    assert times == sorted(times)


def test_the_state_after_a_stage_has_what_it_wrote_and_nothing_of_later_ones(run: Run) -> None:
    state = run.state("search_chunks")
    assert state.get("chunk_hits")
    assert "ranked" not in state
    assert run.state().get("outcome") == "answered"


def test_a_stage_that_did_not_run_has_no_state_and_the_others_are_named(run: Run) -> None:
    with pytest.raises(Conflict, match="generate_answer") as refused:
        run.state("fallback")
    assert (refused.value.code, refused.value.details["reached"]) == ("stage_not_reached", STAGES)
    with pytest.raises(HeadraceError, match="the stages are load_history") as unknown:
        run.state("检索")
    assert unknown.value.code == "bad_stage"


def test_the_trace_and_the_difference_are_those_of_the_server(
    told: dict[str, Any], folder: DataFolder, run: Run
) -> None:
    assert run.trace() == told["trace"]
    assert folder.diff(run, told["fork"]) == told["diff"]


@pytest.mark.anyio
async def test_it_works_where_an_event_loop_runs(told: dict[str, Any]) -> None:
    with headrace.open(told["path"]) as folder:
        run = folder.run(told["run"])
        assert run.trace() == told["trace"]
        assert [*run.replay()] == told["events"]


def test_pictures_show_the_way_of_the_run_and_its_times(run: Run) -> None:
    assert run.picture().count('class="stage ran"') == len(STAGES) + 2
    assert all(stage in run.timings() for stage in STAGES)
    assert [span.stage for span in run.spans()] == STAGES
    starts = [span.start_ms for span in run.spans()]
    assert starts == sorted(starts)


def test_a_passage_is_followed_to_where_it_left(folder: DataFolder, told: dict[str, Any]) -> None:
    fork = folder.run(told["fork"])
    id, left = next((one["chunk_id"], one["left"]) for one in fork.trace()["candidates"] if one["left"])
    assert fork.follow(id)[-1]["happened"].startswith("left")
    assert f"{left['stage']}: {left['reason']}" in fork.way(id)


def test_a_passage_that_was_never_found_has_no_way(run: Run) -> None:
    assert run.follow("没有") == []
    assert "<circle" not in run.way("没有")


def test_a_fork_has_the_stages_before_it_from_its_origin(
    told: dict[str, Any], folder: DataFolder, run: Run
) -> None:
    fork = folder.run(told["fork"])
    own = STAGES.index("rerank")
    assert [one.stage for one in fork.checkpoints if one.inherited] == STAGES[:own]
    assert [one.stage for one in fork.checkpoints if one.stage and not one.inherited] == STAGES[own:]
    assert fork.state("search_chunks") == run.state("search_chunks")
    assert [span.stage for span in fork.spans()] == STAGES[own:]
    assert fork.picture().count('class="stage ran"') == len(STAGES) + 2
    assert run.summary["forks"] == [fork.id]


def test_a_fork_whose_origin_was_deleted_has_its_own_stages(told: dict[str, Any], tmp_path: Path) -> None:
    with headrace.open(changed(told, tmp_path, "delete from runs where forked_from is null")) as folder:
        assert [one.stage for one in folder.run(told["fork"]).checkpoints][1:] == STAGES[5:]


def test_a_folder_is_read_and_forked_while_its_server_goes_on(told: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "data"
    shutil.copytree(told["path"], path)
    with running(path) as url, a_client(url) as client, headrace.open(path) as folder:
        asked = ask(client, told["session"], "差旅住宿标准是多少？")[0]["run_id"]
        assert folder.runs()[0].id == asked
        fork = folder.run(asked).fork("generate_answer", settings={"citation_enabled": False})
        assert (fork.summary["status"], fork.summary["forked_from"]) == ("complete", asked)
        assert "<kb" not in fork.answer
        with pytest.raises(HeadraceError, match="the stages are") as refused:
            fork.fork("检索")
        assert refused.value.code == "bad_stage"


def test_a_fork_without_a_server_starts_one_for_as_long_as_it_takes(
    told: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "data"
    shutil.copytree(told["path"], path)
    with headrace.open(path) as folder:
        fork = folder.run(told["run"]).fork("rerank", settings={"rerank_top_k": 1})
        assert fork.summary["status"] == "complete"
    assert running_owner(path) is None


@pytest.mark.parametrize(("kept", "code"), [("nothing", "run_trimmed"), ("erased", "run_erased")])
def test_a_run_without_its_record_says_what_became_of_it(
    kept: str, code: str, told: dict[str, Any], tmp_path: Path
) -> None:
    with headrace.open(changed(told, tmp_path, f"update runs set kept = '{kept}'")) as folder:
        run = folder.run(told["run"])
        looks: list[Callable[[], object]] = [
            lambda: run.events,
            lambda: run.checkpoints,
            run.state,
            run.trace,
            lambda: [*run.replay()],
        ]
        for look in looks:
            with pytest.raises(Gone) as gone:
                look()
            assert gone.value.code == code
        assert "generate_answer" in run.timings()


def test_of_an_old_run_the_last_state_is_left(told: dict[str, Any], tmp_path: Path) -> None:
    trimmed = (
        "delete from checkpoints where checkpoint_id <> "
        "(select max(checkpoint_id) from checkpoints others where others.thread_id = checkpoints.thread_id)",
        "update runs set kept = 'last'",
    )
    with headrace.open(changed(told, tmp_path, *trimmed)) as folder:
        run = folder.run(told["run"])
        assert run.state("finalize") == run.state()
        with pytest.raises(Conflict, match="not kept any more") as gone:
            run.state("rerank")
        assert gone.value.code == "checkpoint_gone"
        assert [span.stage for span in run.spans()] == STAGES
        assert run.trace()["missing"]


def test_a_run_that_goes_on_is_read_and_cannot_be_replayed_yet(told: dict[str, Any], tmp_path: Path) -> None:
    goes_on = "update runs set ended_at = null, status = 'running', timing = null where forked_from is null"
    with headrace.open(changed(told, tmp_path, goes_on)) as folder:
        run = folder.run(told["run"])
        assert run.state().get("answer")
        with pytest.raises(Conflict) as unfinished:
            next(run.replay())
        assert unfinished.value.code == "run_unfinished"


def test_unknown_ids_are_named(folder: DataFolder) -> None:
    with pytest.raises(NotFound, match="'没有这个'"):
        folder.run("没有这个")
    with pytest.raises(NotFound, match="session"):
        folder.runs("没有这个")


def test_a_folder_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="数据") as refused:
        headrace.open(tmp_path / "数据")
    assert refused.value.code == "folder_not_found"
    assert not (tmp_path / "数据").exists()


def test_another_folder_is_refused_with_what_it_lacks(tmp_path: Path) -> None:
    with pytest.raises(StartRefused, match=r"journal\.sqlite") as refused:
        headrace.open(str(tmp_path))
    assert refused.value.code == "not_a_data_folder"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("version", "code"), [(1, "older_schema"), (999, "newer_schema")])
def test_a_folder_of_another_version_says_what_to_do(
    version: int, code: str, told: dict[str, Any], tmp_path: Path
) -> None:
    path = changed(told, tmp_path, f"update schema_version set version = {version}")
    with pytest.raises(StartRefused, match=r"journal\.sqlite") as refused:
        headrace.open(path)
    assert refused.value.code == code


def test_the_configured_folder_is_the_default(told: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_DATA", str(told["path"]))
    with headrace.open() as folder:
        assert folder.run(told["run"]).question == QUESTION


def test_importing_the_package_alone_imports_nothing_else() -> None:
    code = "import sys, headrace; print([n for n in sys.modules if n.startswith(('headrace.', 'langgraph'))])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def changed(told: dict[str, Any], tmp_path: Path, *statements: str) -> Path:
    """A copy of the folder in which something has happened to the journal."""
    path = tmp_path / "data"
    shutil.copytree(told["path"], path)
    with closing(sqlite3.connect(path / "journal.sqlite", isolation_level=None)) as journal:
        for statement in statements:
            journal.execute(statement)
    return path


def open_files_in(folder: Path) -> list[str]:
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("the system does not list the open files of a process")
    found = [os.path.realpath(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")]
    return [name for name in found if name.startswith(str(folder))]
