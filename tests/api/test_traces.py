"""Traces and differences over HTTP: of finished, running and failed runs, of forks, of what is half gone."""

import asyncio
import sqlite3
from collections.abc import Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from headrace.api.gathering import Sources, hiding, read_trace
from headrace.checkpoints.saver import JournalSaver
from headrace.checkpoints.schema import SCHEMA_VERSION
from headrace.prompts.loader import load_prompts
from headrace.read_only import ReadOnlyCatalogue, ReadOnlyFile, ReadOnlyJournal
from headrace.settings import Endpoint
from headrace.stores.catalogue_schema import SCHEMA_VERSION as CATALOGUE_VERSION

from ..running import (
    API,
    HANDBOOK,
    MANUAL,
    a_client,
    a_kb,
    a_session,
    ask,
    data,
    objects,
    refused,
    running,
    serving,
)
from ..stub_model import a_model_server

KEY = "sk-stub-4f9d2c7e1b"
ZH = "年休假可以结转几天？ say: 最多 3 天"
EN = "Which lithium grease should I use? say: NLGI 2"


@pytest.fixture(scope="module")
def model() -> Generator[str]:
    app = a_model_server()
    with serving(app) as url:
        yield url
        app.state.closing.set()


@pytest.fixture(scope="module")
def client(folder: Path, model: str) -> Generator[httpx.Client]:
    configured = {
        "chat_base_url": f"{model}/v1",
        "chat_model": "stub",
        "suggestions_enabled": False,
        "chat_api_key": KEY,
    }
    with running(folder, **configured) as url, a_client(url) as client:
        yield client


@pytest.fixture(scope="module")
def kb(client: httpx.Client, model: str) -> str:
    secret = f"# 密钥\n\n模型服务的密钥是 {KEY}，地址是 {model}/v1 。The secret key is {KEY}.\n"
    documents = [("员工手册.md", HANDBOOK), ("LS-200.md", MANUAL), (f"{KEY}.md", secret)]
    return a_kb(client, "文档 Documents", documents)


@pytest.fixture(scope="module")
def session(client: httpx.Client, kb: str) -> str:
    return a_session(client, kb)


@pytest.fixture(scope="module")
def chinese(client: httpx.Client, session: str) -> str:
    return asked(client, session, ZH)


@pytest.fixture(scope="module")
def english(client: httpx.Client, session: str) -> str:
    return asked(client, session, EN)


def asked(client: httpx.Client, session: str, query: str, **body: Any) -> str:
    """Ask, wait for the end, and give the run's id."""
    settings = {"enable_rewrite": False, **body.pop("settings", {})}
    return ask(client, session, query, settings=settings, **body)[0]["run_id"]


def trace_of(client: httpx.Client, run_id: str) -> dict[str, Any]:
    return data(client.get(f"{API}/runs/{run_id}/trace"))


def forked(client: httpx.Client, run_id: str, stage: str, **body: Any) -> str:
    """Fork a run, wait for its end, and give its id."""
    fork = data(client.post(f"{API}/runs/{run_id}/fork", json={"from": stage, **body}))
    address = f"{API}/sessions/continue-stream/{fork['session_id']}?message_id={fork['message_id']}"
    with client.stream("GET", address) as response:
        assert [*objects(response)][-1]["done"]
    return fork["run_id"]


# --- runs ---


def test_runs_are_listed_newest_first(client: httpx.Client, session: str, chinese: str, english: str) -> None:
    listed = client.get(f"{API}/runs", params={"session_id": session, "page_size": 1}).json()
    assert (listed["total"] >= 2, listed["page"], listed["page_size"], len(listed["data"])) == (True, 1, 1, 1)
    every = data(client.get(f"{API}/runs", params={"session_id": session}))
    ids = [run["id"] for run in every]
    assert ids.index(english) < ids.index(chinese)
    assert {run["session_id"] for run in every} == {session}
    assert next(run for run in every if run["id"] == chinese)["question"] == ZH
    assert {chinese, english} <= {run["id"] for run in data(client.get(f"{API}/runs?page_size=1000"))}


