import os
from typing import Any

import httpx
import pytest

from ..ingest.pdfs import Page, a_pdf
from ..running import API, a_kb, add, data, refused, settled

MB = 1024 * 1024


@pytest.fixture(scope="module")
def own_kb(client: httpx.Client) -> str:
    return a_kb(client, "uploads 上传")


def documents(kb: str) -> str:
    return f"{API}/knowledge-bases/{kb}/documents"


def upload(client: httpx.Client, kb: str, name: str, content: bytes) -> httpx.Response:
    return client.post(documents(kb), files={"file": (name, content)})


def raw_upload(client: httpx.Client, kb: str, disposition: bytes, content: bytes = b"text") -> httpx.Response:
    body = b"--b\r\nContent-Disposition: " + disposition + b"\r\n\r\n" + content + b"\r\n--b--\r\n"
    return client.post(
        documents(kb), content=body, headers={"Content-Type": "multipart/form-data; boundary=b"}
    )


def test_a_file_is_taken_followed_listed_read_and_deleted(client: httpx.Client, own_kb: str) -> None:
    answer = upload(client, own_kb, "会议纪要.txt", "供应商交货准时率为 96%。".encode("gb18030"))
    assert answer.status_code == 202
    (taken,) = data(answer)
    assert taken["title"] == "会议纪要.txt"
    document = settled(client, taken["id"])
    assert (document["status"], document["error"], document["knowledge_base_id"]) == ("ready", None, own_kb)
    assert document["chunk_count"] > 0
    address = f"{API}/documents/{document['id']}"
    assert data(client.get(address)) == document
    assert document["id"] in [one["id"] for one in data(client.get(documents(own_kb)))]
    chunks = data(client.get(f"{address}/chunks", params={"kind": "text"}))
    assert "供应商交货准时率为 96%。" in chunks[0]["content"]
    assert data(client.delete(address)) == {"id": document["id"]}
    refused(client.get(address), 404, "document_not_found")


def test_several_files_go_in_one_request(client: httpx.Client, own_kb: str) -> None:
    files = [("file", (f"{n}.txt", f"第 {n} 份文件 number {n}".encode())) for n in (1, 2, 3)]
    taken = data(client.post(documents(own_kb), files=files))
    assert [one["title"] for one in taken] == ["1.txt", "2.txt", "3.txt"]
    assert {settled(client, one["id"])["status"] for one in taken} == {"ready"}


def test_a_text_is_a_document_too(client: httpx.Client, own_kb: str) -> None:
    (taken,) = data(
        client.post(documents(own_kb), json={"title": "便条 Note", "text": "门禁密码每季度更换。"})
    )
    assert settled(client, taken["id"])["status"] == "ready"


def test_the_same_bytes_are_not_taken_twice(client: httpx.Client, own_kb: str) -> None:
    first = add(client, own_kb, "same.txt", "一样的内容 the same".encode())
    assert add(client, own_kb, "same.txt", "一样的内容 the same".encode())["id"] == first["id"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"url": "https://example.org/a"}, "not_supported"),
        ({"title": "a", "text": " \n"}, "empty_text"),
        ({"title": "a"}, "empty_text"),
        ({"text": "b"}, "empty_title"),
        ({"title": "\x00", "text": "b"}, "empty_title"),
    ],
)
def test_impossible_texts_are_refused(
    client: httpx.Client, own_kb: str, body: dict[str, Any], code: str
) -> None:
    refused(client.post(documents(own_kb), json=body), 422, code)


def test_a_file_over_the_limit_is_cut_off(client: httpx.Client, own_kb: str) -> None:
    assert upload(client, own_kb, "fits.txt", b"short".ljust(MB)).status_code == 202
    message = refused(upload(client, own_kb, "大.txt", b"x" * (MB + 1)), 413, "upload_too_large")
    assert "HEADRACE_UPLOAD_LIMIT_MB" in message
    refused(upload(client, own_kb, "huge.txt", b"x" * (20 * MB)), 413, "upload_too_large")
    assert "大.txt" not in [one["title"] for one in data(client.get(documents(own_kb)))]


def test_nothing_of_an_upload_stays_behind(client: httpx.Client, folder: os.PathLike[str]) -> None:
    assert os.listdir(os.path.join(folder, "incoming")) == []


