"""FAQ entries from files and into files, over HTTP."""

import io
import json
from pathlib import Path
from typing import Any

import httpx
import openpyxl
import pytest

from ..running import API, a_client, a_kb, data, refused, running

KBS = f"{API}/knowledge-bases"
ENTRIES = [
    {
        "question": "年假有几天？",
        "similar_questions": ["How many days of leave do I have?", "年休假天数"],
        "negative_questions": ["病假有几天？"],
        "answers": ["满十年为 10 天。\n\n## 结转\n最多 3 天。", "=1+1"],
        "answer_strategy": "first",
        "tags": ["HR", "休假"],
        "enabled": True,
    },
    {
        "question": "=Who opens the gate?",
        "similar_questions": [],
        "negative_questions": [],
        "answers": ["'The warden."],
        "answer_strategy": "all",
        "tags": [],
        "enabled": False,
    },
]
ROWS = "问题,答案\n年假？,十天\n,没有问题\nSick leave?,Three\n"


def a_faq_kb(client: httpx.Client, name: str, *entries: dict[str, Any]) -> str:
    kb = data(client.post(KBS, json={"name": name, "kind": "faq"}))["id"]
    for entry in entries:
        data(client.post(f"{KBS}/{kb}/faq", json=entry))
    return kb


def send(
    client: httpx.Client, kb: str, content: str | bytes, name: str = "问答.csv", **fields: str
) -> httpx.Response:
    return client.post(f"{KBS}/{kb}/faq/import", files={"file": (name, content)}, data=fields)


def listed(client: httpx.Client, kb: str) -> list[dict[str, Any]]:
    """What the entries say, the oldest first."""
    entries = data(client.get(f"{KBS}/{kb}/faq", params={"page_size": 100}))[::-1]
    return [{name: entry[name] for name in ENTRIES[0]} for entry in entries]


@pytest.mark.parametrize("format", ["csv", "xlsx", "json"])
def test_what_is_exported_is_imported_as_it_was(client: httpx.Client, format: str) -> None:
    kb = a_faq_kb(client, f"出 out {format}", *ENTRIES)
    file = client.get(f"{KBS}/{kb}/faq/export", params={"format": format})
    assert file.status_code == 200
    assert (
        file.headers["content-disposition"]
        == f"attachment; filename*=UTF-8''%E5%87%BA%20out%20{format}.{format}"
    )
    other = a_faq_kb(client, f"入 in {format}")
    told = data(send(client, other, file.content, f"a.{format}"))
    assert told == {
        "created": 2,
        "updated": 0,
        "unchanged": 0,
        "deleted": 0,
        "rejected": [],
        "ignored_columns": [],
    }
    assert listed(client, other) == listed(client, kb)
    assert data(send(client, kb, file.content, f"a.{format}", mode="replace"))["unchanged"] == 2


def test_good_rows_go_in_and_bad_ones_are_told(client: httpx.Client) -> None:
    kb = a_faq_kb(client, "半 half", {"question": "年假", "answers": ["x"], "tags": ["HR"]})
    told = data(send(client, kb, ROWS.encode("gbk")))
    assert (told["created"], told["updated"], told["unchanged"]) == (1, 1, 0)
    assert told["rejected"] == [
        {
            "row": 3,
            "question": "",
            "reason": "There is no question in this row.",
            "code": "faq_question_empty",
        }
    ]
    assert [(one["question"], one["answers"], one["tags"]) for one in listed(client, kb)] == [
        ("年假？", ["十天"], ["HR"]),
        ("Sick leave?", ["Three"], []),
    ]


def test_replacing_leaves_what_the_file_has(client: httpx.Client) -> None:
    kb = a_faq_kb(client, "换 replace", *ENTRIES)
    told = data(send(client, kb, ROWS, mode="replace"))
    assert (told["created"], told["deleted"]) == (2, 2)
    assert [one["question"] for one in listed(client, kb)] == ["年假？", "Sick leave?"]


def test_imported_questions_are_found(client: httpx.Client) -> None:
    kb = a_faq_kb(client, "找 find")
    data(send(client, kb, json.dumps(ENTRIES), "a.json"))
    body = {"query": "How many days of leave do I have?", "knowledge_base_ids": [kb]}
    (found, *_) = data(client.post(f"{API}/search", json=body))["knowledge_references"]
    assert found["knowledge_title"] == "年假有几天？"


