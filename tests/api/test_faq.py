from pathlib import Path
from typing import Any

import httpx
import pytest

from ..running import API, a_client, a_kb, add, data, refused, running

KBS = f"{API}/knowledge-bases"
LEAVE = {
    "question": "年假有几天？",
    "similar_questions": ["How many days of leave do I have?"],
    "negative_questions": ["病假有几天？"],
    "answers": ["满十年为 10 天。", "Ten days after ten years."],
    "answer_strategy": "first",
    "tags": ["休假", "HR"],
}


def a_faq_kb(client: httpx.Client, name: str) -> str:
    return data(client.post(KBS, json={"name": name, "kind": "faq"}))["id"]


@pytest.fixture(scope="module")
def faq(client: httpx.Client) -> str:
    """A FAQ knowledge base with one entry."""
    kb = a_faq_kb(client, "问答 FAQ")
    data(client.post(f"{KBS}/{kb}/faq", json=LEAVE))
    return kb


def version(client: httpx.Client, kb: str) -> int:
    return data(client.get(f"{KBS}/{kb}"))["version"]


def test_an_entry_is_made_read_changed_listed_and_deleted(client: httpx.Client) -> None:
    kb = a_faq_kb(client, "一个 one")
    made = client.post(f"{KBS}/{kb}/faq", json=LEAVE)
    assert made.status_code == 201
    entry = data(made)
    address = f"{API}/faq/{entry['id']}"
    assert {name: entry[name] for name in LEAVE if name != "tags"} == {
        name: value for name, value in LEAVE.items() if name != "tags"
    }
    assert sorted(entry["tags"]) == ["HR", "休假"]
    assert (entry["knowledge_base_id"], entry["enabled"], entry["revision"]) == (kb, True, 1)
    assert data(client.get(address)) == entry
    listed = client.get(f"{KBS}/{kb}/faq", params={"search": "TEN days", "enabled": "true"}).json()
    assert (listed["data"], listed["total"]) == ([entry], 1)
    changed = data(client.patch(address, json={"answers": ["None. 没有。"]}))
    assert (changed["answers"], changed["question"], changed["revision"]) == (
        ["None. 没有。"],
        LEAVE["question"],
        2,
    )
    assert data(client.put(address, json={"enabled": False, "tags": []}))["tags"] == []
    assert data(client.get(f"{KBS}/{kb}/faq", params={"enabled": "true"})) == []
    assert version(client, kb) == 4
    assert data(client.delete(address)) == {"id": entry["id"]}
    refused(client.get(address), 404, "faq_entry_not_found")
    refused(client.delete(address), 404, "faq_entry_not_found")
    refused(client.put(address, json={"answers": []}), 404, "faq_entry_not_found")


def test_many_are_disabled_and_deleted_at_once(client: httpx.Client) -> None:
    kb = a_faq_kb(client, "many 许多")
    ids = [data(client.post(f"{KBS}/{kb}/faq", json={"question": f"问 {n}"}))["id"] for n in range(4)]
    changed = client.put(f"{KBS}/{kb}/faq/enabled", json={"ids": [*ids[:2], "none"], "enabled": False})
    assert data(changed) == {"changed": 2}
    assert [one["id"] for one in data(client.get(f"{KBS}/{kb}/faq", params={"enabled": "false"}))] == ids[
        1::-1
    ]
    assert data(client.post(f"{KBS}/{kb}/faq/delete", json={"ids": ids[1:]})) == {"deleted": 3}
    assert [one["id"] for one in data(client.get(f"{KBS}/{kb}/faq"))] == ids[:1]


def test_an_entry_stands_among_the_documents_with_its_chunks(client: httpx.Client, faq: str) -> None:
    (document,) = data(client.get(f"{KBS}/{faq}/documents"))
    (entry,) = data(client.get(f"{KBS}/{faq}/faq"))
    assert (document["id"], document["title"], document["status"]) == (
        entry["id"],
        entry["question"],
        "ready",
    )
    assert [tag["name"] for tag in document["tags"]] == ["HR", "休假"]
    chunks = data(client.get(f"{API}/documents/{entry['id']}/chunks"))
    assert [(one["kind"], one["content"]) for one in chunks] == [
        ("faq", "年假有几天？\n\n满十年为 10 天。\nTen days after ten years."),
        ("question", "年假有几天？"),
        ("question", "How many days of leave do I have?"),
    ]
    refused(client.put(f"{API}/chunks/{chunks[1]['id']}", json={"content": "x"}), 409, "chunk_of_faq")


def test_a_question_of_another_entry_is_refused_and_named(client: httpx.Client, faq: str) -> None:
    (entry,) = data(client.get(f"{KBS}/{faq}/faq"))
    before = version(client, faq)
    response = client.post(f"{KBS}/{faq}/faq", json={"question": "how many days of LEAVE do I have"})
    refused(response, 409, "faq_question_taken")
    assert response.json()["error"]["details"]["id"] == entry["id"]
    assert version(client, faq) == before


