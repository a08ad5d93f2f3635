"""Forks over HTTP: what may be changed, what is refused, and how a fork is followed, stopped and replayed."""

import json
import sqlite3
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..running import (
    API,
    HANDBOOK,
    MANUAL,
    a_client,
    a_kb,
    a_session,
    answer_of,
    ask,
    data,
    follow,
    objects,
    refused,
    running,
    serving,
)
from ..stub_model import a_model_server

ZH = "年休假 say: 水 从渠 中来"
EN = "lithium grease say: water comes down"
MODELS = ("stub", "大模型", "large")

Heard = list[dict[str, Any]]


@pytest.fixture(scope="module")
def heard() -> Heard:
    """Every request that the model server got."""
    return []


@pytest.fixture(scope="module")
def model(heard: Heard) -> Generator[str]:
    app = a_model_server()
    complete: Any = app.routes[0]

    async def hear(request: Request) -> Response:
        heard.append(await request.json())
        return await complete.endpoint(request)

    async def models(request: Request) -> Response:
        return JSONResponse({"object": "list", "data": [{"id": id, "object": "model"} for id in MODELS]})

    app.router.routes[:] = [
        Route("/v1/chat/completions", hear, methods=["POST"]),
        Route("/v1/models", models),
    ]
    with serving(app) as url:
        yield url


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def client(model: str, folder: Path) -> Generator[httpx.Client]:
    settings = {
        "chat_base_url": f"{model}/v1",
        "chat_model": "stub",
        "suggestions_enabled": False,
        "enable_rewrite": False,
    }
    with running(folder, **settings) as url, a_client(url) as client:
        yield client


@pytest.fixture(scope="module")
def kb(client: httpx.Client) -> str:
    return a_kb(client, "文档 Documents", [("员工手册.md", HANDBOOK), ("LS-200.md", MANUAL)])


@pytest.fixture
def session(client: httpx.Client, kb: str) -> str:
    return a_session(client, kb)


def post(client: httpx.Client, run_id: str, stage: str, **changes: Any) -> httpx.Response:
    return client.post(f"{API}/runs/{run_id}/fork", json={"from": stage, **changes})


def told(client: httpx.Client, run_id: str, stage: str, **changes: Any) -> list[dict[str, Any]]:
    """All events of a fork."""
    response = post(client, run_id, stage, **changes)
    assert response.status_code == 202, response.text
    forked = data(response)
    return follow(client, forked["session_id"], forked["message_id"])


def stored(folder: Path) -> tuple[int, ...]:
    """How many runs, messages, checkpoints and events there are."""
    with closing(sqlite3.connect(f"file:{folder / 'journal.sqlite'}?mode=ro", uri=True)) as journal:
        tables = ("runs", "messages", "checkpoints", "events")
        return tuple(journal.execute(f"select count(*) from {table}").fetchone()[0] for table in tables)