def test_runs_of_a_session_that_is_not_there_are_not_found(client: httpx.Client) -> None:
    refused(client.get(f"{API}/runs?session_id=nope"), 404, "session_not_found")
    refused(client.get(f"{API}/runs?page=0"), 422, "bad_page")


def test_one_run_comes_with_its_answer(client: httpx.Client, session: str, chinese: str) -> None:
    run = data(client.get(f"{API}/runs/{chinese}"))
    assert (run["id"], run["session_id"], run["status"]) == (chinese, session, "complete")
    assert (run["question"], run["outcome"], run["answer"]) == (ZH, "answered", "最多 3 天")
    assert (run["kept"], run["forked_from"], run["fork_stage"]) == ("all", None, None)
    assert set(run["timing"]) == {"total_ms", "stages_ms"}


# --- traces ---


@pytest.mark.parametrize(("run", "title"), [("chinese", "员工手册.md"), ("english", "LS-200.md")])
def test_a_trace_tells_how_the_answer_came_about(
    client: httpx.Client, request: pytest.FixtureRequest, run: str, title: str
) -> None:
    run_id: str = request.getfixturevalue(run)
    trace = trace_of(client, run_id)
    told = data(client.get(f"{API}/runs/{run_id}"))
    assert trace["run"] == {name: value for name, value in told.items() if name != "answer"}
    assert (trace["answer"], trace["outcome"], trace["error"]) == (told["answer"], "answered", None)
    assert (trace["settings"]["rerank_top_k"], trace["settings"]["enable_rewrite"]) == (10, False)
    assert (trace["prompts"], trace["warnings"], trace["missing"]) == ({}, [], [])
    assert [stage["stage"] for stage in trace["stages"]][-2:] == ["generate_answer", "finalize"]
    timed = {stage["stage"]: round(stage["duration_ms"], 1) for stage in trace["stages"]}
    assert timed == told["timing"]["stages_ms"]
    best = trace["candidates"][0]
    assert (best["document_title"], best["alias"], best["fate"]) == (title, "c1", "selected")
    events = data(client.get(f"{API}/runs/{run_id}/events"))
    assert (trace["events"]["count"], trace["events"]["resets"]) == (len(events), 0)
    assert told["created_at"] <= trace["events"]["first_at"] <= trace["events"]["last_at"]


def test_the_prompt_in_a_trace_is_the_one_that_was_sent(client: httpx.Client, chinese: str) -> None:
    calls = trace_of(client, chinese)["calls"]
    assert [(call["role"], call["exact"]) for call in calls] == [("embedding", None), ("chat", True)]
    assert "最多可结转 3 天" in calls[1]["messages"][-1]["content"]
    assert calls[1]["messages"][-1]["content"].endswith(ZH)
    assert calls[1]["model"] == "stub"


def test_no_secret_of_the_configuration_is_in_a_trace(
    client: httpx.Client, session: str, kb: str, model: str, chinese: str
) -> None:
    run_id = asked(client, session, f"密钥 {KEY} 的 secret key? say: 它是 {KEY}")
    other = forked(client, run_id, "generate_answer", prompts={"system_prompt": f"说 {KEY}"})
    host = model.removeprefix("http://")
    for path in (f"{run_id}/trace", f"{run_id}/diff?with={chinese}", f"{other}/trace"):
        told = client.get(f"{API}/runs/{path}").text
        assert KEY not in told
        assert host not in told
        assert "密钥 … 的" in told
    trace = trace_of(client, run_id)
    assert "模型服务的密钥是 …，地址是 http://…/v1" in trace["calls"][-1]["messages"][-1]["content"]
    assert trace["calls"][-1]["exact"] is True
    assert "….md" in {one["document_title"] for one in trace["candidates"]}


