"""A server that is killed (9) around the transaction of a change, and its next start: indexes are in step."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from headrace.context import KnowledgeBase
from headrace.stores.catalogue import SqliteCatalogue, open_catalogue
from headrace.stores.chroma import ChromaVectors
from headrace.stores.tantivy import TantivyKeywords
from headrace.text.tokens import Tokens

from ..running import API, a_client, a_kb, add, data

pytestmark = pytest.mark.integration

KBS = f"{API}/knowledge-bases"
# The server as it is shipped. Once the marker is there it dies before or after one of its transactions: the
# indexes have been given the new entries by then, and still have the old ones.
MORTAL = """
import os, signal, sys
import headrace.server
from headrace.cli import main
from headrace.stores.catalogue import SqliteCatalogue

marker, moment, step = sys.argv[1:4]
living = getattr(SqliteCatalogue, step)

async def mortal(self, *given, **named):
    if not os.path.exists(marker):
        return await living(self, *given, **named)
    if moment == "after":
        await living(self, *given, **named)
    os.kill(os.getpid(), signal.SIGKILL)

setattr(SqliteCatalogue, step, mortal)
sys.exit(main(sys.argv[4:]))
"""
OLD = {
    "text": "# 手册\n\n旧的闸门每周检查一次。 The old gate is inspected weekly.\n",
    "question": "旧的问题是什么？",
    "answer": "The old answer.",
}
NEW = {
    "text": "# 手册\n\n新的闸门每天检查一次。 The new gate is inspected daily.\n",
    "question": "新的问题是什么？",
    "answer": "The new answer.",
}

Places = dict[str, str]  # ids of what the change is about
Change = Callable[[httpx.Client, Places], httpx.Response]


def replace_document(client: httpx.Client, places: Places) -> httpx.Response:
    file = ("手册.md", NEW["text"].encode())
    client.post(f"{KBS}/{places['kb']}/documents", files={"file": file})
    # The work goes on after the answer: this one ends with the server.
    return client.get(f"{API}/documents/{places['document']}/events")


def delete_document(client: httpx.Client, places: Places) -> httpx.Response:
    return client.delete(f"{API}/documents/{places['document']}")


def edit_chunk(client: httpx.Client, places: Places) -> httpx.Response:
    return client.put(f"{API}/chunks/{places['chunk']}", json={"content": NEW["text"]})


def edit_entry(client: httpx.Client, places: Places) -> httpx.Response:
    changed = {"question": NEW["question"], "answers": [NEW["answer"]]}
    return client.put(f"{API}/faq/{places['entry']}", json=changed)


@pytest.mark.parametrize(
    ("change", "step", "moment", "expected"),
    [
        # Its bytes are there: the next start does the work again.
        (replace_document, "publish", "before", {"新的闸门", "旧的问题"}),
        (replace_document, "publish", "after", {"新的闸门", "旧的问题"}),
        (edit_chunk, "change_chunk", "before", {"旧的闸门", "旧的问题"}),
        (edit_chunk, "change_chunk", "after", {"新的闸门", "旧的问题"}),
        (edit_entry, "write_faq", "before", {"旧的闸门", "旧的问题"}),
        (edit_entry, "write_faq", "after", {"旧的闸门", "新的问题"}),
        (delete_document, "remove", "after", {"旧的问题"}),
    ],
)
def test_after_a_kill_around_a_transaction_the_next_start_finds_the_old_or_the_new_and_nothing_else(
    tmp_path: Path, change: Change, step: str, moment: str, expected: set[str]
) -> None:
    folder, marker = tmp_path / "data", tmp_path / "die"
    with a_server(folder, [str(marker), moment, step]) as (process, client):
        places = prepared(client)
        marker.touch()
        with pytest.raises(httpx.TransportError):
            change(client, places).raise_for_status()
        assert process.wait(10) == -signal.SIGKILL
    with a_server(folder, [str(tmp_path / "never"), moment, step]) as (process, client):
        # What comes now is worked on after whatever the start has found to do.
        assert add(client, a_kb(client, "之后 after"), "a.txt", b"Anything.")["status"] == "ready"
        body = {"query": "闸门 gate 问题是什么", "knowledge_base_ids": [places["kb"], places["faq"]]}
        shown = data(client.post(f"{API}/search", json=body))["knowledge_references"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    assert words_in(one["content"] for one in shown) == expected
    assert words_in(asyncio.run(indexed(folder))) == expected


@contextmanager
def a_server(folder: Path, mortal: list[str]) -> Generator[tuple[subprocess.Popen[str], httpx.Client]]:
    command = [*(sys.executable, "-c", MORTAL, *mortal), *("--data", str(folder), "serve", "--port", "0")]
    environment = os.environ | {"HEADRACE_LOG_LEVEL": "warning"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        ready = next(line for line in process.stdout if "http://" in line)
        with a_client(ready.split()[-1].rstrip("/")) as client:
            yield process, client
    finally:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


def prepared(client: httpx.Client) -> Places:
    """A document of one chunk and an FAQ entry."""
    kb = a_kb(client, "文档 documents")
    document = add(client, kb, "手册.md", OLD["text"].encode())
    chunks = data(client.get(f"{API}/documents/{document['id']}/chunks"))
    [chunk] = [chunk for chunk in chunks if chunk["kind"] == "text"]
    faq = data(client.post(KBS, json={"name": "问答 FAQ", "kind": "faq"}))["id"]
    entry = {"question": OLD["question"], "answers": [OLD["answer"]]}
    made = data(client.post(f"{KBS}/{faq}/faq", json=entry))
    return {"kb": kb, "document": document["id"], "chunk": chunk["id"], "faq": faq, "entry": made["id"]}


def words_in(texts: Any) -> set[str]:
    both = "\n".join(texts)
    return {word for word in ("旧的闸门", "新的闸门", "旧的问题", "新的问题") if word in both}


async def indexed(folder: Path) -> list[str]:
    """The texts that are searched; each index has exactly these entries."""
    vectors, keywords = ChromaVectors(folder / "chroma"), TantivyKeywords(folder / "keywords", Tokens())
    async with open_catalogue(folder / "catalogue.sqlite") as catalogue:
        kbs, _ = await catalogue.list_kbs(page_size=100)
        assert len(kbs) == 3
        texts = [text for kb in kbs for text in await in_step(kb, catalogue, vectors, keywords)]
    await vectors.close()
    await keywords.close()
    return texts


async def in_step(
    kb: KnowledgeBase, catalogue: SqliteCatalogue, vectors: ChromaVectors, keywords: TantivyKeywords
) -> list[str]:
    known = await catalogue.chunk_ids(kb.id)
    assert await vectors.ids(kb.id, kb.embedding_model) == known
    assert await keywords.ids(kb.id) == known
    return [chunk.text for chunk in (await catalogue.indexed_chunks([*known])).values()]
