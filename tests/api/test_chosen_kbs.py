"""A question that names no knowledge base is searched for in those that lie nearest, where that is wished."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ..running import API, HANDBOOK, MANUAL, a_client, a_kb, a_session, answer_of, ask, data, running

AUTO = {"auto_select": True}
RECIPES = "# 家常菜谱\n\n番茄炒蛋：先炒鸡蛋，盛出后炒番茄，再把鸡蛋倒回锅里，加盐和糖。\n"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Generator[httpx.Client]:
    folder: Path = tmp_path_factory.mktemp("data")
    with running(folder) as url, a_client(url) as client:
        a_kb(client, "人事 HR", [("员工手册.md", HANDBOOK)])
        a_kb(client, "Pumps 泵", [("LS-200.md", MANUAL)])
        a_kb(client, "菜谱", [("菜谱.md", RECIPES)])
        a_kb(client, "空 empty")
        yield client


def asked(client: httpx.Client, query: str, **body: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The events, and the message as it is stored."""
    session = a_session(client)
    events = ask(client, session, query, **body)
    return events, data(client.get(f"{API}/sessions/{session}/messages"))[-1]


@pytest.mark.parametrize(
    ("query", "name", "words"),
    [
        ("国内出差的住宿标准是多少？", "人事 HR", "450"),
        ("How often must the seal kit be replaced?", "Pumps 泵", "4000"),
        ("番茄炒蛋怎么做？", "菜谱", "鸡蛋"),
    ],
)
def test_the_nearest_knowledge_base_is_chosen_shown_and_searched(
    client: httpx.Client, query: str, name: str, words: str
) -> None:
    events, message = asked(client, query, settings=AUTO)
    assert events[-1]["data"]["outcome"] == "answered"
    assert words in answer_of(events)
    (call,) = [
        event["data"]
        for event in events
        if event["response_type"] == "tool_call" and event["data"]["tool_name"] == "knowledge_search"
    ]
    chosen = call["arguments"]["chosen"]
    assert chosen[0]["name"] == name
    assert 1 <= len(chosen) == call["arguments"]["knowledge_bases"] <= 3
    assert message["knowledge_bases"] == chosen
    trace = data(client.get(f"{API}/runs/{events[0]['run_id']}/trace"))
    assert "choose_kbs" in [stage["stage"] for stage in trace["stages"]]


@pytest.mark.parametrize(
    ("query", "words"), [("年假有几天？", "请先选择一个资料库"), ("How many days off?", "Please choose one")]
)
def test_where_none_is_sure_enough_the_answer_says_to_choose_one(
    client: httpx.Client, query: str, words: str
) -> None:
    events, message = asked(client, query, settings={**AUTO, "kb_match_threshold": 1.0})
    assert (events[-1]["response_type"], events[-1]["data"]["outcome"]) == ("complete", "fallback")
    assert words in message["content"]


def test_without_the_wish_or_for_small_talk_nothing_is_chosen(client: httpx.Client) -> None:
    for query, settings in [("国内出差的住宿标准是多少？", {}), ("你好！", AUTO), ("Thanks!", AUTO)]:
        events, _ = asked(client, query, settings=settings)
        assert events[-1]["data"]["outcome"] == "chat"


def test_what_a_question_names_is_searched_and_nothing_is_chosen(client: httpx.Client) -> None:
    kbs = data(client.get(f"{API}/knowledge-bases"))
    pumps = next(kb["id"] for kb in kbs if "Pumps" in kb["name"])
    events, message = asked(client, "番茄炒蛋怎么做？", settings=AUTO, knowledge_base_ids=[pumps])
    assert "knowledge_bases" not in message
    assert "鸡蛋" not in answer_of(events)