def test_a_trace_asks_no_model_and_no_index(
    folder: Path, client: httpx.Client, chinese: str, model: str
) -> None:
    # The same from the files alone, as a notebook reads them beside the running server.
    journal_file = ReadOnlyFile(folder / "journal.sqlite", version=SCHEMA_VERSION)
    catalogue_file = ReadOnlyFile(folder / "catalogue.sqlite", version=CATALOGUE_VERSION)
    with closing(journal_file), closing(catalogue_file):
        journal, library = ReadOnlyJournal(journal_file), load_prompts()
        sources = Sources(
            journal=journal,
            saver=JournalSaver(journal),
            catalogue=ReadOnlyCatalogue(catalogue_file),
            prompts=lambda asked: library.changed(asked["prompts"]),
            hide=hiding([an_endpoint(f"{model}/v1", KEY)]),
        )
        trace = asyncio.run(read_trace(chinese, sources))
    assert trace == trace_of(client, chinese)


def test_a_run_that_goes_on_has_a_trace_so_far(client: httpx.Client, kb: str) -> None:
    session = a_session(client, kb)
    address = f"{API}/sessions/{session}/knowledge-qa"
    body = {"query": "年休假 wait: 我 在 想", "settings": {"enable_rewrite": False}}
    with client.stream("POST", address, json=body) as response:
        events = until_word(objects(response))
        trace = trace_of(client, events[0]["run_id"])
        last = trace["stages"][-1]
        assert (last["stage"], last["progress"], last["duration_ms"]) == ("generate_answer", "running", None)
        assert (trace["run"]["status"], trace["outcome"], trace["missing"]) == ("running", None, [])
        assert "我".startswith(trace["answer"][:1])
        message = events[0]["assistant_message_id"]
        data(client.post(f"{API}/sessions/{session}/stop", json={"message_id": message}))
    stopped = trace_of(client, events[0]["run_id"])
    assert stopped["stages"][-1]["progress"] == "stopped"
    assert stopped["run"]["status"] == "stopped"


@pytest.mark.parametrize("query", ["还有几天？", "How many are left?"])
def test_a_run_that_was_stopped_in_line_has_lost_nothing(client: httpx.Client, kb: str, query: str) -> None:
    session = a_session(client, kb)
    address = f"{API}/sessions/{session}/knowledge-qa"
    slow = {"query": "年休假 wait: 我 在 想", "settings": {"enable_rewrite": False}}
    with client.stream("POST", address, json=slow) as response:
        first = until_word(objects(response))[0]
        with client.stream("POST", address, json={"query": query, "on_busy": "queue"}) as waiting:
            events = objects(waiting)
            queued = next(events)
            assert trace_of(client, queued["run_id"])["run"]["status"] == "queued"
            for one in (queued, first):
                stop = {"message_id": one["assistant_message_id"]}
                data(client.post(f"{API}/sessions/{session}/stop", json=stop))
            assert [event["response_type"] for event in events] == ["stop"]
    trace = trace_of(client, queued["run_id"])
    assert (trace["query"], trace["run"]["status"]) == (query, "stopped")
    assert (trace["stages"], trace["candidates"], trace["missing"]) == ([], [], [])