def references(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    (found,) = [event["knowledge_references"] for event in events if "knowledge_references" in event]
    return found


@pytest.mark.parametrize("query", [ZH, EN])
def test_a_fork_is_answered_by_ids_and_followed_like_any_answer(
    client: httpx.Client, session: str, query: str
) -> None:
    live = ask(client, session, query)
    run_id = live[0]["run_id"]
    forked = data(post(client, run_id, "rerank", settings={"rerank_top_k": 1}))
    assert set(forked) == {"run_id", "session_id", "message_id", "forked_from", "fork_stage"}
    assert (forked["forked_from"], forked["fork_stage"], forked["session_id"]) == (run_id, "rerank", session)

    events = follow(client, session, forked["message_id"])
    assert events[0]["run_id"] == forked["run_id"]
    assert (events[0]["content"], events[-1]["response_type"]) == (query, "complete")
    assert len(references(events)) == 1 < len(references(live))
    assert answer_of(events) == answer_of(live)
    assert follow(client, session, forked["message_id"], after=3) == events[3:]
    run = data(client.get(f"{API}/runs/{forked['run_id']}"))
    assert (run["forked_from"], run["fork_stage"], run["status"]) == (run_id, "rerank", "complete")
    with client.stream("POST", f"{API}/runs/{forked['run_id']}/replay") as response:
        assert list(objects(response)) == events


def test_forks_are_no_part_of_the_conversation(client: httpx.Client, session: str, heard: Heard) -> None:
    live = ask(client, session, ZH)
    before = client.get(f"{API}/sessions/{session}/messages").json()
    one = data(client.get(f"{API}/sessions/{session}"))
    for stage in ("load_history", "generate_answer"):
        told(client, live[0]["run_id"], stage)
    assert client.get(f"{API}/sessions/{session}/messages").json() == before
    assert data(client.get(f"{API}/sessions/{session}")) == one
    ask(client, session, "再说一遍 again say: 一")
    assert [message["role"] for message in heard[-1]["messages"]] == ["system", "user", "assistant", "user"]


def test_another_prompt_reaches_the_model_for_that_run_alone(
    client: httpx.Client, session: str, heard: Heard
) -> None:
    live = ask(client, session, f"{ZH} {{query}}")
    prompts = {"system_prompt.default": "只用一句话。\x00One sentence."}
    told(client, live[0]["run_id"], "generate_answer", prompts=prompts)
    system, user = heard[-1]["messages"]
    assert system["content"].startswith("只用一句话。One sentence.\n")
    assert f"{ZH} {{query}}" in user["content"]
    told(client, live[0]["run_id"], "generate_answer")
    assert not heard[-1]["messages"][0]["content"].startswith("只用一句话")


def test_another_model_of_the_server_answers_or_the_built_in_one(
    client: httpx.Client, session: str, heard: Heard
) -> None:
    live = ask(client, session, ZH)
    assert (heard[-1]["model"], live[-1]["data"]["model"]) == ("stub", "stub")
    events = told(client, live[0]["run_id"], "generate_answer", settings={"chat_model": "大模型"})
    assert (heard[-1]["model"], events[-1]["data"]["model"]) == ("大模型", "大模型")
    asked = len(heard)
    quoted = told(client, live[0]["run_id"], "generate_answer", settings={"chat_model": "extractive"})
    assert quoted[-1]["data"]["model"] == "extractive"
    assert len(heard) == asked

    # The knob is one like others: it may stand in a question and in a knowledge base.
    ask(client, session, EN, settings={"chat_model": "large"})
    assert heard[-1]["model"] == "large"
    own = a_kb(client, "own 自己", [("员工手册.md", HANDBOOK)])
    address = f"{API}/knowledge-bases/{own}"
    data(client.put(address, json={"settings": {"chat_model": "extractive"}}))
    assert ask(client, a_session(client, own), "年休假有几天？")[-1]["data"]["model"] == "extractive"
    message = refused(client.put(address, json={"settings": {"chat_model": "无"}}), 422, "bad_setting")
    assert "large" in message


def test_a_model_that_is_not_there_is_refused_with_those_that_are(client: httpx.Client, session: str) -> None:
    live = ask(client, session, ZH)
    answer = post(client, live[0]["run_id"], "rerank", settings={"chat_model": "无此模型"})
    message = refused(answer, 422, "bad_setting")
    assert all(name in message for name in ("chat_model", "无此模型", *MODELS, "extractive"))
    question = {"query": ZH, "settings": {"chat_model": "none"}}
    refused(client.post(f"{API}/sessions/{session}/knowledge-qa", json=question), 422, "bad_setting")


@pytest.mark.parametrize(
    ("changes", "code", "named"),
    [
        ({"settings": {"rerank_top_k": "1"}}, "bad_setting", "rerank_top_k"),
        ({"settings": {"rerank_top_k": 0}}, "bad_setting", "rerank_top_k"),
        ({"settings": {"enable_rewrite": 1}}, "bad_setting", "enable_rewrite"),
        ({"settings": {"没有": 1}}, "bad_setting", "没有"),
        ({"settings": {"query": "x"}}, "bad_setting", "query"),
        ({"settings": {"chat_model": 5}}, "bad_setting", "chat_model"),
        ({"prompts": {"没有": "x"}}, "bad_prompt", "没有"),
        ({"prompts": {"intent_prompts": "x"}}, "bad_prompt", "intent_prompts.greeting"),
        ({"prompts": {"system_prompt": 5}}, "bad_prompt", "system_prompt"),
        ({"prompts": {"system_prompt": " "}}, "bad_prompt", "no text"),
        ({"prompts": {"system_prompt": "{query}"}}, "bad_prompt", "unknown placeholder {query}"),
        ({"prompts": {"context_template": "{query}"}}, "bad_prompt", "{contexts} is missing"),
        ({"prompts": {"system_prompt": "长" * 20_001}}, "bad_prompt", "20000"),
        ({"prompts": {"citation.on": "x"}}, "bad_prompt", "citation.on"),
        ({"prompts": {"decline": "x"}}, "bad_prompt", "decline"),
        ({"prompts": {"fallback": "a", "fallback.default": "b"}}, "bad_prompt", "twice"),
        ({"state": {"request": {}}}, "bad_state", "request"),
        ({"state": {"没有": []}}, "bad_state", "没有"),
        ({"state": {"hits": {}}}, "bad_state", "hits"),
        ({"state": {"hits": [{"chunk_id": "x"}]}}, "bad_state", "0.kb_id"),
        ({"state": {"intent": "寒暄"}}, "bad_state", "intent"),
        ({"state": {"timings": {}}}, "bad_state", "timings"),
        ({"from": "重排"}, "bad_stage", "load_history, match_ready_answer"),
    ],
)
def test_a_change_that_is_not_possible_is_named_and_nothing_is_stored(
    client: httpx.Client, folder: Path, kb: str, changes: dict[str, Any], code: str, named: str
) -> None:
    live = ask(client, a_session(client, kb), ZH)
    before = stored(folder)
    answer = client.post(f"{API}/runs/{live[0]['run_id']}/fork", json={"from": "rerank", **changes})
    assert named in refused(answer, 422, code)
    assert stored(folder) == before


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({}, "from"),
        ({"from": 5}, "from"),
        ({"from": "rerank", "stage": "rerank"}, "known are from, settings, prompts, state"),
        ({"from": "rerank", "settings": []}, "settings"),
        ({"from": "rerank", "state": None}, "state"),
        ({"from": "x" * 61}, "from"),
    ],
)
def test_a_body_of_another_shape_is_refused(
    client: httpx.Client, kb: str, body: dict[str, Any], named: str
) -> None:
    live = ask(client, a_session(client, kb), ZH)
    assert named in refused(client.post(f"{API}/runs/{live[0]['run_id']}/fork", json=body), 400, "malformed")


