from collections.abc import Generator
from dataclasses import dataclass

import httpx
import pytest

from ..running import API, HANDBOOK, MANUAL, a_kb, a_session, data, refused

KBS = f"{API}/knowledge-bases"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tagged:
    """A knowledge base of two documents, and how its tags are reached."""

    kb: str
    documents: dict[str, str]  # ids by title

    @property
    def tags(self) -> str:
        return f"{KBS}/{self.kb}/tags"


@pytest.fixture
def tagged(client: httpx.Client) -> Generator[Tagged]:
    kb = a_kb(client, "标签 tags", [("员工手册.md", HANDBOOK), ("LS-200.md", MANUAL)])
    documents = {one["title"]: one["id"] for one in data(client.get(f"{KBS}/{kb}/documents"))}
    yield Tagged(kb=kb, documents=documents)
    data(client.delete(f"{KBS}/{kb}"))


def a_tag(client: httpx.Client, tagged: Tagged, name: str, *titles: str) -> str:
    tag = data(client.post(tagged.tags, json={"name": name}))["id"]
    for title in titles:
        data(client.put(f"{API}/documents/{tagged.documents[title]}/tags", json={"tag_ids": [tag]}))
    return tag


def version(client: httpx.Client, kb: str) -> int:
    return data(client.get(f"{KBS}/{kb}"))["version"]


def test_a_tag_is_made_listed_renamed_and_deleted(client: httpx.Client, tagged: Tagged) -> None:
    made = client.post(tagged.tags, json={"name": " 产品  Product "})
    assert made.status_code == 201
    tag = data(made)
    assert tag == {
        "id": tag["id"],
        "knowledge_base_id": tagged.kb,
        "name": "产品 Product",
        "document_count": 0,
    }
    other = data(client.post(tagged.tags, json={"name": "HR"}))
    listed = client.get(tagged.tags).json()
    assert ([one["name"] for one in listed["data"]], listed["total"]) == (["HR", "产品 Product"], 2)
    assert data(client.put(f"{API}/tags/{other['id']}", json={"name": "hr"}))["name"] == "hr"
    refused(client.put(f"{API}/tags/{other['id']}", json={"name": "产品 PRODUCT"}), 409, "tag_name_taken")
    refused(client.post(tagged.tags, json={"name": "Ｈr"}), 409, "tag_name_taken")
    assert data(client.delete(f"{API}/tags/{other['id']}")) == {"id": other["id"]}
    refused(client.delete(f"{API}/tags/{other['id']}"), 404, "tag_not_found")


def test_tags_of_a_document_are_shown_narrow_lists_and_raise_the_version(
    client: httpx.Client, tagged: Tagged
) -> None:
    before = version(client, tagged.kb)
    tag = a_tag(client, tagged, "人事 HR", "员工手册.md")
    document = tagged.documents["员工手册.md"]
    assert version(client, tagged.kb) == before + 2
    shown = data(client.get(f"{API}/documents/{document}"))
    assert shown["tags"] == [{"id": tag, "name": "人事 HR"}]
    listed = client.get(f"{KBS}/{tagged.kb}/documents", params={"tag_id": tag}).json()
    assert ([one["id"] for one in listed["data"]], listed["total"]) == ([document], 1)
    assert data(client.get(tagged.tags))[0]["document_count"] == 1
    data(client.delete(f"{API}/tags/{tag}"))
    assert data(client.get(f"{API}/documents/{document}"))["tags"] == []
    assert version(client, tagged.kb) == before + 3


def test_a_search_and_a_question_are_narrowed_to_tags(client: httpx.Client, tagged: Tagged) -> None:
    tag = a_tag(client, tagged, "机器 machines", "LS-200.md")
    empty = a_tag(client, tagged, "none 没有")

    def found(*tags: str) -> set[str]:
        body = {"query": "年休假 lithium grease", "knowledge_base_ids": [tagged.kb], "tag_ids": tags}
        references = data(client.post(f"{API}/search", json=body))["knowledge_references"]
        return {one["knowledge_id"] for one in references}

    assert found() == {*tagged.documents.values()}
    assert found(tag) == {tagged.documents["LS-200.md"]}
    assert found(empty) == set()
    answer = client.post(
        f"{API}/sessions/{a_session(client, tagged.kb)}/knowledge-qa",
        json={"query": "年休假 lithium grease", "tag_ids": [tag]},
        headers={"Accept": "application/json"},
    )
    references = data(answer)["knowledge_references"]
    assert {one["knowledge_id"] for one in references} == {tagged.documents["LS-200.md"]}


def test_tags_that_cannot_narrow_are_refused(client: httpx.Client, kb: str, tagged: Tagged) -> None:
    tag = a_tag(client, tagged, "x")
    session = f"{API}/sessions/{a_session(client, kb)}/knowledge-qa"
    for body, status, code in (
        ({"query": "x", "tag_ids": ["none"]}, 404, "tag_not_found"),
        ({"query": "x", "tag_ids": [tag]}, 422, "tag_out_of_scope"),
    ):
        refused(client.post(session, json=body), status, code)
        refused(client.post(f"{API}/search", json={**body, "knowledge_base_ids": [kb]}), status, code)


def test_impossible_tags_are_refused(client: httpx.Client, kb: str, tagged: Tagged) -> None:
    document = f"{API}/documents/{tagged.documents['LS-200.md']}/tags"
    for name in ("", "  ", "x" * 51, "\u200b", "a\x00b"):
        refused(client.post(tagged.tags, json={"name": name}), 422, "bad_tag_name")
    refused(client.post(tagged.tags, json={"name": 5}), 400, "malformed")
    refused(client.post(f"{KBS}/none/tags", json={"name": "x"}), 404, "kb_not_found")
    refused(client.get(f"{KBS}/none/tags"), 404, "kb_not_found")
    refused(client.put(document, json={"tag_ids": ["none"]}), 404, "tag_not_found")
    refused(client.put(f"{API}/documents/none/tags", json={"tag_ids": []}), 404, "document_not_found")
    refused(client.get(f"{KBS}/{tagged.kb}/documents", params={"tag_id": "none"}), 404, "tag_not_found")
    foreign = data(client.post(f"{KBS}/{kb}/tags", json={"name": "foreign 外来"}))["id"]
    refused(client.put(document, json={"tag_ids": [foreign]}), 422, "tag_of_other_kb")
    many = [data(client.post(tagged.tags, json={"name": f"{n} 号"}))["id"] for n in range(51)]
    refused(client.put(document, json={"tag_ids": many}), 422, "too_many_tags")
    assert len(data(client.put(document, json={"tag_ids": [*many[:50], many[0]]}))["tags"]) == 50
