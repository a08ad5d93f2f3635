"""Giving space back and erasing, over HTTP, and what runs without their record answer then."""

import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ..running import API, HANDBOOK, MANUAL, a_client, a_kb, a_session, ask, data, refused, running

ZERO = {"runs_trimmed": 0, "runs_emptied": 0, "checkpoints": 0, "events": 0, "passages": 0, "threads": 0}


@pytest.fixture
def small(tmp_path: Path) -> Generator[httpx.Client]:
    """A server whose journal is over its limit with the first answer."""
    with running(tmp_path, journal_limit_mb=0.001) as url, a_client(url) as client:
        yield client


def an_answer(client: httpx.Client, kb: str, query: str = "年休假有几天？") -> list[dict[str, Any]]:
    return ask(client, a_session(client, kb), query)


def messages(client: httpx.Client, event: dict[str, Any]) -> list[dict[str, Any]]:
    return data(client.get(f"{API}/sessions/{event['session_id']}/messages"))


def whatever_reads_the_record(client: httpx.Client, event: dict[str, Any]) -> list[httpx.Response]:
    run, session, message = event["run_id"], event["session_id"], event["assistant_message_id"]
    return [
        client.get(f"{API}/sessions/continue-stream/{session}?message_id={message}"),
        client.post(f"{API}/runs/{run}/replay"),
        client.get(f"{API}/runs/{run}/events"),
        client.get(f"{API}/runs/{run}/trace"),
        client.post(f"{API}/runs/{run}/fork", json={"from": "rerank"}),
        client.post(
            f"{API}/sessions/{session}/knowledge-qa",
            json={"query": event["content"], "request_id": event["id"]},
        ),
    ]


def test_a_young_answer_keeps_everything(client: httpx.Client, kb: str) -> None:
    event = an_answer(client, kb)[0]
    collected = data(client.post(f"{API}/gc"))
    assert {name: collected[name] for name in ZERO} == ZERO
    assert collected["bytes_before"] - collected["bytes_after"] <= collected["freed_bytes"]
    assert data(client.get(f"{API}/runs/{event['run_id']}"))["kept"] == "all"


def test_over_the_limit_a_dry_run_says_what_would_go_and_only_then_it_goes(small: httpx.Client) -> None:
    event = an_answer(small, a_kb(small, "文档", [("员工手册.md", HANDBOOK)]))[0]
    run = f"{API}/runs/{event['run_id']}"
    tried = data(small.post(f"{API}/gc", json={"dry_run": True}))
    assert (tried["dry_run"], tried["runs_emptied"], tried["events"] > 3) == (True, 1, True)
    assert data(small.get(run))["kept"] == "all"
    done = data(small.post(f"{API}/gc", json={"dry_run": False}))
    assert [done[name] for name in ZERO] == [tried[name] for name in ZERO]
    assert data(small.get(run))["kept"] == "nothing"


def test_a_run_without_its_record_answers_410_and_its_message_stays(small: httpx.Client) -> None:
    event = an_answer(small, a_kb(small, "文档", [("LS-200.md", MANUAL)]), "Which grease should I use?")[0]
    small.post(f"{API}/gc")
    for response in whatever_reads_the_record(small, event):
        refused(response, 410, "run_trimmed")
    answer = messages(small, event)[1]
    assert ("lithium grease NLGI 2" in answer["content"], answer["erased_at"]) == (True, None)


def test_erasing_a_document_empties_what_was_answered_from_it(client: httpx.Client) -> None:
    kb = a_kb(client, "要删除 to erase", [("员工手册.md", HANDBOOK)])
    event = an_answer(client, kb)[0]
    (document,) = data(client.get(f"{API}/knowledge-bases/{kb}/documents"))
    removed = data(client.post(f"{API}/erase", json={"knowledge_id": document["id"]}))["removed"]
    assert (removed["documents"], removed["runs"], removed["messages"]) == (1, 1, 1)

    refused(client.get(f"{API}/documents/{document['id']}"), 404, "document_not_found")
    for response in whatever_reads_the_record(client, event):
        refused(response, 410, "run_erased")
    question, answer = messages(client, event)
    assert (question["content"], question["erased_at"]) == ("年休假有几天？", None)
    assert (answer["content"], answer["knowledge_references"]) == ("", [])
    assert answer["erased_at"].endswith("Z")
    assert data(client.get(f"{API}/runs/{event['run_id']}"))["kept"] == "erased"