def test_a_workbook_is_known_by_its_content(client: httpx.Client) -> None:
    book: Any = openpyxl.Workbook()
    book.active.append(["Question"])
    book.active.append(["年假？"])
    file = io.BytesIO()
    book.save(file)
    kb = a_faq_kb(client, "表 sheet")
    assert data(send(client, kb, file.getvalue(), "a.csv"))["created"] == 1


def test_an_empty_knowledge_base_is_exported_as_a_header(client: httpx.Client) -> None:
    kb = a_faq_kb(client, "空 empty")
    file = client.get(f"{KBS}/{kb}/faq/export")
    assert file.content.decode("utf-8-sig").startswith("question,similar_questions,")
    refused(send(client, kb, file.content), 422, "faq_no_rows")


@pytest.mark.parametrize(
    ("name", "content", "status", "code"),
    [
        ("a.csv", "姓名\n王\n", 422, "faq_no_question_column"),
        ("a.csv", bytes(range(256)) * 8, 422, "not_text"),
        ("a.csv", "", 422, "empty_document"),
        ("a.json", "{}", 422, "faq_not_json"),
        ("a.xlsx", "问题\n年假？\n", 415, "unsupported_format"),
        ("a.xlsx", b"PK\x03\x04 broken", 422, "damaged_document"),
        ("a.pdf", "%PDF-1.4", 415, "unsupported_format"),
        ("a.xls", b"\xd0\xcf\x11\xe0", 415, "unsupported_format"),
        ("a.csv", "问题\n" + "\n".join(map(str, range(10_001))), 413, "faq_too_many_rows"),
        ("a.csv", b"x" * (1024 * 1024 + 1), 413, "upload_too_large"),
    ],
)
def test_files_that_cannot_be_read_are_refused_whole(
    client: httpx.Client, name: str, content: str | bytes, status: int, code: str
) -> None:
    kb = a_faq_kb(client, f"坏 {code} {name} {len(content)}")
    message = refused(send(client, kb, content, name), status, code)
    assert message.endswith((".", "LIMIT_MB."))
    assert data(client.get(f"{KBS}/{kb}"))["document_count"] == 0


def test_requests_that_cannot_be_are_refused(client: httpx.Client, kb: str) -> None:
    faq = a_faq_kb(client, "请求 requests")
    refused(send(client, faq, ROWS, mode="merge"), 422, "bad_mode")
    refused(send(client, faq, ROWS, mode="x" * 2000), 413, "too_large")
    refused(send(client, kb, ROWS), 409, "not_a_faq_kb")
    refused(send(client, "none", ROWS), 404, "kb_not_found")
    files = [("file", ("a.csv", ROWS)), ("file", ("b.csv", ROWS))]
    refused(client.post(f"{KBS}/{faq}/faq/import", files=files), 422, "one_file")
    refused(client.post(f"{KBS}/{faq}/faq/import", json={}), 415, "unsupported_media_type")
    refused(client.post(f"{KBS}/{faq}/faq/import", files={"other": ("a.csv", ROWS)}), 422, "no_file")
    refused(client.get(f"{KBS}/{faq}/faq/export", params={"format": "xml"}), 422, "bad_format")
    refused(client.get(f"{KBS}/{kb}/faq/export"), 409, "not_a_faq_kb")
    refused(client.get(f"{KBS}/none/faq/export"), 404, "kb_not_found")


def test_files_are_described(client: httpx.Client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    answer = paths[f"{KBS}/{{kb_id}}/faq/export"]["get"]["responses"]["200"]["content"]
    assert {"application/json", "text/csv; charset=utf-8"} < {*answer}
    assert "multipart/form-data" in paths[f"{KBS}/{{kb_id}}/faq/import"]["post"]["requestBody"]["content"]


def test_entries_that_were_imported_are_there_after_a_restart(tmp_path: Path) -> None:
    with running(tmp_path) as url, a_client(url) as client:
        kb = a_faq_kb(client, "问答")
        data(send(client, kb, ROWS))
        before = listed(client, kb)
        assert not [*(tmp_path / "incoming").iterdir()]
    with running(tmp_path) as url, a_client(url) as client:
        assert listed(client, kb) == before


def test_a_plain_upload_still_ignores_other_fields(client: httpx.Client) -> None:
    kb = a_kb(client, "普通 plain")
    answer = client.post(
        f"{KBS}/{kb}/documents", files={"file": ("a.txt", b"text")}, data={"mode": "x" * 3000}
    )
    assert answer.status_code == 202