def test_files_and_entries_stay_apart(client: httpx.Client, kb: str, faq: str) -> None:
    refused(client.post(f"{KBS}/{faq}/documents", files={"file": ("a.txt", b"text")}), 409, "faq_kb")
    refused(client.post(f"{KBS}/{faq}/documents", json={"title": "a", "text": "文字"}), 409, "faq_kb")
    refused(client.post(f"{KBS}/{kb}/faq", json=LEAVE), 409, "not_a_faq_kb")
    refused(client.get(f"{KBS}/{kb}/faq"), 409, "not_a_faq_kb")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 400, "malformed"),
        ({"question": None}, 400, "malformed"),
        ({"question": "q", "answers": "a"}, 400, "malformed"),
        ({"question": "q", "colour": "red"}, 400, "malformed"),
        ({"question": "q", "answer_strategy": "best"}, 400, "malformed"),
        ({"question": "q", "enabled": "yes"}, 400, "malformed"),
        ({"question": ""}, 422, "faq_question_empty"),
        ({"question": "\u200b\u200d"}, 422, "faq_question_empty"),
        ({"question": "\x00"}, 422, "faq_question_empty"),
        ({"question": "长" * 10_000}, 422, "faq_question_too_long"),
        ({"question": "q", "similar_questions": [f"{n}" for n in range(1001)]}, 422, "faq_too_many"),
        ({"question": "q", "answers": ["a" * 20_001]}, 422, "faq_answer_too_long"),
        ({"question": "q", "tags": ["t" * 51]}, 422, "bad_tag_name"),
    ],
)
def test_impossible_entries_are_refused(
    client: httpx.Client, faq: str, body: dict[str, Any], status: int, code: str
) -> None:
    refused(client.post(f"{KBS}/{faq}/faq", json=body), status, code)


def test_a_lone_surrogate_is_no_json(client: httpx.Client, faq: str) -> None:
    response = client.post(
        f"{KBS}/{faq}/faq",
        content=b'{"question": "\\ud800"}',
        headers={"Content-Type": "application/json"},
    )
    refused(response, 400, "malformed")


def test_impossible_lists_are_refused(client: httpx.Client, faq: str) -> None:
    address = f"{KBS}/{faq}/faq"
    refused(client.get(address, params={"enabled": "yes"}), 422, "bad_enabled")
    refused(client.get(address, params={"tag_id": "none"}), 404, "tag_not_found")
    refused(client.get(f"{KBS}/none/faq"), 404, "kb_not_found")
    refused(client.post(f"{address}/delete", json={"ids": "all"}), 400, "malformed")
    refused(client.put(f"{address}/enabled", json={"ids": []}), 400, "malformed")


def test_emoji_and_right_to_left_text_are_kept(client: httpx.Client, faq: str) -> None:
    for question in ("🙂👍🏽", "كم عدد أيام الإجازة؟"):
        entry = data(client.post(f"{KBS}/{faq}/faq", json={"question": question, "answers": ["🎉", "نعم"]}))
        assert (entry["question"], entry["answers"]) == (question, ["🎉", "نعم"])
        data(client.delete(f"{API}/faq/{entry['id']}"))


def test_entries_are_there_and_found_after_a_restart(tmp_path: Path) -> None:
    with running(tmp_path) as url, a_client(url) as client:
        kb = a_faq_kb(client, "问答")
        entry = data(client.post(f"{KBS}/{kb}/faq", json=LEAVE))
    with running(tmp_path) as url, a_client(url) as client:
        assert data(client.get(f"{API}/faq/{entry['id']}")) == entry
        body = {"query": "年假有几天", "knowledge_base_ids": [kb]}
        found = data(client.post(f"{API}/search", json=body))["knowledge_references"]
        assert {one["knowledge_id"] for one in found} == {entry["id"]}


def test_an_erased_entry_is_gone_from_every_file(tmp_path: Path) -> None:
    with running(tmp_path) as url, a_client(url) as client:
        kb = a_faq_kb(client, "问答")
        entry = data(
            client.post(
                f"{KBS}/{kb}/faq",
                json={"question": "绝密甲?", "similar_questions": ["secretsimilar"], "answers": ["绝密乙"]},
            )
        )
        other = a_kb(client, "other")
        add(client, other, "a.txt", b"Something else.")
        removed = data(client.post(f"{API}/erase", json={"knowledge_id": entry["id"]}))["removed"]
        assert (removed["documents"], removed["chunks"]) == (1, 3)
        refused(client.get(f"{API}/faq/{entry['id']}"), 404, "faq_entry_not_found")
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert not [word for word in ("绝密", "secretsimilar") if word.encode() in stored]