def test_a_number_that_no_checkpoint_can_hold_is_refused(client: httpx.Client, session: str) -> None:
    live = ask(client, session, ZH)
    body = '{"from": "rerank", "state": {"departures": [{"chunk_id": "a", "stage": "b", "reason": "c", '
    body += f'"score": {10**30}, "limit": null}}]}}}}'
    json.loads(body)
    answer = client.post(
        f"{API}/runs/{live[0]['run_id']}/fork", content=body, headers={"content-type": "application/json"}
    )
    assert "departures" in refused(answer, 422, "bad_state")


def a_hit(reference: dict[str, Any]) -> dict[str, Any]:
    """The hit of a reference, its text read by its chunk."""
    return {
        "chunk_id": reference["id"],
        "chunk_revision": reference["chunk_revision"],
        "kb_id": reference["knowledge_base_id"],
        "document_id": reference["knowledge_id"],
        "kind": reference["chunk_type"],
        "source": {"page": None, "boxes": [], "section": None, "url": None},
        **{name: reference[name] for name in ("match_type", "chunk_index", "score", "scores", "ranks")},
        **{name: reference[name] for name in ("marks", "sub_chunk_ids")},
    }


@pytest.mark.parametrize(
    ("channel", "named"), [("document_id", "document_id"), ("kb_id", "kb_id"), ("history", "document_id")]
)
def test_a_hit_names_the_document_that_its_chunk_is_of(
    client: httpx.Client, session: str, channel: str, named: str
) -> None:
    live = ask(client, session, ZH)
    hit = a_hit(references(live)[0])
    state: dict[str, Any] = {"hits": [{**hit, channel: "别的"}]}
    if channel == "history":
        turn = {
            "request_id": "r",
            "user": "问",
            "assistant": "答",
            "references": [{**hit, "document_id": "x"}],
        }
        state = {"history": [turn]}
    message = refused(post(client, live[0]["run_id"], "rerank", state=state), 422, "bad_state")
    assert f"{named} {hit.get(named)}" in message
    same = told(client, live[0]["run_id"], "rerank", state={"hits": [hit]})
    assert [one["id"] for one in references(same)] == [hit["chunk_id"]]