def test_an_unsupported_file_is_refused_by_name(client: httpx.Client, own_kb: str) -> None:
    message = refused(upload(client, own_kb, "照片.png", b"\x89PNG\r\n\x1a\n123"), 415, "unsupported_format")
    assert "照片.png" in message
    assert "docx" in message


def test_an_empty_file_is_refused_and_takes_its_neighbours_along(client: httpx.Client, own_kb: str) -> None:
    files = [("file", ("full.txt", "满 full".encode())), ("file", ("空.txt", b""))]
    message = refused(client.post(documents(own_kb), files=files), 422, "empty_document")
    assert "空.txt" in message
    assert "full.txt" not in [one["title"] for one in data(client.get(documents(own_kb)))]


def test_an_encrypted_pdf_fails_with_the_reason_and_its_neighbours_do_not(
    client: httpx.Client, own_kb: str
) -> None:
    document = add(client, own_kb, "机密.pdf", a_pdf([Page()], encrypted=True))
    assert (document["status"], document["chunk_count"]) == ("failed", 0)
    assert "encrypted" in document["error"]
    assert add(client, own_kb, "next.txt", "之后的文件 the next file".encode())["status"] == "ready"


def test_a_file_with_a_wrong_suffix_is_read_or_refused_never_half(client: httpx.Client, own_kb: str) -> None:
    answer = upload(client, own_kb, "really-text.pdf", "不是 PDF".encode())
    refused(answer, 415, "unsupported_format")


@pytest.mark.parametrize(
    ("sent", "title"),
    [
        ("../../etc/passwd.txt", "passwd.txt"),
        ("C:\\temp\\报告.txt", "报告.txt"),
        ("😀 emoji.txt", "😀 emoji.txt"),
        ("%22最佳%22 report.txt", '"最佳" report.txt'),  # how browsers send quotes
        ("长" * 251 + ".txt", "长" * 251 + ".txt"),
        ("a" * 400 + ".txt", "a" * 251 + ".txt"),
    ],
)
def test_names_are_for_people_and_never_paths(
    client: httpx.Client, own_kb: str, sent: str, title: str
) -> None:
    disposition = f'form-data; name="file"; filename="{sent}"'.encode()
    (taken,) = data(raw_upload(client, own_kb, disposition, f"内容 {sent}".encode()))
    assert taken["title"] == title


def test_a_name_with_nul_is_cleaned_or_refused(client: httpx.Client, own_kb: str) -> None:
    answer = raw_upload(client, own_kb, b'form-data; name="file"; filename="a\x00b.txt"', "零 nul".encode())
    assert answer.status_code in (202, 400)
    if answer.status_code == 202:
        assert data(answer)[0]["title"] == "ab.txt"


@pytest.mark.parametrize(
    ("content_type", "body", "status", "code"),
    [
        ("multipart/form-data", b"x", 400, "malformed"),
        ("multipart/form-data; boundary=b", b"nonsense", 400, "malformed"),
        ("multipart/form-data; boundary=b", b"", 400, "malformed"),
        (
            "multipart/form-data; boundary=b",
            b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nhal',
            400,
            "malformed",
        ),
        (
            "multipart/form-data; boundary=b",
            b'--b\r\nContent-Disposition: form-data; name="x"\r\n\r\ny\r\n--b--\r\n',
            422,
            "no_file",
        ),
        (
            "multipart/form-data; boundary=b",
            b'--b\r\nContent-Disposition: form-data; name="x"\r\n\r\ny\r\n' * 1001 + b"--b--\r\n",
            413,
            "too_large",
        ),
        (
            "multipart/form-data; boundary=b",
            b'--b\r\nContent-Disposition: form-data; name="x"\r\n\r\n' + b"y" * 1_100_000 + b"\r\n--b--\r\n",
            413,
            "too_large",
        ),
        ("application/octet-stream", b"x", 415, "unsupported_media_type"),
    ],
)
def test_broken_uploads_are_refused(
    client: httpx.Client, own_kb: str, content_type: str, body: bytes, status: int, code: str
) -> None:
    refused(
        client.post(documents(own_kb), content=body, headers={"Content-Type": content_type}), status, code
    )


def test_unknown_documents_are_not_found(client: httpx.Client) -> None:
    address = f"{API}/documents/nope"
    for answer in (
        client.get(address),
        client.delete(address),
        client.get(f"{address}/events"),
        client.get(f"{address}/chunks"),
    ):
        refused(answer, 404, "document_not_found")
