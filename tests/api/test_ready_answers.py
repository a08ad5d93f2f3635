"""Known questions get their stored answer, and the same question again the answer it got before."""

import itertools
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx
import pytest

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
    running,
)

NUMBERS = itertools.count(1)
QUESTION, OTHER = "国内出差的住宿标准是多少？", "How often is the seal kit replaced?"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Generator[httpx.Client]:
    folder: Path = tmp_path_factory.mktemp("data")
    with running(folder, answer_cache_enabled=True) as url, a_client(url) as client:
        yield client


@pytest.fixture
def kb(client: httpx.Client) -> str:
    return a_kb(client, f"手册 {next(NUMBERS)}", [("员工手册.md", HANDBOOK), ("pump.md", MANUAL)])


@pytest.fixture
def bank(client: httpx.Client) -> str:
    body = {
        "name": f"问答 {next(NUMBERS)}",
        "kind": "faq",
        "settings": {"standard_answers_enabled": True},
    }
    id = data(client.post(f"{API}/knowledge-bases", json=body))["id"]
    entries = [
        {
            "question": "年假有几天？",
            "similar_questions": ["一年能休多少天年假"],
            "answers": ["十天。满十年十五天。"],
        },
        {"question": "How do I reset my password?", "answers": ["Open the settings. Choose reset."]},
        {"question": "食堂几点开门？", "answers": ["七点。"]},
        {"question": "发票丢了怎么办？", "answers": ["请财务补开。"], "enabled": False},
    ]
    for entry in entries:
        client.post(f"{API}/knowledge-bases/{id}/faq", json=entry).raise_for_status()
    return str(id)


def outcome(client: httpx.Client, kbs: str | list[str], query: str, **body: Any) -> tuple[str, str]:
    session = data(
        client.post(f"{API}/sessions", json={"knowledge_base_ids": [kbs] if isinstance(kbs, str) else kbs})
    )
    events = ask(client, session["id"], query, **body)
    return events[-1]["data"]["outcome"], answer_of(events)


# --- known questions ---


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("年假有几天", "十天。满十年十五天。"),
        ("年假有幾天？", "十天。满十年十五天。"),
        ("一年可以休几天年假？", "十天。满十年十五天。"),
        ("How can I reset the password?", "Open the settings. Choose reset."),
    ],
)
def test_a_known_question_gets_its_stored_answer_word_for_word_with_its_source(
    client: httpx.Client, bank: str, query: str, answer: str
) -> None:
    session = a_session(client, bank)
    events = ask(client, session, query)
    assert (events[-1]["data"]["outcome"], answer_of(events)) == ("faq", answer)
    kinds = [event["response_type"] for event in events]
    assert kinds[:3] == ["agent_query", "references", "answer"]
    (reference,) = events[1]["knowledge_references"]
    assert (reference["chunk_type"], reference["knowledge_base_id"]) == ("faq", bank)
    assert reference["content"].endswith(answer)
    stored = data(client.get(f"{API}/sessions/{session}/messages"))[-1]
    assert (stored["content"], stored["knowledge_references"]) == (answer, [reference])
    assert follow(client, session, stored["id"]) == events


@pytest.mark.parametrize("query", ["食堂几点关门？", "发票丢了怎么办？", "怎么申请加班？"])
def test_the_opposite_a_disabled_entry_and_what_nobody_knows_have_no_ready_answer(
    client: httpx.Client, bank: str, query: str
) -> None:
    assert outcome(client, bank, query)[0] != "faq"


def test_a_bank_that_does_not_give_its_answers_is_searched_as_any_other(
    client: httpx.Client, bank: str
) -> None:
    settings = {"standard_answers_enabled": False}
    assert outcome(client, bank, "年假有几天？", settings=settings)[0] == "answered"
    address = f"{API}/knowledge-bases/{bank}"
    client.put(address, json={"settings": {}}).raise_for_status()
    assert outcome(client, bank, "食堂几点开门？")[0] != "faq"
    assert outcome(client, bank, "食堂几点开门？", settings={"standard_answers_enabled": True})[0] == "faq"


def test_beside_other_knowledge_bases_and_in_a_conversation_a_known_question_is_still_known(
    client: httpx.Client, bank: str, kb: str
) -> None:
    session = a_session(client, kb)
    ask(client, session, QUESTION)
    events = ask(client, session, "食堂几点开门？", knowledge_base_ids=[kb, bank])
    assert events[-1]["data"]["outcome"] == "faq"
    leaning = ask(client, session, "那年假呢？", knowledge_base_ids=[kb, bank])
    assert leaning[-1]["data"]["outcome"] != "faq"


def test_an_entry_that_changes_or_goes_changes_the_answer_at_once(client: httpx.Client, bank: str) -> None:
    (entry,) = data(client.get(f"{API}/knowledge-bases/{bank}/faq", params={"search": "食堂"}))
    client.put(f"{API}/faq/{entry['id']}", json={"answers": ["八点。"]}).raise_for_status()
    assert outcome(client, bank, "食堂几点开门？") == ("faq", "八点。")
    client.put(f"{API}/faq/{entry['id']}", json={"negative_questions": ["食堂几点开门？"]})
    client.delete(f"{API}/faq/{entry['id']}").raise_for_status()
    assert outcome(client, bank, "食堂几点开门？")[0] != "faq"


# --- the same question again ---