def until_word(events: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    seen: list[dict[str, Any]] = []
    for event in events:
        seen.append(event)
        if event["response_type"] == "answer":
            break
    return seen


@pytest.mark.parametrize("query", ["年休假 fault: 401", "lithium grease fault: 401"])
def test_a_failed_run_shows_which_call_it_failed_with(client: httpx.Client, session: str, query: str) -> None:
    trace = trace_of(client, asked(client, session, query))
    assert (trace["run"]["status"], trace["error"]["code"]) == ("failed", "chat_unauthorized")
    last = trace["stages"][-1]
    assert (last["stage"], last["progress"], last["can_fork"]) == ("generate_answer", "failed", True)
    call = trace["calls"][-1]
    assert (call["stage"], call["role"], call["error"]) == ("generate_answer", "chat", "chat_unauthorized")
    assert call["messages"][-1]["content"].endswith(query)
    assert call["duration_ms"] > 0


def test_a_model_that_rewrites_badly_is_a_call_with_an_error(client: httpx.Client, session: str) -> None:
    run_id = asked(client, session, ZH, settings={"enable_rewrite": True})
    trace = trace_of(client, run_id)
    call = trace["calls"][0]
    assert (call["stage"], call["role"], call["error"], call["exact"]) == (
        "understand_query",
        "understand",
        "unreadable_rewrite",
        True,
    )
    assert [warning["stage"] for warning in trace["warnings"]] == ["understand_query"]


# --- forks and differences ---


def test_a_fork_is_compared_with_where_it_comes_from(client: httpx.Client, chinese: str) -> None:
    fork = forked(client, chinese, "filter_top_k", settings={"rerank_top_k": 1})
    trace = trace_of(client, fork)
    inherited = [stage["stage"] for stage in trace["stages"] if stage["inherited"]]
    assert inherited[-1] == "merge_chunks"
    assert {stage["attempts"] for stage in trace["stages"]} == {1}
    assert all(stage["can_fork"] for stage in trace["stages"])
    assert (trace["run"]["forked_from"], trace["run"]["fork_stage"]) == (chinese, "filter_top_k")
    assert fork in data(client.get(f"{API}/runs/{chinese}"))["forks"]
    listed = {run["id"]: run for run in data(client.get(f"{API}/runs?page_size=1000"))}
    assert fork in listed[chinese]["forks"]
    assert listed[fork]["question"] == ZH

    diff = data(client.get(f"{API}/runs/{chinese}/diff", params={"with": fork}))
    assert [run["id"] for run in diff["runs"]] == [chinese, fork]
    assert diff["settings"] == {"rerank_top_k": [10, 1]}
    [cut] = [stage for stage in diff["stages"] if stage["stage"] == "filter_top_k"]
    assert (cut["hits_out"][1], {one["reason"] for one in cut["left"]}) == (1, {"over_limit"})
    assert (diff["same_answer"], diff["outcome"]) == (True, ["answered", "answered"])


def test_prompts_of_a_fork_are_in_its_trace_and_in_the_difference(client: httpx.Client, english: str) -> None:
    fork = forked(client, english, "generate_answer", prompts={"system_prompt": "Answer in one word."})
    trace = trace_of(client, fork)
    chat = trace["calls"][-1]
    assert (chat["exact"], trace["prompts"]) == (True, {"system_prompt": "Answer in one word."})
    assert chat["messages"][0]["content"].startswith("Answer in one word.")
    diff = data(client.get(f"{API}/runs/{english}/diff", params={"with": fork}))
    assert diff["prompts"] == {"system_prompt": [None, "Answer in one word."]}


def test_unrelated_runs_can_be_compared(client: httpx.Client, chinese: str, english: str) -> None:
    diff = data(client.get(f"{API}/runs/{chinese}/diff", params={"with": english}))
    assert diff["query"] == [ZH, EN]
    assert (diff["same_answer"], diff["answer"]) == (False, ["最多 3 天", "NLGI 2"])
    small_talk = asked(client, a_session(client), "say: 你好")
    alone = data(client.get(f"{API}/runs/{chinese}/diff", params={"with": small_talk}))
    assert {stage["in"] for stage in alone["stages"]} == {"both", "first"}


def test_what_is_not_there_is_not_found(client: httpx.Client, chinese: str) -> None:
    for path in ("nope", "nope/trace", f"nope/diff?with={chinese}", f"{chinese}/diff?with=nope"):
        refused(client.get(f"{API}/runs/{path}"), 404, "run_not_found")
    refused(client.get(f"{API}/runs/{chinese}/diff"), 422, "no_run")


def test_the_routes_are_described(client: httpx.Client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert paths[f"{API}/runs"]["get"]["operationId"] == "list_runs"
    assert "get" in paths[f"{API}/runs/{{run_id}}/trace"]
    [given] = [
        one for one in paths[f"{API}/runs/{{run_id}}/diff"]["get"]["parameters"] if one["in"] == "query"
    ]
    assert given["name"] == "with"


# --- what is no longer there ---


def test_a_run_whose_texts_and_checkpoints_are_gone_shows_what_is_left(
    client: httpx.Client, folder: Path, session: str
) -> None:
    run_id = asked(client, session, ZH)
    change(
        folder, "delete from passages where hash in (select hash from passage_uses where run_id = ?)", run_id
    )
    trace = trace_of(client, run_id)
    assert "texts of" in trace["missing"][0]
    assert (trace["calls"][-1]["exact"], trace["candidates"][0]["document_title"]) == (False, "员工手册.md")

    for table in ("checkpoints", "checkpoint_values", "checkpoint_writes"):
        change(folder, f"delete from {table} where thread_id = ?", run_id)
    change(folder, "delete from events where run_id = ?", run_id)
    trace = trace_of(client, run_id)
    assert (trace["stages"], trace["candidates"], trace["calls"]) == ([], [], [])
    assert (trace["query"], trace["answer"], trace["outcome"]) == (ZH, "最多 3 天", "answered")
    assert len(trace["missing"]) == 2


def test_a_document_that_was_deleted_since_is_still_called_by_its_name(
    client: httpx.Client, session: str, kb: str
) -> None:
    other = a_kb(client, "另一个", [("制度.md", "# 制度\n\n食堂午餐每份十二元。Lunch is 12 yuan.\n")])
    run_id = asked(client, a_session(client, other), "食堂午餐多少钱？ say: 十二元")
    [document] = data(client.get(f"{API}/knowledge-bases/{other}/documents"))
    data(client.delete(f"{API}/documents/{document['id']}"))
    trace = trace_of(client, run_id)
    assert trace["candidates"][0]["document_title"] == "制度.md"
    assert "食堂午餐每份十二元" in trace["candidates"][0]["snippet"]
    assert trace["missing"] == ["Deleted since: documents that candidates came from (1)."]


@pytest.mark.parametrize(("kept", "code"), [("nothing", "run_trimmed"), ("erased", "run_erased")])
def test_a_run_without_its_record_says_why(
    client: httpx.Client, folder: Path, session: str, chinese: str, kept: str, code: str
) -> None:
    run_id = asked(client, session, ZH)
    change(folder, f"update runs set kept = '{kept}' where id = ?", run_id)
    refused(client.get(f"{API}/runs/{run_id}/trace"), 410, code)
    refused(client.get(f"{API}/runs/{chinese}/diff?with={run_id}"), 410, code)
    assert data(client.get(f"{API}/runs/{run_id}"))["kept"] == kept


def change(folder: Path, sql: str, run_id: str) -> None:
    with closing(sqlite3.connect(folder / "journal.sqlite", timeout=10)) as connection, connection:
        connection.execute(sql, (run_id,))


def test_keys_and_addresses_of_every_role_are_hidden() -> None:
    chat = an_endpoint("http://user:pass%21word@models.example:8080/v1", KEY)
    hide = hiding([chat, an_endpoint("https://embed.example/v1", f"{KEY}-longer"), None])
    told = f"{KEY}-longer {KEY} pass!word pass%21word models.example:8080 embed.example 差旅"
    assert hide(told) == "… … … … … … 差旅"
    assert hiding([None])(told) == told


def an_endpoint(base_url: str, key: str) -> Endpoint:
    return Endpoint(base_url=base_url, api_key=SecretStr(key), model="stub", timeout_s=1)