def test_erasing_a_session_leaves_other_sessions(client: httpx.Client, kb: str) -> None:
    gone, stays = an_answer(client, kb)[0], an_answer(client, kb, "How loud is the pump?")[0]
    removed = data(client.post(f"{API}/erase", json={"session_id": gone["session_id"]}))["removed"]
    assert (removed["sessions"], removed["messages"], removed["runs"]) == (1, 2, 1)
    refused(client.get(f"{API}/sessions/{gone['session_id']}"), 404, "session_not_found")
    refused(client.get(f"{API}/runs/{gone['run_id']}"), 404, "run_not_found")
    assert "62 dB" in messages(client, stays)[1]["content"]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 422, "bad_subject"),
        ({"session_id": "a", "knowledge_id": "b"}, 422, "bad_subject"),
        ({"session_id": "不存在"}, 404, "session_not_found"),
        ({"knowledge_id": "none"}, 404, "document_not_found"),
        ({"session": "a"}, 400, "malformed"),
        ({"session_id": ""}, 400, "malformed"),
    ],
)
def test_exactly_one_known_thing_can_be_erased(
    client: httpx.Client, body: dict[str, str], status: int, code: str
) -> None:
    refused(client.post(f"{API}/erase", json=body), status, code)


def test_both_are_described(client: httpx.Client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert {f"{API}/gc", f"{API}/erase"} <= set(paths)


def test_old_runs_are_trimmed_after_the_start(tmp_path: Path) -> None:
    with running(tmp_path) as url, a_client(url) as client:
        event = an_answer(client, a_kb(client, "文档", [("员工手册.md", HANDBOOK)]))[0]
    # As good as no time at all, and not 0, which is for ever.
    with running(tmp_path, retention_days=1e-9) as url, a_client(url) as client:
        run = f"{API}/runs/{event['run_id']}"
        until = time.monotonic() + 20
        while (kept := data(client.get(run))["kept"]) == "all" and time.monotonic() < until:
            pass
        assert kept == "last"
        assert "12 天" in data(client.get(run))["answer"]
        assert len(data(client.get(f"{run}/events"))) > 3
        refused(client.post(f"{run}/fork", json={"from": "rerank"}), 409, "checkpoint_gone")


# --- what is kept in memory ---


def counters(client: httpx.Client) -> dict[str, dict[str, int]]:
    return data(client.get(f"{API}/info"))["caches"]


def searched(client: httpx.Client, kb: str, query: str) -> str:
    body = {"query": query, "knowledge_base_ids": [kb], "trace": True}
    return data(client.post(f"{API}/search", json=body))["trace"]["cache"]["query"]


def test_a_search_is_made_again_after_the_caches_were_cleared(client: httpx.Client, kb: str) -> None:
    query = "怎样申请年休假？"
    assert [searched(client, kb, query) for _ in range(2)] == ["miss", "hit"]
    before = counters(client)
    assert before["queries"]["hits"] >= 1
    cleared = data(client.post(f"{API}/cache/clear"))["cleared"]
    assert {name: cleared[name] for name in ("queries", "embeddings")} == {
        name: before[name]["entries"] for name in ("queries", "embeddings")
    }
    assert counters(client)["queries"]["entries"] == 0
    assert searched(client, kb, query) == "miss"


def test_a_changed_document_is_searched_anew(client: httpx.Client) -> None:
    kb = a_kb(client, "变", [("手册.md", HANDBOOK)])
    assert [searched(client, kb, "年休假") for _ in range(2)] == ["miss", "hit"]
    (document,) = data(client.get(f"{API}/knowledge-bases/{kb}/documents"))
    chunks = data(client.get(f"{API}/documents/{document['id']}/chunks"))
    chunk = next(one for one in chunks if one["kind"] != "parent")
    data(client.put(f"{API}/chunks/{chunk['id']}", json={"enabled": False}))
    assert searched(client, kb, "年休假") == "miss"


def test_erasing_leaves_nothing_in_memory(client: httpx.Client) -> None:
    kb = a_kb(client, "秘密", [("手册.md", HANDBOOK), ("pump.md", MANUAL)])
    session = a_session(client, kb)
    ask(client, session, "年休假有几天？")
    assert counters(client)["queries"]["entries"] > 0
    data(client.post(f"{API}/erase", json={"session_id": session}))
    assert {one["entries"] for one in counters(client).values()} == {0}
    searched(client, kb, "年休假")
    document = data(client.get(f"{API}/knowledge-bases/{kb}/documents"))[0]["id"]
    data(client.post(f"{API}/erase", json={"knowledge_id": document}))
    assert {one["entries"] for one in counters(client).values()} == {0}