def test_stages_that_a_run_did_not_reach_are_told_with_those_it_did(
    client: httpx.Client,
) -> None:
    chat = ask(client, a_session(client), "你好 say: 好")
    answer = post(client, chat[0]["run_id"], "rerank")
    assert "assemble_context" in refused(answer, 409, "stage_not_reached")
    reached = ["load_history", "assemble_context", "emit_references", "generate_answer", "finalize"]
    assert answer.json()["error"]["details"] == {"reached": reached}
    refused(post(client, "没有", "rerank"), 404, "run_not_found")


def test_a_changed_state_is_what_the_rest_of_the_run_sees(client: httpx.Client, session: str) -> None:
    live = ask(client, session, ZH)
    events = told(
        client,
        live[0]["run_id"],
        "rerank",
        state={"hits": []},
        settings={"fallback_response": "什么也没有。Nothing."},
    )
    assert answer_of(events) == "什么也没有。Nothing."
    assert events[-1]["data"]["outcome"] == "fallback"
    again = told(client, events[0]["run_id"], "search_chunks", settings={"rerank_top_k": 1})
    assert answer_of(again) == answer_of(live)


def test_a_fork_is_stopped_by_its_message_beside_the_question_that_goes_on(
    client: httpx.Client, session: str
) -> None:
    address = f"{API}/sessions/{session}"
    with client.stream("POST", f"{address}/knowledge-qa", json={"query": "年休假 wait: 一 二"}) as response:
        live = objects(response)
        first = next(live)
        while next(live)["response_type"] != "answer":
            pass
        forks = [data(post(client, first["run_id"], stage)) for stage in ("rerank", "generate_answer")]
        for forked in forks:
            stopped = client.post(f"{address}/stop", json={"message_id": forked["message_id"]})
            assert data(stopped)["status"] == "stopped"
            assert follow(client, session, forked["message_id"])[-1]["response_type"] == "stop"
        assert data(client.get(f"{API}/runs/{first['run_id']}"))["status"] == "running"
        # Its forks do not make a session busy, its question does.
        body = {"query": ZH}
        refused(client.post(f"{address}/knowledge-qa", json=body), 409, "session_busy")
        client.post(f"{address}/stop", json={"message_id": first["assistant_message_id"]})


def test_a_session_is_deleted_with_forks_that_still_run(client: httpx.Client, session: str) -> None:
    live = ask(client, session, "年休假 once: 一 two 三", settings={"run_limit_s": 1})
    assert live[-1]["response_type"] == "error"
    slow = ask(client, session, "年休假 slowly: 3")
    address = f"{API}/sessions/{session}/knowledge-qa"
    with client.stream("POST", address, json={"query": "年休假 wait: 一 二"}) as response:
        first = next(objects(response))
        forks = [data(post(client, first["run_id"], "load_history")) for _ in range(2)]
        forks.append(data(post(client, slow[0]["run_id"], "rerank")))
        assert client.delete(f"{API}/sessions/{session}").is_success
    for run_id in (first["run_id"], *(forked["run_id"] for forked in forks)):
        refused(client.get(f"{API}/runs/{run_id}"), 404, "run_not_found")


def test_the_route_is_described(client: httpx.Client) -> None:
    description = client.get("/openapi.json").json()
    call = description["paths"][f"{API}/runs/{{run_id}}/fork"]["post"]
    assert "202" in call["responses"]
    schema = description["components"]["schemas"]["ForkRun"]
    assert schema["required"] == ["from"]
    assert set(schema["properties"]) == {"from", "settings", "prompts", "state"}


def test_without_a_server_only_the_built_in_answerer_is_there(tmp_path: Path) -> None:
    with running(tmp_path) as url, a_client(url) as client:
        kb = a_kb(client, "文档", [("员工手册.md", HANDBOOK)])
        live = ask(client, a_session(client, kb), "年休假有几天？")
        run_id = live[0]["run_id"]
        message = refused(post(client, run_id, "rerank", settings={"chat_model": "x"}), 422, "bad_setting")
        assert "there is extractive" in message
        same = told(client, run_id, "generate_answer", settings={"chat_model": "extractive"})
        assert answer_of(same) == answer_of(live)
        assert "12 天" in answer_of(same)
        prompts = {"fallback.declined": "找不到。Not there."}
        none = told(client, run_id, "rerank", prompts=prompts, state={"rewritten_query": "zebra"})
        assert none[-1]["data"]["outcome"] in ("declined", "answered")
