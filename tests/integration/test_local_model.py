"""A conversation with a real chat model on this machine, over documents of the test's own."""

import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ..running import API, a_client, a_kb, a_session, answer_of, ask, data, running

pytestmark = pytest.mark.integration

TOOL = Path(__file__).resolve().parents[3] / "shared" / "tools" / "local_llm.py"

BEHIND = ("session_title", "suggested_questions")

SOUTH = (
    "# 南渠水电站\n\n南渠水电站位于青石县，2015 年建成，安装三台机组，总装机容量 42 兆瓦。"
    "站长是林慧敏，值班电话 0812-3344556。\n"
)
NORTH = (
    "# 北湾水电站\n\n北湾水电站位于白沙县，2019 年建成，安装两台机组，总装机容量 18 兆瓦。"
    "站长是周启明，值班电话 0812-7788990。\n"
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """The address of the model server."""
    if not TOOL.exists():
        pytest.skip("the local chat model's tool is not beside this repository (../shared/tools)")
    log = tmp_path_factory.mktemp("model") / "log"
    with log.open("w") as output:
        server = subprocess.Popen(
            [sys.executable, str(TOOL), "serve", "--port", "0"],
            stdout=subprocess.PIPE,
            stderr=output,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        try:
            assert server.stdout is not None
            told = next((line for line in server.stdout if line.startswith("listening on ")), "")
            assert told, log.read_text()
            yield told.removeprefix("listening on ").strip()
        finally:
            server.terminate()
            server.wait(timeout=20)
            if server.stdout is not None:
                server.stdout.close()


def test_an_elliptical_second_question_is_answered_from_the_right_document(
    model: str, tmp_path: Path
) -> None:
    settings = {"chat_base_url": model, "temperature": 0, "seed": 1}
    with running(tmp_path, **settings) as url, a_client(url) as client:
        client.timeout = 120
        kb = a_kb(client, "电站", [("南渠水电站.md", SOUTH), ("北湾水电站.md", NORTH)])
        session = a_session(client, kb)
        first = answer_of(ask(client, session, "南渠水电站的总装机容量是多少？"))
        events = ask(client, session, "那北湾水电站呢？")
        second = answer_of(events)
        stored = data(client.get(f"{API}/sessions/{session}/messages"))
    assert "42" in first
    assert "18" in second
    assert references_of(events)[0] == "北湾水电站.md"
    assert [message["content"] for message in stored if message["role"] == "assistant"] == [first, second]


def test_an_english_question_gets_a_cited_answer_from_the_model(model: str, tmp_path: Path) -> None:
    manual = "# LS-9 pump\n\nReplace the seal kit of the LS-9 pump every 4000 operating hours.\n"
    with running(tmp_path, chat_base_url=model, temperature=0, seed=1) as url, a_client(url) as client:
        client.timeout = 120
        kb = a_kb(client, "pumps", [("ls-9.md", manual)])
        events = ask(client, a_session(client, kb), "How often must the seal kit be replaced?")
    assert "4000" in answer_of(events).replace(",", "")
    (end,) = (event for event in events if event["response_type"] == "complete")
    assert end["data"]["outcome"] == "answered"
    assert "qwen" in end["data"]["model"]


def references_of(events: list[dict[str, Any]]) -> list[str]:
    """Titles, best first. This small model answers rightly but seldom writes the citation tags."""
    (event,) = (event for event in events if event["response_type"] == "references")
    return [reference["knowledge_title"] for reference in event["knowledge_references"]]


def test_a_chinese_conversation_of_four_turns_holds_together(model: str, tmp_path: Path) -> None:
    settings = {"chat_base_url": model, "temperature": 0, "seed": 1, "answer_cache_enabled": True}
    with running(tmp_path, **settings) as url, a_client(url) as client:
        client.timeout = 180
        kb = a_kb(client, "电站", [("南渠水电站.md", SOUTH), ("北湾水电站.md", NORTH)])
        bank = an_faq(client, "值班几点交接？", "早上八点和晚上八点。")
        session = a_session(client, kb)
        first = ask(client, session, "南渠水电站的总装机容量是多少？")
        second = ask(client, session, "那北湾水电站呢？")
        third = ask(client, session, "谢谢！")
        fourth = ask(client, session, "值班几点交接？", knowledge_base_ids=[kb, bank])
        turns = [first, second, third, fourth]
        assert [events[-1]["response_type"] for events in ended(turns)] == ["complete"] * 4
        assert [outcome(events) for events in turns] == ["answered", "answered", "chat", "faq"]
        assert "42" in answer_of(first)
        assert "18" in answer_of(second)
        assert references_of(second)[0] == "北湾水电站.md"
        assert answer_of(fourth) == "早上八点和晚上八点。"
        stored = data(client.get(f"{API}/sessions/{session}/messages"))
        assert [one["content"] for one in stored[1::2]] == [answer_of(events) for events in turns]
        assert all(one["model"] for one in stored[1:6:2])
        # Whoever asks the first question again gets what the first one got.
        again = ask(client, a_session(client, kb), "请问南渠水电站的总装机容量是多少")
        assert (outcome(again), answer_of(again)) == ("cached", answer_of(first))
        assert data(client.get(f"{API}/sessions/{session}"))["title"]


def test_an_english_conversation_of_four_turns_holds_together(model: str, tmp_path: Path) -> None:
    pump = "# LS-9 pump\n\nReplace the seal kit of the LS-9 pump every 4000 operating hours.\n"
    motor = "# M-3 motor\n\nReplace the bearings of the M-3 motor every 9000 operating hours.\n"
    settings = {"chat_base_url": model, "temperature": 0, "seed": 1}
    with running(tmp_path, **settings) as url, a_client(url) as client:
        client.timeout = 180
        kb = a_kb(client, "machines", [("ls-9.md", pump), ("m-3.md", motor)])
        bank = an_faq(client, "Who keeps the spare parts?", "The store in hall 2.")
        session = a_session(client, kb)
        first = ask(client, session, "How often must the seal kit of the LS-9 pump be replaced?")
        second = ask(client, session, "How often must the bearings of the M-3 motor be replaced?")
        third = ask(client, session, "Thanks a lot!")
        fourth = ask(client, session, "Who keeps the spare parts?", knowledge_base_ids=[kb, bank])
        turns = [first, second, third, fourth]
        assert [outcome(events) for events in turns] == ["answered", "answered", "chat", "faq"]
        assert "4000" in answer_of(first).replace(",", "")
        assert "9000" in answer_of(second).replace(",", "")
        assert references_of(second)[0] == "m-3.md"
        assert answer_of(fourth) == "The store in hall 2."
        answer = data(client.get(f"{API}/sessions/{session}/messages"))[3]
        rated = client.post(f"{API}/messages/{answer['id']}/feedback", json={"thumb": "up"})
        assert data(rated)["feedback"] == {"thumb": "up", "reason": None}


def an_faq(client: httpx.Client, question: str, answer: str) -> str:
    """A bank of one known question, whose answer is given word for word."""
    body = {"name": question[:20], "kind": "faq", "settings": {"standard_answers_enabled": True}}
    bank: str = data(client.post(f"{API}/knowledge-bases", json=body))["id"]
    entry = {"question": question, "answers": [answer]}
    client.post(f"{API}/knowledge-bases/{bank}/faq", json=entry).raise_for_status()
    return bank


def ended(turns: list[list[dict[str, Any]]]) -> list[list[dict[str, Any]]]:
    """Up to the end of each answer; a title and further questions may come behind it."""
    return [[event for event in events if event["response_type"] not in BEHIND] for events in turns]


def outcome(events: list[dict[str, Any]]) -> str:
    (end,) = (event for event in events if event["response_type"] == "complete")
    return end["data"]["outcome"]