@pytest.mark.parametrize(
    ("query", "again"), [(QUESTION, "请问国内出差的住宿标准是多少"), (OTHER, OTHER.lower())]
)
def test_the_same_question_again_is_the_same_answer_told_as_a_stream(
    client: httpx.Client, kb: str, query: str, again: str
) -> None:
    first = ask(client, a_session(client, kb), query)
    session = a_session(client, kb)
    second = ask(client, session, again)
    assert (first[-1]["data"]["outcome"], second[-1]["data"]["outcome"]) == ("answered", "cached")
    assert answer_of(second) == answer_of(first)
    references = [
        event["knowledge_references"] for event in (*first, *second) if event["response_type"] == "references"
    ]
    told = [[(one["id"], one["content"]) for one in each] for each in references]
    assert told[0] == told[1] != []
    assert data(client.get(f"{API}/sessions/{session}/messages"))[-1]["content"] == answer_of(first)


def test_an_answer_that_was_given_again_lasts_when_the_first_conversation_is_deleted(
    client: httpx.Client, kb: str
) -> None:
    first, second = a_session(client, kb), a_session(client, kb)
    ask(client, first, QUESTION)
    assert ask(client, second, QUESTION)[-1]["data"]["outcome"] == "cached"
    before = data(client.get(f"{API}/sessions/{second}/messages"))
    assert all(one["content"] for one in before[-1]["knowledge_references"])
    client.delete(f"{API}/sessions/{first}").raise_for_status()
    assert data(client.get(f"{API}/sessions/{second}/messages")) == before
    third = ask(client, a_session(client, kb), QUESTION)
    assert all(one["content"] for one in third[1]["knowledge_references"])


def test_another_number_the_opposite_or_another_word_is_answered_anew(client: httpx.Client, kb: str) -> None:
    for query in (
        QUESTION,
        "国际出差的住宿标准是多少？",
        "国内出差的住宿标准不是多少？",
        "国内出差的伙食标准是多少？",
    ):
        assert outcome(client, kb, query)[0] != "cached", query


@pytest.mark.parametrize(
    "body",
    [
        {"settings": {"rerank_top_k": 3}},
        {"settings": {"citation_enabled": False}},
        {"settings": {"answer_cache_enabled": False}},
        {"prompts": {"fallback": "没有。"}},
        {"language": "en"},
    ],
)
def test_other_settings_prompts_or_language_get_an_answer_of_their_own(
    client: httpx.Client, kb: str, body: dict[str, Any]
) -> None:
    assert outcome(client, kb, QUESTION)[0] == "answered"
    assert outcome(client, kb, QUESTION, **body)[0] == "answered"
    assert outcome(client, kb, QUESTION)[0] == "cached"


def test_whatever_changes_in_a_knowledge_base_ends_what_was_remembered(client: httpx.Client, kb: str) -> None:
    documents = data(client.get(f"{API}/knowledge-bases/{kb}/documents"))
    handbook = next(one["id"] for one in documents if "手册" in one["title"])
    chunk = data(client.get(f"{API}/documents/{handbook}/chunks", params={"kind": "text"}))[-1]["id"]

    def added() -> None:
        (new,) = data(
            client.post(f"{API}/knowledge-bases/{kb}/documents", json={"title": "a", "text": "新的文本。"})
        )
        list(client.get(f"{API}/documents/{new['id']}/events").iter_lines())

    changes = [
        added,
        lambda: client.put(f"{API}/chunks/{chunk}", json={"content": "国内出差的住宿标准为每晚 500 元。"}),
        lambda: client.put(f"{API}/chunks/{chunk}", json={"enabled": False}),
        lambda: client.put(f"{API}/knowledge-bases/{kb}", json={"settings": {"rerank_top_k": 4}}),
        lambda: client.delete(f"{API}/documents/{handbook}"),
    ]
    for change in changes:
        outcome(client, kb, QUESTION)
        change()
        assert outcome(client, kb, QUESTION)[0] != "cached"


def test_everything_remembered_can_be_forgotten(client: httpx.Client, kb: str) -> None:
    outcome(client, kb, QUESTION)
    assert data(client.post(f"{API}/cache/clear"))["cleared"]["answers"] >= 1
    assert outcome(client, kb, QUESTION)[0] == "answered"


def test_who_repeats_a_question_in_a_conversation_was_not_satisfied(client: httpx.Client, kb: str) -> None:
    session = a_session(client, kb)
    for _ in range(2):
        assert ask(client, session, QUESTION)[-1]["data"]["outcome"] == "answered"


def test_what_leans_on_the_conversation_is_neither_remembered_nor_given_again(
    client: httpx.Client, kb: str
) -> None:
    for _ in range(2):
        session = a_session(client, kb)
        ask(client, session, QUESTION)
        assert ask(client, session, "那国外呢？")[-1]["data"]["outcome"] != "cached"


def test_a_question_that_stands_alone_is_remembered_across_conversations(
    client: httpx.Client, kb: str
) -> None:
    first = outcome(client, kb, OTHER)
    session = a_session(client, kb)
    ask(client, session, QUESTION)
    events = ask(client, session, OTHER)
    assert (events[-1]["data"]["outcome"], answer_of(events)) == ("cached", first[1])


def test_nothing_found_is_looked_for_again(client: httpx.Client) -> None:
    empty = a_kb(client, "nothing 空的")
    for _ in range(2):
        assert outcome(client, empty, QUESTION)[0] == "fallback"
